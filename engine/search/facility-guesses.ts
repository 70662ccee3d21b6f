import { type Image, textAt } from "../image/image.ts";
import { cityField, cityPartField, nameField } from "./documents.ts";
import { findNames } from "./facility-names.ts";
import { facilityScorer } from "./facility-scores.ts";
import { enterUnofficialName, findByWords, isThere, rankOfLevel } from "./facility-words.ts";
import { inOrder } from "./find.ts";
import { Found, ranks } from "./found.ts";
import { doubtful, phrasesOf } from "./lexicon.ts";
import {
  documentsWith,
  exact,
  facilitiesWith,
  fieldsOf,
  levelMask,
  matching,
  matchSound,
  matchTypos,
  type Term,
  termsOf,
} from "./matching.ts";
import { namesOf } from "./names.ts";
import { mostPlaceWords, placesNamed, regionNamed } from "./places.ts";
import { isMedical, isOfProcedures, medicalIn } from "./procedure-terms.ts";
import { saintsInEnglish } from "./reading.ts";
import { meaningOf, saysSomething } from "./text.ts";
import { findWord, isInFields, type SearchIndex } from "./text-index.ts";
import { allowedTypos } from "./typos.ts";

/**
 * Finds facilities by guesses: by initials or other spellings, and with words set aside. Most guesses are tried only
 * if nothing else finds a facility. Of the hospitals that match, only the wanted ones count.
 */

const forHospitals = phrasesOf("any");
const doctors = phrasesOf("doctor");

interface FacilitySearch {
  image: Image;
  index: SearchIndex;
  words: readonly string[];
  terms: readonly Term[];
  found: Found;
}

/** Tries one guess after another until one finds a facility. */
export function findOtherwise(search: FacilitySearch): void {
  const { index, words, terms } = search;
  // A medical word can't be set aside. If no hospital has it, no guess helps.
  const isKept = medicalIn(words);
  if (terms.some((term) => term.isNeeded && isKept(term.word) && documentsWith(index, term) === 0)) return;
  const ways = [byInitials, bySound, besideAside, bySaint, besideUnknown, byMoreTypos, besideRegion];
  for (const way of ways) {
    way(search);
    if (!search.found.isEmpty) return;
  }
}

/**
 * Reads a word as the initials of a hospital's name. There have to be other needed words, which all match the hospital's
 * place, and only one hospital may match.
 */
function byInitials({ image, index, terms, found }: FacilitySearch): void {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const { initials } = namesOf(image);
  for (const term of needed) {
    const others = needed.filter((other) => other !== term);
    const alike = initials.get(term.word);
    if (alike === undefined || others.length === 0) continue;
    const named = others.reduce((left, other) => matching(index, other, left), alike).filter(found.isWanted);
    const [facility] = named;
    if (named.length !== 1 || !others.every((other) => isThere(index, other, facility))) continue;
    found.enter(facility, ranks.significantWords, 1);
    return;
  }
}

/** Reads one of several words as words that sound alike, if the others match and all hospitals found are in one city. */
function bySound({ image, index, terms, found }: FacilitySearch): void {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  for (const term of needed) {
    if (needed.length < 2 || isOfProcedures(term.word) || doubtful.has(term.word)) continue;
    // A word that is a city's name isn't misspelt.
    if (isInFields(index, findWord(index, meaningOf(term.word)), 1 << cityField)) continue;
    const heard: Term = { ...term, matches: [...term.matches] };
    matchSound(index, heard, term.word);
    if (heard.matches.length === term.matches.length) continue;
    const read = needed.map((other) => (other === term ? heard : other));
    const there = facilitiesWith(index, read).filter(found.isWanted);
    if (new Set(there.map((facility) => cityOf(image, facility))).size !== 1) continue;
    for (const facility of there) found.enter(facility, ranks.guess, 1);
    return;
  }
}

const cityOf = (image: Image, facility: number) =>
  `${textAt(image.city, facility)}, ${textAt(image.state, facility)}`;

/**
 * Whether a word of the query, as typed, is a significant word of the facility's name, is its CCN, or belongs to its
 * unofficial name.
 */
const isNamed = (index: SearchIndex, terms: readonly Term[], facility: number) =>
  terms.some((term) => {
    const typed = { ...term, matches: term.matches.filter((match) => (match & levelMask) === exact) };
    return term.code === facility || (fieldsOf(index, typed, facility) & (1 << nameField)) !== 0;
  });

const departments = Map.groupBy(
  Array.from([...phrasesOf("department"), ...doctors], (phrase) => phrase.split(" ").map(meaningOf)),
  ([first]) => first,
);

