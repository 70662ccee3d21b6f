import type { Image } from "../image/image.ts";
import { cityField } from "./fields.ts";
import { facilitiesIn, facilitiesOfNickname, stateOf } from "./nicknames.ts";
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
