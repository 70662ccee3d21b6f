import { encodeText, type TextColumn } from "../encode.ts";
import { fieldBits, fillerField, nameField, repeatField } from "./fields.ts";
import { weakWords } from "./vocabulary.ts";

/** The words of a facility or procedure, each list with its field. */
export type Document = { words: readonly string[]; field: number }[];

/** The words of all documents, as the image has them. */
interface Tokens {
  words: TextColumn;
  tokenStart: Uint32Array;
  tokens: Uint32Array;
}

/** Returns the words of a place's name. A name of several words is also added as one word, such as `newyork`. */
export function placeWordsOf(words: string[], whole: number, part: number): Document {
  if (words.length === 1) return [{ words, field: whole }];
  return [
    { words, field: part },
    { words: [words.join("")], field: whole },
  ];
}

/** Replaces the words of documents by their positions among all words. O(words · log words). */
export function tokensOf(documents: readonly Document[]): Tokens {
  const all = new Set(documents.flatMap((document) => document.flatMap(({ words }) => words)));
  const sorted = Array.from(all, (word) => ({ word, bytes: Buffer.from(word) }))
    .sort((a, b) => a.bytes.compare(b.bytes))
    .map(({ word }) => word);
  const positionOf = new Map(sorted.map((word, i) => [word, i]));
  const tokenStart = new Uint32Array(documents.length + 1);
  const tokens: number[] = [];
  for (const [i, document] of documents.entries()) {
    const known = new Set<string>();
    for (const { words, field } of document)
      for (const word of words) {
        const here = field === nameField ? nameFieldOf(word, known.has(word)) : field;
        tokens.push(((positionOf.get(word) ?? 0) << fieldBits) | here);
        known.add(word);
      }
    tokenStart[i + 1] = tokens.length;
  }
  return { words: encodeText(sorted), tokenStart, tokens: Uint32Array.from(tokens) };
}

function nameFieldOf(word: string, isRepeated: boolean): number {
  return isRepeated ? repeatField : weakWords.has(word) ? fillerField : nameField;
}
