import { listFacilities } from "../answers/facility-list.ts";
import { bytesAt, type Image, textOf } from "../image/image.ts";
import { defaultMiles, type Point } from "../image/places.ts";
import { type City, citiesNamed, cityAt, namesakes, stateOf } from "./places.ts";
import { oneWord } from "./text.ts";
import { allowedTypos, typosBetween } from "./typos.ts";

/**
 * Returns the cities that a text may mean. If the text names cities, returns those, the city with the most hospitals
 * within `defaultMiles` first. Otherwise returns at most `mostLikely` cities that have a similar name, or the same name
 * in another state. The fewest typos come first, then the most ZIP codes.
 *
 * @param words see `splitWords`
 */
export function likelyCities(image: Image, words: readonly string[]): City[] {
  const named = citiesNamed(image, words);
  if (named.length > 0) return byHospitals(image, named);
  const likely: { city: City; typos: number }[] = [];
  // A name that ends like a state's, such as "Port Washington", may have no state.
  for (let end = words.length; end > 0; end--) {
    const state = end === words.length ? undefined : stateOf(words.slice(end).join(""));
    if (end < words.length && state === undefined) continue;
    const name = words.slice(0, end);
    const close = citiesLike(image, oneWord(name), state);
    likely.push(...(close.length > 0 ? close : namesakes(image, name).map((city) => ({ city, typos: 0 }))));
  }
  likely.sort(
    (a, b) => a.typos - b.typos || b.city.zips - a.city.zips || (a.city.name < b.city.name ? -1 : 1),
  );
  // Words with a state may name a city twice: with the state's letters as typos, and without them.
  return [...new Map(likely.map(({ city }) => [city.name, city])).values()].slice(0, mostLikely);
}

const mostLikely = 5;

function byHospitals(image: Image, cities: readonly City[]): City[] {
  const count = (near: Point) =>
    listFacilities(image, { status: "all", near: { ...near, miles: defaultMiles } }, "name").items.length;
  return cities
    .map((city) => ({ city, hospitals: count(city) }))
    .sort((a, b) => b.hospitals - a.hospitals || (a.city.name < b.city.name ? -1 : 1))
    .map(({ city }) => city);
}

/** Finds the cities whose names differ from a text by few typos. O(cities). @param state all states if undefined */
function citiesLike(image: Image, typed: string, state: string | undefined) {
  const { placeCity } = image;
  const bytes = Buffer.from(typed);
  const allowed = Math.max(1, allowedTypos(typed.length));
  const likely: { city: City; typos: number }[] = [];
  if (bytes.length < leastLikelyLetters) return likely;
  for (let i = 0; i + 1 < placeCity.offsets.length; i++) {
    // A key ends with a space and the state's code.
    const key = bytesAt(placeCity, i);
    if (Math.abs(key.length - 3 - bytes.length) > allowed) continue;
    if (state !== undefined && textOf(key.subarray(-2)) !== state) continue;
    const typos = typosBetween(bytes, key.subarray(0, -3), allowed);
    if (typos <= allowed) likely.push({ city: cityAt(image, i), typos });
  }
  return likely;
}

/** Minimum bytes of a name that may have typos. A shorter name with a typo may be anything. */
const leastLikelyLetters = 4;
