import { type Image, textAt } from "../image/image.ts";
import { type Found, ranks } from "./found.ts";
import { beforePlace, fillers, kinds, questions } from "./lexicon.ts";
import { facilityWithCode } from "./matching.ts";
import { isSpeltSo, namesOf } from "./names.ts";
import { isBeforePlace, mostPlaceWords, type Place, placesNamed } from "./places.ts";
import { meaningOf, oneWord, saysSomething } from "./text.ts";
import type { SearchIndex } from "./text-index.ts";

/** Finds facilities by a CCN or a whole name. */

/** Finds the facility of a CCN if all other words say nothing. `findByWords` finds it if the other words match it, too. */
export function findCodes(image: Image, index: SearchIndex, words: readonly string[], found: Found): void {
  const significant = words.filter(saysSomething);
  for (const word of significant.length === 1 ? significant : []) {
    const facility = facilityWithCode(image, index, word);
    if (facility >= 0) found.enter(facility, ranks.code, 1);
  }
}

/**
 * Finds whole names, alone or before or after their place.
 *
 * @param typed the words as they are typed
 */
export function findNames(
  image: Image,
  words: readonly string[],
  typed: readonly string[],
  found: Found,
): void {
  const { exact, whole, unofficial, significant } = namesOf(image);
  for (const facility of exact.get(oneWord(words)) ?? [])
    found.enter(facility, isSpeltSo(image, facility, typed) ? ranks.speltName : ranks.wholeName, 1);
  // Names that differ only in small words count as equal.
  for (const facility of whole.get(oneWord(words)) ?? []) found.enter(facility, ranks.wholeName, 0.5);
  // "IN Seymour hospital" may mean a hospital in Indiana, not the Seymour Hospital.
  const isInPlace = isBeforePlace(image, words, 0);
  const withoutFillers = words.filter((word) => !fillers.has(word));
  const plain = withoutFillers.filter((word) => !questions.has(word));
  // Each query leaves out words of the previous query. Equal queries are dropped.
  const queries = [words, withoutFillers, plain].filter(
    (query, i, all) => query.length !== all[i - 1]?.length,
  );
  let longest: Longest | undefined;
  for (const query of queries) {
    // Once a name is found, a name of fewer words isn't meant.
    if (query !== plain && !isInPlace && longest === undefined) {
      longest = longestName(image, query);
      for (const facility of longest?.facilities ?? [])
        found.enter(facility, ranks.wholeName, isSpeltSo(image, facility, longest?.span ?? []) ? 1 : 0.5);
    }
    const meant = query.map(meaningOf);
    const isOwn = (word: string) => !kinds.has(word);
    const all = meant.join("");
    const own = meant.filter(isOwn).join("");
    const byUnofficial = unofficial.get(own) ?? none;
    const isPlace = () =>
      isPlaceInstead(
        image,
        words,
        query.filter((_, i) => isOwn(meant[i])),
      );
    if (byUnofficial.length > 0 && !isPlace())
      for (const facility of byUnofficial) found.enter(facility, ranks.nameInPlace, 0.5);
    // The positions in `all` and in `own` at which the words before `at` end.
    let [end, ownEnd] = [0, 0];
    for (let at = 1; at < query.length; at++) {
      const { length } = meant[at - 1];
      end += length;
      if (isOwn(meant[at - 1])) ownEnd += length;
      for (const isNameFirst of [true, false]) {
        if ((isNameFirst ? query.length - at : at) > mostPlaceWords) continue;
        const key = isNameFirst ? all.slice(0, end) : all.slice(end);
        const byWhole = whole.get(key) ?? none;
        const byPlain = significant.get(isNameFirst ? own.slice(0, ownEnd) : own.slice(ownEnd)) ?? none;
        if (byWhole.length + byPlain.length === 0) continue;
        const there = placesNamed(image, isNameFirst ? query.slice(at) : query.slice(0, at));
        for (const facility of there.length === 0 ? [] : [...byWhole, ...byPlain]) {
          const where = there.find((each) => isIn(image, facility, each));
          if (where === undefined) continue;
          const isTyped = query === words && exact.get(key)?.includes(facility) === true;
          if (byWhole.includes(facility)) found.enter(facility, ranks.nameInPlace, isTyped ? 1 : 0.6);
          // Without words such as hospital, a name in a state may also be a city there.
          else found.enter(facility, where.kind === "state" ? ranks.allWords : ranks.plainNameInPlace, 0.2);
        }
      }
    }
  }
}

const none: readonly number[] = [];

interface Longest {
  facilities: readonly number[];
  span: readonly string[];
}

/**
 * Returns the longest whole name within words, with its hospitals, if all other words say nothing; undefined if there is
 * none. `facilities` is empty if the words mean a place of that name. A region is always meant. Another place, such as
 * Sanford, is meant beside a word such as "in" or a word for a hospital. Beside a word for a hospital, the name must have
 * its small words: "general hospital" isn't The General.
 */
function longestName(image: Image, words: readonly string[]): Longest | undefined {
  const { exact, whole } = namesOf(image);
  const meant = words.map(meaningOf);
  const isKind = (word: string) => kinds.has(meaningOf(word));
  // A name such as Medical Center Hospital has only words for a hospital.
  const isOfName = words.some(saysSomething) ? saysSomething : isKind;
  const [first, last] = [words.findIndex(isOfName), words.findLastIndex(isOfName)];
  for (let length = words.length; first >= 0 && length > last - first; length--)
    for (let start = Math.max(0, last + 1 - length); start <= first; start++) {
      if (start + length > words.length) break;
      const end = start + length;
      const beside = words.toSpliced(start, length);
      const isBesideKind = beside.some(isKind);
      const named = (isBesideKind ? exact : whole).get(meant.slice(start, end).join(""));
      if (named === undefined) continue;
      const span = words.slice(start, end);
      const isPlaceMeant = isBesideKind || beside.some((word) => beforePlace.has(word));
      const isPlace = placesNamed(image, span).some(
        ({ kind, facilities }) => kind === "region" || (isPlaceMeant && facilities.length > 0),
      );
      return { facilities: isPlace ? none : named, span };
    }
  return undefined;
}

/**
 * Whether the words of a name mean a place of that name. They do after a word such as "in". They also do if the name
 * isn't whole and all other words are small words or words of a question. Neither "New England" alone nor "hospitals in
 * New England" means the New England Medical Center.
 */
export function isPlaceInstead(image: Image, words: readonly string[], span: readonly string[]): boolean {
  const others = words.filter((word) => !span.includes(word));
  const isAlone =
    others.every((word) => fillers.has(word) || questions.has(word)) &&
    !namesOf(image).exact.has(oneWord(span));
  const isAfter = words.slice(0, words.indexOf(span[0])).some((word) => beforePlace.has(word));
  return (isAlone || isAfter) && placesNamed(image, span).length > 0;
}

const isIn = (image: Image, facility: number, { kind, name, facilities }: Place) =>
  kind === "zip" ? textAt(image.zip, facility) === name : facilities.includes(facility);
