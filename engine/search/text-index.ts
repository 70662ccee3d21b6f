import type { TextColumn } from "../encode.ts";
import { bytesAt, type Image, textAt } from "../image/image.ts";
import { withPrefix } from "../sorted.ts";
import { atOnce, itemsPerStep, type Steps } from "../steps.ts";
import { cityField, fieldBits, fieldMask, fillerField, nameField } from "./documents.ts";

export type DocumentKind = keyof Image["documents"];
export const documentKinds: readonly DocumentKind[] = ["facility", "procedure"];

/** Words that can be looked up, and compared with misspelt words. */
export interface WordTable {
  readonly words: TextColumn;
  readonly positionOf: ReadonlyMap<string, number>;
  /** The words that aren't numbers, by their number of characters. */
  readonly ofLength: readonly (WordsOfLength | undefined)[];
  /** The words that are numbers, by their number of digits. Only words with a digit are compared with them. */
  readonly numbersOfLength: readonly (WordsOfLength | undefined)[];
}

/** Words of one length, and a bit mask of the letters of each; see `lettersOf`. */
interface WordsOfLength {
  readonly words: readonly number[];
  readonly letters: readonly number[];
}

/**
 * The words of all facilities or procedures, in byte order. A document is a facility or procedure, and its number is
 * its position in the image. The words, the tokens and `byName` are in the image. Each thread derives the rest.
 */
export interface SearchIndex extends WordTable {
  readonly kind: DocumentKind;
  readonly tokenStart: Uint32Array;
  readonly tokens: Uint32Array;
  readonly byName: Uint32Array;
  readonly nameOrder: Uint32Array;
  /** The size of each document's name: 1 for each token of `fillerField`, and `wordSize` for each of `nameField`. */
  readonly nameSizes: Uint16Array;
  /** The position in `words` of a city's name, joined into one word → the facilities in the city, ascending. */
  readonly inCity: ReadonlyMap<number, readonly number[]>;
  /** For each word, one bit per field in which any document has the word. */
  readonly fields: Uint8Array;
  /** The start of each word's documents in `postings`, followed by the end of the last word's documents. */
  readonly postingStart: Uint32Array;
  /** The documents that have each word, ascending. */
  readonly postings: Uint32Array;
}

/** Size of a significant word in a name. A weak word has size 1. */
export const wordSize = 3;

const indexes = new WeakMap<Image["documents"][DocumentKind], SearchIndex>();

/** Returns the index that `prepareSearch` has derived, or derives it when it is first needed. */
export function indexOf(image: Image, kind: DocumentKind): SearchIndex {
  return indexes.get(image.documents[kind]) ?? atOnce(deriveIndex(image, kind));
}

function* tableWords(words: TextColumn): Steps<WordTable> {
  const count = words.offsets.length - 1;
  const positionOf = new Map<string, number>();
  const ofLength: { words: number[]; letters: number[] }[] = [];
  const numbersOfLength: typeof ofLength = [];
  for (let i = 0; i < count; i++) {
    if (i % itemsPerStep === 0) yield;
    const word = textAt(words, i);
    positionOf.set(word, i);
    const bytes = bytesAt(words, i);
    const length = charactersIn(bytes);
    const lists = isNumber(word) ? numbersOfLength : ofLength;
    lists[length] ??= { words: [], letters: [] };
    lists[length].words.push(i);
    lists[length].letters.push(lettersOf(bytes));
  }
  return { words, positionOf, ofLength, numbersOfLength };
}

/** Derives an image's index, and keeps it for `indexOf`. */
export function* deriveIndex(image: Image, kind: DocumentKind): Steps<SearchIndex> {
  const documents = image.documents[kind];
  const { words, tokenStart, tokens, byName } = documents;
  const count = words.offsets.length - 1;
  const fields = new Uint8Array(count);
  const nameSizes = new Uint16Array(byName.length);
  const nameOrder = new Uint32Array(byName.length);
  for (const [i, document] of byName.entries()) nameOrder[document] = i;
  const inCity = new Map<number, number[]>();
  const enterCity = (word: number, document: number) => {
    const there = inCity.get(word);
    if (there === undefined) inCity.set(word, [document]);
    else there.push(document);
  };
  for (let document = 0; document < byName.length; document++) {
    if (document % itemsPerStep === 0) yield;
    for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++) {
      const [word, field] = [tokens[at] >>> fieldBits, tokens[at] & fieldMask];
      fields[word] |= 1 << field;
      if (field === cityField) enterCity(word, document);
      nameSizes[document] += field === nameField ? wordSize : field === fillerField ? 1 : 0;
    }
  }
  const index = {
    ...{ kind, tokenStart, tokens, byName, nameOrder, nameSizes, inCity, fields },
    ...(yield* tableWords(words)),
    ...(yield* postingsOf(tokenStart, tokens, count)),
  };
  indexes.set(documents, index);
  return index;
}

type Postings = Pick<SearchIndex, "postingStart" | "postings">;

function* postingsOf(tokenStart: Uint32Array, tokens: Uint32Array, words: number): Steps<Postings> {
  const postingStart = new Uint32Array(words + 1);
  yield* forEachPosting(tokenStart, tokens, words, (word) => postingStart[word + 1]++);
  for (let i = 1; i <= words; i++) postingStart[i] += postingStart[i - 1];
  const postings = new Uint32Array(postingStart[words]);
  const ends = postingStart.slice();
  yield* forEachPosting(tokenStart, tokens, words, (word, document) => {
    postings[ends[word]++] = document;
  });
  return { postingStart, postings };
}

function* forEachPosting(
  tokenStart: Uint32Array,
  tokens: Uint32Array,
  words: number,
  give: (word: number, document: number) => void,
): Steps<void> {
  const last = new Int32Array(words).fill(-1);
  for (let document = 0; document + 1 < tokenStart.length; document++) {
    if (document % itemsPerStep === 0) yield;
    for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++) {
      const word = tokens[at] >>> fieldBits;
      if (last[word] === document) continue;
      last[word] = document;
      give(word, document);
    }
  }
}

export const isNumber = (word: string): boolean => /^[0-9]+$/.test(word);

function charactersIn(utf8: Uint8Array): number {
  let characters = 0;
  for (const byte of utf8) if ((byte & 0xc0) !== 0x80) characters++;
  return characters;
}

/**
 * Returns a bit mask of a word's letters. Some letters and digits share a bit. ASCII words within n typos differ in at
 * most 2n bits.
 */
export function lettersOf(word: Uint8Array): number {
  let letters = 0;
  for (const byte of word) letters |= 1 << (byte & 31);
  return letters;
}

export function findWord({ positionOf }: SearchIndex, word: string): number {
  return positionOf.get(word) ?? -1;
}

export function beginsWord({ words }: SearchIndex, start: string): boolean {
  const found = withPrefix(words, Buffer.from(start));
  return found.start < found.end;
}

export function documentsOf({ postingStart, postings }: SearchIndex, word: number): Uint32Array {
  return postings.subarray(postingStart[word], postingStart[word + 1]);
}

export function countOf({ postingStart }: SearchIndex, word: number): number {
  return postingStart[word + 1] - postingStart[word];
}

export function hasToken(index: SearchIndex, document: number, word: number, field: number): boolean {
  const { tokenStart, tokens } = index;
  const token = (word << fieldBits) | field;
  for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++)
    if (tokens[at] === token) return true;
  return false;
}

/** Tells whether any document has a word in one of the fields. @param word −1 for none @param fields bit mask */
export function isInFields(index: SearchIndex, word: number, fields: number): boolean {
  return word >= 0 && (index.fields[word] & fields) !== 0;
}
