import { type TextIndex, textAt } from "../image/image.ts";

/** Each index is decoded once per thread. */
const wordsOfIndexes = new WeakMap<TextIndex, Map<string, number>>();

/** Returns the position of a word in the index, or −1 if the index doesn't have it. */
export function findWord(index: TextIndex, word: string): number {
  let words = wordsOfIndexes.get(index);
  if (words === undefined) {
    words = new Map();
    for (let i = 0; i + 1 < index.words.offsets.length; i++) words.set(textAt(index.words, i), i);
    wordsOfIndexes.set(index, words);
  }
  return words.get(word) ?? -1;
}
