import { bytesAt, textOf } from "../image/image.ts";
import { phrasesOf } from "./lexicon.ts";
import { lettersOf, type WordTable } from "./text-index.ts";

/** Minimum letters of a word in which `allowedTypos` allows a typo. */
export const oneTypoLetters = 5;
const twoTyposLetters = 9;

/** Matches endings of medical words. A word with another stem, such as mastectomy for vasectomy, isn't a typo. */
export const medicalEnding = new RegExp(`(${[...phrasesOf("ending")].join("|")})$`);

export function allowedTypos(letters: number): number {
  return letters >= twoTyposLetters ? 2 : letters >= oneTypoLetters ? 1 : 0;
}

export interface Close {
  /** The position of a word in a table. */
  word: number;
  typos: number;
}

/** What `closeTo` found last. A search that finds nothing asks twice for the same word. */
const latest = new WeakMap<WordTable, { text: string; allowed: number; close: readonly Close[] }>();

/**
 * Returns the words of a table with at most `allowed` typos. Numbers are left out if the text has no digit. A table has
 * a few thousand words, so all words of about the same length are compared.
 */
export function closeTo(table: WordTable, text: string, allowed: number): readonly Close[] {
  const before = latest.get(table);
  if (before?.text === text && before.allowed === allowed) return before.close;
  const typed = Buffer.from(text);
  const typedPoints = codePoints(typed);
  const { length } = typedPoints;
  const close: Close[] = [];
  const letters = lettersOf(typed);
  // A letter beyond ASCII has up to four bytes, and a typo may change all of them.
  const allowedBytes = typedPoints === typed ? allowed : 4 * allowed;
  const { offsets, bytes } = table.words;
  const lists = /[0-9]/.test(text) ? [table.ofLength, table.numbersOfLength] : [table.ofLength];
  for (const ofLength of lists)
    for (let other = length - allowed; other <= length + allowed; other++) {
      const same = ofLength[other];
      if (same === undefined) continue;
      for (let i = 0; i < same.letters.length; i++) {
        const differing = bitsIn(same.letters[i] ^ letters);
        if (differing > 2 * allowedBytes) continue;
        const added = bitsIn(same.letters[i] & ~letters);
        if (added > allowedBytes || differing - added > allowedBytes) continue;
        const word = same.words[i];
        // A word with as many bytes as characters is ASCII, so its bytes are compared in place.
        const [start, end] = [offsets[word], offsets[word + 1]];
        const typos =
          end - start === other
            ? typosBetween(typedPoints, bytes, allowed, start, end)
            : typosBetween(typedPoints, codePoints(bytesAt(table.words, word)), allowed);
        if (typos <= allowed) close.push({ word, typos });
      }
    }
  latest.set(table, { text, allowed, close });
  return close;
}

/** Returns the code points of a word in UTF-8. The bytes of an ASCII word are its code points. */
export function codePoints(word: Uint8Array): ArrayLike<number> {
  for (let i = 0; i < word.length; i++)
    if (word[i] > 127) return Array.from(textOf(word), (letter) => letter.codePointAt(0) ?? 0);
  return word;
}

function bitsIn(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Returns the consonants that are heard in a word, and its first letter: mccloud sounds like mcleod. */
export function soundOf(word: string): string {
  const heard = word
    .replace(/ph/g, "f")
    .replace(/c(?=[eiy])|z/g, "s")
    .replace(/[cq]/g, "k")
    .replace(/x/g, "ks");
  return heard.replace(/(?<!^)[aeiouyhw]/g, "").replace(/(.)\1+/g, "$1");
}

const rowsOf = (width: number) => [0, 0, 0].map(() => new Uint16Array(width));
/** Rows that are long enough for nearly all words. */
const ordinaryRows = rowsOf(64);

/**
 * Counts the typos between two words (optimal string alignment). If there are more than `most`, returns any number
 * above `most`. The second word is the part of `b` from `start` to `end`. O(letters · most).
 */
export function typosBetween(
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  most: number,
  start = 0,
  end = b.length,
): number {
  const [height, width] = [a.length, end - start];
  const many = most + 1;
  if (Math.abs(height - width) > most) return many;
  let [beforeLast, last, row] = width < ordinaryRows[0].length ? ordinaryRows : rowsOf(width + 1);
  for (let j = 0; j <= width; j++) last[j] = j;
  for (let i = 1; i <= height; i++) {
    // Letters that are moved farther than this take too many typos.
    const from = Math.max(1, i - most);
    const to = Math.min(width, i + most);
    let least = from === 1 ? i : many;
    row[from - 1] = least;
    for (let j = from; j <= to; j++) {
      const isSame = a[i - 1] === b[start + j - 1];
      let typos = Math.min(last[j - 1] + (isSame ? 0 : 1), Math.min(last[j], row[j - 1]) + 1);
      if (!isSame && i > 1 && j > 1 && a[i - 1] === b[start + j - 2] && a[i - 2] === b[start + j - 1])
        typos = Math.min(typos, beforeLast[j - 2] + 1);
      row[j] = typos;
      if (typos < least) least = typos;
    }
    if (least > most) return least;
    if (to < width) row[to + 1] = many;
    [beforeLast, last, row] = [last, row, beforeLast];
  }
  return last[width];
}
