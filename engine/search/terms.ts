import { findFacility } from "../answers/facilities.ts";
import type { Image } from "../image/image.ts";
import { stateNames } from "../snapshot/schema.ts";
import { withPrefix } from "../sorted.ts";
import { cityField, cityPartField, stateField, statePartField } from "./fields.ts";
import { exact, matchExactly, matchNeeded, matchPrefix, mostParts, type Term } from "./matching.ts";
import { otherNameIn } from "./other-names.ts";
import { absentWords } from "./procedure-terms.ts";
import { asideWords, wordForms } from "./procedure-words.ts";
import { citiesOf, meaningOf, meanings, splitWords, stateWords } from "./text.ts";
import { documentsOf, findWord, hasToken, isInFields, lettersOf, type SearchIndex } from "./text-index.ts";
import { codePoints, hasMoreBits, oneTypoLetters, typosBetween } from "./typos.ts";
import { fillerWords, genericWords, placeWords, sentenceWords, wordsBeforeSelf } from "./vocabulary.ts";

/** Joined words with so many letters match a word of the index by prefix. */
const joinedPrefixLetters = 6;
const placeFields = (1 << cityField) | (1 << stateField) | (1 << cityPartField) | (1 << statePartField);

/**
 * Returns the terms of a query's words, in order, with their matches. A repeated word gives one term. If the word may
 * also name a place, it gives a second term for the place.
 */
export function termsOf(image: Image, index: SearchIndex, text: string): Term[] {
  const { kind } = index;
  const split = splitWords(text);
  const typed = (kind === "procedure" ? withoutGaps(index, split) : withoutSelf(split)).map((word) =>
    kindMeant(index, word),
  );
  const words = typed.filter((word, i) => {
    if (typed.indexOf(word) === i) return true;
    return typed.lastIndexOf(word) === i && isInPlace(index, word);
  });
  const isFiller = (word: string, i: number) =>
    kind === "procedure"
      ? fillerWords.has(word) || isMeaningless(word, words[i - 1])
      : fillerWords.has(word) && !(isStateCode(word) && i + 1 === words.length && typed.at(-1) === word);
  const isLast = (i: number) => i > 0 && i + 1 === words.length;
  const isMeaningful = words.map(
    (word, i) => !isFiller(word, i) && !genericWords[kind].has(meanings[kind](word)),
  );
  // Generic words may be in a name, so they are needed if all words are generic or fillers, except with "near me".
  const isAnyNeeded = isMeaningful.includes(true) || typed.length < split.length;
  // Before a word for a hospital, or beside only such words, "va" means Veterans Affairs and not Virginia. The data has
  // no hospitals of Veterans Affairs.
  const isForVeterans =
    kind === "facility" &&
    words.length > 1 &&
    words.includes("va") &&
    ((words[0] === "va" && !isMeaningful[1]) || words.every((word, i) => word === "va" || !isMeaningful[i]));
  const places = words.findIndex((word, i) => placeWords.has(word) && !isLast(i));
  const inCity = new Set(
    kind === "facility" ? cityWithState(index, words, isMeaningful.lastIndexOf(true) + 1) : [],
  );
  const terms = words.map((word, i): Term => {
    const isNeeded = !isForVeterans && (isMeaningful[i] || (!isAnyNeeded && !isFiller(word, i)));
    const isPlace = (places >= 0 && i > places) || inCity.has(i) || words.indexOf(word) < i;
    const term = { word, isNeeded, isPlace, matches: [], phrases: new Map(), code: -1 };
    if (isNeeded) matchNeeded(image, index, term);
    matchExactly(index, word, exact, [term]);
    return term;
  });
  // Words typed apart may be one word of the index.
  for (let start = 0; start < words.length; start++)
    for (let end = start + 2; end <= Math.min(words.length, start + mostParts); end++) {
      if (isFiller(words[end - 1], end - 1) || isFiller(words[start], start)) break;
      const span = terms.slice(start, end);
      const asTyped = words.slice(start, end);
      const joined = asTyped.join("");
      const meant = asTyped.map(meanings[kind]).join("");
      for (const city of citiesOf(joined)) matchExactly(index, city, exact, span);
      if (meant !== joined) matchExactly(index, meant, exact, span);
      if (joined.length >= joinedPrefixLetters) matchPrefix(index, Buffer.from(joined), span);
    }
  if (kind === "facility") enterOtherName(image, terms);
  return terms;
}

