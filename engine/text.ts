import { encodeText } from "./encode.ts";

/*
 * Words, as search compares them: no case, no accents, no punctuation, abbreviations written out.
 */

/** Abbreviations that mean the same word; the index holds the long one. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ["st", "saint"],
  ["mt", "mount"],
  ["hosp", "hospital"],
  ["ctr", "center"],
]);

/** The words of a text, as they stand there. */
function split(text: string): string[] {
  return text
    .normalize("NFKD")
    .replace(/[\p{M}'’‘`´]/gu, "")
    .toLowerCase()
    .replaceAll("&", " and ")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

/** A query's distinct words; `meaning` is what the index calls it. */
export function queryWords(text: string): { word: string; meaning: string }[] {
  return [...new Set(split(text))].map((word) => ({ word, meaning: synonyms.get(word) ?? word }));
}

export function indexWords(text: string): string[] {
  return split(text).map((word) => synonyms.get(word) ?? word);
}

/** Where in a document a word stands: a token's lowest bit. */
export const nameField = 0;
export const placeField = 1;
export type Field = typeof nameField | typeof placeField;
export const fieldBits = 1;

/** A document's words and where they stand. */
export type Document = { words: string[]; field: Field }[];

/** Distinct words in order of their bytes, which of them each document has, and which documents have each. */
export interface TextIndex {
  wordOffsets: Int32Array;
  wordBytes: Uint8Array;
  /** Which letters a word has, see `lettersOf`. */
  wordLetters: Int32Array;
  /** Where a document's tokens start; one longer than the documents. */
  tokenStart: Uint32Array;
  /** Words and their fields: word << fieldBits | field. */
  tokens: Uint32Array;
  /** Where a word's documents start; one longer than the words. */
  postingStart: Uint32Array;
  /** The documents of each word, ascending. */
  postings: Uint32Array;
}

/** A bit for each letter or digit of a word, several sharing one: words within n typos differ in at most 2n bits. */
export function lettersOf(word: Uint8Array): number {
  let letters = 0;
  for (const byte of word) letters |= 1 << (byte & 31);
  return letters;
}

/** Builds the index of documents. O(words · log words), runs at load only. */
export function indexText(documents: Document[]): TextIndex {
  const bytesOf = new Map<string, Buffer>();
  for (const document of documents)
    for (const { words } of document)
      for (const word of words) if (!bytesOf.has(word)) bytesOf.set(word, Buffer.from(word));
  const sorted = [...bytesOf].sort(([, a], [, b]) => a.compare(b));
  const position = new Map(sorted.map(([word], i) => [word, i]));
  const { offsets, bytes } = encodeText(sorted.map(([word]) => word));

  const tokenStart = new Uint32Array(documents.length + 1);
  const tokens: number[] = [];
  const documentsOf: number[][] = sorted.map(() => []);
  for (const [i, document] of documents.entries()) {
    for (const { words, field } of document)
      for (const word of new Set(words)) {
        const at = position.get(word) ?? 0;
        tokens.push((at << fieldBits) | field);
        // A word may stand in both fields.
        if (documentsOf[at].at(-1) !== i) documentsOf[at].push(i);
      }
    tokenStart[i + 1] = tokens.length;
  }
  const postingStart = new Uint32Array(sorted.length + 1);
  for (const [i, { length }] of documentsOf.entries()) postingStart[i + 1] = postingStart[i] + length;
  return {
    wordOffsets: offsets,
    wordBytes: bytes,
    wordLetters: Int32Array.from(sorted, ([, word]) => lettersOf(word)),
    tokenStart,
    tokens: Uint32Array.from(tokens),
    postingStart,
    postings: Uint32Array.from(documentsOf.flat()),
  };
}
