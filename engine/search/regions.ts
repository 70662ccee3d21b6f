import type { Image } from "../image/image.ts";
import { read } from "./asked.ts";
import { cityField } from "./fields.ts";
import { stateOf } from "./nicknames.ts";
import { otherNameIn } from "./other-names.ts";
import { meaningOf } from "./text.ts";
import { findWord, hasPhrase, indexOf, isInFields, type SearchIndex } from "./text-index.ts";
import { fillerWords, genericWords, placeWords, questionWords, regions } from "./vocabulary.ts";

/** Finds regions in searches for hospitals. The directory has only cities, states and ZIP codes. */

const partOfState =
  /^(north|south|east|west|northern|southern|eastern|western|central|upstate|downstate|upper|lower)$/;
const lists = /^(hospitals|clinics|centers|ers|facilities)$/;

/** A region, and the words of a search beside it; none if they say nothing. */
export interface Region {
  name: string;
  others: readonly string[];
}

/**
 * Returns the region in which a search looks for hospitals, or undefined if there is none. A region's name may also be
 * a part of a hospital's name. It means the region after `in` or a similar word, in a search for several hospitals, and
 * if no hospital has the name.
 *
 * @param isBeside whether any region counts that is named beside other words
 */
export function regionIn(image: Image, words: readonly string[], isBeside = false): Region | undefined {
  const index = indexOf(image, "facility");
  for (let start = 0; start < words.length; start++)
    for (let end = Math.min(words.length, start + mostWords); end > start; end--) {
      const span = words.slice(start, end);
      if (!isRegion(span) || isPlaceOf(index, words, start, end)) continue;
      const others = [...words.slice(0, start), ...words.slice(end)];
      const before = words[start - 1] === "the" ? words[start - 2] : words[start - 1];
      // The Medical Center of Central Georgia is a hospital.
      if (!isAfterPlaceWord(before) && otherNameIn(words)?.positions.includes(start)) continue;
      const isAlone = others.every(
        (word) =>
          fillerWords.has(word) || questionWords.has(word) || genericWords.facility.has(meaningOf(word)),
      );
      const isList = isAlone && others.some((word) => lists.test(word));
      const isName = hasPhrase(index, span.map(meaningOf)) || (isAlone && end < words.length);
      if (isBeside || isAfterPlaceWord(before) || isList || (isAlone && !isName && words.length > 1))
        return { name: span.join(" "), others: isAlone ? [] : others };
    }
  return undefined;
}

/** Returns the region in which a text looks for hospitals, or undefined if there is none. See `regionIn`. */
export function regionAsked(image: Image, text: string): string | undefined {
  return regionIn(image, read(image, "facility", text).words)?.name;
}

const mostWords = 4;
const isAfterPlaceWord = (word: string | undefined) => word !== undefined && placeWords.has(word);

function isRegion(words: readonly string[]): boolean {
  const last = words.at(-1) ?? "";
  if (words.length > 1 && /^(county|parish|counties)$/.test(last)) return !placeWords.has(words[0]);
  const [first, ...rest] = words;
  if (rest.length > 0 && partOfState.test(first) && stateOf(rest.join("")) !== undefined)
    return stateOf(words.join("")) === undefined;
  return regions.has(words.join(" "));
}

/** Whether the words are a city or begin one, or are one word before a state. */
function isPlaceOf(index: SearchIndex, words: readonly string[], start: number, end: number): boolean {
  const isCity = (length: number) =>
    isInFields(index, findWord(index, words.slice(start, length).map(meaningOf).join("")), 1 << cityField);
  return isCity(end) || isCity(end + 1) || (end === start + 1 && stateOf(words[end] ?? "") !== undefined);
}
