import type { Image, TextIndex } from "../image/image.ts";
import { bitWordsOf } from "./text.ts";

export type DocumentKind = keyof Image["documents"];
export const documentKinds: readonly DocumentKind[] = ["facility", "procedure"];

export type SearchIndex = Image["documents"][DocumentKind];

/** Bit sets with a bit per document, reused by all searches of a thread. */
export const sets = {
  /** Documents that were found already, or that the search doesn't want. */
  done: new Int32Array(0),
  /** Documents that were found last: they match all needed terms, and weren't in `done` before. */
  fresh: new Int32Array(0),
  /** For each needed term, the documents that match it. */
  terms: [] as Int32Array[],
};

/** Clears the sets for a search. Enlarges them if the index or the number of needed terms requires it. */
export function makeRoom({ documentOf }: SearchIndex, terms: number): void {
  const bitWords = bitWordsOf(documentOf.length);
  if (sets.done.length < bitWords) {
    sets.done = new Int32Array(bitWords);
    sets.fresh = new Int32Array(bitWords);
    sets.terms = [];
  }
  while (sets.terms.length < terms) sets.terms.push(new Int32Array(sets.done.length));
  sets.done.fill(0, 0, bitWords);
  for (let i = 0; i < terms; i++) sets.terms[i].fill(0, 0, bitWords);
}

/** Finds the documents that have all the given words, as a bit set. The set is valid until the next call or search. */
export function withWords(index: SearchIndex, words: readonly number[]): Int32Array {
  makeRoom(index, words.length);
  for (const [i, word] of words.entries()) markWord(index, word, sets.terms[i]);
  intersect(words.length, bitWordsOf(index.documentOf.length));
  return sets.fresh;
}

/** Adds the documents that have a word to a bit set. */
export function markWord(
  { documentCount, postingStart, postings }: TextIndex,
  word: number,
  bits: Int32Array,
): void {
  const start = postingStart[word];
  const length = postingStart[word + 1] - start;
  if (length < documentCount[word]) for (let i = 0; i < length; i++) bits[i] |= postings[start + i];
  else
    for (let at = start; at < start + length; at++) {
      const document = postings[at];
      bits[document >>> 5] |= 1 << (document & 31);
    }
}

/**
 * Puts the documents that match all needed terms and aren't in `done` into `fresh`, and adds them to `done`. Returns
 * their number.
 */
export function intersect(terms: number, bitWords: number): number {
  const { done, fresh } = sets;
  for (let i = 0; i < bitWords; i++) fresh[i] = ~done[i];
  for (let term = 0; term < terms; term++) {
    const bits = sets.terms[term];
    for (let i = 0; i < bitWords; i++) fresh[i] &= bits[i];
  }
  let count = 0;
  for (let i = 0; i < bitWords; i++) {
    const bits = fresh[i];
    if (bits === 0) continue;
    done[i] |= bits;
    count += bitsIn(bits);
  }
  return count;
}

function bitsIn(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Yields the positions of the set bits before `end`, ascending. */
export function* setBits(bits: Int32Array, end: number): Generator<number> {
  for (let i = nextOf(bits, 0, end); i < end; i = nextOf(bits, i + 1, end)) yield i;
}

/** Returns the first set bit from `from` on; `end` or more if no bit is set before `end`. */
export function nextOf(bits: Int32Array, from: number, end: number): number {
  if (from >= end) return end;
  const last = (end - 1) >>> 5;
  let at = from >>> 5;
  let rest = bits[at] & (-1 << (from & 31));
  while (rest === 0 && at < last) rest = bits[++at];
  return rest === 0 ? end : (at << 5) + 31 - Math.clz32(rest & -rest);
}
