import { createRequire } from "node:module";
import type * as v from "valibot";
import { arrow } from "./arrow.ts";
import { type metadataSchema, schemaVersion } from "./schema.ts";
import { codeValues, type Snapshot } from "./snapshot.ts";

/** Loading the library takes 0.1 s, and few processes write a snapshot. */
const loadLibrary = (): typeof import("parquet-wasm") => createRequire(import.meta.url)("parquet-wasm");

/** Encodes a snapshot as Parquet: zstd, dictionary-coded texts, nulls for absent values, metadata in the footer. */
export function encodeSnapshot(snapshot: Snapshot): Uint8Array {
  const parquet = loadLibrary();
  const { table, provenance, counts, codes } = snapshot;
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
    ...(codes === null ? {} : { hcpcs_codes: JSON.stringify(codes.map(codeValues)) }),
  } satisfies v.InferInput<typeof metadataSchema>;
  const properties = new parquet.WriterPropertiesBuilder()
    .setCompression(parquet.Compression.ZSTD)
    .setStatisticsEnabled(parquet.EnabledStatistics.None)
    .setCreatedBy("healthcare-charge-query-service")
    .setKeyValueMetadata(new Map(Object.entries(metadata)))
    .build();
  return parquet.writeParquet(parquet.Table.fromIPCStream(arrow.tableToIPC(table, "stream")), properties);
}
