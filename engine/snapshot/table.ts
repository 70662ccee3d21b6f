import type { Dictionary, Int32, Table, Utf8, Vector } from "apache-arrow";
import { encodeText } from "../encode.ts";
import { arrow } from "./arrow.ts";
import {
  blank,
  byField,
  type FacilityField,
  facilityFields,
  type MeasureField,
  measureFields,
  type ProcedureField,
  procedureFields,
  type SnapshotColumn,
  snapshotColumns,
} from "./schema.ts";
import { identityOrder, stableOrder, taken } from "./sort.ts";

type ColumnTypes = {
  [Column in SnapshotColumn as Column["name"]]: Column["part"] extends "rows"
    ? Int32
    : Dictionary<Utf8, Int32>;
};

/**
 * The rows of a snapshot: an Arrow table of one record batch, ascending by CCN and APC code. Text columns are
 * dictionary-coded, with one entry per facility or procedure, ascending. So all facility columns share the same codes,
 * and so do all procedure columns. Absent values are null in Arrow's validity bitmaps. The value arrays hold `blank`
 * for absent numbers, and the code of an empty string for absent texts.
 */
export type SnapshotTable = Table<ColumnTypes>;

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

export interface TableParts {
  /** Texts of each facility, empty where absent. */
  facilities: Record<FacilityField, string[]>;
  procedures: Record<ProcedureField, string[]>;
  /** For each row the positions of its facility and procedure, and its numbers, which are `blank` where absent. */
  rows: Record<"facility" | "procedure" | MeasureField, Int32Array>;
}

/**
 * Makes a table of sorted parts: facilities by CCN, procedures by code, rows by CCN and code. The table reuses the
 * arrays of numbers.
 */
export function makeTable({ facilities, procedures, rows }: TableParts): SnapshotTable {
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
  const table = new arrow.Table(new arrow.RecordBatch(schema, data));
  knownParts.set(table, { facilities, procedures, rows });
  return table;
}

/** Decoding the texts again would take 15 ms for 117,000 rows. */
const knownParts = new WeakMap<SnapshotTable, TableParts>();

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

/** Returns the parts of a table. @param table made by `makeTable` @throws TypeError for any other table */
export function partsOf(table: SnapshotTable): TableParts {
  const parts = knownParts.get(table);
  if (parts === undefined) throw new TypeError("table: found one from elsewhere, expected one of makeTable");
  return parts;
}

/**
 * Makes a table of unsorted parts. Facilities and procedures without a row are left out. The table reuses the arrays of
 * numbers where they are in order.
 *
 * @returns the table and, for each of its rows, the position of that row in the parts given
 */
export function arrangeTable({ facilities, procedures, rows }: TableParts): {
  table: SnapshotTable;
  order: Uint32Array;
} {
  const facilityOrder = ascendingOf(rows.facility, facilities.ccn);
  const procedureOrder = ascendingOf(rows.procedure, procedures.code);
  const facility = ranked(rows.facility, facilityOrder);
  const procedure = ranked(rows.procedure, procedureOrder);
  const isSorted = isAscending(facility, procedure);
  const given = identityOrder(procedure.length);
  const order = isSorted ? given : stableOrder(facility, stableOrder(procedure, given));
  const inOrder = (column: Int32Array) => (isSorted ? column : taken(column, order));
  const table = makeTable({
    facilities: byField(facilityFields, (field) => facilityOrder.map((i) => facilities[field][i])),
    procedures: byField(procedureFields, (field) => procedureOrder.map((i) => procedures[field][i])),
    rows: {
      ...byField(measureFields, (field) => inOrder(rows[field])),
      facility: inOrder(facility),
      procedure: inOrder(procedure),
    },
  });
  return { table, order };
}

function isAscending(facility: Int32Array, procedure: Int32Array): boolean {
  for (let row = 1; row < facility.length; row++) {
    const step = facility[row] - facility[row - 1];
    if (step < 0 || (step === 0 && procedure[row] < procedure[row - 1])) return false;
  }
  return true;
}

function ascendingOf(used: Int32Array, keys: string[]): number[] {
  const isUsed = new Uint8Array(keys.length);
  for (const position of used) isUsed[position] = 1;
  return ascending(keys).filter((position) => isUsed[position] === 1);
}

/** Returns the positions of `keys` in ascending order of the keys, by UTF-16 code units. */
export function ascending(keys: string[]): number[] {
  return keys.map((_, i) => i).sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0));
}

/** Replaces positions by their ranks in `order`. */
export function ranked(column: Int32Array, order: number[]): Int32Array {
  const ranks = new Int32Array(1 + order.reduce((highest, position) => Math.max(highest, position), -1));
  order.forEach((position, rank) => {
    ranks[position] = rank;
  });
  return taken(ranks, column);
}
