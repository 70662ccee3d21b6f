/** The query engine: snapshot files in, answers as JSON bytes out. It knows no HTTP, clock, environment or console. */
export { buildImage } from "./build.ts";
export { DataError, shown } from "./errors.ts";
export {
  attachImage,
  type Description,
  findGroup,
  type Image,
  imageFormatVersion,
  imageTable,
  summaryFields,
  textOf,
} from "./image.ts";
export { decodeSnapshot, encodeSnapshot } from "./parquet.ts";
export { encodePrices } from "./prices.ts";
export * from "./schema.ts";
export {
  arrange,
  countRows,
  type Facilities,
  type Procedures,
  type Rows,
  type Snapshot,
  type SnapshotContent,
  sealSnapshot,
  versionName,
} from "./snapshot.ts";
export { identityOrder, stableOrder } from "./sort.ts";
