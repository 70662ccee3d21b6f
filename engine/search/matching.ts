import { findFacility } from "../answers/facilities.ts";
import { bytesAt, type Image, textAt } from "../image/image.ts";
import { isZip } from "../image/places.ts";
import { withPrefix } from "../sorted.ts";
import { zeroBytes } from "./buffers.ts";
import { groupOfCode, isHcpcsCode } from "./codes.ts";
import {
  beyondField,
  cityField,
  fieldBits,
  fieldMask,
  nameField,
  repeatField,
  stateField,
} from "./documents.ts";
import { facilitiesOfNickname, formsOfState, stateOf } from "./places.ts";
import { isBeforeInitial, meanings, oneWord, otherForms } from "./text.ts";
import { countOf, documentsOf, findWord, isInFields, isNumber, type SearchIndex } from "./text-index.ts";
import { allowedTypos, closeTo, codePoints, medicalEnding, soundOf, typosBetween } from "./typos.ts";

/** Finds what the words of a query match: words of the index, documents that write a word as several words, and codes. */

/** Levels of a match, from none to best. */
export const [none, twoTypos, oneTypo, prefix, exact] = [0, 1, 2, 3, 4];
export const levelBits = 3;
export const levelMask = (1 << levelBits) - 1;

/** Maximum number of words that a word may be split into or joined from. */
export const mostParts = 3;
const prefixLetters = 3;
export const joinedPrefixLetters = 6;

/** Whether a word may begin a longer one. A number can't begin a longer number, because that means something else. */
export const mayBegin = (word: string) => word.length >= prefixLetters && !isNumber(word);

export interface Term {
  word: string;
  /** Whether a document must match the word to match the whole query. */
  isNeeded: boolean;
  /** Words of the index: word << levelBits | level. */
  matches: number[];
  /**
   * The documents that match otherwise than by a word of the index or by `code`: level << fieldBits | field. For example,
   * they have the word as several consecutive words, or are in a city that has the word as a nickname.
   */
  phrases: Map<number, number>;
  /** The document that the word identifies by a CCN, an APC code, a HCPCS code or an unofficial name; −1 for none. */
  code: number;
}

/**
 * Returns the terms of a query's distinct words, in order, with their matches.
 *
 * @param words see `Asked`
 * @param isNeeded tells which words a document must match
 */
export function termsOf(
  image: Image,
  index: SearchIndex,
  words: readonly string[],
  isNeeded: (word: string) => boolean,
): Term[] {
  const terms = [...new Set(words)].map((word): Term => {
    const term = { word, isNeeded: isNeeded(word), matches: [], phrases: new Map(), code: -1 };
    if (term.isNeeded) matchNeeded(image, index, term);
    // The word may be the initial of a saint's name.
    if (/^[a-z]$/.test(word) && isBeforeInitial(words[words.indexOf(word) - 1] ?? ""))
      matchPrefix(index, Buffer.from(word), [term]);
    matchExactly(index, word, exact, [term]);
    return term;
  });
  const termOf = new Map(terms.map((term) => [term.word, term]));
  // Words typed separately may be one word of the index.
  for (let start = 0; start < words.length; start++)
    for (let end = start + 2; end <= Math.min(words.length, start + mostParts); end++) {
      const typed = words.slice(start, end);
      matchJoined(
        index,
        typed,
        typed.flatMap((word) => termOf.get(word) ?? []),
      );
    }
  return terms;
}

function matchJoined(index: SearchIndex, typed: readonly string[], terms: readonly Term[]): void {
  const { kind } = index;
  const joined = typed.join("");
  const meant = typed.map(meanings[kind]).join("");
  matchExactly(index, joined, exact, terms);
  if (meant !== joined) matchExactly(index, meant, exact, terms);
  if (kind === "facility") matchNickname(index, oneWord(typed), terms);
}

