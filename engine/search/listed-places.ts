import { stateIndex } from "../image/group-numbers.ts";
import type { Image } from "../image/image.ts";
import { stateNames } from "../snapshot/schema.ts";
import { facilitiesInCityOf } from "./cities.ts";
import { cityField, nameField } from "./fields.ts";
import { facilitiesOfNickname, stateOf } from "./nicknames.ts";
import { otherNameIn } from "./other-names.ts";
import { meaningOf, splitWords } from "./text.ts";
import { findWord, hasPhrase, isInFields, type SearchIndex } from "./text-index.ts";
import { fillerWords, genericWords, questionWords } from "./vocabulary.ts";

/** Finds the place in a search for all hospitals of a state or city, and words that say what kind of place it is. */

const mostWords = 4;
const introduces = /^(in|from|within)$/;

/** A place whose hospitals a search lists. */
export interface Listed {
  words: readonly string[];
  has: (facility: number) => boolean;
}

/**
 * Returns the place whose hospitals a search lists; undefined if the search says anything else. A state's whole name or
 * code means the state after `in`, and in a search for several hospitals: Wyoming is also a county, and Veterans
 * Affairs has Virginia's code. LA is Louisiana and Los Angeles. A city's whole name means the city after `in`: South Bend isn't Bend. Its
 * nickname means it also in a search for several hospitals: Manhattan isn't in Kansas.
 */
export function placeListed(image: Image, index: SearchIndex, words: readonly string[]): Listed | undefined {
  for (let length = Math.min(mostWords, words.length - 1); length > 0; length--)
    for (let start = 0; start + length <= words.length; start++) {
      const span = words.slice(start, start + length);
      const before = words.slice(0, start);
      const after = words.slice(start + length);
      const isIn = isAfterIn(words, start);
      const code = stateOf(span.join(""));
      const isState =
        code !== undefined &&
        after[0] === "state" &&
        (isIn || !hasPhrase(index, [...span, "state"].map(meaningOf)));
      const others = [...before, ...(isState ? after.slice(1) : after)];
      if (!others.every(saysNothing)) continue;
      const isList = others.some((word) => several.test(word));
      // The Metropolitan Hospital Center in New York is a hospital.
      if (!isList && others.some((word) => isOfName(index, word))) continue;
      const nicknamed = facilitiesOfNickname(index, span.map(meaningOf).join(""));
      if (code === undefined) {
        const city = isIn || (isList && nicknamed.length > 0) ? facilitiesInCityOf(image, span) : new Set();
        if (city.size > 0) return { words: span, has: (facility) => city.has(facility) };
        continue;
      }
      const isMeant =
        length === 1 && span[0].length === 2
          ? (isIn && after.length === 0) || (span[0] !== "va" && others.length === 1 && isList)
          : isIn || isList;
      const there = stateIndex.get(code);
      if (!isMeant) continue;
      const isThere = (facility: number) => image.stateOf[facility] === there;
      if (nicknamed.length === 0) return { words: [joinedNameOf(code)], has: isThere };
      return { words: span, has: (facility) => isThere(facility) || nicknamed.includes(facility) };
    }
  return undefined;
}

const isAfterIn = (words: readonly string[], at: number) =>
  introduces.test(words.slice(0, at).findLast((word) => word !== "the") ?? "");
const joinedNameOf = (code: string) => splitWords(stateNames[code]).join("");

const several = /^(hospitals|clinics|centers|facilities)$/;
const saysNothing = (word: string) =>
  fillerWords.has(word) || questionWords.has(word) || genericWords.facility.has(meaningOf(word));

const isOfName = (index: SearchIndex, word: string) =>
  questionWords.has(word) && isInFields(index, findWord(index, meaningOf(word)), 1 << nameField);

/**
 * Leaves out words that say what kind of place follows: `state of delaware`, `city of savannah`. A hospital's name, such
 * as City of Hope, keeps them, unless they follow `in`.
 */
export function withoutKindOfPlace(index: SearchIndex, words: readonly string[]): readonly string[] {
  for (let at = 0; at + 2 < words.length; at++) {
    const isState = /^(state|commonwealth)$/.test(words[at]);
    if (words[at + 1] !== "of" || !(isState || /^(city|town|village|borough)$/.test(words[at]))) continue;
    const start = at + 2;
    const isPlace = (end: number) => {
      const place = words.slice(start, end);
      return isState
        ? stateOf(place.join("")) !== undefined
        : isInFields(index, findWord(index, place.map(meaningOf).join("")), 1 << cityField);
    };
    const end = [3, 2, 1].map((length) => start + length).find((end) => end <= words.length && isPlace(end));
    if (end === undefined) continue;
    const isName =
      hasPhrase(index, words.slice(at, end).map(meaningOf)) ||
      otherNameIn(words)?.positions.includes(at) === true;
    if (isAfterIn(words, at) || !isName) return [...words.slice(0, at), ...words.slice(start)];
  }
  return words;
}
