import { listFacilities, orderFacilities } from "../answers/facility-list.ts";
import { type Image, textAt } from "../image/image.ts";
import { defaultMiles, isZip, type Point } from "../image/places.ts";
import { absentHospitals } from "./absent-hospitals.ts";
import type { Score } from "./facility-scores.ts";
import type { Wanted } from "./find.ts";
import { type Found, ranks } from "./found.ts";
import { beforePlace, fillers, kinds, phrasesOf } from "./lexicon.ts";
import { literalMatches } from "./literal.ts";
import { facilitiesWith, termsOf } from "./matching.ts";
import {
  centerOf,
  citiesNamed,
  isBeforePlace,
  isSpelledCity,
  isStateCode,
  mostPlaceWords,
  otherStateNames,
  type Place,
  placesNamed,
  stateOf,
} from "./places.ts";
import { type Asked, read } from "./reading.ts";
import { meaningOf, saysNothing, saysSomething } from "./text.ts";
import { indexOf, type SearchIndex } from "./text-index.ts";

/** Finds the hospitals of a place, and hospitals by their name around a place. */

const forHospitals = phrasesOf("any");
const isForHospitals = (word: string) => forHospitals.has(word);
const beforeNear = phrasesOf("near");
const nearestWords = phrasesOf("nearest");
const afterNearest = phrasesOf("after-nearest");
const articles = phrasesOf("article");
const areaPhrases = Array.from(phrasesOf("area"), (phrase) => phrase.split(" "));

function withoutArea(words: readonly string[]): readonly string[] {
  const phrases = areaPhrases.filter(([first]) => words.includes(first));
  if (phrases.length === 0) return words;
  return words.filter(
    (_, at) =>
      !phrases.some((phrase) =>
        phrase.some((_, i) => phrase.every((word, other) => words[at - i + other] === word)),
      ),
  );
}

/**
 * Finds the hospitals of a place, if the search says nothing else. Without a place, finds those of the state to which a
 * search such as "hospitals" is limited.
 */
export function findPlaces(
  image: Image,
  asked: Asked,
  state: string | null,
  scoreOf: Score,
  found: Found,
): void {
  const { words, miles } = asked;
  const others = withoutArea(words);
  const read =
    placeAlone(image, words) ?? (others.length < words.length ? placeAlone(image, others) : undefined);
  if (read === undefined) {
    const isAll = words.length > 0 && !words.some(saysSomething);
    if (!isAll || state === null || !words.some((word) => kinds.has(meaningOf(word)))) return;
    const { byName } = indexOf(image, "facility");
    for (const facility of byName) found.enter(facility, ranks.place, scoreOf(facility).score);
    found.onePlace = new Set(byName);
    return;
  }
  const { span, isWhole } = read;
  const isNear = read.isNear || miles !== null;
  const isState = ({ kind }: Place) => kind === "state";
  const isNickname = (place: Place) => place.isNickname === true;
  const isOther = (place: Place) => !isState(place) && !isNickname(place);
  const of = (...tests: ((place: Place) => boolean)[]) => tests.flatMap((test) => read.places.filter(test));
  // "Hospitals in Wyoming" means the state. Hospitals in a city of that name are found by their words.
  const places = isWhole
    ? of(isOther, isState, isNickname)
    : read.places.some(isState)
      ? of(isNickname, isState)
      : of(isNickname, isOther);
  const states = new Set<number>();
  const there = new Set<number>();
  for (const [i, place] of places.entries()) {
    const isAround = isNear || place.kind === "zip" || place.facilities.length === 0;
    const center = isAround ? centerOf(image, place) : undefined;
    if (center !== undefined) {
      for (const facility of findAround(image, { center, place, miles }, found)) there.add(facility);
      continue;
    }
    for (const facility of place.facilities) {
      there.add(facility);
      if (found.isWanted(facility)) states.add(image.stateOf[facility]);
    }
    const rank = isWhole && place.kind === "city" && !isNickname(place) ? ranks.wholeCity : ranks.place;
    const inState = Map.groupBy(place.facilities, (facility) => image.stateOf[facility]);
    for (const facility of place.facilities) {
      // Of several cities with the same name, the city with the most hospitals comes first.
      const share = (inState.get(image.stateOf[facility])?.length ?? 0) / place.facilities.length;
      found.enter(facility, rank, (2 * share + scoreOf(facility).score) / (3 + 3 * i));
    }
  }
  // In "va hospital richmond", the letters are before a word for a hospital, and may not mean the state.
  const isApart = span.length > 1 && words[words.indexOf(span[0]) + 1] !== span[1];
  const letters = isState(places[0]) ? span : isApart ? span.slice(0, 1) : [];
  const isOne =
    states.size <= 1 &&
    !places.some(({ kind }) => kind === "region") &&
    absentHospitals(image, letters, state).length === 0 &&
    !(isWhole && isBegun(image, span, places[0]));
  if (isOne) found.onePlace = there;
}

