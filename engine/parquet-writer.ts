import * as arrow from "apache-arrow";
import * as parquet from "parquet-wasm";
import type * as v from "valibot";
import { validityOf, validityOfTexts } from "./encode.ts";
import { columnsOfSchema, type metadataSchema, type SnapshotColumn } from "./schema.ts";
import type { Snapshot } from "./snapshot.ts";

/** A snapshot as a Parquet file: zstd, dictionary-coded texts, `null` for what is absent, metadata in the footer. */
export function encodeSnapshot(snapshot: Snapshot): Uint8Array {
  const { schema, provenance, counts } = snapshot;
  const vectors = columnsOfSchema(schema).map((column) => [column.name, vectorOf(snapshot, column)]);
  const table = new arrow.Table(Object.fromEntries(vectors));
  const metadata: Record<string, string> = {
    schema_version: String(schema),
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
      ...validityOfTexts(codes, values),
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
      ...validityOf(numbers),
      data: numbers.slice(),
    }),
  );
}
