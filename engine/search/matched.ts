import { type TextIndex, textOf } from "../image/image.ts";
import { wordAt } from "./dictionary.ts";
import type { SearchIndex } from "./documents.ts";
import { levelBits, type Term } from "./matching.ts";
import { beyondField, fieldBits, fieldMask } from "./text.ts";

/**
 * The words beside a name by which a procedure group (by its position) was found, in the order of the query; undefined
 * where every needed word of the query matches the name.
 */
export function matchedBy(
  index: SearchIndex,
  terms: readonly Term[],
  procedure: number,
): string[] | undefined {
  const document = index.documentOf[procedure];
  const tokens = index.tokens.subarray(index.tokenStart[document], index.tokenStart[document + 1]);
  const named = wordsIn(tokens, (field) => field !== beyondField);
  const beyond = wordsIn(tokens, (field) => field === beyondField);
  const found = new Set<string>();
  for (const term of terms) {
    if (!term.isNeeded || term.code === document || isIn(named, term)) continue;
    const phrase = term.phrases.get(document);
    if (phrase !== undefined && phrase !== beyondField) continue;
    const word = bestOf(beyond, term);
    found.add(word < 0 ? term.word : textOfWord(index, word));
  }
  return found.size > 0 ? [...found] : undefined;
}

const wordsIn = (tokens: Uint32Array, isWanted: (field: number) => boolean) =>
  new Set(
    Array.from(
      tokens.filter((token) => isWanted(token & fieldMask)),
      (token) => token >>> fieldBits,
    ),
  );

const isIn = (words: ReadonlySet<number>, { matches }: Term) =>
  matches.some((match) => words.has(match >>> levelBits));

/** The word that a term matches best; −1 for none. */
function bestOf(words: ReadonlySet<number>, { matches }: Term): number {
  const found = matches.filter((match) => words.has(match >>> levelBits));
  const levelOf = (match: number) => match & ((1 << levelBits) - 1);
  return found.sort((a, b) => levelOf(b) - levelOf(a)).map((match) => match >>> levelBits)[0] ?? -1;
}

const textOfWord = (index: TextIndex, word: number) => textOf(wordAt(index, word));
