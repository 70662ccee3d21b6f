import { bufferOf, endLength, room, writeEnd } from "./body.ts";
import { findFacility } from "./facilities.ts";
import { type Image, textAt, textOf } from "./image.ts";
import { stateNames } from "./schema.ts";
import {
  beyondField,
  bitWordsOf,
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
 * A search looks up the words of the index that match each of its words and intersects their documents as bits, which
 * counts them. Then it weighs the most promising ones, until no other can be among the best. So it costs a 32nd of the
 * documents for each word, and beside that a comparison with the words of about the same length, of which a directory
 * has few thousand: too few for tables of n-grams or deletions.
 *
 * No library does this over memory that threads share: MiniSearch keeps JavaScript objects in each thread, Lucene and
 * Tantivy are other runtimes; and words written apart or together would come on top of any of them.
 */

/** How a word of the query matches one of the index, from worst to best; 0 is not at all. */
const [none, twoTypos, oneTypo, prefix, exact] = [0, 1, 2, 3, 4];
const levelBits = 3;
const levelMask = (1 << levelBits) - 1;

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
/** How a word of the index is asked for: by a word of the query that is needed, or another. */
const [askedAsOptional, askedAsNeeded] = [1, 2];
/** The fields of which a name consists. */
const nameFields = (1 << nameField) | (1 << fillerField);
/** The fields of a place. */
const placeFields = (1 << cityField) | (1 << stateField) | (1 << cityPartField) | (1 << statePartField);
/** What a name is worth that doesn't begin with what is asked for: West Virginia University isn't that of Virginia. */
const notLed = 0.8;

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
  return find(index, termsOf(image, kind, text), 0, index.byName.length, false).documents;
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
function isInPlace(index: Index, word: string): boolean {
  if (fillerWords.has(word)) return false;
  const found = findWord(index, meaningOf(word));
  if (found < 0) return false;
  return (fieldsOf(index, found) & placeFields) !== 0;
}

/** The positions of the words before `end` that are a city and its state. */
function cityWithState(index: Index, words: readonly string[], end: number): number[] {
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
function isCityIn(index: Index, words: readonly string[], state: string): boolean {
  const { tokenStart, tokens, documentOf } = index;
  const city = findWord(index, cityOf(words.map(meaningOf).join("")));
  const there = findWord(index, state);
  if (city < 0 || there < 0 || (fieldsOf(index, city) & (1 << cityField)) === 0) return false;
  const both = withWords(index, [city, there]);
  for (
    let i = nextOf(both, 0, documentOf.length);
    i < documentOf.length;
    i = nextOf(both, i + 1, documentOf.length)
  ) {
    const place = tokens.subarray(tokenStart[i], tokenStart[i + 1]);
    if (place.includes((city << fieldBits) | cityField) && place.includes((there << fieldBits) | stateField))
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
  if (coded >= 0) term.code = index.documentOf[coded];
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
function matchPhrases(index: Index, rest: string, before: readonly number[], term: Term): void {
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
function addPhrase(index: Index, words: readonly number[], phrases: Map<number, number>): void {
  const { tokenStart, tokens, documentOf } = index;
  const having = withWords(index, words);
  for (
    let document = nextOf(having, 0, documentOf.length);
    document < documentOf.length;
    document = nextOf(having, document + 1, documentOf.length)
  ) {
    const end = tokenStart[document + 1] - words.length;
    for (let at = tokenStart[document]; at <= end; at++) {
      let part = 0;
      while (part < words.length && tokens[at + part] >>> fieldBits === words[part]) part++;
      if (part < words.length) continue;
      const field = tokens[at] & fieldMask;
      if (field === cityField || field === stateField) continue;
      if (!phrases.has(document)) phrases.set(document, field);
    }
  }
}

/** A bit for each document: whether it has all of some words. It holds until the next search for anything. */
function withWords(index: Index, words: readonly number[]): Int32Array {
  makeRoom(index, words.length);
  for (const [i, word] of words.entries()) markWord(index, word, scratch.terms[i]);
  intersect(words.length, bitWordsOf(index.documentOf.length));
  return scratch.fresh;
}

/** A document's words are counted in three bits: it has so many, or more. */
const mostCounted = 7;

/** What one search works on and the next one again. */
const scratch = {
  /** Of each word of the index, its first entry; zeros between searches. */
  entryOf: new Int32Array(0),
  /** Of each entry: the term that its word matches, how well, how the word is asked for, and its next entry; 0 for none. */
  entryTerm: new Uint16Array(0),
  entryLevel: new Uint8Array(0),
  entryAsked: new Uint8Array(0),
  nextEntry: new Int32Array(0),
  /** Of each document, a bit: whether it is done with, and whether it matches all terms since this level. */
  done: new Int32Array(0),
  fresh: new Int32Array(0),
  /** Whether it matches a term, for each that is needed. */
  terms: [] as Int32Array[],
  /** The three bits of how many words that are asked for it has. */
  counts: [] as Int32Array[],
  /** Whether it is fresh and has as many words as are looked at. */
  layer: new Int32Array(0),
};

/** Makes room for an index, with nothing done, and so many terms that no document matches yet. */
function makeRoom({ wordOffsets, documentOf }: Index, terms: number): void {
  const bitWords = bitWordsOf(documentOf.length);
  if (scratch.entryOf.length < wordOffsets.length) scratch.entryOf = new Int32Array(wordOffsets.length);
  if (scratch.done.length < bitWords) {
    scratch.done = new Int32Array(bitWords);
    scratch.fresh = new Int32Array(bitWords);
    scratch.layer = new Int32Array(bitWords);
    scratch.counts = [1, 2, 4].map(() => new Int32Array(bitWords));
    scratch.terms = [];
  }
  while (scratch.terms.length < terms) scratch.terms.push(new Int32Array(scratch.done.length));
  scratch.done.fill(0, 0, bitWords);
  for (let i = 0; i < terms; i++) scratch.terms[i].fill(0, 0, bitWords);
}

type Index = Image["documents"][DocumentKind];

/**
 * Goes from the best level to the worst, there from many words that are asked for to few, and there from short names to
 * long ones. It weighs no document that can't be better than those of the page: equal ones come by name.
 *
 * @param isPriced whether to look for documents that have prices, or for the others
 */
function find(index: Index, terms: readonly Term[], offset: number, limit: number, isPriced = true): Matches {
  const { byName, nameRank, documentOf, sizeStart, priced } = index;
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  if (needed.length === 0 || needed.some((term) => documentsWith(index, term) === 0))
    return { total: 0, documents: new Uint32Array(0), scores: [] };
  const bitWords = bitWordsOf(documentOf.length);
  makeRoom(index, needed.length);
  const { done, fresh } = scratch;
  // As if those that aren't looked for had been found before.
  for (let i = 0; i < bitWords; i++) done[i] = isPriced ? ~priced[i] : priced[i];
  const page = new Best(Math.min(offset + limit, documentOf.length));
  const codes = needed.map(({ code }) => code).filter((code) => code >= 0);
  enterWords(terms);
  const score = scorerOf(index, terms);
  const look = (bits: Int32Array, mostOf: (size: number) => number) => {
    for (let size = 0; size + 1 < sizeStart.length; size++) {
      const end = sizeStart[size + 1];
      if (end === sizeStart[size]) continue;
      const most = mostOf(size);
      if (!page.takes(most, 0)) continue;
      for (
        let document = nextOf(bits, sizeStart[size], end);
        document < end && page.takes(most, nameRank[document]);
        document = nextOf(bits, document + 1, end)
      )
        page.offer(score(document, size), nameRank[document]);
    }
  };
  let asked: Asked | undefined;
  let total = 0;
  for (let level = exact; level > none; level--) {
    const marked = needed.map((term, i) => mark(index, term, level, scratch.terms[i]));
    if (!marked.includes(true)) continue;
    const count = intersect(needed.length, bitWords);
    if (count === 0) continue;
    total += count;
    for (const code of codes)
      if ((fresh[code >>> 5] & (1 << (code & 31))) !== 0) {
        page.offer(codedPoints, nameRank[code]);
        fresh[code >>> 5] &= ~(1 << (code & 31));
      }
    if (total <= page.wanted) {
      look(fresh, () => codedPoints);
      continue;
    }
    asked ??= countWords(index, terms);
    const most = mostPoints(index, terms, asked, level);
    for (let words = Math.min(mostCounted, asked.words); words >= 0; words--)
      if (page.takes(most(words, 1), 0)) look(layerOf(words, bitWords), (size) => most(words, size));
  }
  for (const { matches } of terms) for (const match of matches) scratch.entryOf[match >>> levelBits] = 0;
  const found = page.from(offset);
  return {
    total,
    documents: Uint32Array.from(found, ({ place }) => byName[place]),
    scores: found.map(({ points }) => Math.min(maxPoints, points) / maxPoints),
  };
}

/** Lists by word which terms ask for it. */
function enterWords(terms: readonly Term[]): void {
  const count = terms.reduce((sum, { matches }) => sum + matches.length, 1);
  if (scratch.nextEntry.length < count) {
    scratch.entryTerm = new Uint16Array(2 * count);
    scratch.entryLevel = new Uint8Array(2 * count);
    scratch.entryAsked = new Uint8Array(2 * count);
    scratch.nextEntry = new Int32Array(2 * count);
  }
  const { entryOf, entryTerm, entryLevel, entryAsked, nextEntry } = scratch;
  let entry = 0;
  for (const [term, { matches, isPlace, isNeeded }] of terms.entries())
    for (const match of matches) {
      const word = match >>> levelBits;
      const first = entryOf[word];
      entryTerm[++entry] = term;
      entryLevel[entry] = match & levelMask;
      nextEntry[entry] = first;
      entryAsked[entry] = entryAsked[first] | (isPlace ? 0 : isNeeded ? askedAsNeeded : askedAsOptional);
      entryOf[word] = entry;
    }
}

/** The documents that match all needed terms at this level, and didn't at a better one, into `fresh`; how many. */
function intersect(terms: number, bitWords: number): number {
  const { done, fresh } = scratch;
  for (let i = 0; i < bitWords; i++) fresh[i] = ~done[i];
  for (let term = 0; term < terms; term++) {
    const bits = scratch.terms[term];
    for (let i = 0; i < bitWords; i++) fresh[i] &= bits[i];
  }
  let count = 0;
  for (let i = 0; i < bitWords; i++) {
    const bits = fresh[i];
    if (bits === 0) continue;
    done[i] |= bits;
    count += bitsIn(bits);
  }
  return count;
}

function bitsIn(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The first bit from `from` on that is set; `end` or more where there is none before. */
function nextOf(bits: Int32Array, from: number, end: number): number {
  if (from >= end) return end;
  const last = (end - 1) >>> 5;
  let at = from >>> 5;
  let rest = bits[at] & (-1 << (from & 31));
  while (rest === 0 && at < last) rest = bits[++at];
  return rest === 0 ? end : (at << 5) + 31 - Math.clz32(rest & -rest);
}

/** Gives the points of a document that matches all needed terms. */
type Scorer = (document: number, size: number) => number;

/** Weighs documents by their words, which lie together. */
function scorerOf({ tokenStart, tokens }: Index, terms: readonly Term[]): Scorer {
  const { entryOf, entryTerm, entryLevel, entryAsked, nextEntry } = scratch;
  const count = terms.length;
  const levels = new Uint8Array(count);
  const fields = new Uint8Array(count);
  const needs = Uint8Array.from(terms, ({ isNeeded }) => (isNeeded ? 1 : 0));
  const worths = terms.map(({ isPlace }) => (isPlace ? placeWorth : fieldWorth));
  const weights = Float64Array.from(terms, ({ isNeeded }) => weightOf(isNeeded) / exact);
  const weight = totalWeight(terms);
  const hasPhrases = terms.some(({ phrases }) => phrases.size > 0);
  return (document, size) => {
    for (let i = 0; i < count; i++) levels[i] = fields[i] = 0;
    let nameWords = 0;
    let nameFillers = 0;
    let asked = 0;
    // Whether the first word that says something is asked for.
    let isLed = true;
    let isBegun = false;
    const end = tokenStart[document + 1];
    for (let at = tokenStart[document]; at < end; at++) {
      const token = tokens[at];
      let entry = entryOf[token >>> fieldBits];
      const field = token & fieldMask;
      if (!isBegun && field !== fillerField) {
        isBegun = true;
        isLed = entryAsked[entry] !== 0;
      }
      if (entry === 0) continue;
      // A word stands in one of these only where a name has it first.
      if ((field === nameField || field === fillerField) && entryAsked[entry] !== 0) {
        nameWords++;
        if (field === fillerField) nameFillers++;
        asked |= entryAsked[entry];
      }
      for (; entry !== 0; entry = nextEntry[entry]) {
        const term = entryTerm[entry];
        const level = entryLevel[entry];
        if (level > levels[term]) {
          levels[term] = level;
          fields[term] = 1 << field;
        } else if (level === levels[term]) fields[term] |= 1 << field;
      }
    }
    if (hasPhrases)
      for (let i = 0; i < count; i++) {
        const field = levels[i] === exact ? undefined : terms[i].phrases.get(document);
        if (field === undefined) continue;
        levels[i] = exact;
        fields[i] = 1 << field;
        if (field !== nameField) continue;
        nameWords++;
        asked |= askedAsNeeded;
      }
    let worst = exact;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      if (needs[i] !== 0 && levels[i] < worst) worst = levels[i];
      sum += weights[i] * levels[i] * worths[i][fields[i]];
    }
    const isNamed = (asked & askedAsNeeded) !== 0;
    return pointsOf(
      worst,
      sum / weight,
      coverageOf(size, nameWords, nameFillers, isNamed) * (isLed ? 1 : notLed),
    );
  };
}

/**
 * How much of a name is asked for: nothing, unless a needed word of it is or all of it. A word that says little is a small
 * part, unless it is asked for.
 */
function coverageOf(size: number, nameWords: number, nameFillers: number, isNamed: boolean): number {
  if (nameWords === 0) return 0;
  const named = Math.min(1, (wordSize * nameWords) / (size + (wordSize - 1) * nameFillers));
  return isNamed || named === 1 ? named : 0;
}

function pointsOf(level: number, quality: number, coverage: number): number {
  const good = (2 * quality + coverage) / almostThree;
  return Math.round(maxPoints * ((level - 1 + (level < exact ? Math.min(1, good) : good)) / exact));
}

function weightOf(isNeeded: boolean): number {
  return isNeeded ? 1 : optionalWeight;
}

function totalWeight(terms: readonly Term[]): number {
  return terms.reduce((sum, { isNeeded }) => sum + weightOf(isNeeded), 0);
}

/** The words of names that are asked for, those of them that only say little, and whether one is needed. */
interface Asked {
  words: number;
  fillers: number;
  isNamed: boolean;
}

/** Counts the words that are asked for of each document: no fewer than its name has of them. */
function countWords(index: Index, terms: readonly Term[]): Asked {
  const { documentCount, postingStart, postings, documentOf } = index;
  for (const bits of scratch.counts) bits.fill(0, 0, bitWordsOf(documentOf.length));
  const [ones, twos, fours] = scratch.counts;
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

/** In which fields any document has a word. */
function fieldsOf({ fieldSetStart, fieldSets }: Index, word: number): number {
  let fields = 0;
  for (let i = fieldSetStart[word]; i < fieldSetStart[word + 1]; i++) fields |= fieldSets[i];
  return fields;
}

/** The fresh documents with so many words. */
function layerOf(words: number, bitWords: number): Int32Array {
  const { fresh, layer } = scratch;
  const [ones, twos, fours] = scratch.counts;
  const [notOnes, notTwos, notFours] = [1, 2, 4].map((bit) => ((words & bit) === 0 ? -1 : 0));
  for (let i = 0; i < bitWords; i++)
    layer[i] = fresh[i] & (ones[i] ^ notOnes) & (twos[i] ^ notTwos) & (fours[i] ^ notFours);
  return layer;
}

/** By a document's words that are asked for and the size of its name: points that none has more of at a level. */
function mostPoints(
  index: Index,
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

/** The best of what is offered: more points first, and by name where they are equal. */
class Best {
  readonly wanted: number;
  /** The best so far, and after these what was offered since. */
  readonly #keys: Float64Array;
  #length = 0;
  #worst = Number.POSITIVE_INFINITY;

  constructor(wanted: number) {
    this.wanted = wanted;
    this.#keys = new Float64Array(2 * wanted);
  }

  /** Whether an offer would be among the best. */
  takes(points: number, place: number): boolean {
    return keyOf(points, place) < this.#worst;
  }

  offer(points: number, place: number): void {
    const key = keyOf(points, place);
    if (key >= this.#worst) return;
    this.#keys[this.#length++] = key;
    if (this.#length === this.#keys.length) this.#sort();
  }

  #sort(): Float64Array {
    const sorted = this.#keys.subarray(0, this.#length).sort();
    if (this.#length >= this.wanted) {
      this.#length = this.wanted;
      this.#worst = sorted[this.wanted - 1];
    }
    return sorted.subarray(0, this.#length);
  }

  /** All but the first of them, in order. */
  from(offset: number): { points: number; place: number }[] {
    return Array.from(this.#sort().subarray(offset), (key) => ({
      points: codedPoints - Math.floor(key / keyPlaces),
      place: key % keyPlaces,
    }));
  }
}

const keyPlaces = 2 ** 32;
const keyOf = (points: number, place: number) => (codedPoints - points) * keyPlaces + place;

/** How many documents match a term, those of several words counted again. */
function documentsWith({ documentCount }: TextIndex, { matches, phrases, code }: Term): number {
  let count = phrases.size + (code < 0 ? 0 : 1);
  for (const match of matches) count += documentCount[match >>> levelBits];
  return count;
}

/** Sets the bits of the documents that match a term at a level. @returns whether there are any */
function mark(index: Index, { matches, phrases, code }: Term, level: number, bits: Int32Array): boolean {
  let isAny = false;
  const set = (document: number) => {
    bits[document >>> 5] |= 1 << (document & 31);
    isAny = true;
  };
  for (const match of matches) {
    if ((match & levelMask) !== level) continue;
    markWord(index, match >>> levelBits, bits);
    isAny = true;
  }
  if (level === exact) {
    for (const document of phrases.keys()) set(document);
    if (code >= 0) set(code);
  }
  return isAny;
}

function markWord(
  { documentCount, postingStart, postings }: TextIndex,
  word: number,
  bits: Int32Array,
): void {
  const start = postingStart[word];
  const length = postingStart[word + 1] - start;
  if (length < documentCount[word]) for (let i = 0; i < length; i++) bits[i] |= postings[start + i];
  else
    for (let at = start; at < start + length; at++) {
      const document = postings[at];
      bits[document >>> 5] |= 1 << (document & 31);
    }
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
