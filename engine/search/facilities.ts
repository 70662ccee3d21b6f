import { listFacilities, orderFacilities } from "../answers/facility-list.ts";
import { type Image, textAt } from "../image/image.ts";
import { defaultMiles, isZip, type Point } from "../image/places.ts";
import { absentHospitals } from "./absent-hospitals.ts";
import { cityField, cityPartField, nameField, stateField } from "./documents.ts";
import { type FacilityScore, facilityScorer } from "./facility-scores.ts";
import { guessedScoreOf, inOrder, type Matches, type Ranked, sureScoreOf, type Wanted } from "./find.ts";
import { doubtful, fillers, kinds, phrasesOf, questions } from "./lexicon.ts";
import { begun, literalMatches, notAll, whole } from "./literal.ts";
import {
  documentsWith,
  exact,
  facilitiesWith,
  facilityWithCode,
  fieldsOf,
  levelMask,
  matchSound,
  matchTypos,
  oneTypo,
  prefix,
  type Term,
  termsOf,
} from "./matching.ts";
import { isSpeltSo, namesOf, unofficialNameIn } from "./names.ts";
import {
  centerOf,
  citiesNamed,
  facilitiesInCity,
  mostPlaceWords,
  type Place,
  placesNamed,
  stateOf,
} from "./places.ts";
import { isMedical, isOfProcedures, termsIn } from "./procedure-terms.ts";
import { type Absent, bodyParts, procedureMeaning } from "./procedure-words.ts";
import { type Asked, saintsInEnglish } from "./reading.ts";
import { initialsOf, meaningOf, oneWord, splitWords } from "./text.ts";
import { findWord, indexOf, isInFields, type SearchIndex } from "./text-index.ts";
import { allowedTypos } from "./typos.ts";

/*
 * The answer to a search for facilities is a union: all that have every word literally (`literal.ts`), and all that the
 * readings below find. Each way of finding a facility has a rank, and the best one counts. So a reading may add facilities
 * and move them up, and it can't lose any.
 */

/** The ranks, from the first. A name or place is whole if the search says nothing else. */
const ranks = {
  code: 0,
  /** A whole name, official or unofficial, in the same spelling. */
  speltName: 1,
  wholeName: 2,
  wholeCity: 3,
  /** A whole name but for small words, or beside its place. */
  nameInPlace: 4,
  /** A place, with words for a hospital or of a question. */
  place: 5,
  /** Every word, as a whole word. */
  allWords: 6,
  /** Every word but those for a hospital or of a question. */
  significantWords: 7,
  allBegun: 8,
  significantBegun: 9,
  oneTypo: 10,
  /** Two typos, or a word that sounds alike. */
  guess: 11,
  /** Some words are set aside, or say only that a hospital is looked for. */
  rest: 12,
} as const;

type Rank = (typeof ranks)[keyof typeof ranks];

/** What is found so far. */
class Found {
  readonly ranked = new Map<number, Ranked>();
  /** Facilities that are meant surely, by a reading. */
  readonly meant = new Set<number>();
  /** Facilities of whose names all significant words are asked for. */
  readonly named = new Set<number>();
  /** Facilities that match and aren't wanted: they are in another state, or have no prices. */
  readonly unwanted = new Set<number>();
  ignored: readonly string[] = [];
  /** Whether the search names a city with a state that it isn't in. */
  isElsewhere = false;
  place: Matches["place"] = null;
  readonly isWanted: Wanted;

  constructor(isWanted: Wanted) {
    this.isWanted = isWanted;
  }

  /** @param score from 0 to 1, among facilities of the rank */
  enter(facility: number, rank: Rank, score: number, isMeant = false): void {
    if (!this.isWanted(facility)) {
      this.unwanted.add(facility);
      return;
    }
    const before = this.ranked.get(facility);
    if (before === undefined || rank < before.rank) this.ranked.set(facility, { rank, score });
    else if (rank === before.rank && score > before.score) before.score = score;
    if (isMeant) this.meant.add(facility);
  }

  enterScored(facility: number, rank: Rank, { score, isNamed }: FacilityScore): void {
    this.enter(facility, rank, score);
    if (isNamed) this.named.add(facility);
  }

  get isEmpty(): boolean {
    return this.ranked.size === 0;
  }
}

