import { stateIndex } from "../image/group-numbers.ts";
import { type Image, textAt } from "../image/image.ts";
import {
  type Cities,
  findPlace,
  isZip,
  type Places,
  type Point,
  pointAt,
  tenthsBetween,
} from "../image/places.ts";
import { stateNames } from "../snapshot/schema.ts";
import { withPrefix } from "../sorted.ts";
import { isCounty, isCountyNamed } from "./counties.ts";
import { stateField } from "./documents.ts";
import { beforePlace, entriesOf, meaningsOf, phrasesOf } from "./lexicon.ts";
import { indexWords, oneWord, plainWords, saysNothing, splitWords } from "./text.ts";
import { findWord, hasToken, indexOf, type SearchIndex } from "./text-index.ts";

/**
 * Finds the places that words name, for searches, `near=`, `city=` and error messages. The cities are those of hospitals
 * in the directory and those in the table of places.
 */

export interface Place {
  kind: "zip" | "city" | "state" | "region";
  /** A ZIP code, `Boston, MA`, a city's name alone if it has hospitals in several states, a state's code, or a region. */
  name: string;
  /**
   * The codes of the states that the place is in, for a city those of its hospitals; empty for a ZIP code or a county.
   */
  states: readonly string[];
  /** The hospitals in a city, a state or a region of whole states or cities; empty for any other place. */
  facilities: readonly number[];
  /** Whether a city is named by a nickname, such as LA. */
  isNickname?: boolean;
  /** Where a ZIP code is, or the city around which a region lies. */
  center?: Point | undefined;
}

export interface City extends Point {
  /** The city with its state's code, such as `Boston, MA`. */
  name: string;
  state: string;
  /** Number of the city's known ZIP codes, as a measure of its size. */
  zips: number;
}

/** Maximum words that are read as a place's name with its state. */
export const mostPlaceWords = 6;

const joined = (name: string) => name.toLowerCase().replace(/[^a-z]/g, "");

/** Other names of states, as one word in small letters → the states' codes in capitals. */
export const otherStateNames = meaningsOf("state");

const codes = new Map(
  Object.entries(stateNames).flatMap(([code, name]): [string, string][] => [
    [code.toLowerCase(), code],
    [joined(name), code],
  ]),
);

/**
 * Returns a state's code in capitals; undefined if there is none.
 *
 * @param word the code or a name, as one word in small letters
 */
export function stateOf(word: string): string | undefined {
  return codes.get(word) ?? otherStateNames.get(word);
}

export const isStateCode = (word: string): boolean => word.length === 2 && stateOf(word) !== undefined;

/** Returns a state's code and its name as one word, in small letters. @param code in capitals */
export function formsOfState(code: string): readonly [code: string, name: string] {
  return [code.toLowerCase(), joined(stateNames[code])];
}

interface CitiesOfState {
  state: string;
  names: readonly string[];
}

/** Splits a text such as `CA losangeles` into the codes of states and the names of cities. */
function statesAndCities(what: string): { states: string[]; names: string[] } {
  const words = what.split(" ");
  const isCode = (word: string) => /^[A-Z]{2}$/.test(word);
  return { states: words.filter(isCode), names: words.filter((word) => !isCode(word)) };
}

const nicknames = Map.groupBy(
  [...entriesOf("city"), ...entriesOf("cities")].flatMap(({ what, phrases }) => {
    const { states, names } = statesAndCities(what);
    return phrases.map((nickname): CitiesOfState & { nickname: string } => ({
      nickname,
      state: states[0],
      names,
    }));
  }),
  ({ nickname }) => nickname,
);

/** Nicknames that mean a region and not a city. */
const nicknamesOfRegions = phrasesOf("cities");
const regions = meaningsOf("region");
const partsOfStates = phrasesOf("part");
const articles = phrasesOf("article");

/**
 * Returns the facilities in the cities that a nickname stands for. @param nickname as one word, such as `longisland`
 * @param only the code of the state that the cities have to be in
 */
export function facilitiesOfNickname(index: SearchIndex, nickname: string, only?: string): readonly number[] {
  const cities = nicknames.get(nickname);
  if (cities === undefined) return none;
  return cities
    .filter(({ state }) => only === undefined || state === only)
    .flatMap(({ state, names }) => names.flatMap((name) => facilitiesIn(index, name, state)));
}

