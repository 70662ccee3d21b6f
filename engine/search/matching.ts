import { findFacility } from "../answers/facilities.ts";
import { bytesAt, type Image, textAt } from "../image/image.ts";
import { isZip } from "../image/places.ts";
import { withPrefix } from "../sorted.ts";
import { groupOfCode, isHcpcsCode } from "./codes.ts";
import { beyondField, cityField, fieldBits, fieldMask, nameField, stateField } from "./fields.ts";
import { facilitiesOfNickname } from "./nicknames.ts";
import { absentWords } from "./procedure-terms.ts";
import { meanings, otherMeanings, otherNumbers, stateWords } from "./text.ts";
import { countOf, documentsOf, findWord, isInFields, type SearchIndex } from "./text-index.ts";
import { allowedTypos, codePoints, forEachClose, medicalEnding, soundOf, typosBetween } from "./typos.ts";
import { directions } from "./vocabulary.ts";

/** Levels of a match, from none to best. */
export const [none, twoTypos, oneTypo, prefix, exact] = [0, 1, 2, 3, 4];
export const levelBits = 3;
export const levelMask = (1 << levelBits) - 1;

/** Maximum number of words that a word may be split into or joined from. */
export const mostParts = 3;

export interface Term {
  word: string;
  /** Whether every found document must match the word. */
  isNeeded: boolean;
  /**
   * Whether the word follows "in", "near" or "around", belongs to a city and the state after it, or occurs in the query
   * a second time.
   */
  isPlace: boolean;
  /** Whether the word may be the beginning of a word. */
  isPrefix: boolean;
  /** Words of the index: word << levelBits | level. */
  matches: number[];
  /**
   * For each document that has the word as several consecutive words, or that is in a city which the word or several
   * words are a nickname of, the field and the level: level << fieldBits | field.
   */
  phrases: Map<number, number>;
  /** The document that the word identifies by a CCN, an APC code, a HCPCS code or an unofficial name; −1 for none. */
  code: number;
}

/**
 * Adds to a needed term what its word matches by prefix, with typos or in another form, as several words, or as a code.
 */
export function matchNeeded(image: Image, index: SearchIndex, term: Term): void {
  const { word } = term;
  const { kind } = index;
  // A word that is a city's name, or that the index of procedures has, is unlikely to be a typo.
  const typed = findWord(index, meanings[kind](word));
  const isMeant = typed >= 0 && (kind === "procedure" || isInFields(index, typed, 1 << cityField));
  if (!isMeant) matchTypos(index, term, word);
  // The index of procedures has only singulars, and the word may be a mistyped plural.
  if (word.endsWith("s") && typed < 0) matchTypos(index, term, word.slice(0, -1));
  if (term.isPrefix && (kind === "facility" || !(absentWords.has(word) || /^[0-9]+$/.test(word))))
    matchPrefix(index, Buffer.from(word), [term]);
  // The index has North Carolina as one word.
  if (kind === "facility" && directions.has(word))
    term.matches = term.matches.filter((match) => index.fields[match >>> levelBits] !== 1 << stateField);
  // A number beside other words may be a level.
  if (kind === "procedure" && /^[1-8]$/.test(word)) matchExactly(index, `level${word}`, prefix, [term]);
  // A word that the index has as typed is unlikely to stand for its singular or plural, or for a city's nickname.
  const other = typed < 0 ? exact : prefix;
  for (const same of otherNumbers(word)) matchExactly(index, same, other, [term]);
  if (kind === "facility") matchNickname(index, word, term.isPlace ? exact : other, [term]);
  // Without `hasState`, Maryland would match the M. D. of a name.
  for (const other of otherMeanings(word))
    if (!stateWords.has(other) || hasState(index, other)) matchExactly(index, other, prefix, [term]);
  matchPhrases(index, word, [], term);
  term.code =
    kind === "facility"
      ? facilityWithCode(image, index, word)
      : (image.procedureOf.get(word) ?? procedureWithCode(image, word));
}

/** Tells whether any facility is in a state. @param word the state's code, or its name as one word, in lower case */
export function hasState(index: SearchIndex, word: string): boolean {
  return isInFields(index, findWord(index, word), 1 << stateField);
}

/** Five digits are a CCN without its leading zero, unless they are a ZIP code or a word of the index. */
function facilityWithCode(image: Image, index: SearchIndex, word: string): number {
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

/** Adds the facilities in the cities that a nickname stands for to the matches of the terms. */
export function matchNickname(
  index: SearchIndex,
  nickname: string,
  level: number,
  terms: readonly Term[],
): void {
  for (const facility of facilitiesOfNickname(index, nickname))
    for (const { phrases } of terms) phrases.set(facility, (level << fieldBits) | cityField);
}

/** Adds the words of the index that begin with `start` to the matches of the terms. */
export function matchPrefix(index: SearchIndex, start: Uint8Array, terms: readonly Term[]): void {
  const found = withPrefix(index.words, start);
  for (let i = found.start; i < found.end; i++)
    for (const { matches } of terms) matches.push((i << levelBits) | prefix);
}

/** Adds the words of the index that differ from a word by at most `allowed` typos to the term's matches. */
export function matchTypos(
  index: SearchIndex,
  { matches }: Term,
  word: string,
  allowed = allowedTypos([...word].length),
): void {
  const { kind } = index;
  const letters = [...word].length;
  // Numbers don't match with typos, because another number means another place or procedure.
  if (allowed === 0 || /^[0-9]+$/.test(word)) return;
  if (kind === "procedure" && (absentWords.has(word) || /[0-9]/.test(word))) return;
  forEachClose(index, word, letters, allowed, (close, typos) => {
    if (typos === 0) return;
    if (kind === "procedure") {
      const found = textAt(index.words, close);
      const ending = medicalEnding.exec(found) ?? medicalEnding.exec(word);
      if (ending !== null && !isSameStem(found, ending.index, word)) return;
    }
    // A typo is unlikely to mean a word that only unofficial names, names of systems or initials have.
    if (kind === "facility" && index.fields[close] === 1 << beyondField) return;
    matches.push((close << levelBits) | (typos === 1 ? oneTypo : twoTypos));
  });
}

/** Adds the words of names and cities that sound like a word to the term's matches. */
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

/** Fewer letters may sound like anything. */
const soundLetters = 4;
const mostTyposOfSound = 3;

const sounds = new WeakMap<SearchIndex, Map<string, number[]>>();

/** The words of names and cities by their sound. A thread makes this for its first search that needs it. */
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
 * After the stem's first letter, one letter may be missing or added (masectomy), or be another vowel (histerectomy).
 * Another consonant makes another word. @param parted the number of letters of the stem
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
function matchPhrases(index: SearchIndex, rest: string, before: readonly number[], term: Term): void {
  for (let cut = 1; cut < rest.length; cut++) {
    const start = findWord(index, meanings[index.kind](rest.slice(0, cut)));
    if (start < 0) continue;
    const words = [...before, start];
    const end = findWord(index, meanings[index.kind](rest.slice(cut)));
    if (end >= 0) addPhrase(index, [...words, end], term.phrases);
    if (words.length + 1 < mostParts) matchPhrases(index, rest.slice(cut), words, term);
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
      if (field === cityField || field === stateField) continue;
      if (!phrases.has(document)) phrases.set(document, (exact << fieldBits) | field);
    }
  }
}

/** An upper bound of the number of documents that match a term. */
export function documentsWith(index: SearchIndex, { matches, phrases, code }: Term): number {
  let count = phrases.size + (code < 0 ? 0 : 1);
  for (const match of matches) count += countOf(index, match >>> levelBits);
  return count;
}
