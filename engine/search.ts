import { findFacility } from "./facilities.ts";
import { type Image, textAt, textOf } from "./image.ts";
import { fieldBits, lettersOf, nameField, queryWords, type TextIndex } from "./text.ts";

/*
 * Search reads every document: some thousand hospitals with eight words each. What costs time in a search is how
 * words compare, and that is done once per distinct word of the index.
 */

/** How a word of the query matches one of the index, from worst to best; 0 is not at all. */
const [none, twoTypos, oneTypo, prefix, exact] = [0, 1, 2, 3, 4];

/** Letters from which a word may have one typo, and two. */
const oneTypoLetters = 5;
const twoTyposLetters = 9;

/** The first documents that match, best first. */
export interface Matches {
  /** How many match in all. */
  total: number;
  documents: Uint32Array;
  /** Of each document: above 0, at most 1. */
  scores: number[];
}

/** What search has to know of a kind of document. */
interface Kind {
  index: TextIndex;
  /** A document's place by name and then code: the order among equal scores. */
  rank: Uint32Array;
  /** The document whose code (CCN or APC) a word is; −1 for none. */
  withCode(word: string): number;
}

const kinds = {
  facility: (image: Image): Kind => ({
    index: {
      wordOffsets: image.facilityWordOffsets,
      wordBytes: image.facilityWordBytes,
      wordLetters: image.facilityWordLetters,
      tokenStart: image.facilityTokenStart,
      tokens: image.facilityTokens,
    },
    rank: image.facilityRank,
    withCode: (word) => findFacility(image, word.toUpperCase()),
  }),
  procedure: (image: Image): Kind => ({
    index: {
      wordOffsets: image.procedureWordOffsets,
      wordBytes: image.procedureWordBytes,
      wordLetters: image.procedureWordLetters,
      tokenStart: image.procedureTokenStart,
      tokens: image.procedureTokens,
    },
    rank: image.procedureRank,
    withCode: (word) => image.procedureOf.get(word) ?? -1,
  }),
};
export type DocumentKind = keyof typeof kinds;
export const documentKinds = Object.keys(kinds) as DocumentKind[];

/**
 * Finds the documents of which every word of a text matches one: exactly, as a prefix, or with few typos. A document
 * is as good as its worst match; then how well the words match, then how much of its name they are, decide. The
 * facility or procedure whose code is a word comes first.
 *
 * @param offset how many of the best to leave out
 * @param limit how many to give at most
 */
export function search(
  image: Image,
  kind: DocumentKind,
  text: string,
  offset: number,
  limit: number,
): Matches {
  const { index, rank, withCode } = kinds[kind](image);
  const typed = queryWords(text);
  if (typed.length === 0) return { total: 0, documents: new Uint32Array(0), scores: [] };
  const words = typed.map(({ word, meaning }) => ({
    matches: matchWords(index, word, meaning),
    code: withCode(word),
  }));
  const { tokenStart, tokens } = index;
  const documents = rank.length;
  const found = new Float64Array(documents);
  let total = 0;
  for (let document = 0; document < documents; document++) {
    let worst = exact;
    let sum = 0;
    let coded = 0;
    for (const { matches, code } of words) {
      let best = none;
      if (code === document) {
        best = exact;
        coded = 1;
      } else
        for (let at = tokenStart[document]; at < tokenStart[document + 1] && best < exact; at++) {
          const match = matches[tokens[at] >>> fieldBits];
          if (match > best) best = match;
        }
      if (best < worst) worst = best;
      if (worst === none) break;
      sum += best;
    }
    if (worst === none) continue;
    const quality = sum / (words.length * exact);
    const coverage = nameCoverage(index, document, words);
    const points = Math.round(1000 * ((worst - 1 + (2 * quality + coverage) / 3.0001) / exact));
    // Higher points first, then lower rank; both whole numbers, so one number orders them.
    found[total++] = -((coded === 1 ? 2000 : points) * 2 ** 32) + rank[document];
  }
  const sorted = found
    .subarray(0, total)
    .sort()
    .subarray(offset, offset + limit);
  const byRank = kind === "facility" ? image.facilityByRank : image.procedureByRank;
  const documentsFound = new Uint32Array(sorted.length);
  const scores: number[] = [];
  for (let i = 0; i < sorted.length; i++) {
    const points = -Math.floor(sorted[i] / 2 ** 32);
    documentsFound[i] = byRank[sorted[i] + points * 2 ** 32];
    scores.push(Math.min(1000, Math.max(1, points)) / 1000);
  }
  return { total, documents: documentsFound, scores };
}