/** @param city its name as one word @param state its code in capitals */
function facilitiesIn(index: SearchIndex, city: string, state: string): readonly number[] {
  const there = findWord(index, state.toLowerCase());
  if (there < 0) return [];
  return facilitiesOfCity(index, city).filter((facility) => hasToken(index, facility, there, stateField));
}

/** @param city its name as one word */
const facilitiesOfCity = (index: SearchIndex, city: string): readonly number[] =>
  index.inCity.get(findWord(index, city)) ?? none;

const none: readonly number[] = [];

/**
 * Finds the facilities in the cities of a name. The state may follow or come first. A nickname, such as NYC, means its
 * cities.
 * @param words see `splitWords`
 */
export function facilitiesInCity(image: Image, words: readonly string[]): readonly number[] {
  const index = indexOf(image, "facility");
  const nicknamed = facilitiesOfNickname(index, oneWord(words));
  return nicknamed.length > 0 ? nicknamed : facilitiesNamed(image, words);
}

/** Returns the facilities in the cities of a name, perhaps with its state, or of a nickname with its state. */
function facilitiesNamed(image: Image, words: readonly string[]): readonly number[] {
  const index = indexOf(image, "facility");
  const found = facilitiesOfCity(index, oneWord(words));
  // "center" has the same form in the index as the city of Centre. So a word that says nothing has to be spelled like
  // the city.
  if (found.length > 0) return words.every(saysNothing) ? found.filter(isSpelled(image, words)) : found;
  for (const { name, state } of withStates(words)) {
    const city = oneWord(name);
    const there = facilitiesOfNickname(index, city, state);
    const inState = there.length > 0 ? there : facilitiesIn(index, city, state);
    if (inState.length > 0) return inState;
  }
  return [];
}

const isSpelled = (image: Image, words: readonly string[]) => (facility: number) =>
  plainWords(textAt(image.city, facility)).join("") === words.join("");

/** Whether words are spelled exactly like a city of the directory. */
export const isSpelledCity = (image: Image, words: readonly string[]) =>
  facilitiesOfCity(indexOf(image, "facility"), oneWord(words)).some(isSpelled(image, words));

interface NameInState {
  name: readonly string[];
  state: string;
}

/** The ways to read words as a name and a state after it, or before it: `saint louis missouri`, `AZ Glendale`. */
function withStates(words: readonly string[]): NameInState[] {
  const ways: NameInState[] = [];
  for (let at = words.length - 1; at > 0; at--) {
    const state = stateOf(words.slice(at).join(""));
    if (state !== undefined) ways.push({ name: words.slice(0, at), state });
  }
  for (let at = 1; at < words.length; at++) {
    const state = stateOf(words.slice(0, at).join(""));
    if (state !== undefined) ways.push({ name: words.slice(at), state });
  }
  return ways;
}

/**
 * Finds the cities that words name, in the table of places and among the hospitals' cities. Cities of one name are
 * ordered by state, one for each state. The state's code or name may follow or come first. A nickname means the first of
 * its cities in each state.
 */
export function citiesNamed(image: Image, words: readonly string[]): City[] {
  const ways = withStates(words);
  // "Newton IA" isn't Newtonia.
  const isCoded = words.at(-1)?.length === 2 && ways.length > 0;
  const coded = isCoded ? citiesInState(image, ways[0]) : [];
  if (coded.length > 0) return coded;
  const whole = namesakes(image, words);
  if (whole.length > 0) return whole;
  return ways.map((way) => citiesInState(image, way)).find(({ length }) => length > 0) ?? [];
}

const citiesInState = (image: Image, { name, state }: NameInState) =>
  namesakes(image, name).filter((city) => city.state === state);

/**
 * Finds the cities that a name or a nickname without a state means, in the table of places and among the hospitals'
 * cities.
 * @param words see `splitWords`
 */
export function namesakes(image: Image, words: readonly string[]): City[] {
  const named = citiesWithName(image, oneWord(words));
  if (named.length > 0) return named;
  return (nicknames.get(words.join("")) ?? []).flatMap(({ state, names: [first] }) =>
    citiesWithName(image, first).filter((city) => city.state === state),
  );
}

function citiesWithName(image: Image, word: string): City[] {
  const { start, end } = withPrefix(image.placeCity, Buffer.from(`${word} `));
  const cities = Array.from({ length: end - start }, (_, i) => cityAt(image, start + i));
  const others = citiesOfHospitals(image, word, new Set(cities.map(({ state }) => state)));
  return others.length === 0 ? cities : [...cities, ...others].sort((a, b) => (a.state < b.state ? -1 : 1));
}

