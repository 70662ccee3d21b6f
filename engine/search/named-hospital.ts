import { findFacility } from "../answers/facilities.ts";
import type { Image } from "../image/image.ts";
import { cityField, fieldMask, fillerField, nameField, stateField } from "./fields.ts";
import { levelBits, levelMask, prefix, type Term } from "./matching.ts";
import { otherNameIn } from "./other-names.ts";
import { meaningOf } from "./text.ts";
import { documentsOf, findWord, hasToken, type SearchIndex, wordSize } from "./text-index.ts";
import { weakWords } from "./vocabulary.ts";

/**
 * Finds the longest unofficial name of a hospital in the query. Its words get the hospital's code. If another hospital
 * has the same name, the query has to name the city or the state as well.
 */
export function enterOtherName(image: Image, index: SearchIndex, terms: readonly Term[]): void {
  const found = otherNameIn(terms.map(({ word }) => word));
  const facility = found === undefined ? -1 : findFacility(image, found.ccn);
  if (found === undefined || facility < 0) return;
  const named = found.positions.map((at) => terms[at]);
  if (isNameOfOther(index, named, facility) && !terms.some((term) => isPlaceOf(index, term, facility)))
    return;
  const isNeeded = !terms.some((term) => term.isNeeded);
  for (const term of named) {
    term.code = facility;
    term.isNeeded ||= isNeeded;
  }
}

/** Whether another facility is named so: it has all words, and no other significant words, in its name. */
function isNameOfOther(index: SearchIndex, terms: readonly Term[], facility: number): boolean {
  const words = terms.map(({ word }) => findWord(index, meaningOf(word)));
  if (words.includes(-1)) return false;
  const fieldOf = ({ word }: Term) => (weakWords.has(meaningOf(word)) ? fillerField : nameField);
  const size = terms.reduce((sum, term) => sum + (fieldOf(term) === fillerField ? 1 : wordSize), 0);
  return documentsOf(index, words[0]).some(
    (document) =>
      document !== facility &&
      index.nameSizes[document] === size &&
      words.every((word, i) => hasToken(index, document, word, fieldOf(terms[i]))),
  );
}

/** Whether a facility is in the city or state that a term names. */
function isPlaceOf(index: SearchIndex, { matches, phrases }: Term, facility: number): boolean {
  const isThere = (match: number) =>
    (match & levelMask) >= prefix &&
    [cityField, stateField].some((field) => hasToken(index, facility, match >>> levelBits, field));
  return (
    matches.some(isThere) ||
    (((phrases.get(facility) ?? 0) & fieldMask) === cityField && phrases.has(facility))
  );
}
