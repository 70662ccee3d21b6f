import type { Image } from "../image/image.ts";
import {
  documentsWith,
  exact,
  facilitiesWith,
  facilityWithCode,
  isNumber,
  joinedPrefixLetters,
  levelBits,
  levelMask,
  matchExactly,
  matcher,
  matchPhrases,
  matchPrefix,
  mayBegin,
  mostParts,
  type Term,
} from "./matching.ts";
import { meaningOf, oneWord } from "./text.ts";
import { findWord, type SearchIndex } from "./text-index.ts";

/** How a facility has the words of a query: not all of them, as beginnings of words, or as whole words. */
export const [notAll, begun, whole] = [0, 1, 2];

/**
 * Returns for each facility whether it literally has every word of a query: in its name, city or state, as its ZIP code or
 * as its CCN. Nothing else of a search may lose one that has.
 *
 * @param words see `plainWords`
 */
export function literalMatches(image: Image, index: SearchIndex, words: readonly string[]): Uint8Array {
  const hows = new Uint8Array(index.byName.length);
  const terms = words.map((word) => literalTerm(image, index, word));
  // Words typed apart may be one word of a name.
  for (let start = 0; start < words.length; start++)
    for (let end = start + 2; end <= Math.min(words.length, start + mostParts); end++) {
      const span = words.slice(start, end);
      const spanned = terms.slice(start, end);
      const joined = span.join("");
      for (const each of new Set([joined, oneWord(span)])) matchWord(index, each, spanned);
      if (joined.length >= joinedPrefixLetters && !isNumber(joined))
        matchPrefix(index, Buffer.from(joined), spanned);
    }
  // A sentence has words that no hospital has. They are tried first, because most searches for sentences end here.
  for (const term of terms.toSorted((a, b) => documentsWith(index, a) - documentsWith(index, b))) {
    matchPhrases(index, term.word, [], term);
    if (documentsWith(index, term) === 0) return hows;
  }
  let found = facilitiesWith(index, terms);
  for (const facility of found) hows[facility] = begun;
  for (const term of terms) found = found.filter(matcher(index, asWhole(term)));
  for (const facility of found) hows[facility] = whole;
  return hows;
}

/** A word with its matches, without documents that write it apart. */
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
