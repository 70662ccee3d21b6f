import type { TextIndex } from "../image/image.ts";
import { textOf } from "../image/image.ts";

export function wordAt({ wordOffsets, wordBytes }: TextIndex, i: number): Uint8Array {
  return wordBytes.subarray(wordOffsets[i], wordOffsets[i + 1]);
}

/** The words of each index, decoded once per thread. */
const wordsOfIndexes = new WeakMap<TextIndex, Map<string, number>>();

export function findWord(index: TextIndex, word: string): number {
  let words = wordsOfIndexes.get(index);
  if (words === undefined) {
    words = new Map();
    for (let i = 0; i + 1 < index.wordOffsets.length; i++) words.set(textOf(wordAt(index, i)), i);
    wordsOfIndexes.set(index, words);
  }
  return words.get(word) ?? -1;
}

/** The first word that isn't before some bytes. */
export function lowerBound(index: TextIndex, bytes: Uint8Array): number {
  let low = 0;
  let high = index.wordOffsets.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(index, middle, bytes)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isBefore({ wordOffsets, wordBytes }: TextIndex, word: number, bytes: Uint8Array): boolean {
  const start = wordOffsets[word];
  const length = Math.min(wordOffsets[word + 1] - start, bytes.length);
  for (let i = 0; i < length; i++)
    if (wordBytes[start + i] !== bytes[i]) return wordBytes[start + i] < bytes[i];
  return wordOffsets[word + 1] - start < bytes.length;
}

export function startsWith({ wordOffsets, wordBytes }: TextIndex, word: number, start: Uint8Array): boolean {
  const at = wordOffsets[word];
  if (wordOffsets[word + 1] - at < start.length) return false;
  for (let i = 0; i < start.length; i++) if (wordBytes[at + i] !== start[i]) return false;
  return true;
}
