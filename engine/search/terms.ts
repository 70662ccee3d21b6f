import type { Image } from "../image/image.ts";
import { stateNames } from "../snapshot/schema.ts";
import { withPrefix } from "../sorted.ts";
import { matchBegun } from "./begun-words.ts";
import { cityField, cityPartField, stateField, statePartField } from "./fields.ts";
import {
  exact,
  hasState,
  levelBits,
  matchExactly,
  matchNeeded,
  matchNickname,
  matchPrefix,
  mostParts,
  oneTypo,
  type Term,
} from "./matching.ts";
import { enterOtherName } from "./named-hospital.ts";
import { facilitiesIn, otherStateNames, stateOf } from "./nicknames.ts";
import { absentWords, termsIn } from "./procedure-terms.ts";
import { asideWords, sentenceWords, wordForms } from "./procedure-words.ts";
import { meaningOf, meanings, stateWords } from "./text.ts";
import { findWord, isInFields, lettersOf, type SearchIndex } from "./text-index.ts";
import {
  allowedTypos,
  codePoints,
  forEachClose,
  hasMoreBits,
  oneTypoLetters,
  typosBetween,
} from "./typos.ts";
import { fillerWords, genericWords, placeWords, questionWords, sharedStateWords } from "./vocabulary.ts";

/** Minimum letters of joined words for a match by prefix with a word of the index. */
const joinedPrefixLetters = 6;
const placeFields = (1 << cityField) | (1 << stateField) | (1 << cityPartField) | (1 << statePartField);

/**
 * Returns the terms of a query's words, in order, with their matches. A repeated word gives one term. If the word may
 * also name a place, it gives a second term for the place. No term is needed if all words say nothing.
 *
 * @param query see `read`
 * @param isAside tells which words may be missing, beside those that say nothing
 */
export function termsOf(
  image: Image,
  index: SearchIndex,
  query: readonly string[],
  isAside: (word: string) => boolean = () => false,
): Term[] {
  const { kind } = index;
  const typed = (kind === "procedure" ? withoutGaps(index, query) : query).map((word) =>
    kindMeant(index, word),
  );
  const words = typed.filter((word, i) => {
    if (typed.indexOf(word) === i) return true;
    return typed.lastIndexOf(word) === i && isInPlace(index, word);
  });
  const isStateAtEnd = (word: string, i: number) =>
    isStateCode(word) && i + 1 === words.length && typed.at(-1) === word;
  const isFiller = (word: string, i: number) =>
    kind === "procedure"
      ? fillerWords.has(word) || isMeaningless(word)
      : fillerWords.has(word) && !isStateAtEnd(word, i);
  const isLast = (i: number) => i > 0 && i + 1 === words.length;
  const says = words.map(
    (word, i) =>
      !isFiller(word, i) &&
      !genericWords[kind].has(meanings[kind](word)) &&
      (kind === "procedure" || !questionWords.has(word) || isStateAtEnd(word, i)),
  );
  // A word such as regional says nothing alone, but tells hospitals apart beside other words.
  const isTelling = says.map((is, i) => is && !sharedNames.has(meaningOf(words[i])));
  // Several words that say nothing alone may be a term for procedures, such as ed implant.
  const held = kind === "procedure" && !says.includes(true) ? termsIn(words).held : undefined;
  const isHeld = (word: string) =>
    held !== undefined && held.words.length > 1 && held.words.includes(meanings[kind](word));
  const isMeaningful = says.map((is, i) => (is ? isTelling.includes(true) : isHeld(words[i])));
  const isBegun = kind === "facility" && !isMeaningful.includes(true);
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
  const isOnly = isMeaningful.filter((is) => is).length === 1;
  const terms = words.map((word, i): Term => {
    const isNeeded = !isForVeterans && isMeaningful[i] && !isAside(word);
    const isPlace = (places >= 0 && i > places) || inCity.has(i) || words.indexOf(word) < i;
    // "Fla hospitals" are in Florida, and not in Flagstaff.
    const isPrefix =
      !(otherStateNames.has(word) && isOnly && i + 1 < words.length) &&
      !(isStateCode(word) && placeWords.has(words[i - 1]) && hasState(index, word));
    const term = { word, isNeeded, isPlace, isPrefix, matches: [], phrases: new Map(), code: -1 };
    if (isNeeded) matchNeeded(image, index, term);
    if (isBegun && i + 1 === words.length) matchBegun(index, term, query.at(-1) ?? "");
    else matchExactly(index, word, exact, [term]);
    return term;
  });
  // Words typed apart may be one word of the index.
  for (let start = 0; start < words.length; start++)
    for (let end = start + 2; end <= Math.min(words.length, start + mostParts); end++) {
      if (isFiller(words[start], start)) break;
      if (isFiller(words[end - 1], end - 1)) continue;
      const span = terms.slice(start, end);
      const asTyped = words.slice(start, end);
      const joined = asTyped.join("");
      const meant = asTyped.map(meanings[kind]).join("");
      matchExactly(index, joined, exact, span);
      if (kind === "facility") {
        matchNickname(index, joined, exact, span);
        if (otherStateNames.has(joined))
          matchExactly(index, stateOf(joined)?.toLowerCase() ?? "", exact, span);
        if (asTyped.some((word) => sharedStateWords.has(word))) matchState(index, joined, span);
      }
      if (meant !== joined) matchExactly(index, meant, exact, span);
      if (joined.length >= joinedPrefixLetters) matchPrefix(index, Buffer.from(joined), span);
    }
  if (kind === "facility") enterOtherName(image, index, terms);
  return terms;
}

/** A misspelt state of two words, such as north carolna. One of its words says nothing about the state. */
function matchState(index: SearchIndex, joined: string, terms: readonly Term[]): void {
  const length = [...joined].length;
  if (findWord(index, joined) >= 0) return;
  forEachClose(index, joined, length, Math.min(1, allowedTypos(length)), (close) => {
    if (!isInFields(index, close, 1 << stateField)) return;
    for (const { matches } of terms) matches.push((close << levelBits) | oneTypo);
  });
}

/** Joins two words that have a meaning only together: over active, heart burn, a fib, by pass. */
function withoutGaps(index: SearchIndex, words: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of words) {
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

/** An ordinal (3rd), a single letter, or a vertebra (l4, c5). */
const ordinalOrLetter = /^([clst][0-9]{1,2}|[a-z]|1st|2nd|3rd|[4-9]th)$/;

const isMeaningless = (word: string) =>
  sentenceWords.has(word) || asideWords.has(word) || ordinalOrLetter.test(word);

/** Words of many hospitals' names that say nothing alone. */
const sharedNames: ReadonlySet<string> = new Set(["regional"]);

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
  return facilitiesIn(index, words.map(meaningOf).join(""), state).length > 0;
}

function isStateCode(word: string): boolean {
  return word.length === 2 && Object.hasOwn(stateNames, word.toUpperCase());
}