export interface FacilityMatches extends Matches {
  /** Kinds of hospitals that are asked for and that this data can't have. */
  absent: readonly Absent[];
  /** The terms by which words were looked for. */
  terms: readonly Term[];
}

/** @param state the state in which the search is, null for the nation */
export function findFacilities(
  image: Image,
  asked: Asked,
  isWanted: Wanted,
  state: string | null,
): FacilityMatches {
  const index = indexOf(image, "facility");
  const found = new Found(isWanted);
  const { words } = asked;
  const terms = termsOf(image, index, words, saysSomething);
  const scoreOf = facilityScorer(index, terms);
  findCodes(image, index, words, found);
  findNames(image, words, found);
  const isAll = !words.some(saysSomething);
  found.isElsewhere = isInOtherState(image, words);
  findPlaces(image, asked, state, scoreOf, found);
  const literal = findLiterally(image, index, asked, scoreOf, found);
  findByWords(image, index, terms, scoreOf, found, literal);
  findNear(image, index, words, found);
  if (found.isEmpty && !isAll) findOtherwise(image, index, words, terms, found);
  const isHospital = (word: string) => forHospitals.has(word);
  if (isAll && !asked.isHere && words.some(isHospital) && (words.every(isHospital) || found.isEmpty))
    for (const facility of index.byName) found.enter(facility, ranks.rest, 0);
  const absent = absentHospitals(image, words, state);
  const procedures = absentProcedures(image, index, words, found);
  const matches = scored(index, asked, found, isAll, absent, procedures.length > 0);
  return { ...matches, absent: [...matches.absent, ...procedures], terms };
}

/** The procedures that this data can't have, by words that the first match doesn't have in its name and place. */
function absentProcedures(
  image: Image,
  index: SearchIndex,
  words: readonly string[],
  found: Found,
): readonly Absent[] {
  const [first] = inOrder(index, found.ranked).documents;
  if (first === undefined) return termsIn(words).named;
  const rank = found.ranked.get(first)?.rank ?? ranks.rest;
  if (found.ignored.length === 0 && (rank <= ranks.significantWords || found.meant.has(first))) return [];
  const texts = [image.facilityName, image.city];
  const own = new Set(texts.flatMap((text) => splitWords(textAt(text, first))).map(meaningOf));
  return termsIn(words.filter((word) => saysSomething(word) && !own.has(meaningOf(word)))).named;
}

const forHospitals = phrasesOf("any");
const saysNothing = (word: string) => fillers.has(word) || questions.has(word) || kinds.has(meaningOf(word));
const saysSomething = (word: string) => !saysNothing(word);

/** A CCN beside words that say nothing. With other words, `findByWords` compares these, too. */
function findCodes(image: Image, index: SearchIndex, words: readonly string[], found: Found): void {
  const significant = words.filter(saysSomething);
  for (const word of significant.length === 1 ? significant : []) {
    const facility = facilityWithCode(image, index, word);
    if (facility >= 0) found.enter(facility, ranks.code, 1, true);
  }
}

/** Whole names, and whole names before or after their place. */
function findNames(image: Image, words: readonly string[], found: Found): void {
  const { exact: exactNames, whole: wholeNames, unofficial, significant } = namesOf(image);
  const typed = words.join("");
  const named = (of: readonly string[]) => [...(wholeNames.get(oneWord(of)) ?? [])];
  for (const facility of exactNames.get(oneWord(words)) ?? [])
    found.enter(facility, isSpeltSo(image, facility, typed) ? ranks.speltName : ranks.wholeName, 1);
  const withoutKinds = (of: readonly string[]) => of.filter((word) => !kinds.has(meaningOf(word)));
  const isTyped = (of: readonly string[], facility: number) =>
    exactNames.get(oneWord(of))?.includes(facility) === true;
  const withoutFillers = words.filter((word) => !fillers.has(word));
  const plain = withoutFillers.filter((word) => !questions.has(word));
  // Each leaves words of the one before it out, or is the same.
  const queries = [words, withoutFillers, plain].filter(
    (query, i, all) => query.length !== all[i - 1]?.length,
  );
  for (const query of queries) {
    const own = withoutKinds(query);
    if (!isPlaceAfterIn(image, words, own))
      for (const facility of [...named(query), ...(unofficial.get(oneWord(own)) ?? [])])
        found.enter(facility, ranks.nameInPlace, 0.5);
    for (let at = 1; at < query.length; at++)
      for (const [name, place] of [
        [query.slice(0, at), query.slice(at)],
        [query.slice(at), query.slice(0, at)],
      ]) {
        if (place.length > mostPlaceWords) continue;
        const byWhole = named(name);
        const facilities = [...byWhole, ...(significant.get(oneWord(withoutKinds(name))) ?? [])];
        if (facilities.length === 0) continue;
        const there = placesNamed(image, place);
        for (const facility of there.length === 0 ? [] : facilities) {
          const where = there.find((each) => isIn(image, facility, each));
          if (where === undefined) continue;
          const isWhole = byWhole.includes(facility);
          const score = query === words && isTyped(name, facility) ? 1 : isWhole ? 0.6 : 0.2;
          // Without words such as hospital, a name in a state may also be a city there.
          const isName = isWhole || where.kind !== "state";
          found.enter(facility, isName ? ranks.nameInPlace : ranks.allWords, score);
        }
      }
  }
}

