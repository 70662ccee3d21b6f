import * as arrow from "apache-arrow";
import * as parquet from "parquet-wasm";
import type * as v from "valibot";
import { blank, type metadataSchema, type SnapshotColumn, schemaVersion, snapshotColumns } from "./schema.ts";
import type { Snapshot } from "./snapshot.ts";

/** A snapshot as a Parquet file: zstd, dictionary-coded texts, `null` for what is absent, metadata in the footer. */
export function encodeSnapshot(snapshot: Snapshot): Uint8Array {
  const { provenance, counts } = snapshot;
  const vectors = snapshotColumns.map((column) => [column.name, vectorOf(snapshot, column)]);
  const table = new arrow.Table(Object.fromEntries(vectors));
  const metadata: Record<string, string> = {
    schema_version: String(schemaVersion),
    data_year: String(provenance.dataYear),
    revision: String(provenance.revision),
    title: provenance.title,
    publisher: provenance.publisher,
    source_url: provenance.sourceUrl ?? "",
    released: provenance.released ?? "",
    caveat: provenance.caveat,
    rows: String(counts.rows),
    priced_rows: String(counts.pricedRows),
    suppressed_rows: String(counts.suppressedRows),
    incomplete_rows: String(counts.incompleteRows),
    facilities: String(counts.facilities),
    procedures: String(counts.procedures),
    sha256: snapshot.sha256,
    content_sha256: snapshot.contentSha256,
    ...(provenance.sourceSha256 === null ? {} : { source_sha256: provenance.sourceSha256 }),
  } satisfies v.InferInput<typeof metadataSchema>;
  const properties = new parquet.WriterPropertiesBuilder()
    .setCompression(parquet.Compression.ZSTD)
    .setStatisticsEnabled(parquet.EnabledStatistics.None)
    .setCreatedBy("healthcare-charge-query-service")
    .setKeyValueMetadata(new Map(Object.entries(metadata)))
    .build();
  return parquet.writeParquet(parquet.Table.fromIPCStream(arrow.tableToIPC(table, "stream")), properties);
}

function vectorOf({ facilities, procedures, rows }: Snapshot, column: SnapshotColumn): arrow.Vector {
  switch (column.part) {
    case "facilities":
      return textVector(rows.facility, facilities[column.field]);
    case "procedures":
      return textVector(rows.procedure, procedures[column.field]);
    case "rows":
      return numberVector(rows[column.field]);
  }
}

/** Arrow's IPC writer drops a buffer that two columns share, so every column gets a copy of its own. */
function textVector(codes: Int32Array, values: string[]) {
  return arrow.makeVector(
    arrow.makeData({
      type: new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
      length: codes.length,
      ...validity(codes.length, (i) => values[codes[i]] !== ""),
      data: codes.slice(),
      dictionary: arrow.vectorFromArray(values, new arrow.Utf8()),
    }),
  );
}

function numberVector(numbers: Int32Array) {
  return arrow.makeVector(
    arrow.makeData({
      type: new arrow.Int32(),
      length: numbers.length,
      ...validity(numbers.length, (i) => numbers[i] !== blank),
      data: numbers.slice(),
    }),
  );
}

/** What Arrow says of a column's absent values: bit i of the bitmap is 0 where value i is absent. */
function validity(length: number, isPresent: (i: number) => boolean) {
  const nullBitmap = new Uint8Array(Math.ceil(length / 8));
  let nullCount = 0;
  for (let i = 0; i < length; i++) {
    if (isPresent(i)) nullBitmap[i >> 3] |= 1 << (i & 7);
    else nullCount++;
  }
  return { nullBitmap, nullCount };
}
