import type { Image } from "../image/image.ts";
import { zeroBytes } from "./buffers.ts";
import {
  documentsWith,
  exact,
  facilitiesWith,
  facilityWithCode,
  joinedPrefixLetters,
  levelBits,
  levelMask,
  matchExactly,
  matching,
  matchPhrases,
  matchPrefix,
  mayBegin,
  mostParts,
  type Term,
} from "./matching.ts";
import { meaningOf, oneWord } from "./text.ts";
import { findWord, isNumber, type SearchIndex } from "./text-index.ts";

/** How a facility has the words of a query: `begun` if any of them only begins a word, otherwise `whole`. */
export const [begun, whole] = [1, 2];

export interface LiteralMatches {
  /** The facilities that have every word, ascending. */
  facilities: readonly number[];
  /**
   * For each facility: 0, `begun` or `whole`. The array is empty if no facility has the words, and valid until the next
   * search.
   */
  hows: Uint8Array;
}

const noMatches: LiteralMatches = { facilities: [], hows: new Uint8Array(0) };

/**
 * Finds the facilities that have every word of a query literally. No other step of a search may drop one of them.
 *
 * @param words see `plainWords`
 */
export function literalMatches(image: Image, index: SearchIndex, words: readonly string[]): LiteralMatches {
  const terms = words.map((word) => literalTerm(image, index, word));
  // Most searches with sentences end here, because no hospital has one of the words alone, joined to its neighbors, or
  // as several words.
  for (const [i, term] of terms.entries()) {
    if (documentsWith(index, term) > 0) continue;
    matchTogether(index, words, terms, i);
    matchPhrases(index, term.word, [], term);
    if (documentsWith(index, term) === 0) return noMatches;
  }
  matchTogether(index, words, terms);
  for (const term of terms) matchPhrases(index, term.word, [], term);
  const facilities = facilitiesWith(index, terms);
  if (facilities.length === 0) return noMatches;
  const hows = zeroBytes(index.byName.length);
  for (const facility of facilities) hows[facility] = begun;
  let found: readonly number[] = facilities;
  for (const term of terms) {
    const exactly = asWhole(term);
    if (exactly.matches.length < term.matches.length) found = matching(index, exactly, found);
  }
  for (const facility of found) hows[facility] = whole;
  return { facilities, hows };
}

/**
 * Matches words typed separately that together are a word of the index, or begin one.
 *
 * @param at the position of a word that has to be one of them; undefined for any words
 */
function matchTogether(
  index: SearchIndex,
  words: readonly string[],
  terms: readonly Term[],
  at?: number,
): void {
  for (let start = 0; start < words.length; start++)
    for (let end = start + 2; end <= Math.min(words.length, start + mostParts); end++) {
      if (at !== undefined && (at < start || at >= end)) continue;
      const span = words.slice(start, end);
      const spanned = terms.slice(start, end);
      const joined = span.join("");
      for (const each of new Set([joined, oneWord(span)])) matchWord(index, each, spanned);
      if (joined.length >= joinedPrefixLetters && !isNumber(joined))
        matchPrefix(index, Buffer.from(joined), spanned);
    }
}

/** Returns a word with its matches, but without documents that write it as several words. */
function literalTerm(image: Image, index: SearchIndex, word: string): Term {
  const code = facilityWithCode(image, index, word);
  const term: Term = { word, isNeeded: true, matches: [], phrases: new Map(), code };
  matchExactly(index, word, exact, [term]);
  if (mayBegin(word))
    for (const beginning of new Set([word, meaningOf(word)]))
      matchPrefix(index, Buffer.from(beginning), [term]);
  return term;
}

const asWhole = (term: Term): Term => ({
  ...term,
  matches: term.matches.filter((match) => (match & levelMask) === exact),
});

function matchWord(index: SearchIndex, word: string, terms: readonly Term[]): void {
  const found = findWord(index, word);
  if (found >= 0) for (const { matches } of terms) matches.push((found << levelBits) | exact);
}
