import { bufferOf, endLength, room, writeEnd } from "./body.ts";
import { findFacility } from "./facilities.ts";
import { type Image, textOf } from "./image.ts";
import { fieldBits, lettersOf, nameField, queryWords, type TextIndex } from "./text.ts";

/*
 * A search compares its words with every distinct word of the index, and then reads the documents that match the one
 * of its words that the fewest match.
 */

/** How a word of the query matches one of the index, from worst to best; 0 is not at all. */
const [none, twoTypos, oneTypo, prefix, exact] = [0, 1, 2, 3, 4];

/** Letters from which a word may have one typo, and two. */
const oneTypoLetters = 5;
const twoTyposLetters = 9;

/** The best score, in points; and the points of a document whose code is asked for, which comes first. */
const maxPoints = 1000;
const codedPoints = 2 * maxPoints;

/** Not 3, so that a half rounds down: a score's last digit hangs on it, and with it the bytes of answers. */
const almostThree = 3.0001;

/** The first documents that match, best first. */
export interface Matches {
  /** How many match in all. */
  total: number;
  documents: Uint32Array;
  /** Of each document: above 0, at most 1. */
  scores: number[];
}

export type DocumentKind = keyof Image["documents"];
export const documentKinds: readonly DocumentKind[] = ["facility", "procedure"];

/** The document whose code (CCN or APC) a word is; −1 for none. */
function withCode(image: Image, kind: DocumentKind, word: string): number {
  return kind === "facility" ? findFacility(image, word) : (image.procedureOf.get(word) ?? -1);
}

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
  const index = image.documents[kind];
  const { rank, byRank } = index;
  const typed = queryWords(text);
  if (typed.length === 0) return { total: 0, documents: new Uint32Array(0), scores: [] };
  const words = typed.map(({ word, meaning }, i) => ({
    matches: matchWords(index, word, meaning, i),
    code: withCode(image, kind, word),
  }));
  const candidates = candidatesOf(index, words, rank.length);
  const found = new Float64Array(candidates.length);
  let total = 0;
  for (const document of candidates) {
    const points = pointsOf(index, words, document);
    // More points first, then the lower rank: one number that holds both orders them, and is sorted without a comparator.
    if (points > 0) found[total++] = (codedPoints - points) * rank.length + rank[document];
  }
  const sorted = found
    .subarray(0, total)
    .sort()
    .subarray(offset, offset + limit);
  const documents = new Uint32Array(sorted.length);
  const scores: number[] = [];
  for (let i = 0; i < sorted.length; i++) {
    documents[i] = byRank[sorted[i] % rank.length];
    const points = codedPoints - Math.floor(sorted[i] / rank.length);
    scores.push(Math.min(maxPoints, points) / maxPoints);
  }
  return { total, documents, scores };
}

/** A word of the query: how each word of the index matches it, and the document whose code it is. */
interface Word {
  matches: Uint8Array;
  code: number;
}

/** What one search works on and the next one again: its garbage would cost more than the search. */
let listedBefore: Uint8Array | undefined;
/** One for each word of a query. */
const matchesBefore: Uint8Array[] = [];

/** Zeros: at least that many, in `used` where it has them. */
function zeros(length: number, used: Uint8Array | undefined): Uint8Array {
  return used === undefined || used.length < length ? new Uint8Array(length) : used.fill(0, 0, length);
}

/** The documents that match one of the words, the one that the fewest match: all others don't match every word. */
function candidatesOf(
  { postingStart, postings }: TextIndex,
  words: readonly Word[],
  documents: number,
): Uint32Array {
  let [rarest] = words;
  let fewest = Number.POSITIVE_INFINITY;
  for (const word of words) {
    let count = word.code < 0 ? 0 : 1;
    for (let i = 0; i + 1 < postingStart.length; i++)
      if (word.matches[i] !== none) count += postingStart[i + 1] - postingStart[i];
    if (count < fewest) [rarest, fewest] = [word, count];
  }
  const candidates = new Uint32Array(fewest);
  const isListed = zeros(documents, listedBefore);
  listedBefore = isListed;
  let listed = 0;
  const list = (document: number) => {
    if (isListed[document] === 1) return;
    isListed[document] = 1;
    candidates[listed++] = document;
  };
  if (rarest.code >= 0) list(rarest.code);
  for (let i = 0; i + 1 < postingStart.length; i++)
    if (rarest.matches[i] !== none)
      for (let at = postingStart[i]; at < postingStart[i + 1]; at++) list(postings[at]);
  return candidates.subarray(0, listed);
}