/** Whether a nickname, or another name of a state, also begins words of hospitals elsewhere: `fla`, `atl`, `queens`. */
function isBegun(image: Image, span: readonly string[], place: Place): boolean {
  if (span.length > 1 || (place.isNickname !== true && !otherStateNames.has(span[0]))) return false;
  const { facilities } = literalMatches(image, indexOf(image, "facility"), span);
  return facilities.some((facility) => !place.facilities.includes(facility));
}

interface PlaceAlone {
  places: readonly Place[];
  span: readonly string[];
  /** Whether all other words are fillers or prepositions. */
  isWhole: boolean;
  isNear: boolean;
}

/** Returns the place that a search names, if its other words say nothing; otherwise undefined. */
function placeAlone(image: Image, words: readonly string[]): PlaceAlone | undefined {
  // Words that say nothing elsewhere may name a city: `many hospital LA`.
  const apart = placeAround(image, words, isForHospitals);
  if (apart !== undefined) return apart;
  const [first, last] = [words.findIndex(saysSomething), words.findLastIndex(saysSomething)];
  for (let length = Math.min(mostPlaceWords, words.length); length > 0; length--)
    for (let start = 0; start + length <= words.length; start++) {
      if (first >= 0 && (start > first || start + length <= last)) continue;
      const [before, after] = [words.slice(0, start), words.slice(start + length)];
      const found = placeBetween(image, before, words.slice(start, start + length), after);
      if (found !== undefined) return found;
    }
  return placeAround(image, words, saysNothing);
}

/** Returns the place that a search names by several words. Other words may stand between them. */
function placeAround(
  image: Image,
  words: readonly string[],
  isBeside: (word: string) => boolean,
): PlaceAlone | undefined {
  const span = words.filter((word) => !isBeside(word));
  // If there are no other words, `placeAlone` looks up the place anyway.
  if (span.length < 2 || span.length > mostPlaceWords || span.length === words.length) return undefined;
  const start = words.indexOf(span[0]);
  const [before, after] = [words.slice(0, start), words.slice(start).filter(isBeside)];
  return placeBetween(image, before, span, after);
}

function placeBetween(
  image: Image,
  before: readonly string[],
  span: readonly string[],
  after: readonly string[],
): PlaceAlone | undefined {
  const beside = [...before, ...after];
  const isIn = beforePlace.has(before.at(-1) ?? "");
  if (beside.length > 0 && span.every(saysNothing)) {
    // The code of a state may also be a small word. It means the state at the end, or at the start before words for a
    // hospital.
    const isCode = span.length === 1 && isStateCode(span[0]);
    const isLeading =
      before.length === 0 &&
      after.every((word) => kinds.has(meaningOf(word))) &&
      // In "in Centre", the city is in Alabama, and "in" isn't Indiana.
      !isBeforePlace(image, [...span, ...after], 0);
    const isCodeMeant = isCode && (after.length === 0 || isLeading);
    const isCity =
      (isIn || before.every(isForHospitals)) && after.every(isForHospitals) && isSpelledCity(image, span);
    if (!isCodeMeant && !isCity) return undefined;
  }
  // In "hospitals in Columbus", the "in" isn't Indiana.
  if (span.length > 1 && isBeforePlace(image, span, 0)) return undefined;
  const places = placesNamed(image, span);
  const isWhole = beside.every((other) => fillers.has(other) || beforePlace.has(other));
  return places.length === 0 ? undefined : { places, span, isWhole, isNear: isAfterNear(before) };
}

const betweenPlaces = new RegExp(`[;/&]|\\b(?:${[...phrasesOf("between")].join("|")})\\b`, "iu");

/**
 * Finds the hospitals of several places: `dallas, fort worth`, `Boston, MA, Chicago, IL` or `Boston and Texas`. Returns
 * whether the search names several places with hospitals.
 */
