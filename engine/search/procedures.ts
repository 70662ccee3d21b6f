import { type Image, textAt } from "../image/image.ts";
import type { Asked } from "./asked.ts";
import { isHcpcsCode } from "./codes.ts";
import { describedField, fieldBits, fieldMask, nameField } from "./fields.ts";
import { find, guessed, type Matches, nothing, sure, type Wanted } from "./find.ts";
import { likenessOf } from "./likeness.ts";
import { documentsWith, exact, levelBits, levelMask, prefix, type Term } from "./matching.ts";
import { termsIn } from "./procedure-terms.ts";
import { findWord, indexOf, isInFields, type SearchIndex } from "./text-index.ts";
import { medicalEnding } from "./typos.ts";

/**
 * Finds the procedure groups that match every needed word. Nothing is found if the longest term in the query is for a
 * procedure in no group: the removal of a kidney stone is not the removal of a kidney. If no group matches every word,
 * the groups whose terms are most like the query are found, as guesses, unless the query has a term for a procedure in
 * no group, or an unknown medical word or number. If the best group has all words, but in different terms, it may be a
 * guess too, or nothing is found; see `isPartOfTerms`.
 */
export function findProcedures(
  image: Image,
  { words, ignored }: Asked,
  terms: readonly Term[],
  isWanted: Wanted,
): Matches {
  if (!terms.some(({ isNeeded }) => isNeeded)) return nothing;
  const index = indexOf(image, "procedure");
  const { held, absent } = termsIn(words);
  // A group's term of one word, such as `kidney` for kidney surgery, doesn't outweigh the term of a procedure in no
  // group, such as `kidney ultrasound`.
  const heldWords = held === undefined || held.words.length === 1 ? [] : held.words;
  const isAbsent = absent !== undefined && !absent.words.every((word) => isInNames(index, word));
  const isSetAside = ignored.length > 0;
  if (isAbsent && absent.words.length > heldWords.length && !ignored.some(isHcpcsCode)) return nothing;
  const found = find(index, terms, isWanted);
  if (found.total > 0) {
    const isCode = terms.some(({ code }) => code >= 0);
    const likeness = isCode ? 1 : likenessOf(index, terms, 0)(found.documents[0]);
    if (likeness <= likeEnough && isPartOfTerms(index, terms, found)) return nothing;
    const hasLevel = terms.some(({ isNeeded, word }) => isNeeded && isLevel.test(word));
    // Without a level, the words of a name may ask for something else: therapy is also the physical one.
    const isOther = !hasLevel && absent !== undefined && absent.words.length > heldWords.length;
    const isGuess = isSetAside || isOther || (hasLevel && isOfSeveral(index, terms, found));
    return likeness > leastSure && !isGuess ? sure(found) : guessed(found);
  }
  const unknown = terms.filter((term) => term.isNeeded && documentsWith(index, term) === 0);
  const isKept = ({ word }: Term) => medicalEnding.test(word) || /^[0-9]+$/.test(word) || isHcpcsCode(word);
  if (isAbsent || unknown.some(isKept)) return nothing;
  return { ...mostAlike(index, terms, isWanted), ignored: unknown.map(({ word }) => word) };
}

/**
 * Whether the search has a single word, which the groups have only within longer terms. A search for oil isn't for the
 * removal of silicone oil from an eye.
 */
function isPartOfTerms(index: SearchIndex, terms: readonly Term[], { documents }: Matches): boolean {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  if (needed.length > 1 || needed[0].phrases.size > 0) return false;
  const { matches } = needed[0];
  const isBeginning = (match: number) =>
    (match & levelMask) === prefix && !matches.includes(match - prefix + exact);
  const otherFields = (1 << nameField) | (1 << describedField);
  const isElsewhere = (match: number) => isInFields(index, match >>> levelBits, otherFields);
  if (matches.some((match) => isBeginning(match) || isElsewhere(match))) return false;
  const likeness = likenessOf(index, terms, 0);
  return documents.every((document) => likeness(document) <= likeEnough);
}

/**
 * Whether several families of groups have the level and the words of a search, and the first group's name doesn't begin with
 * these words: level 3 endoscopies are also those of the bowel.
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
  const documents =
    numbers.length === 0 ? index.byName.filter(isWanted) : find(index, numbers, isWanted).documents;
  const found = Array.from(documents, (document) => ({
    document,
    likeness: likenessTo(document),
  }))
    .filter(({ likeness }) => likeness >= leastLike)
    .toSorted((a, b) => b.likeness - a.likeness);
  return guessed({
    total: found.length,
    documents: Uint32Array.from(found, ({ document }) => document),
    scores: found.map(({ likeness }) => likeness ** 2),
  });
}

/**
 * Above `likeEnough`, a group whose term has a single word of the query is meant. Above `leastSure`, a group that has
 * every word is meant. From `leastLike` on, a group that lacks some words may be meant.
 */
const [likeEnough, leastSure, leastLike] = [0.5, 0.25, 0.33];

function isInNames(index: SearchIndex, word: string): boolean {
  return isInFields(index, findWord(index, word), 1 << nameField);
}
