import type * as v from "valibot";
import { arrow, parquetLibrary } from "./arrow.ts";
import { arrowTableOf } from "./arrow-table.ts";
import { sealFile, unsetSha256 } from "./integrity.ts";
import { type metadataSchema, schemaVersion } from "./schema.ts";
import { codeValues, type Snapshot } from "./snapshot.ts";

/**
 * Maximum rows of a row group. A reader decodes a row group at a time, and groups of a million rows need 1.5 times the
 * memory.
 */
export const rowsPerGroup = 131_072;

/**
 * Encodes a snapshot as Parquet: zstd, dictionary-coded texts, nulls for absent values, metadata and the file's own
 * checksum in the footer.
 */
export function encodeSnapshot(snapshot: Snapshot): Uint8Array {
  const parquet = parquetLibrary();
  const { table, provenance, counts, codes } = snapshot;
  const metadata: Record<string, string> = {
    schema_version: String(schemaVersion),
    file_sha256: unsetSha256,
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
    ...(provenance.totals && { totals: JSON.stringify(provenance.totals) }),
    ...(codes === null ? {} : { hcpcs_codes: JSON.stringify(codes.map(codeValues)) }),
  } satisfies v.InferInput<typeof metadataSchema>;
  const properties = new parquet.WriterPropertiesBuilder()
    .setCompression(parquet.Compression.ZSTD)
    .setMaxRowGroupSize(rowsPerGroup)
    .setStatisticsEnabled(parquet.EnabledStatistics.Chunk)
    .setCreatedBy("healthcare-charge-query-service")
    .setKeyValueMetadata(new Map(Object.entries(metadata)))
    .build();
  const file = parquet.writeParquet(
    parquet.Table.fromIPCStream(arrow.tableToIPC(arrowTableOf(table), "stream")),
    properties,
  );
  sealFile(file);
  return file;
}
