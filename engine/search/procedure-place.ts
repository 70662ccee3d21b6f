import { type Image, textAt } from "../image/image.ts";
import { groupOfCode } from "./codes.ts";
import type { ShownPlace } from "./find.ts";
import { beforePlace, doubtful, fillers, phrasesOf } from "./lexicon.ts";
import { type City, facilitiesInCity, isStateCode, namesakes, placesNamed, stateOf } from "./places.ts";
import { absentWords, termsIn } from "./procedure-terms.ts";
import {
  asideWords,
  bodyParts,
  genericWords,
  procedureMeaning,
  saysNothing,
  sentenceWords,
} from "./procedure-words.ts";
import { beginsWord, findWord, indexOf } from "./text-index.ts";
import { allowedTypos, closeTo, oneTypoLetters } from "./typos.ts";

/** Finds the place in a search for procedures: `knee replacement in Houston`, `hernia repair Chicago`. */

const beforeCity = phrasesOf("before-city");
const articles = phrasesOf("article");
const mostWords = 4;

export interface PlaceRead {
  rest: readonly string[];
  place: ShownPlace | null;
  span: readonly string[];
  /** Words that are set aside, such as an unclear city, a region, or an unknown place. */
  aside: readonly string[];
}

/**
 * Separates the place from the other words of a search for procedures.
 * @param capitals see `capitalsIn`
 */
export function placeIn(image: Image, words: readonly string[], capitals: ReadonlySet<string>): PlaceRead {
  const without = (start: number, end: number) => [...words.slice(0, start), ...words.slice(end)];
  // After a preposition, a place may stand anywhere, and its name may also be a word of procedures.
  for (let at = 0; at + 1 < words.length; at++) {
    if (!beforePlace.has(words[at])) continue;
    // A city's name may begin with the article.
    for (let start = at + 1; start <= (articles.has(words[at + 1]) ? at + 2 : at + 1); start++)
      for (let end = Math.min(words.length, start + mostWords); end > start; end--) {
        const span = words.slice(start, end);
        const rest = without(at, end);
        // In "at the VA", the letters aren't the state.
        const isOther = start > at + 1 && span.length === 1 && isStateCode(span[0]);
        const place = isOther ? null : placeNamed(image, span, true);
        if (place !== null) return { rest, place, span, aside: [] };
        if (!isOther && !isRegion(image, span)) continue;
        const others = placeIn(image, rest, capitals);
        return { ...others, aside: [...span, ...others.aside] };
      }
  }
  // After a preposition, words that are like no word of procedures are a place, even if it has no hospitals or isn't
  // known.
  const last = words.findLastIndex((word) => beforeCity.has(word));
  const span = words.slice(last + 1);
  const isPlace = last >= 0 && span.length > 0 && span.length < mostWords;
  if (
    isPlace &&
    span.some(({ length }) => length >= oneTypoLetters) &&
    span.every((word) => isUnlike(image, word))
  ) {
    const rest = words.slice(0, last);
    const [city, ...others] = namesakes(image, span);
    if (city !== undefined)
      return { rest, place: { near: others.length === 0 ? city.name : withoutState(city) }, span, aside: [] };
    for (let start = 1; start < span.length; start++) {
      const place = placeNamed(image, span.slice(start), true);
      if (place !== null) return { rest, place, span: span.slice(start), aside: span.slice(0, start) };
    }
    return { rest, place: null, span: [], aside: span };
  }
  const isMeant = (word: string) => !saysNothing(word) || (isStateCode(word) && !fillers.has(word));
  const meant = words.findLastIndex(isMeant) + 1;
  for (const end of new Set([words.length, meant, 0]))
    for (let length = Math.min(words.length - 1, mostWords); length > 0; length--) {
      const start = Math.max(0, end - length);
      const span = words.slice(start, end === 0 ? length : end);
      const rest = without(start, start + span.length);
      // Words such as cost may follow the place.
      const isLast = end > 0;
      if (isLetters(span) && beforeLetters.has(words[start - 1] ?? "")) continue;
      const place = isCodeMeant(span, rest, isLast, capitals)
        ? { state: span[0].toUpperCase() }
        : placeNamed(image, span, false, rest);
      if (place === unclear) return { rest, place: null, span: [], aside: span };
      if (place !== null) return { rest, place, span, aside: [] };
    }
  return { rest: words, place: null, span: [], aside: [] };
}