/**
 * The meanings of words that may be set aside unless they are medical: words for departments or doctors, and words of
 * procedures that no name or city has.
 */
function asideIn(index: SearchIndex, words: readonly string[]): ReadonlySet<string> {
  const inNames = (1 << nameField) | (1 << cityField) | (1 << cityPartField);
  const isInNames = (word: string) => isInFields(index, findWord(index, meaningOf(word)), inNames);
  const meant = words.map(meaningOf);
  const departmentsAt = (first: string, at: number) =>
    departments.get(first)?.filter((phrase) => phrase.every((word, i) => meant[at + i] === word)) ?? [];
  return new Set([
    ...meant.flatMap(departmentsAt).flat(),
    ...meant.filter((_, at) => isOfProcedures(words[at]) && !isInNames(words[at])),
  ]);
}

/**
 * Sets aside words for departments, doctors and procedures. Then a word that names a hospital has to be left, or a place if
 * the search has a word for hospitals or doctors. If words of procedures are set aside, and no such place is left, only
 * one hospital may match, or the best match has to be found by its CCN or an unofficial name.
 */
function besideAside({ image, index, words, found }: FacilitySearch): void {
  const aside = asideIn(index, words);
  if (aside.size === 0) return;
  const isKept = medicalIn(words);
  const isAside = (word: string) => aside.has(meaningOf(word)) && !isKept(word);
  const terms = termsOf(image, index, words, (word) => saysSomething(word) && !isAside(word));
  enterUnofficialName(image, terms);
  const there = facilitiesWith(index, terms).filter(found.isWanted);
  if (there.length === 0) return;
  const scoreOf = facilityScorer(index, terms);
  const scores = new Map(there.map((facility) => [facility, scoreOf(facility)]));
  const first = there.reduce((a, b) => ((scores.get(b)?.score ?? 0) > (scores.get(a)?.score ?? 0) ? b : a));
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const ignored = words.filter((word) => saysSomething(word) && isAside(word));
  const isAsked = words.some((word) => forHospitals.has(word) || doctors.has(word));
  const isOfPlace =
    isAsked && there.some((facility) => needed.every((term) => isThere(index, term, facility)));
  const isTelling = there.length === 1 || needed.some(({ code }) => code === first);
  const isOfName = isNamed(index, needed, first) && (isTelling || !ignored.some(isOfProcedures));
  if (ignored.length > 0 && !isOfPlace && !isOfName) return;
  for (const [facility, { worst, score }] of scores) found.enter(facility, rankOfLevel(worst), score);
  found.ignored = ignored;
}

/**
 * Reads the Spanish names of saints in English. The English names may be cities, so a match by the beginning of a word,
 * or with a typo, is a guess.
 */
function bySaint({ image, index, words, found }: FacilitySearch): void {
  const english = saintsInEnglish(words);
  if (english === undefined) return;
  const terms = termsOf(image, index, english, saysSomething);
  const named = new Found(found.isWanted);
  findNames(image, english, english, named);
  findByWords(image, index, terms, facilityScorer(index, terms), named);
  for (const [facility, { rank, score }] of named.ranked)
    found.enter(facility, rank < ranks.significantBegun ? rank : ranks.guess, score);
}

/**
 * Returns a function that tells whether a word of a query may be set aside. Medical words, words with digits, and
 * places may not be set aside.
 */
function spareIn(image: Image, words: readonly string[]): (term: Term) => boolean {
  const isKept = medicalIn(words);
  return ({ word }) => !/[0-9]/.test(word) && !isKept(word) && placesNamed(image, [word]).length === 0;
}

/**
 * Sets aside as few words as possible, so that a whole name is left, alone or with its place. The words set aside are
 * all needed words that no hospital has, and at most two others. If other readings have found facilities, those of the name
 * come last.
 */
