import type { Image } from "../image/image.ts";
import {
  cityField,
  cityPartField,
  fieldBits,
  fieldMask,
  nameField,
  stateField,
  statePartField,
} from "./fields.ts";
import { find, guessed, type Matches, nothing, sure, type Wanted } from "./find.ts";
import { levelsOf } from "./levels.ts";
import { documentsWith, levelBits, matchTypos, none, oneTypo, type Term } from "./matching.ts";
import { type Nearby, nearbyIn } from "./near.ts";
import { isMedical } from "./procedure-terms.ts";
import { regionIn } from "./regions.ts";
import { termsOf } from "./terms.ts";
import { meaningOf } from "./text.ts";
import { indexOf, type SearchIndex } from "./text-index.ts";
import { allowedTypos } from "./typos.ts";
import { departments } from "./vocabulary.ts";

/**
 * Finds the facilities around the place that a search names. If there are none, finds the facilities that match every
 * needed word, or else all words but departments, or else all but the unknown ones. In a region that the directory
 * doesn't have, nothing is found.
 *
 * @param words see `read`
 */
export function findFacilities(image: Image, words: readonly string[], isWanted: Wanted): Matches {
  const index = indexOf(image, "facility");
  if (regionIn(image, words) !== undefined) return nothing;
  const aside = departmentsIn(words);
  const near = (isNamed: boolean) => {
    const nearby = nearbyIn(image, words, isNamed);
    return nearby === undefined ? nothing : nearMatches(image, index, nearby, aside, isWanted);
  };
  const named = near(true);
  if (named.total > 0) return named;
  const terms = termsOf(image, index, words);
  const found = find(index, terms, isWanted);
  if (found.total > 0) return isGuess(index, terms, found) ? guessed(found) : sure(found);
  const around = near(false);
  if (around.total > 0) return around;
  if (aside.size > 0) {
    const named = termsOf(image, index, words, (word) => aside.has(meaningOf(word)));
    const others = find(index, named, isWanted);
    if (others.total > 0 && isNamed(index, named, others.documents[0]))
      return isGuess(index, named, others) ? guessed(others) : sure(others);
  }
  const known = withoutUnknownWords(index, terms, isWanted);
  return known.total > 0 ? known : withMoreTypos(index, terms, isWanted);
}

/** The nearest facilities come first. Each mile lowers the score by 0.01. */
function nearMatches(
  image: Image,
  index: SearchIndex,
  { rest, facilities, miles, name }: Nearby,
  aside: ReadonlySet<string>,
  isWanted: Wanted,
): Matches {
  const matching = (terms: readonly Term[]) =>
    terms.some(({ isNeeded }) => isNeeded)
      ? find(index, terms, isWanted).documents
      : facilities.filter(isWanted);
  const all = matching(termsOf(image, index, rest));
  const asked = new Set(
    all.length > 0 ? all : matching(termsOf(image, index, rest, (word) => aside.has(meaningOf(word)))),
  );
  const found = [...facilities.keys()].filter((i) => asked.has(facilities[i]));
  return {
    total: found.length,
    documents: Uint32Array.from(found, (i) => facilities[i]),
    scores: found.map((i) => Math.round(1000 - 10 * miles[i]) / 1000),
    place: { near: name },
  };
}

/** The words of departments, such as cardiology, in a query. */
function departmentsIn(words: readonly string[]): Set<string> {
  const isAt = (phrase: readonly string[], at: number) =>
    phrase.every((word, i) => meaningOf(words[at + i] ?? "") === meaningOf(word));
  return new Set(
    departments
      .filter((phrase) => words.some((_, at) => isAt(phrase, at)))
      .flat()
      .map(meaningOf),
  );
}

/** Whether a word of the query is in the facility's name, or is an unofficial name of it. */
function isNamed(index: SearchIndex, terms: readonly Term[], facility: number): boolean {
  return terms.some(
    (term) =>
      term.isNeeded && (term.code === facility || (fieldsOf(index, term, facility) & (1 << nameField)) !== 0),
  );
}

/**
 * Whether the first match may not be meant: a word of the query is only a part of a city's name, or a word with a typo
 * may mean other words of matches that fit as well.
 */
