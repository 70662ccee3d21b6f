import { bufferOf, endLength, room, writeEnd } from "./body.ts";
import { findFacility } from "./facilities.ts";
import { type Image, textAt, textOf } from "./image.ts";
import { stateNames } from "./schema.ts";
import {
  beyondField,
  cityField,
  cityOf,
  cityPartField,
  fieldBits,
  fieldMask,
  fillerField,
  lettersOf,
  meaningOf,
  nameField,
  otherMeanings,
  otherNumbers,
  repeatField,
  splitWords,
  stateField,
  statePartField,
  stateWords,
  type TextIndex,
  wordSize,
} from "./text.ts";
import { absentProcedures, fillerWords, genericWords, placeWords } from "./vocabulary.ts";

/*
 * A search looks up the words of the index that match each of its words, intersects their documents as bits, and weighs
 * those that are left, one word after the other. So it costs what its matches do, and beside that a comparison with the
 * words of about the same length, of which a directory has few thousand: too few for tables of n-grams or deletions.
 *
 * No library does this over memory that threads share: MiniSearch keeps JavaScript objects in each thread, Lucene and
 * Tantivy are other runtimes; and words written apart or together would come on top of any of them.
 */

/** How a word of the query matches one of the index, from worst to best; 0 is not at all. */
const [none, twoTypos, oneTypo, prefix, exact] = [0, 1, 2, 3, 4];
const levelBits = 3;

/** Letters from which a word may have one typo, and two. */
const oneTypoLetters = 5;
const twoTyposLetters = 9;

/** Into how many words of the index one word of the query is cut, or from how many it is joined, at most. */
const mostParts = 3;
/** Letters of words written together from which the start of another is enough. */
const joinedPrefixLetters = 6;

/** What a match is worth more in several fields than in the best of them. */
const severalFields = 0.02;
/** What a match is worth by where it is. A word after "in" is a place. */
const fieldWorth = worths({
  [nameField]: 1,
  [fillerField]: 1,
  [repeatField]: 1,
  [cityField]: 0.92,
  [stateField]: 0.88,
  [cityPartField]: 0.84,
  [statePartField]: 0.8,
  [beyondField]: 0.92,
});
const placeWorth = worths({
  [nameField]: 0.7,
  [fillerField]: 0.7,
  [repeatField]: 0.7,
  [cityField]: 1,
  [stateField]: 0.96,
  [cityPartField]: 0.84,
  [statePartField]: 0.8,
  [beyondField]: 0.92,
});
/** The weight of a word that no match needs, where one that is needed has 1. */
const optionalWeight = 0.15;
/** Documents that are all looked at, whether they match the other words or not. */
const fewDocuments = 64;
/** How a word of the index is asked for: by a word of the query that is needed, or another. */
const [askedAsOptional, askedAsNeeded] = [1, 2];
/** The fields of which a name consists. */
const nameFields = (1 << nameField) | (1 << fillerField);
/** The fields of a place. */
const placeFields = (1 << cityField) | (1 << stateField) | (1 << cityPartField) | (1 << statePartField);
/** What is known of a document's name: whether a needed word of it is asked for, and whether its first one is. */
const [namedBit, ledBit] = [1, 2];
/** What a name is worth that doesn't begin with what is asked for: West Virginia University isn't that of Virginia. */
const notLed = 0.8;
/** Postings to a candidate from which each candidate is looked up in them. */
const manyPostings = 8;

/** The worth of every set of fields, a bit for each. */
function worths(worthOf: Readonly<Record<number, number>>): Float64Array {
  return Float64Array.from({ length: 1 << (fieldMask + 1) }, (_, fields) => {
    const matched = Object.entries(worthOf).filter(([field]) => (fields & (1 << Number(field))) !== 0);
    return Math.max(0, ...matched.map(([, worth]) => worth)) + (matched.length > 1 ? severalFields : 0);
  });
}

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

/** A word of the query, and what of the index matches it. */
interface Term {
  word: string;
  /** Whether every match has to have it. */
  isNeeded: boolean;
  /** Whether it stands after "in" or "near", in a city followed by its state, or for a place that a name repeats. */
  isPlace: boolean;
  /** Words of the index: word << levelBits | level. */
  matches: number[];
  /** The documents that have it as several words, one after the other; of each, the field. */
  phrases: Map<number, number>;
  /** The document whose code (CCN or APC) it is; −1 for none. */
  code: number;
}