export function besideName({ image, index, words, terms, found }: FacilitySearch): void {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const [unknown, known] = [true, false].map((isUnknown) =>
    needed.filter((term) => (documentsWith(index, term) === 0) === isUnknown),
  );
  const isSpare = spareIn(image, words);
  if (!unknown.every(isSpare)) return;
  // A search for doctors in a place asks for the place's hospitals (`besideAside`), not for a hospital named after the
  // place.
  const others = words.filter((word) => saysSomething(word) && !doctors.has(word));
  if (needed.length > others.length && placesNamed(image, others).length > 0) return;
  const spare = known.filter(isSpare);
  for (const some of fewestFirst(spare)) {
    const ignored = [...unknown, ...some].map(({ word }) => word);
    // Two words, such as los angeles, may be a place together.
    if (some.length > 1 && placesNamed(image, ignored.slice(unknown.length)).length > 0) continue;
    const rest = words.filter((word) => !ignored.includes(word));
    const start = words.indexOf(rest.find(saysSomething) ?? "");
    if (ignored.length === 0 || start < 0) continue;
    // The Foo of "Foo University Hospital" is part of another name, unless another word matches the hospital's place.
    const isPart = start > 0 && ignored.includes(words[start - 1]);
    const left = needed.filter(({ word }) => rest.includes(word));
    const named = new Found(
      (facility) =>
        found.isWanted(facility) && (!isPart || left.some((term) => isThere(index, term, facility))),
    );
    findNames(image, rest, rest, named);
    if (named.isEmpty) continue;
    const isFirst = found.isEmpty;
    const { documents } = inOrder(index, named.ranked);
    const share = rest.length / words.length;
    for (const [i, facility] of documents.entries())
      found.enter(
        facility,
        isFirst ? ranks.significantWords : ranks.rest,
        share * (1 - (0.1 * i) / documents.length),
      );
    if (isFirst) found.ignored = ignored;
    return;
  }
}

/** Sets aside needed words that no hospital has, if the others match the name and the place of only one hospital. */
function besideUnknown({ image, index, words, terms, found }: FacilitySearch): void {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const unknown = needed.filter((term) => documentsWith(index, term) === 0);
  const left = needed.filter((term) => !unknown.includes(term));
  if (unknown.length === 0 || left.length < 2 || !unknown.every(spareIn(image, words))) return;
  const there = facilitiesWith(index, left).filter(found.isWanted);
  const [facility] = there;
  if (there.length !== 1 || !left.some((term) => isThere(index, term, facility))) return;
  if (!left.some((term) => (fieldsOf(index, term, facility) & (1 << nameField)) !== 0)) return;
  found.enter(facility, ranks.significantWords, left.length / needed.length);
  found.ignored = unknown.map(({ word }) => word);
}

/** Maximum number of terms from which pairs are chosen. If there are more terms, at most one is set aside. */
const mostInPairs = 8;

/** Returns the choices of terms to set aside, the smallest first: none, each term, and each pair if there are few terms. */
function fewestFirst(terms: readonly Term[]): (readonly Term[])[] {
  const others = terms.length > mostInPairs ? [] : terms;
  const pairs = others.flatMap((term, i) => others.slice(i + 1).map((other) => [term, other]));
  return [[], ...terms.map((term) => [term]), ...pairs];
}

/**
 * Allows one more typo in the only word that matches nothing, if another word matches the hospital's place. A hospital is
 * found only if no other hospital matches in this way.
 */
function byMoreTypos({ index, terms, found }: FacilitySearch): void {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const unknown = needed.filter((term) => documentsWith(index, term) === 0);
  const [term] = unknown;
  if (unknown.length !== 1 || needed.length < 2 || isMedical(term.word)) return;
  const guess: Term = { ...term, matches: [] };
  matchTypos(index, guess, term.word, allowedTypos([...term.word].length) + 1);
  const read = needed.map((other) => (other === term ? guess : other));
  const there = facilitiesWith(index, read).filter(found.isWanted);
  if (there.length !== 1) return;
  if (needed.some((other) => other !== term && isThere(index, other, there[0])))
    found.enter(there[0], ranks.rest, 1);
}

/** Sets aside a region's name, if the other words name only one hospital. The hospital may be outside the region. */
function besideRegion({ image, index, words, found }: FacilitySearch): void {
  const isKept = medicalIn(words);
  for (let length = Math.min(mostPlaceWords, words.length - 1); length > 0; length--)
    for (let start = 0; start + length <= words.length; start++) {
      const region = words.slice(start, start + length);
      if (regionNamed(image, region) === undefined || region.some(isKept)) continue;
      const others = [...words.slice(0, start), ...words.slice(start + length)];
      const terms = termsOf(image, index, others, saysSomething);
      // Medical words alone don't name a hospital, as in "imaging in" a county or "bone at South Shore Hospital".
      if (terms.every(({ isNeeded, word }) => !isNeeded || isKept(word))) return;
      const there = facilitiesWith(index, terms).filter(found.isWanted);
      if (there.length !== 1 || !isNamed(index, terms, there[0])) return;
      found.enter(there[0], ranks.significantWords, 1);
      found.ignored = region;
      return;
    }
}
