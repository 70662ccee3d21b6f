/**
 * The query engine: it reads snapshot files and answers queries. It doesn't use HTTP, the clock, the environment or
 * the console.
 */
export * from "./load.ts";
export * from "./query.ts";
export { plainWordsOf } from "./search/procedure-words.ts";
export { arrowTableOf } from "./snapshot/arrow-table.ts";
export { encodeSnapshot } from "./snapshot/encode.ts";
export { type SnapshotHead, snapshotHead } from "./snapshot/footer.ts";
export { type Snapshot, sealSnapshot } from "./snapshot/snapshot.ts";
export {
  arrangeTable,
  type TableParts,
} from "./snapshot/table.ts";
export { type Flaw, flawIn } from "./snapshot/texts.ts";
