import { resolve } from "node:path";

/** The path of a file or folder in `test/data`, which test/data/README.md describes. */
export const dataPath = (name: string): string => resolve(import.meta.dirname, "../data", name);
