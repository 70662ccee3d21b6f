export { type BuildLimits, buildImage } from "./image/build.ts";
export { decodeSnapshot } from "./snapshot/parquet.ts";