export function findSeveralPlaces(image: Image, { text }: Asked, found: Found): boolean {
  const lists = text.split(betweenPlaces).map((list) => list.split(","));
  // Most searches end here. Each part is read as a search of its own.
  if (lists.flat().length < 2) return false;
  const named = lists.flatMap((list) => placesInList(image, list));
  if (named.length < 2) return false;
  const enterAll = (isMeant: (place: Place) => boolean): boolean => {
    const places = named.map((all) => all.find(isMeant)?.facilities ?? []);
    if (places.some((there) => there.length === 0)) return false;
    for (const facility of places.flat()) found.enter(facility, ranks.rest, 1);
    return true;
  };
  const isState = ({ kind }: Place) => kind === "state";
  // If all names can be states, they are read as states. If all can be other places, they are read as such, too.
  const [areStates, areOthers] = [enterAll(isState), enterAll((place) => !isState(place))];
  return areStates || areOthers || enterAll(() => true);
}

/**
 * Returns what each place of a list may be. A city and the state after it are one place. A name that can only be a city
 * is no place before a name that can only be another state: `Dallas, OK`.
 */
function placesInList(image: Image, list: readonly string[]): (readonly Place[])[] {
  const parts = list
    .map((part) => read(image, "facility", part).words)
    .map((words) => ({ words, ...(placeAlone(image, words) ?? { places: [], span: [] }) }))
    .filter(({ words, span }) => span.length > 0 || words.some(saysSomething));
  const isOnly = (places: readonly Place[], of: Place["kind"]) =>
    places.length > 0 && places.every(({ kind }) => kind === of);
  const named: (readonly Place[])[] = [];
  for (let at = 0; at < parts.length; at++) {
    const [{ places, span }, next] = parts.slice(at);
    const isBeforeState = next?.places.some(({ kind }) => kind === "state") === true;
    const there = isBeforeState ? placesNamed(image, [...span, ...next.span]) : [];
    if (there.length > 0) at++;
    const isElsewhere = isBeforeState && isOnly(places, "city") && isOnly(next.places, "state");
    named.push(there.length > 0 ? there : isElsewhere ? [] : places);
  }
  return named;
}

/** Whether words are a city with hospitals and, after it, a state in which no city of that name has hospitals. */
export function isInOtherState(image: Image, words: readonly string[]): boolean {
  const isBefore = (word: string, i: number) => beforePlace.has(word) && i + 1 < words.length;
  const others = words.filter((word, i) => !forHospitals.has(word) && !isBefore(word, i));
  for (let start = others.length - 1; start > 0; start--) {
    const state = stateOf(others.slice(start).join(""));
    if (state === undefined) continue;
    const named = placesNamed(image, others.slice(0, start)).filter(({ kind }) => kind === "city");
    const there = named.flatMap(({ facilities }) => facilities);
    if (there.length > 0 && there.every((facility) => textAt(image.state, facility) !== state)) return true;
  }
  return false;
}

const isAfterNear = (before: readonly string[]) => {
  const last = before.findLast((word) => !articles.has(word)) ?? "";
  return beforeNear.has(last) || (afterNearest.has(last) && before.some((word) => nearestWords.has(word)));
};

interface Around {
  place: Pick<Place, "name" | "kind">;
  center: Point;
  /** Null for `defaultMiles`. */
  miles: number | null;
}

/** Finds and returns the hospitals around a point. The nearest have the highest scores. */
function findAround(
  image: Image,
  { place, center, miles }: Around,
  found: Found,
  isNamed: Wanted = () => true,
): readonly number[] {
  const near = { ...center, miles: miles ?? defaultMiles };
  const list = listFacilities(image, { status: "all", near }, "distance");
  const around: number[] = [];
  for (const i of orderFacilities(list, false)) {
    const facility = list.items[i];
    if (!isNamed(facility)) continue;
    // Scores have few steps. The root gives short distances, which matter most, more of them.
    found.enter(facility, ranks.place, 1 - Math.sqrt(list.distances[i] / (10 * near.miles)));
    around.push(facility);
  }
  if (around.length > 0 && place.kind !== "region") found.place = { near: place.name };
  return around;
}

/** Finds the hospitals around a place, or only those of a name: `mercy near 63101`, `63101 mercy`. */
export function findNear(image: Image, index: SearchIndex, { words, miles }: Asked, found: Found): void {
  const near = placeBesideName(image, words);
  if (near === undefined) return;
  const { others, ...around } = near;
  if (!others.some(saysSomething)) {
    const there = findAround(image, { ...around, miles }, found);
    if (around.place.kind !== "region") found.onePlace = new Set(there);
    return;
  }
  const named = new Set(facilitiesWith(index, termsOf(image, index, others, saysSomething)));
  if (named.size > 0) findAround(image, { ...around, miles }, found, (facility) => named.has(facility));
}

/** Returns the place after a word such as "near", or the place of a ZIP code, and the other words. */
function placeBesideName(
  image: Image,
  words: readonly string[],
): (Omit<Around, "miles"> & { others: readonly string[] }) | undefined {
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