/** Finds the longest unofficial name of a hospital in the query. Its words get the hospital's code. */
function enterOtherName(image: Image, terms: readonly Term[]): void {
  const found = otherNameIn(terms.map(({ word }) => word));
  const facility = found === undefined ? -1 : findFacility(image, found.ccn);
  if (found === undefined || facility < 0) return;
  for (const at of found.positions) terms[at].code = facility;
}

/** In "near me", the "me" isn't Maine. */
function withoutSelf(words: readonly string[]): string[] {
  return words.filter((word, i) => word !== "me" || i === 0 || !wordsBeforeSelf.has(words[i - 1]));
}

/** Joins two words that have a meaning only together: over active, heart burn, a fib, by pass. */
function withoutGaps(index: SearchIndex, words: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of withoutSelf(words)) {
    const last = joined.at(-1);
    const both = `${last}${word}`;
    const isGap =
      last !== undefined && [last, word].some((part) => fillerWords.has(part) || isMeaningless(part));
    if (isGap && (absentWords.has(both) || findWord(index, meanings.procedure(both)) >= 0))
      joined[joined.length - 1] = both;
    else joined.push(word);
  }
  return joined;
}

/**
 * Corrects one typo in a generic word or, for procedures, in one of `wordForms`. A word with which a word of the index
 * begins isn't corrected.
 */
function kindMeant(index: SearchIndex, word: string): string {
  const { kind } = index;
  if (word.length < oneTypoLetters || (kind === "procedure" && isKnown(word))) return word;
  if (findWord(index, meanings[kind](word)) >= 0) return word;
  const typed = Buffer.from(word);
  const longer = withPrefix(index.words, typed);
  if (longer.start < longer.end) return word;
  const letters = lettersOf(typed);
  for (const { meant, bytes, has } of kindSpellings[kind])
    if (Math.abs(meant.length - word.length) <= 1 && !hasMoreBits(has & ~letters, 1))
      if (typosBetween(codePoints(typed), bytes, 1) === 1) return meant;
  return word;
}

/** A number of up to three digits, an ordinal (3rd), a single letter, or a vertebra (l4, c5). */
const numberOrLetter = /^([clst]?[0-9]{1,3}|[a-z]|1st|2nd|3rd|[4-9]th)$/;

/** A number tells procedure groups apart only after "level", as in official names. */
const isMeaningless = (word: string, before?: string) =>
  sentenceWords.has(word) || asideWords.has(word) || (numberOrLetter.test(word) && before !== "level");

const isKnown = (word: string) => absentWords.has(word) || wordForms.has(word);

const spellingsOf = (words: ReadonlySet<string>) =>
  Array.from(words, (meant) => ({
    meant,
    bytes: Buffer.from(meant),
    has: lettersOf(Buffer.from(meant)),
  })).filter(({ meant }) => meant.length >= oneTypoLetters);
const kindSpellings = {
  facility: spellingsOf(genericWords.facility),
  procedure: spellingsOf(new Set([...genericWords.procedure, ...wordForms])),
};

function isInPlace(index: SearchIndex, word: string): boolean {
  return !fillerWords.has(word) && isInFields(index, findWord(index, meaningOf(word)), placeFields);
}

function cityWithState(index: SearchIndex, words: readonly string[], end: number): number[] {
  for (let start = Math.max(1, end - mostParts); start < end; start++) {
    const state = words.slice(start, end).join("");
    if (!stateWords.has(state)) continue;
    for (let from = Math.max(0, start - mostParts); from < start; from++)
      if (isCityIn(index, words.slice(from, start), state))
        return Array.from({ length: end - from }, (_, i) => from + i);
  }
  return [];
}

function isCityIn(index: SearchIndex, words: readonly string[], state: string): boolean {
  const city = findWord(index, citiesOf(words.map(meaningOf).join(""))[0]);
  const there = findWord(index, state);
  return (
    isInFields(index, city, 1 << cityField) &&
    isInFields(index, there, 1 << stateField) &&
    documentsOf(index, city).some(
      (document) =>
        hasToken(index, document, city, cityField) && hasToken(index, document, there, stateField),
    )
  );
}

function isStateCode(word: string): boolean {
  return word.length === 2 && Object.hasOwn(stateNames, word.toUpperCase());
}