function matchNeeded(image: Image, index: SearchIndex, term: Term): void {
  const { word } = term;
  const { kind } = index;
  // A word that is a city's name, or that the index of procedures has, is unlikely to be a typo.
  const typed = findWord(index, meanings[kind](word));
  const isMeant = typed >= 0 && (kind === "procedure" || isInFields(index, typed, 1 << cityField));
  if (!isMeant) matchTypos(index, term, word);
  if (mayBegin(word)) matchPrefix(index, Buffer.from(word), [term]);
  if (kind === "facility") {
    matchNickname(index, word, [term]);
    const state = stateOf(word);
    // Without `hasState`, Maryland would match the M. D. of a name.
    if (state !== undefined && hasState(index, state.toLowerCase()))
      for (const form of formsOfState(state)) {
        matchExactly(index, form, exact, [term]);
        matchPhrases(index, form, [], term);
      }
    for (const other of otherForms(word)) matchExactly(index, other, prefix, [term]);
    term.code = facilityWithCode(image, index, word);
  } else {
    // The index of procedures has only singulars, and the word may be a mistyped plural.
    if (word.endsWith("s") && typed < 0) matchTypos(index, term, word.slice(0, -1));
    // A number with other words may be a level.
    if (/^[1-8]$/.test(word)) matchExactly(index, `level${word}`, prefix, [term]);
    term.code = image.procedureOf.get(word) ?? procedureWithCode(image, word);
  }
  matchPhrases(index, word, [], term);
}

/** Tells whether any facility is in a state. @param code in small letters */
export function hasState(index: SearchIndex, code: string): boolean {
  return isInFields(index, findWord(index, code), 1 << stateField);
}

/**
 * Returns the facility with a CCN, or −1 if there is none. Five digits are a CCN without its leading zero, unless they
 * are a ZIP code or a word of the index.
 */
export function facilityWithCode(image: Image, index: SearchIndex, word: string): number {
  const isShort = /^[0-9]{5}$/.test(word) && findWord(index, word) < 0 && !isZip(image, word);
  return findFacility(image, isShort ? `0${word}` : word);
}

function procedureWithCode(image: Image, word: string): number {
  const group = isHcpcsCode(word) ? groupOfCode(image, word.toUpperCase()) : undefined;
  return group === undefined ? -1 : (image.procedureOf.get(group) ?? -1);
}

/** Adds a word and the word that it means, if the index has them, to the matches of the terms. */
export function matchExactly(index: SearchIndex, word: string, level: number, terms: readonly Term[]): void {
  const enter = (same: string) => {
    const found = findWord(index, same);
    if (found >= 0) for (const { matches } of terms) matches.push((found << levelBits) | level);
  };
  enter(word);
  const meaning = meanings[index.kind](word);
  if (meaning !== word) enter(meaning);
}

function matchNickname(index: SearchIndex, nickname: string, terms: readonly Term[]): void {
  for (const facility of facilitiesOfNickname(index, nickname))
    for (const { phrases } of terms) phrases.set(facility, (exact << fieldBits) | cityField);
}

export function matchPrefix(index: SearchIndex, start: Uint8Array, terms: readonly Term[]): void {
  const found = withPrefix(index.words, start);
  for (let i = found.start; i < found.end; i++)
    for (const { matches } of terms) matches.push((i << levelBits) | prefix);
}

/** Matches a word with words of the index that are one to `allowed` typos away, except unlikely ones. */
export function matchTypos(
  index: SearchIndex,
  { matches }: Term,
  word: string,
  allowed = allowedTypos([...word].length),
): void {
  const { kind } = index;
  // Words with digits don't match with typos, because another number means another place or procedure.
  if (allowed === 0 || /[0-9]/.test(word)) return;
  for (const { word: close, typos } of closeTo(index, word, allowed)) {
    if (typos === 0) continue;
    if (kind === "procedure") {
      const found = textAt(index.words, close);
      const ending = medicalEnding.exec(found) ?? medicalEnding.exec(word);
      if (ending !== null && !isSameStem(found, ending.index, word)) continue;
    }
    // A typo is unlikely to mean a word that only unofficial names, names of systems or initials have.
    if (kind === "facility" && index.fields[close] === 1 << beyondField) continue;
    matches.push((close << levelBits) | (typos === 1 ? oneTypo : twoTypos));
  }
}

