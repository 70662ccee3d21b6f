import type { Image } from "../image/image.ts";
import { textOf } from "../image/image.ts";
import { wordAt } from "./dictionary.ts";
import { levelBits, levelMask, type Term } from "./matching.ts";
import { fieldBits, fieldMask, fillerField, nameField, repeatField } from "./text.ts";

const ofName = (field: number) => field === nameField || field === fillerField || field === repeatField;

/**
 * The codes and words by which a query found a procedure, other than those of its name and its own code. Each needed word
 * of the query counts with its best matches.
 */
export function matchedBy(image: Image, terms: readonly Term[], procedure: number): string[] {
  const index = image.documents.procedure;
  const document = index.documentOf[procedure];
  const tokens = index.tokens.subarray(index.tokenStart[document], index.tokenStart[document + 1]);
  const found = terms.flatMap(({ word, isNeeded, matches, code }) => {
    if (!isNeeded) return [];
    if (code === document) return image.procedureOf.has(word) ? [] : [word.toUpperCase()];
    const levels = new Map<number, number>();
    for (const match of matches) {
      const at = match >>> levelBits;
      levels.set(at, Math.max(levels.get(at) ?? 0, match & levelMask));
    }
    const levelOf = (token: number) => levels.get(token >>> fieldBits) ?? 0;
    const best = tokens.reduce((most, token) => Math.max(most, levelOf(token)), 0);
    const matching = best === 0 ? [] : [...tokens].filter((token) => levelOf(token) === best);
    if (matching.some((token) => ofName(token & fieldMask))) return [];
    return matching.map((token) => textOf(wordAt(index, token >>> fieldBits)));
  });
  return [...new Set(found)];
}
