import type { Image } from "../image/image.ts";
import { stateCodes } from "../snapshot/schema.ts";
import { cityField } from "./fields.ts";
import { citiesOf, meaningOf, otherMeanings, splitWords, stateWords } from "./text.ts";
import { documentsOf, findWord, hasToken, indexOf } from "./text-index.ts";

/**
 * Finds the positions of the facilities in a city. Case, accents, abbreviations and spaces don't matter. The state may
 * follow: `saint louis mo`.
 */
export function facilitiesInCity(image: Image, city: string): Set<number> {
  const words = splitWords(city);
  const named = facilitiesInCities(image, words.map(meaningOf));
  const last = words.at(-1) ?? "";
  if (named.size > 0 || words.length < 2 || !stateWords.has(last)) return named;
  const codes = [last, ...otherMeanings(last)];
  const inState = (facility: number) => codes.includes(stateCodes[image.stateOf[facility]].toLowerCase());
  return new Set([...facilitiesInCities(image, words.slice(0, -1).map(meaningOf))].filter(inState));
}

function facilitiesInCities(image: Image, words: readonly string[]): Set<number> {
  const index = indexOf(image, "facility");
  const facilities = new Set<number>();
  for (const name of citiesOf(words.join(""))) {
    const word = findWord(index, name);
    if (word < 0) continue;
    for (const facility of documentsOf(index, word))
      if (hasToken(index, facility, word, cityField)) facilities.add(facility);
  }
  return facilities;
}