/** The share of a document's name that the query's words match. */
function nameCoverage(
  { tokenStart, tokens }: TextIndex,
  document: number,
  words: { matches: Uint8Array }[],
): number {
  let inName = 0;
  let matched = 0;
  for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++) {
    if ((tokens[at] & ((1 << fieldBits) - 1)) !== nameField) continue;
    inName++;
    if (words.some(({ matches }) => matches[tokens[at] >>> fieldBits] !== none)) matched++;
  }
  return inName === 0 ? 0 : matched / inName;
}

/** How each word of the index matches a word of the query. */
function matchWords(index: TextIndex, word: string, meaning: string): Uint8Array {
  const { wordOffsets, wordLetters } = index;
  const count = wordLetters.length;
  const matches = new Uint8Array(count);
  const typed = Buffer.from(word);

  const letters = [...word].length;
  const allowed = letters >= twoTyposLetters ? 2 : letters >= oneTypoLetters ? 1 : 0;
  if (allowed > 0) {
    const typedLetters = lettersOf(typed);
    const typedPoints = codePoints(typed);
    // A letter beyond ASCII has up to four bytes, and a typo changes all of them.
    const allowedBytes = typedPoints === typed ? allowed : 4 * allowed;
    for (let i = 0; i < count; i++) {
      const length = wordOffsets[i + 1] - wordOffsets[i];
      if (Math.abs(length - typed.length) > allowedBytes) continue;
      if (bitCount(wordLetters[i] & ~typedLetters) > allowedBytes) continue;
      if (bitCount(typedLetters & ~wordLetters[i]) > allowedBytes) continue;
      const typos = typosBetween(typedPoints, codePoints(wordAt(index, i)), allowed);
      if (typos <= allowed) matches[i] = typos === 2 ? twoTypos : oneTypo;
    }
  }
  // Words come in order of their bytes: those with a prefix stand together.
  for (let i = lowerBound(index, typed); i < count && startsWith(wordAt(index, i), typed); i++)
    matches[i] = prefix;
  for (const same of new Set([word, meaning])) {
    const bytes = Buffer.from(same);
    const at = lowerBound(index, bytes);
    if (at < count && bytes.compare(wordAt(index, at)) === 0) matches[at] = exact;
  }
  return matches;
}

/** A word's letters: its bytes, where they are ASCII. */
function codePoints(word: Uint8Array): ArrayLike<number> {
  for (let i = 0; i < word.length; i++)
    if (word[i] > 127) return Array.from(textOf(word), (letter) => letter.codePointAt(0) ?? 0);
  return word;
}

function wordAt({ wordOffsets, wordBytes }: TextIndex, i: number): Uint8Array {
  return wordBytes.subarray(wordOffsets[i], wordOffsets[i + 1]);
}

function lowerBound(index: TextIndex, bytes: Buffer): number {
  let low = 0;
  let high = index.wordLetters.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bytes.compare(wordAt(index, middle)) > 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function startsWith(word: Uint8Array, start: Uint8Array): boolean {
  if (word.length < start.length) return false;
  for (let i = 0; i < start.length; i++) if (word[i] !== start[i]) return false;
  return true;
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/**
 * Typos between two words: letters added, left out, replaced, or two neighbours swapped (optimal string alignment).
 *
 * @returns the number, or something above `most` once it can't be reached
 */
function typosBetween(a: ArrayLike<number>, b: ArrayLike<number>, most: number): number {
  const width = b.length + 1;
  let beforeLast = new Uint8Array(width);
  let last = Uint8Array.from({ length: width }, (_, i) => i);
  let row = new Uint8Array(width);
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

/** A facility's or a procedure's own fields, as an answer shows them. */
export function describeDocument(image: Image, kind: DocumentKind, document: number) {
  if (kind === "procedure")
    return {
      type: kind,
      code: textAt(image.codeOffsets, image.codeBytes, document),
      name: textAt(image.procedureNameOffsets, image.procedureNameBytes, document),
    };
  return {
    type: kind,
    ccn: textAt(image.ccnOffsets, image.ccnBytes, document),
    facility: textAt(image.facilityNameOffsets, image.facilityNameBytes, document),
    city: textAt(image.cityOffsets, image.cityBytes, document),
    state: textAt(image.stateOffsets, image.stateBytes, document),
  };
}