const isLetters = (words: readonly string[]) => words.length === 1 && words[0].length === 2;

/** Whether words are a county, or a region of several states. */
const isRegion = (image: Image, words: readonly string[]) => {
  const [place] = placesNamed(image, words);
  return place?.kind === "region" && place.states.length !== 1;
};

/** Codes of states that are also words. */
const wordLikeCodes = phrasesOf("state-word");
/** Codes that are words in small letters, even at the end of a text. */
const wordsAtEnd = phrasesOf("state-word-end");
/** Codes that mean something else even in capitals, such as LA for Los Angeles. */
const neverCodes = phrasesOf("state-word-ever");
/** Words before letters that are no state: stent after MI, pump for MS, cleared by MD. */
const beforeLetters = phrasesOf("before-letters");
/** Codes that are medical words with a part of the body: colon CA, CT of the knee. */
const medicalCodes = phrasesOf("state-medical");
/**
 * Codes that are medical words with a part of the body, but only in small letters: `knee tx`. In `knee TX`, the code is
 * Texas.
 */
const medicalSmallCodes = phrasesOf("state-medical-small");

/** Whether a code of a state, in capitals or at the end of the text, means the state. */
function isCodeMeant(
  [code, ...more]: readonly string[],
  others: readonly string[],
  isLast: boolean,
  capitals: ReadonlySet<string>,
): boolean {
  if (code === undefined || more.length > 0 || !isStateCode(code) || neverCodes.has(code)) return false;
  const isInCapitals = capitals.has(code);
  if (!isInCapitals && (!isLast || wordsAtEnd.has(code))) return false;
  const held = termsIn([...others, code]).held;
  if (held?.words.includes(code)) return false;
  // If only a part of the body is left, the letters are medical.
  const isOfBody = others.every((word) => bodyParts.has(word));
  if (medicalCodes.has(code)) return held !== undefined && !isOfBody;
  return isInCapitals || !isOfBody || !medicalSmallCodes.has(code);
}

/** A city's name that may mean several cities, or no city. */
const unclear = "unclear";

function placeNamed(image: Image, words: readonly string[], isIntroduced: true): ShownPlace | null;
function placeNamed(
  image: Image,
  words: readonly string[],
  isIntroduced: false,
  others: readonly string[],
): ShownPlace | typeof unclear | null;
function placeNamed(
  image: Image,
  words: readonly string[],
  isIntroduced: boolean,
  others: readonly string[] = [],
): ShownPlace | typeof unclear | null {
  if (words.length > 1 && fillers.has(words[0]) && !articles.has(words[0])) return null;
  const isKnown = (word: string) => isOfProcedures(image, word);
  const [joined, isCode] = [words.join(""), words.join("").length === 2];
  const isWord = isIntroduced
    ? doubtful.has(joined) || fillers.has(joined)
    : isCode && (wordLikeCodes.has(joined) || isKnown(joined));
  const [first] = placesNamed(image, words);
  if (first?.kind === "zip") {
    const isMeant = words.length > 1 || (isIntroduced && groupOfCode(image, first.name) === undefined);
    return isMeant ? { near: first.name } : null;
  }
  const state = stateOf(joined);
  if (state !== undefined && !isWord)
    return words.length === 1 && !isCode && !isIntroduced && isKnown(joined) ? null : { state };
  const city = cityNamed(image, words);
  for (let end = words.length - 1; end > 0; end--) {
    const there = stateOf(words.slice(end).join(""));
    if (there === undefined) continue;
    const before = words.slice(0, end);
    // Without a preposition, "cost TX" isn't the city of Cost.
    if (!isIntroduced && before.every(saysNothing)) return null;
    if (city !== undefined) return { near: city.near };
    // A city without hospitals is also a city, if its words say nothing else.
    const isThere = namesakes(image, before).some(({ state }) => state === there);
    return isThere && !isInProcedure(before, others)
      ? { near: `${before.map(capitalized).join(" ")}, ${there}` }
      : null;
  }
  if (city === undefined) return null;
  const isMeant = () => isLarge(image, words) && isProcedure(image, others) && !isInProcedure(words, others);
  if (!isIntroduced && words.every(isKnown) && !isMeant()) return null;
  return city.isOne || isIntroduced ? { near: city.near } : unclear;
}

