import { createRequire } from "node:module";

/**
 * apache-arrow's build as one file. Its hundred modules, imported one by one, would take 0.1 s of CPU more in every
 * process and thread that loads a snapshot. Tables of the library's other builds are of other classes than these.
 */
export const arrow: typeof import("apache-arrow") = createRequire(import.meta.url)(
  "apache-arrow/Arrow.esnext.min",
);
