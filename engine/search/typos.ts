import { bytesAt, textOf } from "../image/image.ts";
import { phrasesOf } from "./lexicon.ts";
import { lettersOf, type WordTable } from "./text-index.ts";

/** A word with fewer letters may have no typo. */
export const oneTypoLetters = 5;
const twoTyposLetters = 9;

/**
 * Matches endings of medical words. Words with different stems, such as vasectomy and mastectomy, don't match with
 * typos.
 */
export const medicalEnding = new RegExp(`(${[...phrasesOf("ending")].join("|")})$`);

export function allowedTypos(letters: number): number {
  return letters >= twoTyposLetters ? 2 : letters >= oneTypoLetters ? 1 : 0;
}

/**
 * Calls `give` for each word of a table with at most `allowed` typos. A table has a few thousand words, so all words
 * of about the same length are compared.
 *
 * @param length number of characters in `text`
 */
export function forEachClose(
  table: WordTable,
  text: string,
  length: number,
  allowed: number,
  give: (word: number, typos: number) => void,
): void {
  const typed = Buffer.from(text);
  const typedLetters = lettersOf(typed);
  const typedPoints = codePoints(typed);
  // A letter beyond ASCII has up to four bytes, and a typo changes all of them.
  const allowedBytes = typedPoints === typed ? allowed : 4 * allowed;
  for (let other = length - allowed; other <= length + allowed; other++) {
    const same = table.ofLength[other];
    if (same === undefined) continue;
    for (let i = 0; i < same.letters.length; i++) {
      const has = same.letters[i];
      if (hasMoreBits(has & ~typedLetters, allowedBytes)) continue;
      if (hasMoreBits(typedLetters & ~has, allowedBytes)) continue;
      const word = same.words[i];
      const typos = typosBetween(typedPoints, codePoints(bytesAt(table.words, word)), allowed);
      if (typos <= allowed) give(word, typos);
    }
  }
}

/** Returns the code points of a word in UTF-8. The bytes of an ASCII word are its code points. */
export function codePoints(word: Uint8Array): ArrayLike<number> {
  for (let i = 0; i < word.length; i++)
    if (word[i] > 127) return Array.from(textOf(word), (letter) => letter.codePointAt(0) ?? 0);
  return word;
}

/** Tells whether more than `most` bits are set. The time grows with `most`. */
export function hasMoreBits(bits: number, most: number): boolean {
  let rest = bits;
  for (let i = 0; i <= most; i++) {
    if (rest === 0) return false;
    rest &= rest - 1;
  }
  return true;
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
/** Long enough for nearly all words. */
const ordinaryRows = rowsOf(64);

/**
 * Counts the typos between two words (optimal string alignment). If there are more than `most`, returns any number
 * above `most`.
 */
export function typosBetween(a: ArrayLike<number>, b: ArrayLike<number>, most: number): number {
  const width = b.length + 1;
  let [beforeLast, last, row] = width <= ordinaryRows[0].length ? ordinaryRows : rowsOf(width);
  for (let j = 0; j < width; j++) last[j] = j;
  for (let i = 1; i <= a.length; i++) {
    row[0] = i;
    let least = i;
    for (let j = 1; j < width; j++) {
      const replaced = last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      let typos = Math.min(replaced, last[j] + 1, row[j - 1] + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        typos = Math.min(typos, beforeLast[j - 2] + 1);
      row[j] = typos;
      if (typos < least) least = typos;
    }
    if (least > most) return least;
    [beforeLast, last, row] = [last, row, beforeLast];
  }
  return last[b.length];
}
