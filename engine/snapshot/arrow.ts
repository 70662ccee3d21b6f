import { createRequire } from "node:module";

/**
 * The library apache-arrow, loaded as one file. Importing its hundred modules would take 0.1 s of CPU more in every
 * process and thread that loads a snapshot. Tables of the library's other builds aren't instances of this build's
 * classes.
 */
export const arrow: typeof import("apache-arrow") = createRequire(import.meta.url)(
  "apache-arrow/Arrow.esnext.min",
);
