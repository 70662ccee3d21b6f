import * as arrow from "apache-arrow";
import * as parquet from "parquet-wasm";
import type * as v from "valibot";
import { validity } from "./encode.ts";
import { type metadataSchema, schemaVersion } from "./schema.ts";
import type { Snapshot } from "./snapshot.ts";

/** A snapshot as a Parquet file: zstd, dictionary-coded strings, `null` for blank amounts, metadata in the footer. */
export function encodeSnapshot(snapshot: Snapshot): Uint8Array {
  const { provenance, counts, facilities, procedures, rows } = snapshot;
  const table = new arrow.Table({
    ccn: dictionaryVector(rows.facility, facilities.ccn),
    facility: dictionaryVector(rows.facility, facilities.name),
    city: dictionaryVector(rows.facility, facilities.city),
    state: dictionaryVector(rows.facility, facilities.state),
    procedure_code: dictionaryVector(rows.procedure, procedures.code),
    procedure_name: dictionaryVector(rows.procedure, procedures.name),
    submitted_charge_cents: amountVector(rows.charge),
    medicare_allowed_cents: amountVector(rows.allowed),
  });
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

/** Arrow's IPC writer drops a buffer that two columns share, so every column gets a copy of its own. */
function dictionaryVector(codes: Int32Array, values: string[]) {
  return arrow.makeVector(
    arrow.makeData({
      type: new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
      length: codes.length,
      nullCount: 0,
      data: codes.slice(),
      dictionary: arrow.vectorFromArray(values, new arrow.Utf8()),
    }),
  );
}

function amountVector(amounts: Int32Array) {
  const { nullBitmap, nullCount } = validity(amounts);
  return arrow.makeVector(
    arrow.makeData({
      type: new arrow.Int32(),
      length: amounts.length,
      nullCount,
      nullBitmap,
      data: amounts.slice(),
    }),
  );
}
