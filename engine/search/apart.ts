import { cityPartField, fieldBits, fieldMask, fillerField, nameField, repeatField } from "./documents.ts";
import { isSmallWord } from "./lexicon.ts";
import { foldedCase, meaningOf, splitWords } from "./text.ts";
import { beginsWord, countOf, documentsOf, findWord, isInFields, type SearchIndex } from "./text-index.ts";
import { closeTo } from "./typos.ts";

/** Splits words of names and cities that are written without spaces, and removes the s of possessives. */

const nameFields = (1 << nameField) | (1 << fillerField) | (1 << repeatField);
const fieldsOfWords = nameFields | (1 << cityPartField);

/** Minimum length of a text that is split. */
const leastLetters = 5;
const possessive = /([\p{L}\p{M}]{3,})['’]s(?![\p{L}\p{N}])/giu;

/**
 * Removes the possessive s after three letters or more, as in "Boise's hospitals". The s stays if the index has the
 * word with the s. It also stays if the word without the s is unknown and the word with the s is a typo of a word in a
 * name or city, as in "St Mayr's".
 */
export function withoutPossessive(index: SearchIndex, text: string): string {
  if (!text.includes("'") && !text.includes("’")) return text;
  return text.replace(possessive, (written, typed: string) => {
    const [word, withS] = [typed, `${typed}s`].map(foldedCase);
    const isName = findWord(index, withS) >= 0 || (!isWord(index, word) && isMistyped(index, withS));
    return isName ? written : typed;
  });
}

const withoutBlanks = new RegExp(`\\S{${leastLetters},}`, "g");
const letters = new RegExp(`[\\p{L}\\p{N}'’]{${leastLetters},}`, "gu");

/**
 * Puts spaces between joined words, such as `stmarysregionalmedctr`, that follow each other in a facility's name or
 * city.
 */
export function writtenApart(index: SearchIndex, text: string): string {
  const apart = (written: string) => {
    const words = splitWords(written);
    const isOneWord = words.every((word) => isKnown(index, word) || isMistyped(index, word));
    return isOneWord ? written : wordsIn(index, words.join(""))?.join(" ");
  };
  return text.replace(
    withoutBlanks,
    (written) => apart(written) ?? written.replace(letters, (part) => apart(part) ?? part),
  );
}

/**
 * Whether a word is a word of the index, begins one, or is a small word. A word of fewer than `leastLetters` counts as
 * known, because it isn't split.
 */
export const isKnown = (index: SearchIndex, word: string) =>
  word.length < leastLetters || isWord(index, word) || beginsWord(index, word);

const isWord = (index: SearchIndex, word: string) =>
  findWord(index, meaningOf(word)) >= 0 || isSmallWord(word);

/**
 * Whether a name or city has a word that differs by at most one typo. So `hospitla` is a typo, not the beginning of
 * "Hospital La".
 */
const isMistyped = (index: SearchIndex, word: string) =>
  closeTo(index, word, 1).some((close) => isInFields(index, close.word, fieldsOfWords));

/**
 * Splits a text without blanks into words, in the spelling of the text. Returns undefined if no facility has these
 * words one after the other.
 */
function wordsIn(index: SearchIndex, written: string): readonly string[] | undefined {
  const { tokenStart, tokens } = index;
  const known: Map<number, readonly number[]>[] = [];
  /** Words of names and cities that begin at a position of the text → their possible ends, the longest first. */
  const wordsFrom = (start: number) => {
    if (known[start] !== undefined) return known[start];
    const found = new Map<number, readonly number[]>();
    for (let end = written.length; end > start; end--) {
      const word = findWord(index, meaningOf(written.slice(start, end)));
      if (isInFields(index, word, fieldsOfWords)) found.set(word, [...(found.get(word) ?? []), end]);
    }
    known[start] = found;
    return found;
  };
  /** Returns the words from a position of the text on, if they are a facility's words from `at` on. */
  const restAt = (start: number, at: number, last: number): readonly string[] | undefined => {
    if (start === written.length) return [];
    if (at === last || ((1 << (tokens[at] & fieldMask)) & fieldsOfWords) === 0) return undefined;
    for (const end of wordsFrom(start).get(tokens[at] >>> fieldBits) ?? []) {
      const rest = restAt(end, at + 1, last);
      if (rest !== undefined) return [written.slice(start, end), ...rest];
    }
    return undefined;
  };
  for (const [word, ends] of wordsFrom(0)) {
    // Of the first word and the next, the rarer is looked up: a thousand facilities may have a word such as center.
    const next = ends.flatMap((end) => [...wordsFrom(end).keys()]);
    const isRarer = countOf(index, word) < next.reduce((sum, each) => sum + countOf(index, each), 0);
    for (const facility of (isRarer ? [word] : next).flatMap((each) => [...documentsOf(index, each)]))
      for (let at = tokenStart[facility]; at < tokenStart[facility + 1]; at++) {
        if (tokens[at] >>> fieldBits !== word) continue;
        const words = restAt(0, at, tokenStart[facility + 1]);
        if (words !== undefined) return words;
      }
  }
  return undefined;
}