/**
 * Finds the documents of which every word of a text that says something and isn't one of kind matches one: exactly, as a prefix, or with few
 * typos, written apart or together. A document is as good as its worst match; then how well the words match and where,
 * then how much of its name they are, decide. The facility or procedure whose code is a word comes first. What has no
 * price isn't found.
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
  return find(image.documents[kind], termsOf(image, kind, text), offset, limit);
}

/** The facilities or procedures without prices that a search would find. */
export function unpricedMatches(image: Image, kind: DocumentKind, text: string): Uint32Array {
  const index = image.documents[kind];
  const all = { first: index.priced[0], end: index.byRank.length };
  return find(index, termsOf(image, kind, text), 0, index.byRank.length, all).documents;
}

/** Why a search finds nothing. */
export interface NoMatch {
  /** The word at fault; undefined where a text has no words at all. */
  word: string | undefined;
  /** Whether nothing at all matches it, or only nothing that matches the other words. */
  isUnknown: boolean;
  /** Up to three words like it, or what the other words find. */
  near: string[];
}

const mostNear = 3;
/** Words of a query of which one after the other is left out to see what the others find. */
const mostLeftOut = 8;

/** Says why a search finds nothing. */
export function explainNoMatch(image: Image, kind: DocumentKind, text: string): NoMatch {
  const index = image.documents[kind];
  const terms = termsOf(image, kind, text);
  const namesOf = (found: Matches) =>
    Array.from(found.documents, (document) => nameOf(image, kind, document));
  const without = (left: Term) =>
    find(
      index,
      terms.filter((term) => term !== left),
      0,
      mostNear,
    );
  const unknown = terms.find((term) => term.isNeeded && documentsWith(index, term) === 0);
  if (unknown !== undefined) {
    const close = closeWords(index, unknown.word);
    const near = close.length > 0 ? close : namesOf(without(unknown));
    return { word: unknown.word, isUnknown: true, near };
  }
  let word: string | undefined;
  let nearest: Matches | undefined;
  for (const term of terms.filter(({ isNeeded }) => isNeeded).slice(0, mostLeftOut)) {
    const found = without(term);
    word ??= term.word;
    if (found.total === 0 || found.scores[0] <= (nearest?.scores[0] ?? 0)) continue;
    word = term.word;
    nearest = found;
  }
  return { word, isUnknown: false, near: nearest === undefined ? [] : namesOf(nearest) };
}

/** The first word of a text that names what no procedure group of this data can be. */
export function absentProcedure(text: string): string | undefined {
  return splitWords(text).find((word) => absentProcedures.has(word));
}

function nameOf(image: Image, kind: DocumentKind, document: number): string {
  if (kind === "procedure") return `${textAt(image.code, document)} ${textAt(image.procedureName, document)}`;
  const [name, city, state] = [image.facilityName, image.city, image.state].map((texts) =>
    textAt(texts, document),
  );
  return `${name} (${city} ${state})`;
}

/** The words of an index with one typo more than a match may have, the closest first. */
function closeWords(index: TextIndex, word: string): string[] {
  const letters = [...word].length;
  const close: { word: number; typos: number }[] = [];
  forEachClose(index, Buffer.from(word), letters, allowedTypos(letters) + 1, (word, typos) => {
    if (typos < letters - 1) close.push({ word, typos });
  });
  return close
    .sort((a, b) => a.typos - b.typos || a.word - b.word)
    .slice(0, mostNear)
    .map(({ word }) => textOf(wordAt(index, word)));
}

