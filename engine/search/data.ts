import { readFileSync } from "node:fs";

/** Reads the words and names that searches know beside those of a snapshot: texts in `data/`, with comments after `#`. */

function textOf(name: string): string {
  return readFileSync(new URL(`data/${name}`, import.meta.url), "utf8")
    .replace(/^#.*\n/gm, "")
    .trim();
}

/** The lines of a file. */
export function linesOf(name: string): string[] {
  return textOf(name).split("\n");
}

/** The paragraphs of a file, which empty lines separate. */
export function paragraphsOf(name: string): string[] {
  return textOf(name).split("\n\n");
}
