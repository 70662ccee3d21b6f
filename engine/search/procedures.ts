import { hcpcsPattern } from "../snapshot/schema.ts";
import { describedField, nameField } from "./fields.ts";
import { find, lowered, type Matches, nothing, type Wanted } from "./find.ts";
import { likenessOf } from "./likeness.ts";
import { documentsWith, exact, levelBits, levelMask, medicalEnding, prefix, type Term } from "./matching.ts";
import { termsInText } from "./procedure-terms.ts";
import { findWord, isInFields, type SearchIndex } from "./text-index.ts";

/**
 * Finds the procedure groups that match every needed word. Nothing is found if the longest term in the text is for a
 * procedure in no group: the removal of a kidney stone is not the removal of a kidney. If no group matches every word,
 * the groups whose terms are most like the text are found, with low scores, unless the text has a term for a procedure
 * in no group, or an unknown medical word or code. If the best group has all words, but in different terms, the scores
 * are low too, or nothing is found; see `isPartOfTerms`.
 */
export function findProcedures(
  index: SearchIndex,
  terms: readonly Term[],
  text: string,
  isWanted: Wanted,
): Matches {
  const { held, absent } = termsInText(text);
  // A group's term of one word, such as `kidney` for kidney surgery, doesn't outweigh the term of a procedure in no
  // group, such as `kidney ultrasound`.
  const heldWords = held === undefined || held.words.length === 1 ? [] : held.words;
  const isAbsent = absent !== undefined && !absent.words.every((word) => isInNames(index, word));
  if (isAbsent && absent.words.length > heldWords.length) return nothing;
  const found = find(index, terms, isWanted);
  if (found.total > 0) {
    const isSure =
      terms.some(({ code }) => code >= 0) || likenessOf(index, terms, 0)(found.documents[0]) > likeEnough;
    if (isSure) return found;
    return isPartOfTerms(index, terms, found) ? nothing : lowered(found, unsure);
  }
  const isUnknown = (term: Term) => term.isNeeded && documentsWith(index, term) === 0;
  const isCode = (word: string) => /^[0-9]{4}$/.test(word) || hcpcsPattern.test(word.toUpperCase());
  const isTechnical = ({ word }: Term) => medicalEnding.test(word) || isCode(word);
  if (isAbsent || terms.some((term) => isUnknown(term) && isTechnical(term))) return nothing;
  return mostAlike(index, terms, isWanted);
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

function mostAlike(index: SearchIndex, terms: readonly Term[], isWanted: Wanted): Matches {
  const likenessTo = likenessOf(index, terms);
  const found = Array.from(index.byName.filter(isWanted), (document) => ({
    document,
    likeness: likenessTo(document),
  }))
    .filter(({ likeness }) => likeness >= leastLike)
    .toSorted((a, b) => b.likeness - a.likeness);
  return {
    total: found.length,
    documents: Uint32Array.from(found, ({ document }) => document),
    scores: found.map(({ likeness }) => Math.round(1000 * unsure * likeness ** 2) / 1000),
  };
}

/**
 * Above `likeEnough`, a group that has every word is meant. From `leastLike` on, a group that lacks some words may be
 * meant.
 */
const [likeEnough, leastLike] = [0.5, 0.33];
/** Lowers the scores of groups that may not be meant, so it is also the highest score of such a group. */
export const unsure = 0.5;

function isInNames(index: SearchIndex, word: string): boolean {
  return isInFields(index, findWord(index, word), 1 << nameField);
}
