import * as parquet from "parquet-wasm";
import { arrow } from "../../engine/snapshot/arrow.ts";
import { fileSha256Key, sealFile, unsetSha256 } from "../../engine/snapshot/integrity.ts";
import type { Column } from "./fixtures.ts";

/** Makes Parquet files with any columns and metadata, as other tools or `encodeSnapshot` would. */

export type Builder = parquet.WriterPropertiesBuilder;

/** Columns and metadata may be wrong for a snapshot. The checksum is right if the metadata have a schema version. */
export function fileOf(
  columns: Column[],
  metadata: Map<string, string>,
  configure = (builder: Builder) => builder,
): Uint8Array {
  const vectors = columns.map(({ name, type, values }) => [name, arrow.vectorFromArray(values, type)]);
  const stream = arrow.tableToIPC(new arrow.Table(Object.fromEntries(vectors)), "stream");
  return written(parquet.Table.fromIPCStream(stream), metadata, configure);
}

/** Writes a snapshot's file anew in another encoding. */
export function reencoded(file: Uint8Array, configure: (builder: Builder) => Builder): Uint8Array {
  return written(parquet.readParquet(file), metadataOf(file), configure);
}

function written(table: parquet.Table, given: Map<string, string>, configure: (builder: Builder) => Builder) {
  const metadata = new Map(given);
  const isSealed = Boolean(metadata.get("schema_version"));
  if (isSealed) metadata.set(fileSha256Key, unsetSha256);
  const builder = configure(new parquet.WriterPropertiesBuilder().setKeyValueMetadata(metadata));
  const file = parquet.writeParquet(table, builder.build());
  if (isSealed) sealFile(file);
  return file;
}

/** Leaves out the entry that the Parquet writer adds. */
export function metadataOf(file: Uint8Array): Map<string, string> {
  const metadata = parquet.readSchema(file).metadata();
  metadata.delete("ARROW:schema");
  return metadata;
}
