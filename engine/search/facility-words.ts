import type { Image } from "../image/image.ts";
import { cityField, cityPartField, stateField } from "./documents.ts";
import { isPlaceInstead } from "./facility-names.ts";
import type { Score } from "./facility-scores.ts";
import { type Found, type Rank, ranks } from "./found.ts";
import { begun, literalMatches, whole } from "./literal.ts";
import { exact, facilitiesWith, fieldsOf, oneTypo, prefix, type Term } from "./matching.ts";
import { unofficialNameIn } from "./names.ts";
import { isBeforePlace } from "./places.ts";
import type { SearchIndex } from "./text-index.ts";

/** Finds facilities by the words of their names and places. */

/** Finds the facilities that have all words, literally. Returns how each facility has them; see `LiteralMatches`. */
export function findLiterally(
  image: Image,
  index: SearchIndex,
  typed: readonly string[],
  scoreOf: Score,
  found: Found,
): Uint8Array {
  // Before a place, "in" isn't Indiana.
  const words = typed.filter((_, i) => !isBeforePlace(image, typed, i));
  const { facilities, hows } = literalMatches(image, index, words);
  for (const facility of facilities)
    found.enter(
      facility,
      hows[facility] === begun ? ranks.allBegun : ranks.allWords,
      scoreOf(facility).score,
    );
  return hows;
}

/**
 * Finds the facilities that match every word that says something.
 *
 * @param hows see `findLiterally`
 */
export function findByWords(
  image: Image,
  index: SearchIndex,
  terms: readonly Term[],
  scoreOf: Score,
  found: Found,
  hows?: Uint8Array,
): void {
  enterUnofficialName(image, terms);
  for (const facility of facilitiesWith(index, terms)) {
    const isCoded = terms.some(({ code }) => code === facility);
    // The facility is already found at a better rank.
    if (hows?.[facility] === whole && !isCoded) continue;
    const { worst, score } = scoreOf(facility);
    if (!isCoded || worst !== exact) {
      found.enter(facility, rankOfLevel(worst), score);
      continue;
    }
    const isOfPlace = (term: Term) =>
      !term.isNeeded || term.code === facility || isThere(index, term, facility);
    found.enter(facility, terms.every(isOfPlace) ? ranks.nameInPlace : ranks.plainNameInPlace, score);
  }
}

const placeFields = (1 << cityField) | (1 << cityPartField) | (1 << stateField);

export const isThere = (index: SearchIndex, term: Term, facility: number) =>
  (fieldsOf(index, term, facility) & placeFields) !== 0;

const ranksOfLevels: Readonly<Record<number, Rank>> = {
  [exact]: ranks.significantWords,
  [prefix]: ranks.significantBegun,
  [oneTypo]: ranks.oneTypo,
};

/** @param level the level of the word that matches worst */
export const rankOfLevel = (level: number): Rank => ranksOfLevels[level] ?? ranks.guess;

/**
 * If the words have an unofficial name that doesn't rather mean a place, sets its first hospital as `code` of the name's
 * terms. The caller has to match the other words.
 */
export function enterUnofficialName(image: Image, terms: readonly Term[]): void {
  const words = terms.map(({ word }) => word);
  const named = unofficialNameIn(image, words);
  if (named === undefined) return;
  const { facilities, positions } = named;
  const span = positions.map((at) => words[at]);
  if (isPlaceInstead(image, words, span)) return;
  for (const at of positions) terms[at].code = facilities[0];
}