/**
 * Returns the cities of a name that have hospitals with known ZIP codes, but aren't in the table of places. A city's
 * coordinates are the means of these ZIP codes.
 *
 * @param known the states in which the table has the name
 */
function citiesOfHospitals(image: Image, word: string, known: ReadonlySet<string>): City[] {
  const placed = facilitiesOfCity(indexOf(image, "facility"), word).filter(
    (facility) => image.placeOf[facility] >= 0 && !known.has(textAt(image.state, facility)),
  );
  return [...Map.groupBy(placed, (facility) => textAt(image.state, facility))].map(([state, there]) => {
    const zips = [...new Set(there.map((facility) => image.placeOf[facility]))];
    const points = zips.map((zip) => pointAt(image, zip));
    return {
      name: `${textAt(image.city, there[0])}, ${state}`,
      state,
      zips: zips.length,
      latitude: Math.round(points.reduce((sum, { latitude }) => sum + latitude, 0) / points.length),
      longitude: Math.round(points.reduce((sum, { longitude }) => sum + longitude, 0) / points.length),
    };
  });
}

/** @param i position in the table of places */
export function cityAt(image: Image, i: number): City {
  return {
    name: textAt(image.placeCityName, i),
    state: textAt(image.placeCity, i).slice(-2),
    zips: image.placeCityZips[i],
    latitude: image.placeCityLatitude[i],
    longitude: image.placeCityLongitude[i],
  };
}

/** Returns the places that words name, the likeliest first. @param words see `splitWords` */
export function placesNamed(image: Image, words: readonly string[]): Place[] {
  const [first = "", ...others] = words;
  // A state may also come after a ZIP code.
  if (isZip(image, first) && stateOf(others.join("")) !== undefined)
    return placesNamed(image, [...others, first]);
  const last = words.at(-1) ?? "";
  if (isZip(image, last)) {
    const before = words.slice(0, -1);
    const center = pointAt(image, findPlace(image.placeZip, last));
    const isOfPlace =
      before.length === 0 || stateOf(before.join("")) !== undefined || isCityAround(image, before, center);
    return isOfPlace ? [{ kind: "zip", name: last, states: [], facilities: [], center }] : [];
  }
  const places: Place[] = [];
  const index = indexOf(image, "facility");
  const nickname = oneWord(words);
  const nicknamed = facilitiesOfNickname(index, nickname);
  if (nicknamed.length > 0)
    places.push(
      nicknamesOfRegions.has(nickname)
        ? { ...cityOf(image, nicknamed), kind: "region", name: words.join(" ") }
        : { ...cityOf(image, nicknamed), isNickname: true },
    );
  const inCity = facilitiesNamed(image, words);
  if (inCity.length > 0) places.push(cityOf(image, inCity));
  const state = stateOf(words.join("")) ?? (words.length > 1 ? stateBefore(words) : undefined);
  if (state !== undefined)
    places.push({ kind: "state", name: state, states: [state], facilities: facilitiesOfState(image, state) });
  return places.length > 0 ? places : regionsNamed(image, words);
}

/** Returns the region that words name, unless they rather mean a city with hospitals, or a state. */
export function regionNamed(image: Image, words: readonly string[]): Place | undefined {
  const [place] = mayBeRegion(words) ? placesNamed(image, words) : [];
  return place?.kind === "region" ? place : undefined;
}

const mayBeRegion = (words: readonly string[]): boolean =>
  partsOfStates.has(words[0]) ||
  isCounty(words) ||
  regions.has(words.join(" ")) ||
  nicknamesOfRegions.has(oneWord(words));

const wordsForStates = phrasesOf("state-noun");

const stateBefore = (words: readonly string[]) =>
  wordsForStates.has(words.at(-1) ?? "") ? stateOf(words.slice(0, -1).join("")) : undefined;

const isCityAround = (image: Image, words: readonly string[], zip: Point) =>
  citiesNamed(image, words).some(
    ({ latitude, longitude }) =>
      tenthsBetween(latitude, longitude, zip.latitude, zip.longitude) <= mostTenthsFromZip,
  );

/** Maximum distance of a ZIP code from its city's center, in tenths of a mile. */
const mostTenthsFromZip = 500;

function cityOf(image: Image, facilities: readonly number[]): Place {
  const states = [...new Set(facilities.map((facility) => textAt(image.state, facility)))];
  const name = textAt(image.city, facilities[0]);
  return { kind: "city", name: states.length === 1 ? `${name}, ${states[0]}` : name, states, facilities };
}

