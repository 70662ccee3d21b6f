/** What loading a snapshot takes, without the libraries that write one. */
export { type BuildLimits, buildImage } from "./image/build.ts";
export { decodeSnapshot } from "./snapshot/parquet.ts";
