import { type Image, textAt } from "../image/image.ts";
import { zeroBytes } from "./buffers.ts";
import { isHcpcsCode } from "./codes.ts";
import { fieldBits, fieldMask, nameField } from "./documents.ts";
import { guessed, inOrder, type Matches, nothing, type Ranked, sure, type Wanted } from "./find.ts";
import { likenessOf, procedureScorer } from "./likeness.ts";
import { documentsWith, levelBits, matchedTerms, type Term, termsOf } from "./matching.ts";
import { isStateCode } from "./places.ts";
import { isMeaningless, termsIn } from "./procedure-terms.ts";
import { genericWords, procedureMeaning } from "./procedure-words.ts";
import type { Asked } from "./reading.ts";
import { documentsOf, findWord, indexOf, isInFields, type SearchIndex } from "./text-index.ts";
import { medicalEnding } from "./typos.ts";

/**
 * Returns the terms of a search for procedures. Words that say nothing aren't needed. But if no word says anything, the
 * words of a term such as `ed implant` are needed.
 */
export function procedureTerms(image: Image, words: readonly string[]): Term[] {
  const says = (word: string) => !isMeaningless(word) && !genericWords.has(procedureMeaning(word));
  const held = words.some(says) ? [] : (termsIn(words).held?.words ?? []);
  const isHeld = (word: string) => held.length > 1 && held.includes(procedureMeaning(word));
  return termsOf(image, indexOf(image, "procedure"), words, (word) => says(word) || isHeld(word));
}

/**
 * Finds the procedure groups that match every needed word. If there are none, may find the groups that are most like
 * the query, as guesses.
 *
 * Usually finds nothing if the query's longest term is for a procedure in no group: a search for the removal of a
 * kidney doesn't find the group for the removal of kidney stones.
 */
export function findProcedures(
  image: Image,
  { words, ignored }: Asked,
  terms: readonly Term[],
  isWanted: Wanted,
): Matches {
  const needed = terms.filter(({ isNeeded }) => isNeeded).length;
  if (needed === 0) return nothing;
  const index = indexOf(image, "procedure");
  const { held, absent, named } = termsIn(words);
  // A group's term of one word, such as `kidney` for kidney surgery, doesn't outweigh the term of a procedure in no
  // group, such as `kidney ultrasound`.
  const heldWords = held === undefined || held.words.length === 1 ? [] : held.words;
  const isAbsent = absent !== undefined && !absent.words.every((word) => isInNames(index, word));
  if (isAbsent && absent.words.length > heldWords.length && !ignored.some(isHcpcsCode)) return nothing;
  const found = find(index, terms, isWanted);
  if (found.total > 0) {
    const isCode = terms.some(({ code }) => code >= 0);
    const likeness = isCode ? 1 : likenessOf(index, terms, 0)(found.documents[0]);
    const hasLevel = terms.some(({ isNeeded, word }) => isNeeded && isLevel.test(word));
    const isGuess = ignored.length > 0 || (hasLevel && isOfSeveral(index, terms, found));
    // "Therapy session" means neither radiation therapy nor radiation in a single session.
    const least = needed > 1 && held === undefined && named.length > 0 ? leastSureOfAbsent : leastSure;
    return likeness > least && !isGuess ? sure(found) : guessed(found);
  }
  const unknown = terms.filter((term) => term.isNeeded && documentsWith(index, term) === 0);
  // Letters of a state may stand before a procedure: `ca stent`.
  if (unknown.length > 0 && unknown.every(({ word }) => isStateCode(word))) {
    const others = terms.filter((term) => !unknown.includes(term));
    return { ...guessed(find(index, others, isWanted)), ignored: unknown.map(({ word }) => word) };
  }
  const isKept = ({ word }: Term) => medicalEnding.test(word) || /^[0-9]+$/.test(word) || isHcpcsCode(word);
  if (isAbsent || unknown.some(isKept)) return nothing;
  return {
    ...mostAlike(index, terms, isWanted),
    ignored: unknown.map(({ word }) => word),
    unwanted: found.unwanted,
  };
}

/**
 * Finds the groups that match every needed term; none if no term is needed. Groups that a code in the query identifies
 * come first.
 */
function find(index: SearchIndex, terms: readonly Term[], isWanted: Wanted): Matches {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  if (needed.length === 0) return nothing;
  const matched = matchedTerms(index, needed);
  const coded = new Set(needed.map(({ code }) => code));
  const scoreOf = procedureScorer(index, terms);
  const ranked = new Map<number, Ranked>();
  const unwanted: number[] = [];
  for (const group of index.byName) {
    if (matched[group] < needed.length) continue;
    if (!isWanted(group)) unwanted.push(group);
    else ranked.set(group, coded.has(group) ? { rank: 0, score: 1 } : { rank: 1, score: scoreOf(group) });
  }
  return { ...inOrder(index, ranked), unwanted };
}

/**
 * Whether a search with a level may mean several families of groups: several groups match, and the search lacks the
 * first significant word of the first group's name.
 */
function isOfSeveral(index: SearchIndex, terms: readonly Term[], { documents }: Matches): boolean {
  if (documents.length < 2) return false;
  const [first] = documents;
  const family = index.tokens
    .subarray(index.tokenStart[first], index.tokenStart[first + 1])
    .filter((token) => (token & fieldMask) === nameField)
    .map((token) => token >>> fieldBits)
    .find((word) => !isLevel.test(textAt(index.words, word)));
  return !terms.some(
    ({ isNeeded, matches }) => isNeeded && matches.some((match) => match >>> levelBits === family),
  );
}

const isLevel = /^level[0-9]$/;

function mostAlike(index: SearchIndex, terms: readonly Term[], isWanted: Wanted): Matches {
  const likenessTo = likenessOf(index, terms);
  // A group that lacks a number or level of the query isn't like it.
  const numbers = terms.filter(({ isNeeded, word }) => isNeeded && /^(level)?[0-9]+$/.test(word));
  const matched = matchedTerms(index, numbers);
  const hasWord = zeroBytes(index.byName.length);
  for (const { matches } of terms)
    for (const match of matches)
      for (const group of documentsOf(index, match >>> levelBits)) hasWord[group] = 1;
  const ranked = new Map<number, Ranked>();
  for (const group of index.byName) {
    if (hasWord[group] === 0 || matched[group] < numbers.length || !isWanted(group)) continue;
    const likeness = likenessTo(group);
    if (likeness >= leastLike) ranked.set(group, { rank: 0, score: likeness ** 2 });
  }
  return guessed(inOrder(index, ranked));
}

/**
 * Limits of likeness. A group that has every word is meant above `leastSure`, or above `leastSureOfAbsent` if the words
 * name something absent and no procedure. A group that lacks some words may be meant from `leastLike` on.
 */
const [leastSure, leastSureOfAbsent, leastLike] = [0.25, 0.5, 0.33];

function isInNames(index: SearchIndex, word: string): boolean {
  return isInFields(index, findWord(index, word), 1 << nameField);
}
