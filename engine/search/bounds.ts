import { fieldsOf } from "./dictionary.ts";
import { type SearchIndex, sets } from "./documents.ts";
import { exact, levelBits, levelMask, type Term } from "./matching.ts";
import { coverageOf, fieldWorth, placeWorth, pointsOf, totalWeight, weightOf } from "./scoring.ts";
import { bitWordsOf, fillerField, nameField } from "./text.ts";

/** Says what documents can have at most, before they are weighed: by how many words that are asked for they have. */

/** A document's words are counted in three bits: it has so many, or more. */
export const mostCounted = 7;
/** The fields of which a name consists. */
const nameFields = (1 << nameField) | (1 << fillerField);

/** The words of names that are asked for, those of them that only say little, and whether one is needed. */
export interface Asked {
  words: number;
  fillers: number;
  isNamed: boolean;
}

/** Counts the words that are asked for of each document: no fewer than its name has of them. */
export function countWords(index: SearchIndex, terms: readonly Term[]): Asked {
  const { documentCount, postingStart, postings, documentOf } = index;
  for (const bits of sets.counts) bits.fill(0, 0, bitWordsOf(documentOf.length));
  const [ones, twos, fours] = sets.counts;
  const count = (at: number, documents: number) => {
    const two = ones[at] & documents;
    const four = twos[at] & two;
    const full = fours[at] & four;
    ones[at] = (ones[at] ^ documents) | full;
    twos[at] = (twos[at] ^ two) | full;
    fours[at] |= four;
  };
  const asked = { words: 0, fillers: 0, isNamed: false };
  const counted = new Set<number>();
  for (const { matches, phrases, isNeeded, isPlace } of terms) {
    for (const match of isPlace ? [] : matches) {
      const word = match >>> levelBits;
      const fields = fieldsOf(index, word);
      if ((fields & nameFields) === 0) continue;
      if (isNeeded) asked.isNamed = true;
      if (counted.has(word)) continue;
      counted.add(word);
      asked.words++;
      if ((fields & (1 << nameField)) === 0) asked.fillers++;
      const start = postingStart[word];
      const length = postingStart[word + 1] - start;
      if (length < documentCount[word]) for (let i = 0; i < length; i++) count(i, postings[start + i]);
      else
        for (let at = start; at < start + length; at++) count(postings[at] >>> 5, 1 << (postings[at] & 31));
    }
    if (phrases.size === 0) continue;
    asked.words++;
    asked.isNamed = true;
    for (const document of phrases.keys()) count(document >>> 5, 1 << (document & 31));
  }
  return asked;
}

/** The fresh documents with so many words. */
export function layerOf(words: number, bitWords: number): Int32Array {
  const { fresh, layer } = sets;
  const [ones, twos, fours] = sets.counts;
  const [notOnes, notTwos, notFours] = [1, 2, 4].map((bit) => ((words & bit) === 0 ? -1 : 0));
  for (let i = 0; i < bitWords; i++)
    layer[i] = fresh[i] & (ones[i] ^ notOnes) & (twos[i] ^ notTwos) & (fours[i] ^ notFours);
  return layer;
}

/** By a document's words that are asked for and the size of its name: points that none has more of at a level. */
export function mostPoints(
  index: SearchIndex,
  terms: readonly Term[],
  { words, fillers, isNamed }: Asked,
  level: number,
): (counted: number, size: number) => number {
  const { fieldSetStart, fieldSets } = index;
  let sum = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const { matches, phrases, isNeeded, isPlace } of terms) {
    const worth = isPlace ? placeWorth : fieldWorth;
    const best = new Float64Array(exact + 1);
    const fields = new Uint8Array(exact + 1);
    const wordOf = new Int32Array(exact + 1).fill(-1);
    for (const match of matches) {
      const word = match >>> levelBits;
      const at = match & levelMask;
      for (let i = fieldSetStart[word]; i < fieldSetStart[word + 1]; i++)
        best[at] = Math.max(best[at], worth[fieldSets[i]]);
      fields[at] |= fieldsOf(index, word);
      // Several words may be in fields that none of them has together.
      if (wordOf[at] >= 0 && wordOf[at] !== word) best[at] = Math.max(best[at], worth[fields[at]]);
      wordOf[at] = word;
    }
    if (phrases.size > 0) best[exact] = Math.max(best[exact], 1);
    const weight = weightOf(isNeeded) / exact;
    let most = 0;
    for (let at = isNeeded ? level : 1; at <= exact; at++) most = Math.max(most, at * best[at]);
    sum += weight * most;
    // One of the needed words matches no better than this.
    if (isNeeded && best[level] > 0) least = Math.min(least, weight * (most - level * best[level]));
  }
  // Sums of another order may differ in the last digit.
  const quality = (sum - (least === Number.POSITIVE_INFINITY ? 0 : least)) / totalWeight(terms) + 1e-9;
  return (counted, size) => {
    const most = counted < mostCounted ? counted : words;
    const coverage = coverageOf(size, most, Math.max(0, most - (words - fillers)), isNamed);
    return pointsOf(level, quality, coverage);
  };
}
