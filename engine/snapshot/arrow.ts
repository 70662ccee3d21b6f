import { createRequire } from "node:module";

const load = createRequire(import.meta.url);

/**
 * The library apache-arrow, loaded as one file. Importing its hundred modules would take 0.1 s of CPU more in every
 * process and thread that loads a snapshot. Tables of the library's other builds aren't instances of this build's
 * classes.
 */
export const arrow: typeof import("apache-arrow") = load("apache-arrow/Arrow.esnext.min");

/** Returns the library parquet-wasm. It is loaded when it is first needed, which takes 0.05 s. */
export function parquetLibrary(): typeof import("parquet-wasm") {
  return load("parquet-wasm");
}
