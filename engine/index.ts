/** The query engine: snapshot files in, answers as JSON bytes out. It knows no HTTP, clock, environment or console. */
export { imageTable } from "./arrow.ts";
export { buildImage } from "./build.ts";
export { decodeSnapshot, encodeSnapshot } from "./parquet.ts";
export * from "./query.ts";
export {
  arrange,
  countRows,
  type Facilities,
  type Procedures,
  type Rows,
  type Snapshot,
  type SnapshotContent,
  sealSnapshot,
} from "./snapshot.ts";
export { identityOrder, stableOrder } from "./sort.ts";
