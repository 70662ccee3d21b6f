import { type Image, textAt } from "../image/image.ts";
import { fieldBits, fieldMask, fillerField, nameField, repeatField } from "./documents.ts";
import { levelsOf, none, type Term } from "./matching.ts";
import { indexOf } from "./text-index.ts";

const nameFields = (1 << nameField) | (1 << fillerField) | (1 << repeatField);

/**
 * Returns the codes and words by which a query found each procedure, except its own code. Only the needed words of the
 * query count, and only the best matches of each. If one of a word's best matches is in the procedure's name, none of the
 * word's matches is returned.
 */
export function matchedBy(image: Image, terms: readonly Term[], procedures: Uint32Array): string[][] {
  const index = indexOf(image, "procedure");
  const { tokenStart, tokens } = index;
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const levelsByTerm = levelsOf(index, needed);
  return Array.from(procedures, (document) => {
    const best = needed.map(() => ({ level: 0, fields: 0, words: [] as number[] }));
    for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++) {
      const here = tokens[at] >>> fieldBits;
      for (let typed = 0; typed < needed.length; typed++) {
        const level = levelsByTerm[typed][here];
        if (level === none || level < best[typed].level) continue;
        if (level > best[typed].level) best[typed] = { level, fields: 0, words: [] };
        best[typed].fields |= 1 << (tokens[at] & fieldMask);
        best[typed].words.push(here);
      }
    }
    const found = new Set<string>();
    for (const [typed, { word, code, phrases }] of needed.entries()) {
      if (code === document) {
        if (!image.procedureOf.has(word)) found.add(word.toUpperCase());
        continue;
      }
      const { level, fields, words } = best[typed];
      if (level > 0) {
        if ((fields & nameFields) === 0) for (const here of words) found.add(textAt(index.words, here));
        continue;
      }
      // The document has the word as several words, or not at all.
      const phrase = phrases.get(document);
      if (phrase !== undefined && (nameFields & (1 << (phrase & fieldMask))) === 0) found.add(word);
    }
    return [...found];
  });
}
