import type { Dictionary, Int32, Table, Utf8, Vector } from "apache-arrow";
import { encodeText } from "../encode.ts";
import { arrow } from "./arrow.ts";
import { blank, type SnapshotColumn, snapshotColumns } from "./schema.ts";
import { taken } from "./sort.ts";
import type { TableParts } from "./table.ts";

type ColumnTypes = {
  [Column in SnapshotColumn as Column["name"]]: Column["part"] extends "rows"
    ? Int32
    : Dictionary<Utf8, Int32>;
};

const schema = new arrow.Schema<ColumnTypes>(
  snapshotColumns.map(
    ({ name, part }, id) =>
      new arrow.Field(
        name,
        part === "rows" ? new arrow.Int32() : new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32(), id),
        true,
      ),
  ),
);

/**
 * Makes the Arrow table of a snapshot, with one record batch. Text columns are dictionary-coded, with one entry per
 * facility or procedure, so all facility columns have the same codes, and so do all procedure columns. The table
 * reuses the arrays of numbers.
 */
export function arrowTableOf({ facilities, procedures, rows }: TableParts): Table<ColumnTypes> {
  // If neighbouring columns shared memory, the library's IPC writer would merge their buffers.
  const codes = {
    facilities: [rows.facility, rows.facility.slice()],
    procedures: [rows.procedure, rows.procedure.slice()],
  };
  const children = snapshotColumns.map((column, i) => {
    const { type } = schema.fields[i];
    if (column.part === "rows") {
      const data = rows[column.field];
      return arrow.makeData({ type: type as Int32, data, ...validity(data) });
    }
    const texts = column.part === "facilities" ? facilities[column.field] : procedures[column.field];
    const data = codes[column.part][i % 2];
    const presence = Int32Array.from(texts, (text) => (text === "" ? blank : 0));
    return arrow.makeData({
      type: type as Dictionary<Utf8, Int32>,
      data,
      dictionary: textVector(texts),
      ...(presence.includes(blank) ? validity(taken(presence, data)) : { nullCount: 0 }),
    });
  });
  const { length } = rows.facility;
  const data = arrow.makeData({
    type: new arrow.Struct<ColumnTypes>(schema.fields),
    length,
    nullCount: 0,
    children,
  });
  return new arrow.Table(new arrow.RecordBatch(schema, data));
}

function textVector(texts: string[]): Vector<Utf8> {
  const { offsets, bytes } = encodeText(texts);
  return new arrow.Vector([
    arrow.makeData({ type: new arrow.Utf8(), valueOffsets: offsets, data: bytes, nullCount: 0 }),
  ]);
}

/** Bit i of Arrow's validity bitmap is 0 where value i is `blank`. */
function validity(values: Int32Array) {
  const nullBitmap = new Uint8Array(Math.ceil(values.length / 8));
  let nullCount = 0;
  for (let i = 0; i < values.length; i++) {
    if (values[i] === blank) nullCount++;
    else nullBitmap[i >> 3] |= 1 << (i & 7);
  }
  return nullCount === 0 ? { nullCount } : { nullCount, nullBitmap };
}