function isGuess(index: SearchIndex, terms: readonly Term[], { documents, scores }: Matches): boolean {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const levels = levelsOf(index, needed);
  const first = readingOf(index, needed, levels, documents[0]);
  if (first.some(({ fields, level }) => level > none && (fields & ~partFields) === 0)) return true;
  if (first.every(({ level }) => level === none || level > oneTypo)) return false;
  for (let i = 1; i < documents.length && scores[i] > scores[0] - asGood; i++) {
    const other = readingOf(index, needed, levels, documents[i]);
    if (other.some(({ level, word }, at) => level <= oneTypo && level > none && word !== first[at].word))
      return true;
  }
  return false;
}

const partFields = (1 << cityPartField) | (1 << statePartField);
/** Matches fit equally well if their points out of 1 differ by less than this. */
const asGood = 0.02;

/** How a document matches each needed term: the level, the word of the index, and the fields as a bit mask. */
function readingOf(
  { tokenStart, tokens }: SearchIndex,
  needed: readonly Term[],
  levels: readonly Uint8Array[],
  document: number,
) {
  return needed.map(({ phrases, code }, i) => {
    const best = { level: none as number, word: -1, fields: 0 };
    if (phrases.has(document) || code === document) return best;
    for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++) {
      const word = tokens[at] >>> fieldBits;
      const level = levels[i][word];
      if (level === none || level < best.level) continue;
      if (level > best.level) Object.assign(best, { level, word, fields: 0 });
      best.fields |= 1 << (tokens[at] & fieldMask);
    }
    return best;
  });
}

/**
 * Leaves out the needed words that no document has, such as a part of a brand's name. The document that matches the
 * other words is found only if it is the sole match, and at least two words match: one in the document's name and one
 * in its place. A medical word or a number is never left out.
 */
function withoutUnknownWords(index: SearchIndex, terms: readonly Term[], isWanted: Wanted): Matches {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const known = needed.filter((term) => documentsWith(index, term) > 0);
  if (known.length < 2 || known.length === needed.length) return nothing;
  const unknown = needed.filter((term) => !known.includes(term)).map(({ word }) => word);
  if (unknown.some((word) => /[0-9]/.test(word) || isMedical(word))) return nothing;
  const others = terms.filter((term) => !term.isNeeded || known.includes(term));
  const found = find(index, others, isWanted);
  if (found.total !== 1) return nothing;
  const fields = known.map((term) => fieldsOf(index, term, found.documents[0]));
  const isIn = (some: number) => fields.some((matched) => (matched & some) !== 0);
  if (!isIn(1 << nameField) || !isIn(placeFields)) return nothing;
  return { ...guessed(found, known.length / needed.length), ignored: unknown };
}

const placeFields = (1 << cityField) | (1 << cityPartField) | (1 << stateField);

/**
 * Allows one more typo in a word that matches nothing, if another word matches the place. The hospital is found only if
 * it is the sole reading of the word there.
 */
function withMoreTypos(index: SearchIndex, terms: readonly Term[], isWanted: Wanted): Matches {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const unknown = needed.filter((term) => documentsWith(index, term) === 0);
  const [term] = unknown;
  if (unknown.length !== 1 || needed.length < 2 || [...term.word].length < closeLetters) return nothing;
  const guess: Term = { ...term, matches: [] };
  matchTypos(index, guess, term.word, allowedTypos([...term.word].length) + 1);
  const read = terms.map((other) => (other === term ? guess : other));
  const found = find(index, read, isWanted);
  if (found.total === 0 || isGuess(index, read, found)) return nothing;
  const isThere = needed.some(
    (other) => other !== term && (fieldsOf(index, other, found.documents[0]) & placeFields) !== 0,
  );
  return isThere ? guessed(found) : nothing;
}

/** Fewer letters may be anything with two typos. */
const closeLetters = 6;

function fieldsOf(index: SearchIndex, { matches, phrases }: Term, document: number): number {
  const words = new Set(matches.map((match) => match >>> levelBits));
  const phrase = phrases.get(document);
  let fields = phrase === undefined ? 0 : 1 << (phrase & fieldMask);
  for (let at = index.tokenStart[document]; at < index.tokenStart[document + 1]; at++)
    if (words.has(index.tokens[at] >>> fieldBits)) fields |= 1 << (index.tokens[at] & fieldMask);
  return fields;
}