const inWords = phrasesOf("in");

/** Whether words stand after "in" and are a place: hospitals in New England aren't the New England Medical Center. */
function isPlaceAfterIn(image: Image, words: readonly string[], span: readonly string[]): boolean {
  const before = words[words.indexOf(span[0]) - 1] === "the" ? 2 : 1;
  return inWords.has(words[words.indexOf(span[0]) - before] ?? "") && placesNamed(image, span).length > 0;
}

const isIn = (image: Image, facility: number, { kind, name, facilities }: Place) =>
  kind === "zip" ? textAt(image.zip, facility) === name : facilities.includes(facility);

const beforeNear = phrasesOf("near");
const nearestWords = phrasesOf("nearest");
const beforePlace = phrasesOf("before-place");
const areaPhrases = Array.from(phrasesOf("area"), (phrase) => phrase.split(" "));

/** Leaves out phrases such as `city of`. */
function withoutArea(words: readonly string[]): readonly string[] {
  return words.filter(
    (_, at) =>
      !areaPhrases.some((phrase) =>
        phrase.some((_, i) => phrase.every((word, other) => words[at - i + other] === word)),
      ),
  );
}

/** The hospitals of a place, where a search says nothing else. */
function findPlaces(image: Image, asked: Asked, state: string | null, scoreOf: Score, found: Found): void {
  const { words } = asked;
  const others = withoutArea(words);
  const read =
    placeAlone(image, words) ?? (others.length < words.length ? placeAlone(image, others) : undefined);
  if (read === undefined) {
    const isAll = words.length > 0 && !words.some(saysSomething);
    if (isAll && state !== null && words.some((word) => kinds.has(meaningOf(word))))
      for (const facility of indexOf(image, "facility").byName) found.enter(facility, ranks.place, 0, true);
    return;
  }
  const { places, isWhole, isNear, span } = read;
  const isState = ({ kind, isNickname }: Place) => kind === "state" || isNickname === true;
  const isLater = ({ isNickname }: Place) => isNickname === true;
  const ordered = isWhole
    ? places.toSorted((a, b) => Number(isLater(a)) - Number(isLater(b)))
    : places.toSorted((a, b) => Number(isState(b)) - Number(isState(a)));
  for (const [i, place] of ordered.entries()) {
    const center =
      isNear || place.kind === "zip" || place.facilities.length === 0 ? centerOf(image, place) : undefined;
    if (center !== undefined) {
      findAround(image, center, place, found, place.kind !== "region");
      continue;
    }
    const wanted = place.facilities.filter(found.isWanted);
    const states = new Set(wanted.map((facility) => image.stateOf[facility]));
    const isOne = i === 0 && place.kind !== "region" && states.size === 1;
    const isMeant = isOne && absentHospitals(image, span, state).length === 0;
    const rank = isWhole && place.kind === "city" && !place.isNickname ? ranks.wholeCity : ranks.place;
    const inState = Map.groupBy(place.facilities, (facility) => image.stateOf[facility]);
    for (const facility of place.facilities) {
      // Of the cities of a name, the one with most hospitals comes first.
      const share = (inState.get(image.stateOf[facility])?.length ?? 0) / place.facilities.length;
      found.enter(facility, rank, (2 * share + scoreOf(facility).score) / (3 + 3 * i), isMeant);
    }
  }
}

