import { type Image, textAt } from "../image/image.ts";
import { withPrefix } from "../sorted.ts";
import { facilitiesInCityOf } from "./cities.ts";
import { groupOfCode } from "./codes.ts";
import { stateOf } from "./nicknames.ts";
import { absentWords } from "./procedure-terms.ts";
import { asideWords, procedureMeaning, sentenceWords } from "./procedure-words.ts";
import { findWord, indexOf } from "./text-index.ts";
import { allowedTypos, forEachClose, oneTypoLetters } from "./typos.ts";
import { fillerWords, genericWords } from "./vocabulary.ts";

/** Finds the place in a search for procedures: `knee replacement in Houston`, `hernia repair Chicago IL`. */

/** A ZIP code, or a city with its state where one is known; or a state's code. */
export type Place = { near: string } | { state: string };

const prepositions = /^(in|near|around|at|from|within)$/;
const mostWords = 4;

/** Takes the place off the words of a search for procedures. */
export function placeIn(
  image: Image,
  words: readonly string[],
): { rest: readonly string[]; place: Place | null } {
  const without = (start: number, end: number) => [...words.slice(0, start), ...words.slice(end)];
  // After a preposition a place may stand anywhere, and be a word of procedures too.
  for (let at = 0; at + 1 < words.length; at++) {
    if (!prepositions.test(words[at])) continue;
    const start = words[at + 1] === "the" ? at + 2 : at + 1;
    for (let end = Math.min(words.length, start + mostWords); end > start; end--) {
      const place = placeNamed(image, words.slice(start, end), true);
      const isTail = words[end] === "area" ? 1 : 0;
      if (place !== null) return { rest: without(at, end + isTail), place };
    }
  }
  // A city without hospitals is a city after a preposition, if its words are like no word of procedures.
  const last = words.findLastIndex((word) => /^(in|near|around)$/.test(word));
  const city = words.slice(last + 1);
  const isCity = last >= 0 && city.length > 0 && city.length < mostWords;
  if (
    isCity &&
    city.some(({ length }) => length >= oneTypoLetters) &&
    city.every((word) => isUnlike(image, word))
  )
    return { rest: words.slice(0, last), place: { near: city.map(capitalized).join(" ") } };
  for (const atEnd of [true, false])
    for (let length = Math.min(words.length - 1, mostWords); length > 0; length--) {
      const [start, end] = atEnd ? [words.length - length, words.length] : [0, length];
      const place = placeNamed(image, words.slice(start, end), false);
      if (place !== null) return { rest: without(start, end), place };
    }
  return { rest: words, place: null };
}

/** Codes of states that are also words. Alone they aren't a state. */
const wordLikeCodes = /^(al|co|ct|de|hi|id|in|la|ma|md|me|mo|mt|oh|ok|or|pa|pr|vi|as|ms|ne|sc)$/;

function placeNamed(image: Image, words: readonly string[], isIntroduced: boolean): Place | null {
  const [first] = words;
  if (fillerWords.has(first) && words.length > 1) return null;
  if (words.length === 1 && /^\d{5}$/.test(first))
    return isIntroduced && groupOfCode(image, first) === undefined ? { near: first } : null;
  const joined = words.join("");
  const isKnown = (word: string) => isOfProcedures(image, word);
  const state = stateOf(joined);
  const isCode = joined.length === 2;
  if (
    state !== undefined &&
    (isIntroduced
      ? !/^(in|or|me|to|at|hi)$/.test(joined)
      : !(isCode && (wordLikeCodes.test(joined) || isKnown(joined))))
  )
    return words.length === 1 && isCode === false && !isIntroduced && isKnown(joined) ? null : { state };
  const zip = words.at(-1) ?? "";
  if (words.length > 1 && /^\d{5}$/.test(zip) && stateOf(words.slice(0, -1).join("")) !== undefined)
    return { near: zip };
  for (let end = words.length - 1; end > 0; end--) {
    const there = stateOf(words.slice(end).join(""));
    const city = words.slice(0, end);
    if (there === undefined) continue;
    const known = nameOfCity(image, words);
    // A city without hospitals is also a city, if its words say nothing else.
    if (known !== undefined) return { near: known };
    if (city.every((word) => !isKnown(word) && !/\d/.test(word)))
      return { near: `${city.map(capitalized).join(" ")}, ${there}` };
    return null;
  }
  if (!isIntroduced && words.some(isKnown)) return null;
  const city = nameOfCity(image, words);
  return city === undefined ? null : { near: city };
}

/** Whether a word says something in a search for procedures. */
function isOfProcedures(image: Image, word: string): boolean {
  return (
    findWord(indexOf(image, "procedure"), procedureMeaning(word)) >= 0 ||
    [fillerWords, sentenceWords, asideWords, absentWords, genericWords.procedure].some((words) =>
      words.has(word),
    )
  );
}

/** Whether no word of procedures begins with a word or is close to it. */
function isUnlike(image: Image, word: string): boolean {
  const index = indexOf(image, "procedure");
  if (!/^\p{L}{3,}$/u.test(word) || isOfProcedures(image, word)) return false;
  const longer = withPrefix(index.words, Buffer.from(word));
  let isClose = longer.start < longer.end;
  const letters = [...word].length;
  forEachClose(index, word, letters, allowedTypos(letters), () => {
    isClose = true;
  });
  return !isClose;
}

/** The name of a city with hospitals. Its state follows, unless another state has a city of this name that isn't far smaller. */
function nameOfCity(image: Image, words: readonly string[]): string | undefined {
  const [...there] = facilitiesInCityOf(image, words);
  if (there.length === 0) return undefined;
  const name = textAt(image.city, there[0]);
  const [most, next] = [...Map.groupBy(there, (facility) => textAt(image.state, facility))].toSorted(
    ([, a], [, b]) => b.length - a.length,
  );
  return next === undefined || most[1].length >= timesMore * next[1].length ? `${name}, ${most[0]}` : name;
}

/** A city is meant without its state if it has this many times the hospitals of every namesake in another state. */
const timesMore = 5;

const capitalized = (word: string) => `${word[0].toUpperCase()}${word.slice(1)}`;