/** The words of a query in order, each once, or twice where it may be a place, and what matches them. */
function termsOf(image: Image, kind: DocumentKind, text: string): Term[] {
  const index = image.documents[kind];
  const typed = splitWords(text).map((word) => kindMeant(index, kind, word));
  const words = typed.filter((word, i) => {
    if (typed.indexOf(word) === i) return true;
    return typed.lastIndexOf(word) === i && isInPlace(index, word);
  });
  const isFiller = (word: string, i: number) =>
    fillerWords.has(word) && !(isStateCode(word) && isLast(i) && typed.at(-1) === word);
  const isLast = (i: number) => i > 0 && i + 1 === words.length;
  const saySomething = words.map((word, i) => !isFiller(word, i) && !genericWords[kind].has(meaningOf(word)));
  const isAnyNeeded = saySomething.includes(true);
  const places = words.findIndex((word, i) => placeWords.has(word) && !isLast(i));
  const inCity = new Set(
    kind === "facility" ? cityWithState(index, words, saySomething.lastIndexOf(true) + 1) : [],
  );
  const terms = words.map((word, i): Term => {
    const isNeeded = saySomething[i] || !isAnyNeeded;
    const isPlace = (places >= 0 && i > places) || inCity.has(i) || words.indexOf(word) < i;
    const term = { word, isNeeded, isPlace, matches: [], phrases: new Map(), code: -1 };
    if (isNeeded) matchNeeded(image, kind, term);
    matchExactly(index, word, exact, [term]);
    return term;
  });
  // Words typed apart that may be one of the index.
  for (let start = 0; start < words.length; start++)
    for (let end = start + 2; end <= Math.min(words.length, start + mostParts); end++) {
      if (isFiller(words[end - 1], end - 1) || isFiller(words[start], start)) break;
      const span = terms.slice(start, end);
      const asTyped = words.slice(start, end);
      const joined = asTyped.join("");
      const meant = asTyped.map(meaningOf).join("");
      matchExactly(index, cityOf(joined), exact, span);
      if (meant !== joined) matchExactly(index, meant, exact, span);
      if (joined.length >= joinedPrefixLetters) matchPrefix(index, Buffer.from(joined), span);
    }
  return terms;
}

/** The word of kind that one with a typo stands for, where no word of the index begins with it; otherwise itself. */
function kindMeant(index: TextIndex, kind: DocumentKind, word: string): string {
  if (word.length < oneTypoLetters) return word;
  const typed = Buffer.from(word);
  const next = lowerBound(index, typed);
  if (next < index.wordOffsets.length - 1 && startsWith(index, next, typed)) return word;
  const letters = lettersOf(typed);
  for (const { meant, bytes, has } of kindSpellings[kind])
    if (Math.abs(meant.length - word.length) <= 1 && !hasMoreBits(has & ~letters, 1))
      if (typosBetween(codePoints(typed), bytes, 1) === 1) return meant;
  return word;
}

const spellingsOf = (words: ReadonlySet<string>) =>
  Array.from(words, (meant) => ({
    meant,
    bytes: Buffer.from(meant),
    has: lettersOf(Buffer.from(meant)),
  })).filter(({ meant }) => meant.length >= oneTypoLetters);
const kindSpellings = {
  facility: spellingsOf(genericWords.facility),
  procedure: spellingsOf(genericWords.procedure),
};

/** Whether a word of the index is one of a place. */
function isInPlace(index: TextIndex, word: string): boolean {
  if (fillerWords.has(word)) return false;
  const found = findWord(index, meaningOf(word));
  if (found < 0) return false;
  return index.postingFields
    .subarray(index.postingStart[found], index.postingStart[found + 1])
    .some((fields) => (fields & placeFields) !== 0);
}

/** The positions of the words before `end` that are a city and its state. */
function cityWithState(index: TextIndex, words: readonly string[], end: number): number[] {
  for (let start = Math.max(1, end - mostParts); start < end; start++) {
    const state = words.slice(start, end).join("");
    if (!stateWords.has(state)) continue;
    for (let from = Math.max(0, start - mostParts); from < start; from++)
      if (isCityIn(index, words.slice(from, start), state))
        return Array.from({ length: end - from }, (_, i) => from + i);
  }
  return [];
}

/** Whether a document is in a city and a state. */
function isCityIn(index: TextIndex, words: readonly string[], state: string): boolean {
  const { postingStart, postings, postingFields } = index;
  const city = findWord(index, cityOf(words.map(meaningOf).join("")));
  const there = findWord(index, state);
  if (city < 0 || there < 0) return false;
  let at = postingStart[there];
  for (let i = postingStart[city]; i < postingStart[city + 1]; i++) {
    if ((postingFields[i] & (1 << cityField)) === 0) continue;
    while (at < postingStart[there + 1] && postings[at] < postings[i]) at++;
    if (
      at < postingStart[there + 1] &&
      postings[at] === postings[i] &&
      (postingFields[at] & (1 << stateField)) !== 0
    )
      return true;
  }
  return false;
}

function isStateCode(word: string): boolean {
  return word.length === 2 && Object.hasOwn(stateNames, word.toUpperCase());
}

