import { cityPartField, fieldBits, fieldMask, fillerField, nameField, repeatField } from "./documents.ts";
import { isSmallWord } from "./lexicon.ts";
import { foldedCase, meaningOf, splitWords } from "./text.ts";
import { beginsWord, countOf, documentsOf, findWord, isInFields, type SearchIndex } from "./text-index.ts";
import { closeTo } from "./typos.ts";

/** Reads words that are written without blanks: a name or a city, or neighboring words of one; and the s of a possessive. */

const nameFields = (1 << nameField) | (1 << fillerField) | (1 << repeatField);
const fieldsOfWords = nameFields | (1 << cityPartField);

/** As many letters as two short words have. */
const leastLetters = 5;
const possessive = /([\p{L}\p{M}]{3,})['’]s(?![\p{L}\p{N}])/giu;

/** Leaves out the s of "Boise's hospitals", unless a name has the word with it, perhaps without a typo: St Mayr's. */
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

/** Writes words apart that neighbor each other in a name or a city, in any form: `stmarysregionalmedctr`. */
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

/** Whether a word is one of the index or a small one, or begins one; a short one isn't several. */
export const isKnown = (index: SearchIndex, word: string) =>
  word.length < leastLetters || isWord(index, word) || beginsWord(index, word);

const isWord = (index: SearchIndex, word: string) =>
  findWord(index, meaningOf(word)) >= 0 || isSmallWord(word);

/** Whether a word of a name or city differs by one typo: `hospitla` isn't the beginning of "Hospital La". */
const isMistyped = (index: SearchIndex, word: string) =>
  closeTo(index, word, 1).some((close) => isInFields(index, close.word, fieldsOfWords));

/** Returns the words that are written together, as they are written; undefined if no facility has them beside each other. */
function wordsIn(index: SearchIndex, written: string): readonly string[] | undefined {
  const { tokenStart, tokens } = index;
  const known: Map<number, readonly number[]>[] = [];
  /** The words of the index with which the text may go on, and where each ends, the longest first. */
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
  /** The words from a position of the text on, if they are a facility's words from `at` on. */
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
    // A thousand facilities have a word such as center, and few have a word that follows.
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