interface PlaceAlone {
  places: readonly Place[];
  /** The words that name the place. */
  span: readonly string[];
  /** Whether only small words stand beside it. */
  isWhole: boolean;
  /** Whether a word such as near stands before it. */
  isNear: boolean;
}

/** The place that a search names, if its other words say nothing; undefined if there is none. */
function placeAlone(image: Image, words: readonly string[]): PlaceAlone | undefined {
  const read = (span: readonly string[], before: readonly string[], after: readonly string[]) => {
    const [word] = span;
    const isBeside = before.length + after.length > 0;
    // The code of a state may be a small word, too, unless it is at the end.
    const isCode = span.length === 1 && word.length === 2 && stateOf(word) !== undefined;
    if (isBeside && span.every(saysNothing) && !(isCode && after.length === 0)) return undefined;
    const places = placesNamed(image, span);
    const isWhole = [...before, ...after].every((other) => fillers.has(other) || beforePlace.has(other));
    return places.length === 0 ? undefined : { places, span, isWhole, isNear: isAfterNear(before) };
  };
  for (let length = Math.min(mostPlaceWords, words.length); length > 0; length--)
    for (let start = 0; start + length <= words.length; start++) {
      const [before, after] = [words.slice(0, start), words.slice(start + length)];
      if (!before.every(saysNothing) || !after.every(saysNothing)) continue;
      const found = read(words.slice(start, start + length), before, after);
      if (found !== undefined) return found;
    }
  // A word for a hospital may stand between a city and its state.
  const significant = words.filter(saysSomething);
  if (significant.length < 2 || significant.length > mostPlaceWords) return undefined;
  return read(significant, words.slice(0, words.indexOf(significant[0])), ["hospital"]);
}

/** Whether words are a city of the directory and then a state that it isn't in. */
function isInOtherState(image: Image, words: readonly string[]): boolean {
  const others = words.filter((word) => !forHospitals.has(word) && !beforePlace.has(word));
  for (let start = others.length - 1; start > 0; start--) {
    const state = stateOf(others.slice(start).join(""));
    if (state === undefined) continue;
    const there = facilitiesInCity(image, others.slice(0, start));
    if (there.length > 0 && there.every((facility) => textAt(image.state, facility) !== state)) return true;
  }
  return false;
}

const isAfterNear = (before: readonly string[]) => {
  const last = before.findLast((word) => word !== "the") ?? "";
  return beforeNear.has(last) || (last === "to" && before.some((word) => nearestWords.has(word)));
};

/** Finds the hospitals within `defaultMiles`, the nearest first. Each mile lowers the score by 0.01. */
function findAround(
  image: Image,
  point: Point,
  { name, kind }: Pick<Place, "name" | "kind">,
  found: Found,
  isMeant: boolean,
  isNamed: Wanted = () => true,
): void {
  const list = listFacilities(image, { status: "all", near: { ...point, miles: defaultMiles } }, "distance");
  for (const i of orderFacilities(list, false)) {
    const facility = list.items[i];
    if (!isNamed(facility)) continue;
    found.enter(facility, ranks.place, 1 - list.distances[i] / 1000, isMeant);
    if (kind !== "region") found.place = { near: name };
  }
}

/** Hospitals by their name around a place: `mercy near 63101`, `63101 mercy`. */
function findNear(image: Image, index: SearchIndex, words: readonly string[], found: Found): void {
  const near = placeBesideName(image, words);
  if (near === undefined) return;
  const { others, place, center } = near;
  if (!others.some(saysSomething)) {
    findAround(image, center, place, found, place.kind !== "region");
    return;
  }
  const named = new Set(facilitiesWith(index, termsOf(image, index, others, saysSomething)));
  if (named.size > 0) findAround(image, center, place, found, false, (facility) => named.has(facility));
}

interface PlaceBesideName {
  others: readonly string[];
  place: Pick<Place, "name" | "kind">;
  center: Point;
}

