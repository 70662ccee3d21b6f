import type { Image } from "../image/image.ts";
import { textOf } from "../image/image.ts";
import { wordAt } from "./dictionary.ts";
import { levelBits, levelMask, type Term } from "./matching.ts";
import { fieldBits, fieldMask, fillerField, nameField, repeatField } from "./text.ts";

const nameFields = (1 << nameField) | (1 << fillerField) | (1 << repeatField);

/**
 * The codes and words by which a query found procedures, for each of them. Words of their names and their own codes don't
 * count, and of the others only those that match a needed word of the query best.
 */
export function matchedBy(image: Image, terms: readonly Term[], procedures: Uint32Array): string[][] {
  const index = image.documents.procedure;
  const { documentOf, tokenStart, tokens } = index;
  const needed = terms
    .filter(({ isNeeded }) => isNeeded)
    .map(({ word, matches, phrases, code }) => {
      const levels = new Map<number, number>();
      for (const match of matches) {
        const at = match >>> levelBits;
        levels.set(at, Math.max(levels.get(at) ?? 0, match & levelMask));
      }
      return { word, code, levels, phrases };
    });
  return Array.from(procedures, (procedure) => {
    const document = documentOf[procedure];
    const found = new Set<string>();
    for (const { word, code, levels, phrases } of needed) {
      if (code === document) {
        if (!image.procedureOf.has(word)) found.add(word.toUpperCase());
        continue;
      }
      let best = 0;
      let fields = 0;
      let words: number[] = [];
      for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++) {
        const here = tokens[at] >>> fieldBits;
        const level = levels.get(here) ?? 0;
        if (level === 0 || level < best) continue;
        if (level > best) [best, fields, words] = [level, 0, []];
        fields |= 1 << (tokens[at] & fieldMask);
        words.push(here);
      }
      // The document has it as several words.
      if (best === 0) fields = 1 << (phrases.get(document) ?? nameField);
      if ((fields & nameFields) !== 0) continue;
      for (const here of words) found.add(textOf(wordAt(index, here)));
      if (best === 0) found.add(word);
    }
    return [...found];
  });
}
