/** What loading a snapshot takes, without the libraries that write one. */
export { type BuildLimits, buildImage } from "./image/build.ts";
export { headBytes, tailBytes } from "./snapshot/footer.ts";
export { loadNeed, readSnapshotHead, type SnapshotHead, snapshotFooterRange } from "./snapshot/head.ts";
export { decodeSnapshot } from "./snapshot/parquet.ts";