/** What is looked up for a word that every match has to have. */
function matchNeeded(image: Image, kind: DocumentKind, term: Term): void {
  const { word } = term;
  const index = image.documents[kind];
  matchTypos(index, term, word);
  // A plural with a typo may be that of a singular, which the index has.
  if (word.endsWith("s") && findWord(index, meaningOf(word)) < 0) matchTypos(index, term, word.slice(0, -1));
  if (kind === "facility" || !absentProcedures.has(word)) matchPrefix(index, Buffer.from(word), [term]);
  for (const other of otherNumbers(word)) matchExactly(index, other, exact, [term]);
  matchExactly(index, cityOf(word), exact, [term]);
  for (const other of otherMeanings(word)) matchExactly(index, other, prefix, [term]);
  matchPhrases(index, word, [], term);
  const coded = kind === "facility" ? facilityWithCode(image, word) : (image.procedureOf.get(word) ?? -1);
  if (coded >= 0) term.code = index.rank[coded];
}

/** The facility with a CCN, which may have lost its leading zero unless it is something else there; −1 for none. */
function facilityWithCode(image: Image, word: string): number {
  const isShort = /^[0-9]{5}$/.test(word) && findWord(image.documents.facility, word) < 0;
  return findFacility(image, isShort ? `0${word}` : word);
}

function matchExactly(index: TextIndex, word: string, level: number, terms: readonly Term[]): void {
  for (const same of new Set([word, meaningOf(word)])) {
    const found = findWord(index, same);
    if (found >= 0) for (const { matches } of terms) matches.push((found << levelBits) | level);
  }
}

/** Words come in order of their bytes: those with a prefix stand together. */
function matchPrefix(index: TextIndex, start: Uint8Array, terms: readonly Term[]): void {
  const count = index.wordOffsets.length - 1;
  for (let i = lowerBound(index, start); i < count && startsWith(index, i, start); i++)
    for (const { matches } of terms) matches.push((i << levelBits) | prefix);
}

function allowedTypos(letters: number): number {
  return letters >= twoTyposLetters ? 2 : letters >= oneTypoLetters ? 1 : 0;
}

function matchTypos(index: TextIndex, { matches }: Term, word: string): void {
  const letters = [...word].length;
  const allowed = allowedTypos(letters);
  // Another number is another place or procedure.
  if (allowed === 0 || /^[0-9]+$/.test(word)) return;
  forEachClose(index, Buffer.from(word), letters, allowed, (close, typos) => {
    if (typos > 0) matches.push((close << levelBits) | (typos === 1 ? oneTypo : twoTypos));
  });
}

/** Gives all words within so many typos of what was typed. */
function forEachClose(
  index: TextIndex,
  typed: Uint8Array,
  letters: number,
  allowed: number,
  give: (word: number, typos: number) => void,
): void {
  const { byLength, lengthStart } = index;
  const typedLetters = lettersOf(typed);
  const typedPoints = codePoints(typed);
  // A letter beyond ASCII has up to four bytes, and a typo changes all of them.
  const allowedBytes = typedPoints === typed ? allowed : 4 * allowed;
  const from = Math.max(0, letters - allowed);
  const to = Math.min(lengthStart.length - 2, letters + allowed);
  if (from > to) return;
  for (let at = lengthStart[from]; at < lengthStart[to + 1]; at++) {
    const has = index.letters[at];
    if (hasMoreBits(has & ~typedLetters, allowedBytes)) continue;
    if (hasMoreBits(typedLetters & ~has, allowedBytes)) continue;
    const typos = typosBetween(typedPoints, codePoints(wordAt(index, byLength[at])), allowed);
    if (typos <= allowed) give(byLength[at], typos);
  }
}

/** Finds documents that have a word as several ones. @param before words of the index that stand for its start */
function matchPhrases(index: TextIndex, rest: string, before: readonly number[], term: Term): void {
  for (let cut = 1; cut < rest.length; cut++) {
    const start = findWord(index, meaningOf(rest.slice(0, cut)));
    if (start < 0) continue;
    const words = [...before, start];
    const end = findWord(index, meaningOf(rest.slice(cut)));
    if (end >= 0) addPhrase(index, [...words, end], term.phrases);
    if (words.length + 1 < mostParts) matchPhrases(index, rest.slice(cut), words, term);
  }
}