/** Whether a city's name is only a part of a procedure's name, such as the Boston of a Boston KPro. */
function isInProcedure(city: readonly string[], others: readonly string[]): boolean {
  const held = termsIn([...city, ...others]).held?.words;
  return city.every((word) => held?.includes(procedureMeaning(word)));
}

const isProcedure = (image: Image, words: readonly string[]) =>
  termsIn(words).held !== undefined ||
  words.some((word) => groupOfCode(image, word.toUpperCase()) !== undefined);

const isLarge = (image: Image, words: readonly string[]) =>
  namesakes(image, words).some(({ zips }) => zips >= zipsOfLarge);

/** Whether a word is usual in searches for procedures. */
function isOfProcedures(image: Image, word: string): boolean {
  return (
    findWord(indexOf(image, "procedure"), procedureMeaning(word)) >= 0 ||
    [fillers, sentenceWords, asideWords, absentWords, genericWords].some((words) => words.has(word))
  );
}

/**
 * Whether a word has three letters or more and is unlike all words of procedures: none of them begins with it or is
 * close to it.
 */
function isUnlike(image: Image, word: string): boolean {
  const index = indexOf(image, "procedure");
  if (!/^\p{L}{3,}$/u.test(word) || isOfProcedures(image, word)) return false;
  return !beginsWord(index, word) && closeTo(index, word, allowedTypos([...word].length)).length === 0;
}

/**
 * Returns the city that words name, if it has hospitals or is large. If no other city of its name may be meant, `isOne`
 * is true and `near` has the state. For this, a city with hospitals needs far more hospitals than every namesake, and
 * at least as many ZIP codes. Another city needs far more ZIP codes than every namesake.
 */
function cityNamed(image: Image, words: readonly string[]): { near: string; isOne: boolean } | undefined {
  const there = facilitiesInCity(image, words);
  const cities = namesakes(image, words).toSorted((a, b) => b.zips - a.zips);
  if (there.length === 0) {
    const [largest, other] = cities;
    if (largest === undefined || largest.zips < zipsOfLarge) return undefined;
    const isOne = other === undefined || largest.zips >= timesLarger * other.zips;
    return { near: isOne ? largest.name : withoutState(largest), isOne };
  }
  const name = textAt(image.city, there[0]);
  const [[state, { length }], next] = [
    ...Map.groupBy(there, (facility) => textAt(image.state, facility)),
  ].toSorted(([, a], [, b]) => b.length - a.length);
  const zips = cities.find((city) => city.state === state)?.zips ?? 0;
  const isOne =
    (next === undefined || length >= timesMore * next[1].length) && cities.every((city) => city.zips <= zips);
  return { near: isOne ? `${name}, ${state}` : name, isOne };
}

/**
 * A city with hospitals is meant without its state only if it has this many times the hospitals of every namesake in
 * another state.
 */
const timesMore = 5;
/**
 * A city without hospitals is meant without its state only if it has this many times the ZIP codes of every namesake.
 * Rochester in New York has seven times those of Rochester in Minnesota, which is known for its clinic.
 */
const timesLarger = 8;
/** Minimum ZIP codes of a large city. */
const zipsOfLarge = 8;

const withoutState = ({ name }: City) => name.slice(0, name.lastIndexOf(","));

const capitalized = (word: string) => `${word[0].toUpperCase()}${word.slice(1)}`;
