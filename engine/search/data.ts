import { readFileSync } from "node:fs";

/** A line that begins with `#` is a comment. */

function textOf(name: string): string {
  return readFileSync(new URL(`data/${name}`, import.meta.url), "utf8")
    .replace(/^#.*\n/gm, "")
    .trim();
}

export function linesOf(name: string): string[] {
  return textOf(name).split("\n");
}

export function paragraphsOf(name: string): string[] {
  return textOf(name).split("\n\n");
}
