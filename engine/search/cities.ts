import { type Image, textAt } from "../image/image.ts";
import { type Point, tenthsBetween } from "../image/places.ts";
import { withPrefix } from "../sorted.ts";
import { cityField } from "./fields.ts";
import { citiesOfNickname, facilitiesIn, facilitiesOfNickname, stateOf } from "./nicknames.ts";
import { meaningOf, splitWords } from "./text.ts";
import { documentsOf, findWord, hasToken, indexOf } from "./text-index.ts";

/**
 * Finds the positions of the facilities in a city. Case, accents, abbreviations and spaces don't matter. The state may
 * follow: `saint louis mo`.
 */
export function facilitiesInCity(image: Image, city: string): Set<number> {
  return facilitiesInCityOf(image, splitWords(city));
}

/** Finds the facilities in a city, like `facilitiesInCity`. @param words see `splitWords` */
export function facilitiesInCityOf(image: Image, words: readonly string[]): Set<number> {
  const index = indexOf(image, "facility");
  const joined = words.map(meaningOf).join("");
  const nicknamed = facilitiesOfNickname(index, joined);
  if (nicknamed.length > 0) return new Set(nicknamed);
  const word = findWord(index, joined);
  const named = word < 0 ? [] : documentsOf(index, word);
  const found = named.filter((facility) => hasToken(index, facility, word, cityField));
  if (found.length > 0) return new Set(found);
  // The state's name may have several words.
  for (let end = words.length - 1; end > 0; end--) {
    const state = stateOf(words.slice(end).join(""));
    if (state === undefined) continue;
    const there = facilitiesIn(index, words.slice(0, end).map(meaningOf).join(""), state.toLowerCase());
    if (there.length > 0) return new Set(there);
  }
  return new Set();
}

export interface City extends Point {
  /** The city with its state's code, such as `Boston, MA`. */
  name: string;
  state: string;
  /** How many ZIP codes it has, which says how large it is. */
  zips: number;
}

/**
 * Finds the cities that a text names among the cities of the table of places, one for each state, ordered by state. The
 * state's code or name may follow: `Boston, MA`, `saint louis missouri`. A nickname, such as NYC, means its first city. O(log cities).
 */
export function citiesNamed(image: Image, text: string): City[] {
  const words = splitWords(text);
  const whole = citiesWithName(image, words);
  if (whole.length > 0) return whole;
  for (let end = 1; end < words.length; end++) {
    const state = stateOf(words.slice(end).join(""));
    const there = citiesWithName(image, words.slice(0, end)).filter((city) => city.state === state);
    if (there.length > 0) return there;
  }
  return nicknamed(image, words);
}

/** Finds the cities of the table of places that a name or a nickname without a state means. @param words see `splitWords` */
export function namesakes(image: Image, words: readonly string[]): City[] {
  const named = citiesWithName(image, words);
  return named.length > 0 ? named : nicknamed(image, words);
}

function nicknamed(image: Image, words: readonly string[]): City[] {
  return citiesOfNickname(words.join("")).flatMap(({ city, state }) =>
    citiesWithName(image, [city]).filter((other) => other.state === state),
  );
}

function citiesWithName(image: Image, words: readonly string[]): City[] {
  const { placeCity, placeCityName, placeCityZips, placeCityLatitude, placeCityLongitude } = image;
  const word = words.map(meaningOf).join("");
  const { start, end } = withPrefix(placeCity, Buffer.from(`${word} `));
  return Array.from({ length: end - start }, (_, i) => ({
    name: textAt(placeCityName, start + i),
    state: textAt(placeCity, start + i).slice(word.length + 1),
    zips: placeCityZips[start + i],
    latitude: placeCityLatitude[start + i],
    longitude: placeCityLongitude[start + i],
  }));
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
