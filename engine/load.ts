/** What loading a snapshot takes, without the libraries that write one. */
export { type BuildLimits, buildImage } from "./build.ts";
export { headBytes, tailBytes } from "./footer.ts";
export { loadNeed, readSnapshotHead, type SnapshotHead, snapshotFooterRange } from "./head.ts";
export { decodeSnapshot } from "./parquet.ts";