/** The place after a word such as near, or a ZIP code. */
function placeBesideName(image: Image, words: readonly string[]): PlaceBesideName | undefined {
  for (let at = 1; at < words.length; at++) {
    const others = words.slice(0, at);
    if (!isAfterNear(others)) continue;
    const asked = withoutArea(words.slice(at));
    const [place] = placesNamed(image, asked);
    const [city, ...namesakes] = place === undefined ? citiesNamed(image, asked) : [];
    const center = place === undefined ? (namesakes.length === 0 ? city : undefined) : centerOf(image, place);
    if (center === undefined) continue;
    return { others, place: place ?? { name: city?.name ?? "", kind: "city" }, center };
  }
  const at = words.findIndex((word) => isZip(image, word));
  const [place] = at < 0 ? [] : placesNamed(image, [words[at]]);
  if (place?.center === undefined) return undefined;
  return { others: words.filter((_, i) => i !== at), place, center: place.center };
}

/** All words, literally. Returns how each facility has them. */
function findLiterally(
  image: Image,
  index: SearchIndex,
  { typed }: Asked,
  scoreOf: Score,
  found: Found,
): Uint8Array {
  // Before a place, "in" isn't Indiana.
  const words = typed.filter(
    (word, i) => !(beforePlace.has(word) && stateOf(word) !== undefined && isPlaceAt(image, typed, i + 1)),
  );
  const hows = literalMatches(image, index, words);
  for (let facility = 0; facility < hows.length; facility++) {
    const how = hows[facility];
    if (how === notAll) continue;
    found.enterScored(facility, how === begun ? ranks.allBegun : ranks.allWords, scoreOf(facility));
  }
  return hows;
}

function isPlaceAt(image: Image, words: readonly string[], at: number): boolean {
  const start = words[at] === "the" ? at + 1 : at;
  for (let end = start + 1; end <= Math.min(words.length, start + mostPlaceWords); end++)
    if (placesNamed(image, words.slice(start, end)).length > 0) return true;
  return false;
}

type Score = ReturnType<typeof facilityScorer>;

/** All words but those that say nothing: as whole words, as beginnings, or with typos. */
function findByWords(
  image: Image,
  index: SearchIndex,
  terms: readonly Term[],
  scoreOf: Score,
  found: Found,
  literal?: Uint8Array,
): void {
  enterUnofficialName(image, terms);
  for (const facility of facilitiesWith(index, terms)) {
    const isCoded = terms.some(({ code }) => code === facility);
    // It is found at a better rank already.
    if (literal?.[facility] === whole && !isCoded) continue;
    const score = scoreOf(facility);
    found.enterScored(facility, isCoded ? ranks.nameInPlace : rankOfLevel(score.worst), score);
  }
}

const rankOfLevel = (level: number): Rank =>
  ({
    [exact]: ranks.significantWords,
    [prefix]: ranks.significantBegun,
    [oneTypo]: ranks.oneTypo,
  })[level] ?? ranks.guess;

/** The words of an unofficial name mean its hospital. The other words have to match it, too. */
function enterUnofficialName(image: Image, terms: readonly Term[]): void {
  const words = terms.map(({ word }) => word);
  const named = unofficialNameIn(image, words);
  if (named === undefined) return;
  if (
    isPlaceAfterIn(
      image,
      words,
      named.positions.map((at) => words[at]),
    )
  )
    return;
  const isNeeded = !terms.some((term) => term.isNeeded);
  for (const at of named.positions) {
    terms[at].code = named.facilities[0];
    terms[at].isNeeded ||= isNeeded;
  }
}

/** Other spellings, and searches with words to set aside. Each is tried only if those before it find nothing. */
function findOtherwise(
  image: Image,
  index: SearchIndex,
  words: readonly string[],
  terms: readonly Term[],
  found: Found,
): void {
  const ways = [byInitials, bySound, besideAside, bySaint, besideUnknown, byMoreTypos, besideRegion];
  for (const way of ways) {
    way(image, index, words, terms, found);
    if (!found.isEmpty) return;
  }
}

/**
 * Reads a word that no name in the place has as the initials of a hospital's name there. The other needed words have to
 * match the place.
 */
