/** What loading a snapshot takes, without the libraries that write one. */
export { buildImage } from "./build.ts";
export { type ByteSource, headBytes, tailBytes } from "./footer.ts";
export { loadBytes, readSnapshotHead, type SnapshotHead, snapshotFooterRange } from "./head.ts";
export { decodeSnapshot } from "./parquet.ts";
