/** Exports what loader threads need: reading a snapshot and building its image. */
export { type BuildLimits, buildImage } from "./image/build.ts";
export { decodeSnapshot } from "./snapshot/parquet.ts";