const byState = new WeakMap<Image, number[][]>();

function facilitiesOfState(image: Image, state: string): readonly number[] {
  let states = byState.get(image);
  if (states === undefined) {
    states = [];
    for (const [facility, at] of image.stateOf.entries()) {
      states[at] ??= [];
      states[at].push(facility);
    }
    byState.set(image, states);
  }
  return states[stateIndex.get(state) ?? -1] ?? [];
}

function regionsNamed(image: Image, words: readonly string[]): Place[] {
  const name = words.join(" ");
  const [first, ...rest] = words;
  const whole = partsOfStates.has(first) ? stateOf(rest.join("")) : undefined;
  const what = regions.get(name) ?? (stateOf(words.join("")) === undefined ? whole : undefined);
  if (what !== undefined) {
    const { states, names } = statesAndCities(what);
    const [around] = names.length === 0 ? [] : citiesNamed(image, [names[0], states[0].toLowerCase()]);
    const facilities = names.length === 0 ? states.flatMap((state) => facilitiesOfState(image, state)) : [];
    return [{ kind: "region", name, states, facilities, center: around }];
  }
  return isCounty(words) ? [{ kind: "region", name, states: [], facilities: [] }] : [];
}

/** Whether words have the form of a county's name, perhaps with its state: `Sangamon County, IL`. */
export const namesCounty = (words: readonly string[]): boolean =>
  isCountyNamed(words, (some) => stateOf(some.join("")) !== undefined);

/** Whether a word such as "in" is a state's code but stands before a place, so that it doesn't mean the state. */
export const isBeforePlace = (image: Image, words: readonly string[], at: number): boolean =>
  beforePlace.has(words[at]) && stateOf(words[at]) !== undefined && isPlaceAt(image, words, at + 1);

function isPlaceAt(image: Image, words: readonly string[], at: number): boolean {
  const start = articles.has(words[at]) ? at + 1 : at;
  for (let end = start + 1; end <= Math.min(words.length, start + mostPlaceWords); end++)
    if (placesNamed(image, words.slice(start, end)).length > 0) return true;
  return false;
}

/**
 * Returns where a place is: a ZIP code, a city with hospitals in only one state, or a region around a city. Returns
 * undefined for other places, or if the coordinates are unknown.
 */
export function centerOf(image: Image, place: Place): Point | undefined {
  if (place.kind !== "city" || place.states.length !== 1) return place.center;
  const cities = citiesNamed(image, splitWords(place.name));
  return cities.length === 1 ? cities[0] : undefined;
}

/** Returns a city's name as one word, a space, and the state's code. @param city such as `Saint Louis, MO` */
function cityKey(city: string): string {
  const comma = city.lastIndexOf(",");
  return `${indexWords(city.slice(0, comma)).join("")} ${city.slice(comma + 2)}`;
}

/** Makes the cities of a table of places. @param city the city and state of each ZIP code, such as `Boston, MA` */
export function citiesOf(
  city: readonly string[],
  { latitude, longitude }: Pick<Places, "latitude" | "longitude">,
): Cities {
  const keyOf = new Map(city.map((name) => [name, ""]));
  for (const name of keyOf.keys()) keyOf.set(name, cityKey(name));
  const zipsOf = Map.groupBy(city.keys(), (i) => keyOf.get(city[i]) ?? "");
  const key = [...zipsOf.keys()].sort();
  const zips = key.map((each) => zipsOf.get(each) ?? []);
  const meansOf = (axis: Int32Array) =>
    zips.map((of) => Math.round(of.reduce((sum, i) => sum + axis[i], 0) / of.length));
  return {
    key,
    name: zips.map(([first]) => city[first]),
    zips: zips.map(({ length }) => length),
    latitude: meansOf(latitude),
    longitude: meansOf(longitude),
  };
}

/** Returns the state of the city that is nearest to a point; undefined if there are no cities. O(cities). */
export function stateAt(image: Image, { latitude, longitude }: Point): string | undefined {
  const { placeCity, placeCityLatitude, placeCityLongitude } = image;
  let [nearest, least] = [-1, Number.POSITIVE_INFINITY];
  for (let city = 0; city < placeCityLatitude.length; city++) {
    const tenths = tenthsBetween(latitude, longitude, placeCityLatitude[city], placeCityLongitude[city]);
    if (tenths < least) [nearest, least] = [city, tenths];
  }
  return nearest < 0 ? undefined : textAt(placeCity, nearest).slice(-2);
}
