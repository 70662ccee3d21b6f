/** The query engine: snapshot files in, answers as JSON bytes out. It knows no HTTP, clock, environment or console. */
export * from "./load.ts";
export { encodeSnapshot } from "./parquet-writer.ts";
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