export function matchSound(index: SearchIndex, { matches }: Term, word: string): void {
  if (word.length < soundLetters || !/^[a-z]+$/.test(word)) return;
  const sound = soundOf(word);
  const typed = codePoints(Buffer.from(word));
  for (const close of wordsBySound(index).get(sound) ?? []) {
    const typos = typosBetween(typed, codePoints(bytesAt(index.words, close)), mostTyposOfSound);
    if (typos > 0 && typos <= (sound.length > 2 ? mostTyposOfSound : 1))
      matches.push((close << levelBits) | oneTypo);
  }
}

/** Minimum letters of a word that is compared by its sound. A shorter word may sound like anything. */
const soundLetters = 4;
const mostTyposOfSound = 3;

const sounds = new WeakMap<SearchIndex, Map<string, number[]>>();

/** The words of `nameField` and `cityField` by their sound. A thread makes the map at its first search that needs it. */
function wordsBySound(index: SearchIndex): Map<string, number[]> {
  const known = sounds.get(index);
  if (known !== undefined) return known;
  const named = (1 << nameField) | (1 << cityField);
  const words = [...index.fields.keys()].filter((word) => (index.fields[word] & named) !== 0);
  const bySound = Map.groupBy(words, (word) => soundOf(textAt(index.words, word)));
  sounds.set(index, bySound);
  return bySound;
}

/**
 * Tells whether a word has the stem of a medical word. After the stem's first letter, one letter may be missing or
 * added (masectomy), or be another vowel (histerectomy). Another consonant makes another word.
 *
 * @param parted the number of letters of the stem
 */
function isSameStem(medical: string, parted: number, word: string): boolean {
  let same = 0;
  while (same < parted && word[same] === medical[same]) same++;
  if (same === parted) return true;
  if (same === 0) return false;
  const isVowel = (letter: string) => "aeiouy".includes(letter);
  const rest = medical.slice(same, parted + 1);
  return (
    word.startsWith(rest.slice(1), same) ||
    word.startsWith(rest, same + 1) ||
    (isVowel(medical[same]) && isVowel(word[same] ?? "?") && word.startsWith(rest.slice(1), same + 1))
  );
}

/**
 * Finds documents that write a word of the query as several words, such as `heart beat` for `heartbeat`.
 *
 * @param rest the part of the word that isn't matched yet
 * @param before words of the index that match the start of the word
 */
export function matchPhrases(
  index: SearchIndex,
  rest: string,
  before: readonly number[],
  term: Pick<Term, "phrases">,
): void {
  for (let cut = 1; cut < rest.length; cut++) {
    const start = findWord(index, meanings[index.kind](rest.slice(0, cut)));
    if (start < 0) continue;
    const after = rest.slice(cut);
    const end = findWord(index, meanings[index.kind](after));
    if (end >= 0) addPhrase(index, [...before, start, end], term.phrases);
    if (before.length + 2 < mostParts) matchPhrases(index, after, [...before, start], term);
  }
}

function addPhrase(index: SearchIndex, words: readonly number[], phrases: Map<number, number>): void {
  const { tokenStart, tokens } = index;
  const rarest = words.reduce((best, word) => (countOf(index, word) < countOf(index, best) ? word : best));
  for (const document of documentsOf(index, rarest)) {
    const end = tokenStart[document + 1] - words.length;
    for (let at = tokenStart[document]; at <= end; at++) {
      let part = 0;
      while (part < words.length && tokens[at + part] >>> fieldBits === words[part]) part++;
      if (part < words.length) continue;
      const field = tokens[at] & fieldMask;
      if (field === cityField || field === stateField || field === repeatField) continue;
      if (!phrases.has(document)) phrases.set(document, (exact << fieldBits) | field);
    }
  }
}

/** Returns an upper bound of the number of documents that match a term. */
export function documentsWith(index: SearchIndex, { matches, phrases, code }: Term): number {
  let count = phrases.size + (code < 0 ? 0 : 1);
  for (const match of matches) count += countOf(index, match >>> levelBits);
  return count;
}

