import { readFileSync } from "node:fs";

/** A line that begins with `#` is a comment. */

function textOf(name: string): string {
  return readFileSync(new URL(`data/${name}`, import.meta.url), "utf8")
    .replace(/^#.*\n/gm, "")
    .trim();
}

/** Returns the lines of a file in `data/`, without comments. */
export function linesOf(name: string): string[] {
  return textOf(name).split("\n");
}

/** Returns the paragraphs of a file in `data/`, which empty lines separate. */
export function paragraphsOf(name: string): string[] {
  return textOf(name).split("\n\n");
}
