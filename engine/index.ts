/** The query engine: snapshot files in, answers as JSON bytes out. It knows no HTTP, clock, environment or console. */
export * from "./load.ts";
export * from "./query.ts";
export { encodeSnapshot } from "./snapshot/parquet-writer.ts";
export {
  arrange,
  countRows,
  type Facilities,
  type Procedures,
  type Rows,
  type Snapshot,
  type SnapshotContent,
  sealSnapshot,
} from "./snapshot/snapshot.ts";
export { identityOrder, stableOrder } from "./snapshot/sort.ts";
