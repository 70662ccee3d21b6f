import type { Image } from "../image/image.ts";
import { withPrefix } from "../sorted.ts";
import {
  facilityWithCode,
  isNumber,
  joinedPrefixLetters,
  matchPhrases,
  mayBegin,
  mostParts,
} from "./matching.ts";
import { meaningOf, oneWord } from "./text.ts";
import { documentsOf, findWord, type SearchIndex } from "./text-index.ts";

/** How a facility has the words of a query: not all of them, as beginnings of words, or as whole words. */
export const [notAll, begun, whole] = [0, 1, 2];

/**
 * Returns for each facility whether it literally has every word of a query: in its name, city or state, as its ZIP code or
 * as its CCN. Nothing else of a search may lose one that has. O(facilities · words).
 *
 * @param words see `plainWords`
 */
export function literalMatches(image: Image, index: SearchIndex, words: readonly string[]): Uint8Array {
  const facilities = index.byName.length;
  const hows = words.map((word) => howEachHas(image, index, word));
  // Words typed apart may be one word of a name.
  for (let start = 0; start < words.length; start++)
    for (let end = start + 2; end <= Math.min(words.length, start + mostParts); end++) {
      const span = words.slice(start, end);
      const enter = (word: number, how: number) => {
        for (const facility of documentsOf(index, word))
          for (let i = start; i < end; i++) hows[i][facility] = Math.max(hows[i][facility], how);
      };
      for (const joined of new Set([span.join(""), oneWord(span)])) enterWord(index, joined, enter);
      const joined = span.join("");
      if (joined.length >= joinedPrefixLetters && !isNumber(joined)) enterBeginning(index, joined, enter);
    }
  const all = new Uint8Array(facilities).fill(words.length === 0 ? notAll : whole);
  for (const how of hows)
    for (let facility = 0; facility < facilities; facility++)
      if (how[facility] < all[facility]) all[facility] = how[facility];
  return all;
}

function howEachHas(image: Image, index: SearchIndex, word: string): Uint8Array {
  const how = new Uint8Array(index.byName.length);
  const enter = (found: number, as: number) => {
    for (const facility of documentsOf(index, found)) if (how[facility] < as) how[facility] = as;
  };
  enterWord(index, word, enter);
  const meant = meaningOf(word);
  if (meant !== word) enterWord(index, meant, enter);
  if (mayBegin(word)) for (const beginning of new Set([word, meant])) enterBeginning(index, beginning, enter);
  const phrases = new Map<number, number>();
  matchPhrases(index, word, [], { phrases });
  for (const facility of phrases.keys()) how[facility] = whole;
  const coded = facilityWithCode(image, index, word);
  if (coded >= 0) how[coded] = whole;
  return how;
}

type Enter = (word: number, how: number) => void;

function enterWord(index: SearchIndex, word: string, enter: Enter): void {
  const found = findWord(index, word);
  if (found >= 0) enter(found, whole);
}

function enterBeginning(index: SearchIndex, beginning: string, enter: Enter): void {
  const { start, end } = withPrefix(index.words, Buffer.from(beginning));
  for (let found = start; found < end; found++) enter(found, begun);
}