function byInitials(
  image: Image,
  index: SearchIndex,
  _: readonly string[],
  terms: readonly Term[],
  found: Found,
): void {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  for (const term of needed) {
    if (needed.length < 2 || !/^[a-z]{3,6}$/.test(term.word)) continue;
    const others = needed.filter((other) => other !== term);
    const named = facilitiesWith(index, others).filter(
      (facility) =>
        initialsOf(splitWords(textAt(image.facilityName, facility))).includes(term.word) &&
        found.isWanted(facility),
    );
    const [facility] = named;
    if (named.length !== 1 || !others.every((other) => isThere(index, other, facility))) continue;
    found.enter(facility, ranks.significantWords, 1);
    return;
  }
}

/**
 * Reads a word as another word that sounds alike, if the other words match and one of them matches the place. The
 * hospital is found only if it is the only one, and hospitals of a city if all words name their place.
 */
function bySound(
  image: Image,
  index: SearchIndex,
  _: readonly string[],
  terms: readonly Term[],
  found: Found,
): void {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  for (const term of needed) {
    if (needed.length < 2 || isOfProcedures(term.word) || doubtful.has(term.word)) continue;
    const heard: Term = { ...term, matches: [...term.matches] };
    matchSound(index, heard, term.word);
    if (heard.matches.length === term.matches.length) continue;
    const read = needed.map((other) => (other === term ? heard : other));
    const there = facilitiesWith(index, read).filter(found.isWanted);
    const isPlace = (other: Term) => isThere(index, other, there[0]);
    const cities = new Set(there.map((facility) => cityOf(image, facility)));
    if (cities.size !== 1 || !read.some((other) => other !== heard && isPlace(other))) continue;
    if (there.length > 1 && !read.every(isPlace)) continue;
    for (const facility of there) found.enter(facility, ranks.guess, 1, true);
    return;
  }
}

const cityOf = (image: Image, facility: number) =>
  `${textAt(image.city, facility)}, ${textAt(image.state, facility)}`;

const placeFields = (1 << cityField) | (1 << cityPartField) | (1 << stateField);

/** Whether a term matches a facility's city or state. */
const isThere = (index: SearchIndex, term: Term, facility: number) =>
  (fieldsOf(index, term, facility) & placeFields) !== 0;

/** Whether a word of the query, as it is typed, is in the facility's name, or is an unofficial name of it. */
const isNamed = (index: SearchIndex, terms: readonly Term[], facility: number) =>
  terms.some((term) => {
    const typed = { ...term, matches: term.matches.filter((match) => (match & levelMask) === exact) };
    return term.code === facility || (fieldsOf(index, typed, facility) & (1 << nameField)) !== 0;
  });

const departments = Array.from(phrasesOf("department"), (phrase) => phrase.split(" "));

/** The words that may say nothing about which hospital is meant: departments, procedures, and words of sentences. */
function asideIn(index: SearchIndex, words: readonly string[]): ReadonlySet<string> {
  const inNames = (1 << nameField) | (1 << cityField) | (1 << cityPartField);
  const isInNames = (word: string) => isInFields(index, findWord(index, meaningOf(word)), inNames);
  const { namedWords } = termsIn(words);
  // What hospitals are named by, such as hospice, may be a part of the name that is looked for.
  const absent = [...namedWords].every(isInNames) ? new Set<string>() : namedWords;
  const isProcedure = (word: string) =>
    bodyParts.has(procedureMeaning(word)) ||
    absent.has(procedureMeaning(word)) ||
    (isOfProcedures(word) && !isInNames(word));
  const isAt = (phrase: readonly string[], at: number) =>
    phrase.every((word, i) => meaningOf(words[at + i] ?? "") === meaningOf(word));
  return new Set([
    ...departments
      .filter((phrase) => words.some((_, at) => isAt(phrase, at)))
      .flat()
      .map(meaningOf),
    ...words.filter((word) => doubtful.has(word) || isProcedure(word)).map(meaningOf),
  ]);
}

/**
 * Sets words aside if a hospital's name is left; or its place, if the search says hospital. Beside words of procedures the
 * name has to tell one hospital.
 */
