import { decodeTexts } from "../encode.ts";
import type { TextIndex } from "../image/image.ts";

/** The words of each index, decoded once per thread. */
const wordsOfIndexes = new WeakMap<TextIndex, Map<string, number>>();

export function findWord(index: TextIndex, word: string): number {
  let words = wordsOfIndexes.get(index);
  if (words === undefined) {
    words = new Map(decodeTexts(index.words).map((text, i) => [text, i]));
    wordsOfIndexes.set(index, words);
  }
  return words.get(word) ?? -1;
}
