import { encodeText } from "../encode.ts";
import type { TextIndex } from "../image/image.ts";
import { stateNames } from "../snapshot/schema.ts";
import { procedureMeaning } from "./procedure-words.ts";
import {
  abbreviations,
  ambiguousForms,
  cityNicknames,
  fillerWords,
  institutions,
  weakWords,
} from "./vocabulary.ts";

/** Letters that Unicode doesn't decompose into a plain letter and an accent. */
const plainLetters: Readonly<Record<string, string>> = {
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  ħ: "h",
  ı: "i",
  ß: "ss",
  æ: "ae",
  œ: "oe",
  þ: "th",
};

/** Returns a text in small letters without accents. */
export function foldedCase(text: string): string {
  const folded = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return folded.replace(/[øłđðħıßæœþ]/g, (letter) => plainLetters[letter]);
}

/**
 * Splits a text into words, without case, accents and punctuation. Consecutive initials (`M. D.`) make one word. A
 * possessive s is joined to the word before it.
 */
export function splitWords(text: string): string[] {
  const parts = foldedCase(text)
    .replace(/['’‘`´]/g, "")
    .replaceAll("&", " and ")
    .replace(/\b([dit]) *and *([acd])\b/g, "$1and$2")
    .replace(/\b(apc|ccn|cpt|hcpcs)(?=\d)/g, "$1 ")
    // Facilities have only the first five digits of a ZIP code.
    .replace(/(?<![\p{L}\p{N}])(\d{5})-\d{4}(?![\p{L}\p{N}])/gu, "$1")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  const words: string[] = [];
  let isInitial = false;
  for (const [i, part] of parts.entries()) {
    const wasInitial = isInitial;
    isInitial = singleLetter.test(part);
    const isPossessive = part === "s" && i > 0 && !fillerWords.has(parts[i - 1]);
    const joins = wasInitial ? isInitial : isPossessive && !singleLetter.test(parts[i + 1] ?? "");
    if (joins) words[words.length - 1] += part;
    else words.push(part);
  }
  return words;
}

const singleLetter = /^[a-z]$/;

/** Returns the long form of an abbreviation in names and places of hospitals, or the word itself. */
export function meaningOf(word: string): string {
  return abbreviations.get(word) ?? word;
}

/** The functions that return a word's form in each index. */
export const meanings = { facility: meaningOf, procedure: procedureMeaning } as const;

/** Splits a text into words in the form that the index of facilities has. */
export function indexWords(text: string): string[] {
  return splitWords(text).map(meaningOf);
}

/** Splits a text into words in the form that the index of procedures has. */
export function procedureWords(text: string): string[] {
  return splitWords(text).map(procedureMeaning);
}

/** Returns the words of other names for the institutions in a hospital's name. */
export function otherNameWords(words: readonly string[]): string[] {
  const found = new Set<string[]>();
  for (const [at, word] of words.entries())
    for (const [name, other] of institutionsByWord.get(word) ?? [])
      if (name.every((part, i) => words[at + i] === part)) found.add(other);
  return [...found].flat();
}

/** Pairs of names of institutions, as words, by the first word of the first name. */
const institutionsByWord = Map.groupBy(
  institutions
    .map((names) => names.map(indexWords))
    .flatMap(([name, other]) => [
      [name, other],
      [other, name],
    ]),
  ([[first]]) => first,
);

/**
 * Returns the possible singulars of a plural, or plurals of a singular; none for a word shorter than `pluralLetters`.
 */
export function otherNumbers(word: string): string[] {
  if (word.length < pluralLetters) return [];
  if (word.endsWith("ies")) return [`${word.slice(0, -3)}y`];
  if (word.endsWith("s"))
    return word.endsWith("es") ? [word.slice(0, -1), word.slice(0, -2)] : [word.slice(0, -1)];
  return word.endsWith("y") ? [`${word.slice(0, -1)}ies`] : [`${word}s`];
}

const pluralLetters = 5;

const stateForms = Object.entries(stateNames).map(([code, name]): [string, string] => [
  code.toLowerCase(),
  splitWords(name).join(""),
]);
/** The codes of states, and the names of states written as one word. */
export const stateWords: ReadonlySet<string> = new Set(stateForms.flat());

/** A word → words that may mean the same: states and their codes, and ambiguous short forms. */
const others = new Map<string, string[]>();
for (const [short, long] of [...ambiguousForms, ...stateForms]) {
  others.set(short, [...(others.get(short) ?? []), long]);
  others.set(long, [...(others.get(long) ?? []), short]);
}

/** Returns words that may mean the same: a state's code or name, or other forms of an ambiguous word. */
export function otherMeanings(word: string): readonly string[] {
  return others.get(word) ?? [];
}

/** Returns the cities that a nickname stands for, or the given text. Cities and nicknames are written as one word. */
export function citiesOf(joined: string): readonly string[] {
  return cityNicknames.get(joined) ?? [joined];
}

/**
 * Returns the initials of all words, then of the words that aren't fillers: `bidmc` for Beth Israel Deaconess Medical
 * Center. Initials of fewer than three letters don't tell names apart, so they are left out.
 */
export function initialsOf(name: readonly string[]): string[] {
  const words = name.filter((word) => /^\p{L}/u.test(word));
  const both = [words, words.filter((word) => !fillerWords.has(word))];
  const initials = both.map((of) => of.map(([letter]) => letter).join(""));
  return [...new Set(initials)].filter(({ length }) => length >= initialLetters);
}

const initialLetters = 3;

/**
 * Fields of a document's words. `repeatField` has repeated words of the name, and the written forms of words that the
 * index has in another form. `cityField` and `stateField` have a place's whole name, with its words joined;
 * `cityPartField` and `statePartField` have its single words. `beyondField` has anything else, such as a ZIP code.
 */
export const [
  nameField,
  fillerField,
  repeatField,
  cityField,
  stateField,
  cityPartField,
  statePartField,
  beyondField,
] = [0, 1, 2, 3, 4, 5, 6, 7];
/**
 * Field of words from the descriptors of codes. Procedures have no places, so this field has the number of
 * `statePartField`.
 */
export const describedField = statePartField;
/** Marks the start of each term among a procedure's words. No word of a query equals this text. */
export const termStart = ",";
/** Size of a significant word in a name. A weak word has size 1. */
export const wordSize = 3;
export const fieldBits = 3;
export const fieldMask = (1 << fieldBits) - 1;

/** The words of a document, each list with its field. */
export type Document = { words: string[]; field: number }[];

/** Returns the words of a place's name. A name of several words is also added as one word, such as `newyork`. */
export function placeWordsOf(words: string[], whole: number, part: number): Document {
  if (words.length === 1) return [{ words, field: whole }];
  return [
    { words, field: part },
    { words: [words.join("")], field: whole },
  ];
}

/** Returns the length of an Int32Array that has a bit for each document. */
export function bitWordsOf(documents: number): number {
  return (documents >>> 5) + 1;
}

/** Makes a bit set of some documents. @param documents the number of all documents */
export function bitsOf(some: readonly number[], documents: number): Int32Array {
  const bits = new Int32Array(bitWordsOf(documents));
  for (const document of some) bits[document >>> 5] |= 1 << (document & 31);
  return bits;
}

export function isSet(bits: Int32Array, document: number): boolean {
  return (bits[document >>> 5] & (1 << (document & 31))) !== 0;
}

/** Computes the size of a document's name: 1 for each distinct weak word, `wordSize` for each other word. */
export function nameSizeOf(document: Document): number {
  const distinct = new Set<string>();
  for (const { field, words } of document)
    if (field === nameField) for (const word of words) distinct.add(word);
  let size = 0;
  for (const word of distinct) size += weakWords.has(word) ? 1 : wordSize;
  return size;
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

function nameFieldOf(word: string, isRepeated: boolean): number {
  return isRepeated ? repeatField : weakWords.has(word) ? fillerField : nameField;
}

/** Builds the index of documents. O(words · log words). @param sizes the size of each document's name, ascending */
export function indexText(documents: Document[], sizes: number[]): TextIndex {
  const sorted = distinctWords(documents);
  const words = encodeText(sorted.map(([word]) => word));
  const { tokenStart, tokens, documentsOf, wordFields } = tokensOf(
    documents,
    sorted.map(([word]) => word),
  );
  const sizeStart = startsOf(sizes, Math.max(0, ...sizes.slice(-1)));
  const documentCount = Uint32Array.from(documentsOf, ({ length }) => length);
  const postings = documentsOf.map((of) => shorter(of, documents.length));

  const lengths = sorted.map(([word]) => [...word].length);
  const byLength = Uint32Array.from(sorted.keys()).sort((a, b) => lengths[a] - lengths[b] || a - b);
  const lengthStart = startsOf(lengths, Math.max(0, ...lengths));
  return {
    words,
    byLength,
    lengthStart,
    letters: Int32Array.from(byLength, (word) => lettersOf(sorted[word][1])),
    tokenStart,
    tokens: Uint32Array.from(tokens),
    documentCount,
    postingStart: listStartsOf(postings),
    postings: Int32Array.from(postings.flatMap((of) => [...of])),
    wordFields,
    sizeStart,
  };
}

function distinctWords(documents: Document[]): [word: string, bytes: Buffer][] {
  const bytesOf = new Map<string, Buffer>();
  for (const document of documents)
    for (const { words } of document)
      for (const word of words) if (!bytesOf.has(word)) bytesOf.set(word, Buffer.from(word));
  return [...bytesOf].sort(([, a], [, b]) => a.compare(b));
}

function tokensOf(documents: Document[], words: string[]) {
  const position = new Map(words.map((word, i) => [word, i]));
  const tokenStart = new Uint32Array(documents.length + 1);
  const tokens: number[] = [];
  const documentsOf: number[][] = words.map(() => []);
  const wordFields = new Uint8Array(words.length);
  const enter = (word: string, field: number, document: number) => {
    const at = position.get(word) ?? 0;
    const isRepeated = documentsOf[at].at(-1) === document;
    const here = field === nameField ? nameFieldOf(word, isRepeated) : field;
    tokens.push((at << fieldBits) | here);
    if (!isRepeated) documentsOf[at].push(document);
    wordFields[at] |= 1 << here;
  };
  documents.forEach((document, i) => {
    for (const { words, field } of document) for (const word of words) enter(word, field, i);
    tokenStart[i + 1] = tokens.length;
  });
  return { tokenStart, tokens, documentsOf, wordFields };
}

/** The start of each key among sorted keys, followed by the end of the last key. */
function startsOf(keys: number[], largest: number): Uint32Array {
  const starts = new Uint32Array(largest + 2);
  for (const key of keys) starts[key + 1]++;
  for (let i = 1; i < starts.length; i++) starts[i] += starts[i - 1];
  return starts;
}

function listStartsOf(lists: ArrayLike<unknown>[]): Uint32Array {
  const starts = new Uint32Array(lists.length + 1);
  for (const [i, { length }] of lists.entries()) starts[i + 1] = starts[i] + length;
  return starts;
}

function shorter(postings: number[], documents: number): number[] | Int32Array {
  return postings.length <= bitWordsOf(documents) ? postings : bitsOf(postings, documents);
}