/** Adds the documents in which words stand one after the other, as a name or place is written. */
function addPhrase(index: TextIndex, words: readonly number[], phrases: Map<number, number>): void {
  const { postingStart, postings, tokenStart, tokens } = index;
  const postingsOf = (word: number) => postingStart[word + 1] - postingStart[word];
  const rarest = words.reduce((a, b) => (postingsOf(b) < postingsOf(a) ? b : a));
  for (let i = postingStart[rarest]; i < postingStart[rarest + 1]; i++) {
    const document = postings[i];
    const end = tokenStart[document + 1] - words.length;
    for (let at = tokenStart[document]; at <= end; at++) {
      if (words.some((word, part) => tokens[at + part] >>> fieldBits !== word)) continue;
      const field = tokens[at] & fieldMask;
      if (field === cityField || field === stateField) continue;
      if (!phrases.has(document)) phrases.set(document, field);
    }
  }
}

/** What one search works on and the next one again: all zeros between searches. */
const scratch = {
  /** Of each word of the index, how it is asked for. */
  asked: new Uint8Array(0),
  /** Of each document, a bit: whether it is a candidate, and whether it matches another word. */
  candidates: new Int32Array(0),
  others: new Int32Array(0),
  /** Of each document: how it matches a term and in which fields, a bit for each. */
  level: new Uint8Array(0),
  fields: new Uint8Array(0),
  /**
   * Of each document: the worst of its matches, the sum of what they are worth; the words of its name that are asked for,
   * those of them that say little, and what is known of it.
   */
  worst: new Uint8Array(0),
  sum: new Float64Array(0),
  nameWords: new Uint16Array(0),
  nameFillers: new Uint16Array(0),
  isNamed: new Uint8Array(0),
  /** What needs no zeros: the candidates and the points of those that match, and postings. */
  documents: new Uint32Array(0),
  points: new Uint16Array(0),
  hits: new Uint32Array(0),
};
/** How many documents have so many points, and then the place of the next one of them. */
const countOfPoints = new Uint32Array(codedPoints + 1);

function makeRoom(words: number, documents: number): void {
  if (scratch.asked.length < words) scratch.asked = new Uint8Array(words);
  if (scratch.documents.length >= documents) return;
  scratch.candidates = new Int32Array((documents >>> 5) + 1);
  scratch.others = new Int32Array((documents >>> 5) + 1);
  scratch.level = new Uint8Array(documents);
  scratch.fields = new Uint8Array(documents);
  scratch.worst = new Uint8Array(documents);
  scratch.sum = new Float64Array(documents);
  scratch.nameWords = new Uint16Array(documents);
  scratch.nameFillers = new Uint16Array(documents);
  scratch.isNamed = new Uint8Array(documents);
  scratch.documents = new Uint32Array(documents);
  scratch.points = new Uint16Array(documents);
  scratch.hits = new Uint32Array(documents);
}

type Index = Image["documents"][DocumentKind];

/** @param among documents to look for: those with prices, if no others are named */
function find(
  index: Index,
  terms: readonly Term[],
  offset: number,
  limit: number,
  among = { first: 0, end: index.priced[0] },
): Matches {
  const { byRank } = index;
  const needed = terms
    .filter(({ isNeeded }) => isNeeded)
    .map((term) => ({ term, count: documentsWith(index, term) }))
    .sort((a, b) => a.count - b.count);
  if (needed.length === 0 || needed[0].count === 0)
    return { total: 0, documents: new Uint32Array(0), scores: [] };
  makeRoom(index.wordOffsets.length, byRank.length);
  const { candidates, others } = scratch;
  mark(index, needed[0].term, candidates);
  const bitWords = (byRank.length >>> 5) + 1;
  // To look at few documents costs less than to mark those of another word.
  if (needed[0].count > fewDocuments)
    for (const { term } of needed.slice(1)) {
      mark(index, term, others);
      for (let i = 0; i < bitWords; i++) candidates[i] &= others[i];
      others.fill(0, 0, bitWords);
    }
  clearBits(candidates, 0, among.first);
  clearBits(candidates, among.end, bitWords << 5);
  const count = listCandidates(bitWords);
  weigh(index, terms, count);
  candidates.fill(0, 0, bitWords);
  return best(index, terms, count, offset, limit);
}

function clearBits(bits: Int32Array, from: number, to: number): void {
  let at = from;
  for (; at < to && (at & 31) !== 0; at++) bits[at >>> 5] &= ~(1 << (at & 31));
  bits.fill(0, at >>> 5, to >>> 5);
  for (at = Math.max(at, to & ~31); at < to; at++) bits[at >>> 5] &= ~(1 << (at & 31));
}

