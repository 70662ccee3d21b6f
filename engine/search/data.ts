import { readFileSync } from "node:fs";

/** Reads the vocabulary of searches from the text files in `data/`. A line that begins with `#` is a comment. */

function textOf(name: string): string {
  return readFileSync(new URL(`data/${name}`, import.meta.url), "utf8")
    .replace(/^#.*\n/gm, "")
    .trim();
}

/** The lines of a file in `data/`. */
export function linesOf(name: string): string[] {
  return textOf(name).split("\n");
}

/** The paragraphs of a file in `data/`. Empty lines separate the paragraphs. */
export function paragraphsOf(name: string): string[] {
  return textOf(name).split("\n\n");
}
