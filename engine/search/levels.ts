import { levelBits, levelMask, type Term } from "./matching.ts";
import type { SearchIndex } from "./text-index.ts";

/** Returns for each term how well each word of the index matches it: a level, or `none`. */
export function levelsOf({ letters }: SearchIndex, terms: readonly Term[]): Uint8Array[] {
  return terms.map(({ matches }) => {
    const levels = new Uint8Array(letters.length);
    for (const match of matches) {
      const word = match >>> levelBits;
      levels[word] = Math.max(levels[word], match & levelMask);
    }
    return levels;
  });
}