function besideAside(
  image: Image,
  index: SearchIndex,
  words: readonly string[],
  _: readonly Term[],
  found: Found,
): void {
  const aside = asideIn(index, words);
  if (aside.size === 0) return;
  const isAside = (word: string) => aside.has(meaningOf(word));
  const terms = termsOf(image, index, words, (word) => saysSomething(word) && !isAside(word));
  enterUnofficialName(image, terms);
  const scoreOf = facilityScorer(index, terms);
  const there = facilitiesWith(index, terms).filter(found.isWanted);
  if (there.length === 0) return;
  const scores = new Map(there.map((facility) => [facility, scoreOf(facility)]));
  const first = there.reduce((a, b) => ((scores.get(b)?.score ?? 0) > (scores.get(a)?.score ?? 0) ? b : a));
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const ignored = words.filter((word) => saysSomething(word) && isAside(word) && !doubtful.has(word));
  const isOfPlace =
    words.some((word) => forHospitals.has(word)) && needed.every((term) => isThere(index, term, first));
  const isTelling = there.length === 1 || needed.some(({ code }) => code === first);
  const isOfName = isNamed(index, needed, first) && (isTelling || !ignored.some(isOfProcedures));
  if (ignored.length > 0 && !isOfPlace && !isOfName) return;
  for (const [facility, score] of scores) found.enterScored(facility, rankOfLevel(score.worst), score);
  found.ignored = ignored;
}

/** Reads the Spanish names of saints in English. */
function bySaint(
  image: Image,
  index: SearchIndex,
  words: readonly string[],
  _: readonly Term[],
  found: Found,
): void {
  const english = saintsInEnglish(words);
  if (english === undefined) return;
  const terms = termsOf(image, index, english, saysSomething);
  findNames(image, english, found);
  findByWords(image, index, terms, facilityScorer(index, terms), found);
}

const everyday = phrasesOf("everyday");

/**
 * Sets aside words that no hospital has, and then everyday words too, if a whole name is left, or one hospital by a
 * word of its name and a word of its place. A medical word or a number is never set aside.
 */
function besideUnknown(
  image: Image,
  index: SearchIndex,
  words: readonly string[],
  terms: readonly Term[],
  found: Found,
): void {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const unknown = needed.filter((term) => documentsWith(index, term) === 0);
  for (const aside of [unknown, needed.filter((term) => unknown.includes(term) || everyday.has(term.word))]) {
    const ignored = aside.map(({ word }) => word);
    if (ignored.length === 0 || ignored.some((word) => /[0-9]/.test(word) || isMedical(word))) continue;
    const left = needed.filter((term) => !aside.includes(term));
    if (left.length === 0) continue;
    const named = new Found(found.isWanted);
    if (ignored.every((word) => everyday.has(word)))
      findNames(
        image,
        words.filter((word) => !ignored.includes(word)),
        named,
      );
    const there = named.isEmpty ? facilitiesWith(index, left).filter(found.isWanted) : [];
    const fields = left.map((term) => (there.length === 1 ? fieldsOf(index, term, there[0]) : 0));
    const isIn = (some: number) => fields.some((matched) => (matched & some) !== 0);
    if (named.isEmpty && (left.length < 2 || !isIn(1 << nameField) || !isIn(placeFields))) continue;
    const share = left.length / needed.length;
    for (const facility of [...named.ranked.keys(), ...there])
      found.enter(facility, ranks.significantWords, share);
    found.ignored = ignored;
    return;
  }
}

/**
 * Allows one more typo in a word that matches nothing, if another word matches the place. The hospital is found only if
 * it is the sole reading of the word there.
 */
function byMoreTypos(
  _: Image,
  index: SearchIndex,
  __: readonly string[],
  terms: readonly Term[],
  found: Found,
): void {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const unknown = needed.filter((term) => documentsWith(index, term) === 0);
  const [term] = unknown;
  if (unknown.length !== 1 || needed.length < 2 || [...term.word].length < closeLetters) return;
  const guess: Term = { ...term, matches: [] };
  matchTypos(index, guess, term.word, allowedTypos([...term.word].length) + 1);
  const read = needed.map((other) => (other === term ? guess : other));
  const there = facilitiesWith(index, read).filter(found.isWanted);
  if (there.length !== 1) return;
  if (needed.some((other) => other !== term && isThere(index, other, there[0])))
    found.enter(there[0], ranks.rest, 1);
}