/** How good a document is; 0 where one of the words matches none of it. */
function pointsOf({ tokenStart, tokens }: TextIndex, words: readonly Word[], document: number): number {
  let worst = exact;
  let sum = 0;
  let isCoded = false;
  for (const { matches, code } of words) {
    let best = none;
    if (code === document) {
      best = exact;
      isCoded = true;
    } else
      for (let at = tokenStart[document]; at < tokenStart[document + 1] && best < exact; at++) {
        const match = matches[tokens[at] >>> fieldBits];
        if (match > best) best = match;
      }
    if (best === none) return 0;
    if (best < worst) worst = best;
    sum += best;
  }
  if (isCoded) return codedPoints;
  const quality = sum / (words.length * exact);
  const coverage = nameCoverage(tokenStart, tokens, words, document);
  return Math.round(maxPoints * ((worst - 1 + (2 * quality + coverage) / almostThree) / exact));
}

/** The share of a document's name that the query's words match. */
function nameCoverage(
  tokenStart: Uint32Array,
  tokens: Uint32Array,
  words: readonly Word[],
  document: number,
): number {
  let inName = 0;
  let matched = 0;
  for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++) {
    const token = tokens[at];
    if ((token & ((1 << fieldBits) - 1)) !== nameField) continue;
    inName++;
    for (const { matches } of words)
      if (matches[token >>> fieldBits] !== none) {
        matched++;
        break;
      }
  }
  return inName === 0 ? 0 : matched / inName;
}

/** How each word of the index matches a word of the query. */
function matchWords(index: TextIndex, word: string, meaning: string, which: number): Uint8Array {
  const { wordOffsets, wordLetters } = index;
  const count = wordLetters.length;
  const matches = zeros(count, matchesBefore[which]);
  matchesBefore[which] = matches;
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
      if (hasMoreBits(wordLetters[i] & ~typedLetters, allowedBytes)) continue;
      if (hasMoreBits(typedLetters & ~wordLetters[i], allowedBytes)) continue;
      const typos = typosBetween(typedPoints, codePoints(wordAt(index, i)), allowed);
      if (typos <= allowed) matches[i] = typos === 2 ? twoTypos : oneTypo;
    }
  }
  // Words come in order of their bytes: those with a prefix stand together.
  for (let i = lowerBound(index, typed); i < count && startsWith(index, i, typed); i++) matches[i] = prefix;
  for (const same of word === meaning ? [word] : [word, meaning]) {
    const bytes = Buffer.from(same);
    const at = lowerBound(index, bytes);
    const isSame =
      at < count && wordOffsets[at + 1] - wordOffsets[at] === bytes.length && startsWith(index, at, bytes);
    if (isSame) matches[at] = exact;
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

/** The first word that doesn't come before some bytes. */
function lowerBound(index: TextIndex, bytes: Uint8Array): number {
  let low = 0;
  let high = index.wordLetters.length;
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

function startsWith({ wordOffsets, wordBytes }: TextIndex, word: number, start: Uint8Array): boolean {
  const at = wordOffsets[word];
  if (wordOffsets[word + 1] - at < start.length) return false;
  for (let i = 0; i < start.length; i++) if (wordBytes[at + i] !== start[i]) return false;
  return true;
}

/** Whether more than `most` bits are set; `most` is small. */
function hasMoreBits(bits: number, most: number): boolean {
  let rest = bits;
  for (let i = 0; i <= most; i++) {
    if (rest === 0) return false;
    rest &= rest - 1;
  }
  return true;
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

/**
 * The answer to a search: its rows, each with its score.
 *
 * @param head JSON up to the first row
 * @param next path of the next page, plain ASCII
 * @param out where to write it, if it fits there
 * @returns a copy outside shared memory: the start of `out`, or memory of its own
 */
export function encodeMatches(
  image: Image,
  kind: DocumentKind,
  { documents, scores }: Matches,
  head: string,
  next: Uint8Array | null,
  out: Buffer,
): Buffer {
  const { offsets, bytes } = image.documents[kind].rows;
  const rows = bufferOf(bytes);
  let most = 3 * head.length + endLength(image, next);
  for (const document of documents) most += offsets[document + 1] - offsets[document] + maxScoreLength + 2;
  const body = room(most, out);
  let at = body.write(head);
  for (let i = 0; i < documents.length; i++) {
    if (i > 0) body[at++] = comma;
    at += rows.copy(body, at, offsets[documents[i]], offsets[documents[i] + 1]);
    at += body.write(String(scores[i]), at, "latin1");
    body[at++] = closingBrace;
  }
  return body.subarray(0, writeEnd(image, next, body, at));
}

const [comma, closingBrace] = [44, 125];
/** `0.123` */
const maxScoreLength = 5;