function listCandidates(bitWords: number): number {
  const { candidates, documents } = scratch;
  let count = 0;
  for (let i = 0; i < bitWords; i++)
    for (let bits = candidates[i]; bits !== 0; bits &= bits - 1)
      documents[count++] = (i << 5) + 31 - Math.clz32(bits & -bits);
  return count;
}

/** Sums up for each candidate, one term after the other, how well it matches; its worst match is `none` where it lacks one. */
function weigh(index: Index, terms: readonly Term[], count: number): void {
  const { asked, documents, level, fields, worst, sum, nameWords, nameFillers, isNamed, hits } = scratch;
  const { postings, postingFields } = index;
  for (const { matches, isPlace, isNeeded } of terms)
    if (!isPlace)
      for (const match of matches) asked[match >>> levelBits] |= isNeeded ? askedAsNeeded : askedAsOptional;
  for (let i = 0; i < count; i++) {
    worst[documents[i]] = exact;
    isNamed[documents[i]] = isLed(index, documents[i]) ? ledBit : 0;
  }
  for (const { matches, phrases, isNeeded, isPlace, code } of terms) {
    for (const match of matches) {
      const word = match >>> levelBits;
      const wordLevel = match & ((1 << levelBits) - 1);
      const ask = asked[word];
      // A word that several terms match is counted once.
      asked[word] = 0;
      const length = hitsOf(index, word, count);
      for (let i = 0; i < length; i++) {
        const document = postings[hits[i]];
        const inFields = postingFields[hits[i]];
        if (wordLevel > level[document]) {
          level[document] = wordLevel;
          fields[document] = inFields;
        } else if (wordLevel === level[document]) fields[document] |= inFields;
        if (ask === 0 || (inFields & nameFields) === 0) continue;
        nameWords[document]++;
        if ((inFields & (1 << nameField)) === 0) nameFillers[document]++;
        if ((ask & askedAsNeeded) !== 0) isNamed[document] |= namedBit;
      }
    }
    for (const [document, field] of phrases) {
      if ((scratch.candidates[document >>> 5] & (1 << (document & 31))) === 0 || level[document] === exact)
        continue;
      level[document] = exact;
      fields[document] = 1 << field;
      if (field !== nameField) continue;
      nameWords[document]++;
      isNamed[document] |= namedBit;
    }
    const worth = isPlace ? placeWorth : fieldWorth;
    const weight = (isNeeded ? 1 : optionalWeight) / exact;
    for (let i = 0; i < count; i++) {
      const document = documents[i];
      const found = document === code ? exact : level[document];
      if (isNeeded && found < worst[document]) worst[document] = found;
      sum[document] += weight * found * worth[fields[document]];
      level[document] = none;
      fields[document] = 0;
    }
  }
}

/** Whether the first word of a name that says something is asked for. */
function isLed({ tokenStart, tokens }: TextIndex, document: number): boolean {
  let at = tokenStart[document];
  while (at < tokenStart[document + 1] && (tokens[at] & fieldMask) === fillerField) at++;
  return at === tokenStart[document + 1] || scratch.asked[tokens[at] >>> fieldBits] !== 0;
}

/** The postings of a word whose documents are candidates, into `hits`. */
function hitsOf({ postingStart, postings }: TextIndex, word: number, count: number): number {
  const { candidates, documents, hits } = scratch;
  const start = postingStart[word];
  const end = postingStart[word + 1];
  let length = 0;
  if (end - start > manyPostings * count) {
    let from = start;
    for (let i = 0; i < count; i++) {
      const document = documents[i];
      let to = end;
      while (from < to) {
        const middle = (from + to) >>> 1;
        if (postings[middle] < document) from = middle + 1;
        else to = middle;
      }
      if (from < end && postings[from] === document) hits[length++] = from;
    }
  } else
    for (let at = start; at < end; at++) {
      const document = postings[at];
      if ((candidates[document >>> 5] & (1 << (document & 31))) !== 0) hits[length++] = at;
    }
  return length;
}

/** How many documents match a term, those of several words counted again. */
function documentsWith({ postingStart }: TextIndex, { matches, phrases, code }: Term): number {
  let count = phrases.size + (code < 0 ? 0 : 1);
  for (const match of matches) {
    const word = match >>> levelBits;
    count += postingStart[word + 1] - postingStart[word];
  }
  return count;
}