/** Finds the only hospital that the words beside a region name: it may be elsewhere. */
function besideRegion(
  image: Image,
  index: SearchIndex,
  words: readonly string[],
  _: readonly Term[],
  found: Found,
): void {
  for (let length = Math.min(mostPlaceWords, words.length - 1); length > 0; length--)
    for (let start = 0; start + length <= words.length; start++) {
      const region = words.slice(start, start + length);
      if (placesNamed(image, region)[0]?.kind !== "region") continue;
      const others = [...words.slice(0, start), ...words.slice(start + length)];
      const terms = termsOf(image, index, others, saysSomething);
      const there = facilitiesWith(index, terms).filter(found.isWanted);
      if (there.length !== 1 || !isNamed(index, terms, there[0])) return;
      found.enter(there[0], ranks.significantWords, 1);
      found.ignored = region;
      return;
    }
}

/** Fewer letters may be anything with two typos. */
const closeLetters = 6;

/** The scores of each rank, from the lowest to the highest, before it is known what is meant. */
const bands: Readonly<Record<Rank, readonly [number, number]>> = {
  [ranks.code]: [1, 1],
  [ranks.speltName]: [0.995, 0.995],
  [ranks.wholeName]: [0.985, 0.985],
  [ranks.wholeCity]: [0.95, 0.975],
  [ranks.nameInPlace]: [0.93, 0.945],
  [ranks.place]: [0.78, 0.92],
  [ranks.allWords]: [0.58, 0.77],
  [ranks.significantWords]: [0.42, 0.57],
  [ranks.allBegun]: [0.3, 0.41],
  [ranks.significantBegun]: [0.2, 0.29],
  [ranks.oneTypo]: [0.09, 0.19],
  [ranks.guess]: [0.04, 0.08],
  [ranks.rest]: [0.005, 0.03],
};

/** Factor for words that fit many hospitals. */
const saysLittle = 0.2;

/** Orders what is found, and gives scores: 0.5 and more where one thing is meant. */
function scored(
  index: SearchIndex,
  asked: Asked,
  found: Found,
  isAll: boolean,
  absent: readonly Absent[],
  isProcedureAbsent: boolean,
): Omit<FacilityMatches, "terms"> {
  const matches = inOrder(index, found.ranked);
  const ignored = [...asked.ignored, ...found.ignored];
  const rankOf = (facility: number) => found.ranked.get(facility)?.rank ?? ranks.rest;
  const top = matches.total === 0 ? ranks.rest : rankOf(matches.documents[0]);
  // What is named by a whole name, or is in a place that is written out, isn't the kind that is absent.
  const isAbsent = absent.length > 0 && (top > ranks.place || !found.meant.has(matches.documents[0]));
  const isNamed = top <= ranks.nameInPlace && top !== ranks.wholeCity;
  const best = [...found.ranked].filter(([, { rank }]) => (isNamed ? isSameName(rank, top) : rank === top));
  const named = best.filter(([facility]) => found.named.has(facility));
  const isOneMeant = isNamed || (top >= ranks.allWords && top <= ranks.guess);
  const [one] = isOneMeant ? (best.length === 1 ? best : named.length === 1 && !isNamed ? named : []) : [];
  const isDoubted = ignored.length > 0 || isProcedureAbsent || ((isAbsent || found.isElsewhere) && !isNamed);
  let isSure = !isDoubted;
  const scoreOf = (facility: number, i: number) => {
    const rank = rankOf(facility);
    const [least, most] = bands[rank as Rank];
    const within = least + (most - least) * matches.scores[i];
    isSure &&= facility === one?.[0] || found.meant.has(facility);
    if (isSure) return sureScoreOf(within);
    return guessedScoreOf(isAll && rank >= ranks.allWords ? saysLittle * within : within);
  };
  const final = new Map(
    Array.from(matches.documents, (facility, i): [number, Ranked] => [
      facility,
      { rank: 0, score: scoreOf(facility, i) },
    ]),
  );
  return {
    ...inOrder(index, final),
    unwanted: [...found.unwanted],
    ignored,
    place: found.place,
    absent: isAbsent && !isNamed ? absent : [],
  };
}

/** Whether a rank is the top one, or both are of a whole name, as it is spelt or in another spelling. */
const isSameName = (rank: number, top: number) =>
  rank === top ||
  (rank <= ranks.wholeName && rank >= ranks.speltName && top <= ranks.wholeName && top >= ranks.speltName);