/** Returns for each term the level at which each word of the index matches it, or `none`. Valid until the next search. */
export function levelsOf({ fields }: SearchIndex, terms: readonly Term[]): Uint8Array[] {
  return terms.map(({ matches }) => {
    const levels = zeroBytes(fields.length);
    for (const match of matches) {
      const [word, level] = [match >>> levelBits, match & levelMask];
      if (level > levels[word]) levels[word] = level;
    }
    return levels;
  });
}

/** Counts for each document how many of the terms it matches, up to the first term that it doesn't match. */
export function matchedTerms(
  { byName, postingStart, postings }: SearchIndex,
  terms: readonly Term[],
): Uint16Array {
  const matched = new Uint16Array(byName.length);
  for (const [i, { matches, phrases, code }] of terms.entries()) {
    const enter = (document: number) => {
      if (matched[document] === i) matched[document] = i + 1;
    };
    for (const match of matches) {
      const word = match >>> levelBits;
      for (let at = postingStart[word]; at < postingStart[word + 1]; at++) enter(postings[at]);
    }
    for (const document of phrases.keys()) enter(document);
    if (code >= 0) enter(code);
  }
  return matched;
}

/** Returns the facilities that match every needed term, ascending; none if no term is needed. */
export const facilitiesWith = (index: SearchIndex, terms: readonly Term[]): number[] =>
  documentsWithAll(
    index,
    terms.filter(({ isNeeded }) => isNeeded),
  );

/** Returns the documents that match every term, ascending; none if there are no terms. */
export function documentsWithAll(index: SearchIndex, terms: readonly Term[]): number[] {
  const counted = terms
    .map((term) => ({ term, count: documentsWith(index, term) }))
    .sort((a, b) => a.count - b.count);
  if (counted.length === 0 || counted[0].count === 0) return [];
  // The rarest word comes first, because it leaves few documents for the other words. Thousands may have a word such as
  // hospital.
  const [{ term }, ...others] = counted;
  return others.reduce((left, other) => matching(index, other.term, left), documentsOfTerm(index, term));
}

function documentsOfTerm(index: SearchIndex, { matches, phrases, code }: Term): number[] {
  // Thousands of documents may have a word such as hospital, so nothing is sorted.
  const count = index.byName.length;
  const isFound = marksFor(count);
  for (const match of matches)
    for (const document of documentsOf(index, match >>> levelBits)) isFound[document] = 1;
  for (const document of phrases.keys()) isFound[document] = 1;
  if (code >= 0) isFound[code] = 1;
  const documents: number[] = [];
  for (let document = 0; document < count; document++) if (isFound[document] === 1) documents.push(document);
  isFound.fill(0, 0, count);
  return documents;
}

export function matching(
  { fields, tokenStart, tokens }: SearchIndex,
  { matches, phrases, code }: Term,
  documents: readonly number[],
): number[] {
  const isMatched = marksFor(fields.length);
  for (const match of matches) isMatched[match >>> levelBits] = 1;
  const found = documents.filter((document) => {
    for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++)
      if (isMatched[tokens[at] >>> fieldBits] === 1) return true;
    return document === code || phrases.has(document);
  });
  for (const match of matches) isMatched[match >>> levelBits] = 0;
  return found;
}

let marks = new Uint8Array(0);

/** Returns a shared array of at least `count` zeros. The caller must clear what it sets. */
function marksFor(count: number): Uint8Array {
  if (marks.length < count) marks = new Uint8Array(count);
  return marks;
}

/** Returns the fields of a document that a term matches, as a bit mask. */
export function fieldsOf(
  { fields, tokenStart, tokens }: SearchIndex,
  { matches, phrases }: Term,
  document: number,
): number {
  const isMatched = marksFor(fields.length);
  for (const match of matches) isMatched[match >>> levelBits] = 1;
  const phrase = phrases.get(document);
  let found = phrase === undefined ? 0 : 1 << (phrase & fieldMask);
  for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++)
    if (isMatched[tokens[at] >>> fieldBits] === 1) found |= 1 << (tokens[at] & fieldMask);
  for (const match of matches) isMatched[match >>> levelBits] = 0;
  return found;
}