/** Sets the bits of the documents that match a term. */
function mark(
  { postingStart, postings }: TextIndex,
  { matches, phrases, code }: Term,
  bits: Int32Array,
): void {
  const set = (document: number) => {
    bits[document >>> 5] |= 1 << (document & 31);
  };
  for (const match of matches) {
    const word = match >>> levelBits;
    for (let at = postingStart[word]; at < postingStart[word + 1]; at++) set(postings[at]);
  }
  for (const document of phrases.keys()) set(document);
  if (code >= 0) set(code);
}

/** A page of the candidates, which come by name: those with the most points first, equal ones as they come. */
function best(
  { byRank, nameSize }: Index,
  terms: readonly Term[],
  count: number,
  offset: number,
  limit: number,
): Matches {
  const { documents: candidates, points: pointsOf, worst, sum, nameWords, nameFillers, isNamed } = scratch;
  let weight = 0;
  for (const { isNeeded } of terms) weight += isNeeded ? 1 : optionalWeight;
  const codes = new Set(terms.map(({ code }) => code));
  let total = 0;
  let most = 0;
  for (let i = 0; i < count; i++) {
    const document = candidates[i];
    const level = worst[document];
    const quality = sum[document] / weight;
    // A word that says little is a small part of a name, unless it is asked for.
    const size = nameSize[document] + (wordSize - 1) * nameFillers[document];
    const named = Math.min(1, (wordSize * nameWords[document]) / size);
    const isAsked = (isNamed[document] & namedBit) !== 0 || named === 1;
    const coverage = isAsked ? named * ((isNamed[document] & ledBit) !== 0 ? 1 : notLed) : 0;
    sum[document] = 0;
    nameWords[document] = 0;
    nameFillers[document] = 0;
    isNamed[document] = 0;
    if (level === none) continue;
    const good = (2 * quality + coverage) / almostThree;
    const points = codes.has(document)
      ? codedPoints
      : Math.round(maxPoints * ((level - 1 + (level < exact ? Math.min(1, good) : good)) / exact));
    candidates[total] = document;
    pointsOf[total++] = points;
    countOfPoints[points]++;
    if (points > most) most = points;
  }
  let place = 0;
  for (let points = most; place < total; points--) {
    const withPoints = countOfPoints[points];
    countOfPoints[points] = place;
    place += withPoints;
  }
  const length = Math.max(0, Math.min(limit, total - offset));
  const documents = new Uint32Array(length);
  const scores = new Array<number>(length);
  for (let i = 0; i < total; i++) {
    const at = countOfPoints[pointsOf[i]]++ - offset;
    if (at < 0 || at >= length) continue;
    documents[at] = byRank[candidates[i]];
    scores[at] = Math.min(maxPoints, pointsOf[i]) / maxPoints;
  }
  countOfPoints.fill(0, 0, most + 1);
  return { total, documents, scores };
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

/** The words of an index, as each thread reads them once. */
const wordsOfIndexes = new WeakMap<TextIndex, Map<string, number>>();

/** A word of the index; −1 where there is none. */
function findWord(index: TextIndex, word: string): number {
  let words = wordsOfIndexes.get(index);
  if (words === undefined) {
    words = new Map();
    for (let i = 0; i + 1 < index.wordOffsets.length; i++) words.set(textOf(wordAt(index, i)), i);
    wordsOfIndexes.set(index, words);
  }
  return words.get(word) ?? -1;
}

/** The first word that doesn't come before some bytes. */
function lowerBound(index: TextIndex, bytes: Uint8Array): number {
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

/** Three rows of a table of typos, for words of nearly any length. */
const rowsOf = (width: number) => [0, 0, 0].map(() => new Uint16Array(width));
const ordinaryRows = rowsOf(64);

/**
 * Typos between two words: letters added, left out, replaced, or two neighbours swapped (optimal string alignment).
 *
 * @returns the number, or something above `most` once it can't be reached
 */
function typosBetween(a: ArrayLike<number>, b: ArrayLike<number>, most: number): number {
  const width = b.length + 1;
  let [beforeLast, last, row] = width <= ordinaryRows[0].length ? ordinaryRows : rowsOf(width);
  for (let j = 0; j < width; j++) last[j] = j;
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
