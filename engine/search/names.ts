import { findFacility } from "../answers/facilities.ts";
import { type Image, textAt } from "../image/image.ts";
import { atOnce, itemsPerStep, type Steps } from "../steps.ts";
import { isCountyWord } from "./counties.ts";
import { entriesOf, fillers, kinds } from "./lexicon.ts";
import { initialsOf, meaningOf, oneWord, plainWords, splitWords } from "./text.ts";

/** Finds hospitals by whole names: official names, and the unofficial names of the lexicon. */

export interface Names {
  /** A whole name as one word → the hospitals. */
  exact: ReadonlyMap<string, readonly number[]>;
  /** A whole name as one word, with and without small words → the hospitals. */
  whole: ReadonlyMap<string, readonly number[]>;
  /**
   * An unofficial name without small words, perhaps also without words such as hospital, as one word → the hospitals.
   */
  unofficial: ReadonlyMap<string, readonly number[]>;
  /** A name without small words and words such as hospital, as one word → the hospitals. */
  significant: ReadonlyMap<string, readonly number[]>;
  /** The initials of an official name → the hospitals. */
  initials: ReadonlyMap<string, readonly number[]>;
  mostWords: number;
}

/** Maximum letters of initials. People don't use longer initials as a word. */
const mostInitials = 6;

const namesByImage = new WeakMap<Image, Names>();

/** Returns the names that `prepareSearch` has made, or makes them when they are first needed. */
export const namesOf = (image: Image): Names => namesByImage.get(image) ?? atOnce(makeNames(image));

/** Makes the names of an image's hospitals, and keeps them for `namesOf`. */
export function* makeNames(image: Image): Steps<Names> {
  const exact = new Map<string, number[]>();
  const whole = new Map<string, number[]>();
  const unofficial = new Map<string, number[]>();
  const significant = new Map<string, number[]>();
  const initials = new Map<string, number[]>();
  const enter = (names: Map<string, number[]>, words: readonly string[], facility: number) =>
    enterKey(names, oneWord(words), facility);
  const enterKey = (names: Map<string, number[]>, key: string, facility: number) => {
    const same = names.get(key);
    if (same === undefined) names.set(key, [facility]);
    else if (same.at(-1) !== facility) same.push(facility);
  };
  let mostWords = 0;
  const enterName = (words: readonly string[], facility: number) => {
    enter(exact, words, facility);
    enter(whole, words, facility);
    const others = withoutFillers(words);
    if (others.length > 0 && others.length < words.length) enter(whole, others, facility);
    const telling = others.filter((word) => !kinds.has(meaningOf(word)));
    if (telling.length > 0) enter(significant, telling, facility);
    return others;
  };
  for (let facility = 0; facility < image.stateOf.length; facility++) {
    if (facility % itemsPerStep === 0) yield;
    const words = splitWords(textAt(image.facilityName, facility));
    enterName(words, facility);
    for (const letters of initialsOf(words))
      if (letters.length <= mostInitials) enterKey(initials, letters, facility);
  }
  for (const [i, { what, phrases }] of entriesOf("hospital").entries()) {
    if (i % itemsPerStep === 0) yield;
    const facility = findFacility(image, what);
    if (facility < 0) continue;
    for (const words of phrases.map(splitWords)) {
      const plain = enterName(words, facility);
      enter(unofficial, plain, facility);
      const others = plain.filter((word) => !kinds.has(meaningOf(word)));
      // The name of a county alone doesn't mean its hospital.
      if (others.length > 1 && !isCountyWord(others[others.length - 1])) enter(unofficial, others, facility);
      mostWords = Math.max(mostWords, words.length);
    }
  }
  const names = { exact, whole, unofficial, significant, initials, mostWords };
  namesByImage.set(image, names);
  return names;
}

const withoutFillers = (words: readonly string[]) => words.filter((word) => !fillers.has(word));

const unofficialNames: ReadonlyMap<string, readonly string[]> = new Map(
  entriesOf("hospital").map(({ what, phrases }) => [what, phrases.map((name) => plainWords(name).join(" "))]),
);

/** Whether a hospital has a name that is spelt as asked. @param typed the words of the query; see `plainWords` */
export function isSpeltSo(image: Image, facility: number, typed: readonly string[]): boolean {
  const asked = typed.join(" ");
  return (
    plainWords(textAt(image.facilityName, facility)).join(" ") === asked ||
    unofficialNames.get(textAt(image.ccn, facility))?.includes(asked) === true
  );
}

/** Finds the longest unofficial name within words, and the positions of its words; undefined if there is none. */
export function unofficialNameIn(
  image: Image,
  words: readonly string[],
): { facilities: readonly number[]; positions: readonly number[] } | undefined {
  const { unofficial, mostWords } = namesOf(image);
  const meant = words.map(meaningOf);
  const all = [...words.keys()].filter((i) => !fillers.has(words[i]));
  const joined = all.map((i) => meant[i]).join("");
  const ends = [0];
  for (const [at, i] of all.entries()) ends.push(ends[at] + meant[i].length);
  for (let length = Math.min(mostWords, all.length); length > 0; length--)
    for (let start = 0; start + length <= all.length; start++) {
      const facilities = unofficial.get(joined.slice(ends[start], ends[start + length]));
      if (facilities !== undefined) return { facilities, positions: all.slice(start, start + length) };
    }
  return undefined;
}
