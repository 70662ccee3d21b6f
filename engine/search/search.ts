import { groupOf, groupSize, type Image, stateIndex } from "../image/image.ts";
import { hcpcsPattern } from "../snapshot/schema.ts";
import { Best } from "./best.ts";
import { findWord } from "./dictionary.ts";
import {
  type DocumentKind,
  intersect,
  makeRoom,
  nextOf,
  type SearchIndex,
  setBits,
  sets,
} from "./documents.ts";
import { matchedBy } from "./matched.ts";
import {
  documentsWith,
  exact,
  levelBits,
  levelMask,
  mark,
  medicalEnding,
  none,
  prefix,
  type Term,
} from "./matching.ts";
import { type Nearby, nearbyIn } from "./near.ts";
import { termsInText } from "./procedure-terms.ts";
import { codedPoints, forgetWords, likenesses, maxPoints, mostPoints, scorerOf } from "./scoring.ts";
import { termsOf } from "./terms.ts";
import {
  bitsOf,
  bitWordsOf,
  cityField,
  cityPartField,
  describedField,
  fieldBits,
  fieldMask,
  isSet,
  meaningOf,
  nameField,
  stateField,
} from "./text.ts";
import { genericWords } from "./vocabulary.ts";

/*
 * A search finds the words of the index that match each word of the query (`terms.ts`, `matching.ts`), and intersects
 * their documents as bit sets. It scores the documents (`scoring.ts`) level by level, until no further document can be
 * among the best. A directory has a few thousand words, so typos are found by comparing words of about the same length,
 * without tables of n-grams or deletions.
 *
 * No library does this over memory that threads share: MiniSearch keeps JavaScript objects in each thread, and Lucene
 * and Tantivy need other runtimes. None of these three matches words that are written apart or together.
 */

export interface Matches {
  /** Number of matches on all pages. */
  total: number;
  /** Positions of the facilities or procedures on the page, best first. */
  documents: Uint32Array;
  /** The score of each document, above 0 and at most 1. */
  scores: number[];
  /** The codes and words by which each procedure was found, except its own code and the words of its name. */
  matched?: string[][];
}

/**
 * Finds the documents with prices that match every significant word of a text: exactly, by prefix, with a few typos, or
 * written apart or together. The documents are ordered by their worst match, then by how well and in which fields the
 * words match, and what part of the name they make up. A document whose code or unofficial name is in the text comes
 * first. `nearMatches`, `findProcedures` and `withoutUnknownWords` have other rules.
 */
export function search(
  image: Image,
  kind: DocumentKind,
  text: string,
  offset: number,
  limit: number,
  state: string | null = null,
): Matches {
  const index = image.documents[kind];
  const wanted = pricedIn(image, kind, state);
  const nearby = kind === "facility" ? nearbyIn(image, text) : undefined;
  if (nearby !== undefined) {
    const near = nearMatches(image, nearby, offset, limit, wanted);
    if (near.total > 0) return near;
  }
  const terms = termsOf(image, kind, text);
  if (kind === "procedure") {
    const found = pageOf(findProcedures(index, terms, text, offset + limit, wanted), offset, limit);
    return { ...found, matched: matchedBy(image, terms, found.documents) };
  }
  const found = find(index, terms, offset, limit, wanted);
  return found.total === 0 ? pageOf(withoutUnknownWords(index, terms, wanted), offset, limit) : found;
}

function pageOf({ total, documents, scores }: Matches, offset: number, limit: number): Matches {
  const end = offset + limit;
  return { total, documents: documents.slice(offset, end), scores: scores.slice(offset, end) };
}

/**
 * Finds the procedure groups that match every needed word. Nothing is found if the longest term in the text is for a
 * procedure in no group: the removal of a kidney stone is not the removal of a kidney. If no group matches every word,
 * the groups whose terms are most like the text are found, with low scores, unless the text has a term for a procedure
 * in no group, or an unknown medical word or code. If the best group has all words, but in different terms, the scores
 * are low too, or nothing is found; see `isPartOfTerms`.
 *
 * @param most maximum number of groups needed, from the first one on
 */
function findProcedures(
  index: SearchIndex,
  terms: readonly Term[],
  text: string,
  most: number,
  wanted: Int32Array,
): Matches {
  const { held, absent } = termsInText(text);
  // A group's term of one word, such as `kidney` for kidney surgery, doesn't outweigh the term of a procedure in no
  // group, such as `kidney ultrasound`.
  const heldWords = held === undefined || held.words.length === 1 ? [] : held.words;
  const isAbsent = absent !== undefined && !absent.words.every((word) => isInNames(index, word));
  if (isAbsent && absent.words.length > heldWords.length) return nothing;
  const found = find(index, terms, 0, most, wanted);
  if (found.total > 0) {
    const isSure =
      terms.some(({ code }) => code >= 0) ||
      likenesses(index, terms, [index.documentOf[found.documents[0]]], 0)[0] > likeEnough;
    if (isSure) return found;
    return isPartOfTerms(index, terms, found) ? nothing : { ...found, scores: lowered(found.scores, unsure) };
  }
  const isUnknown = (term: Term) => term.isNeeded && documentsWith(index, term) === 0;
  const isCode = (word: string) => /^[0-9]{4}$/.test(word) || hcpcsPattern.test(word.toUpperCase());
  const isTechnical = ({ word }: Term) => medicalEnding.test(word) || isCode(word);
  if (isAbsent || terms.some((term) => isUnknown(term) && isTechnical(term))) return nothing;
  return mostAlike(index, terms, wanted);
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
  const isElsewhere = (match: number) => (index.wordFields[match >>> levelBits] & otherFields) !== 0;
  if (matches.some((match) => isBeginning(match) || isElsewhere(match))) return false;
  const found = Array.from(documents, (document) => index.documentOf[document]);
  return likenesses(index, terms, found, 0).every((likeness) => likeness <= likeEnough);
}

function mostAlike(index: SearchIndex, terms: readonly Term[], wanted: Int32Array): Matches {
  const documents = [...setBits(wanted, index.documentOf.length)];
  const alike = likenesses(index, terms, documents);
  const found = documents
    .map((document, i) => ({ rank: index.nameRank[document], likeness: alike[i] }))
    .filter(({ likeness }) => likeness >= leastLike)
    .toSorted((a, b) => b.likeness - a.likeness || a.rank - b.rank);
  return {
    total: found.length,
    documents: Uint32Array.from(found, ({ rank }) => index.byName[rank]),
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

/** The nearest facilities come first. Each mile lowers the score by 0.01. */
function nearMatches(
  image: Image,
  { rest, facilities, miles }: Nearby,
  offset: number,
  limit: number,
  wanted: Int32Array,
): Matches {
  const index = image.documents.facility;
  const terms = termsOf(image, "facility", rest);
  const isAsked = terms.some(({ isNeeded, word }) => isNeeded && !genericWords.facility.has(meaningOf(word)));
  const asked = isAsked
    ? new Set(find(index, terms, 0, index.byName.length, wanted).documents)
    : { has: (i: number) => isSet(wanted, index.documentOf[i]) };
  const found = [...facilities.keys()].filter((i) => asked.has(facilities[i]));
  const page = found.slice(offset, offset + limit);
  return {
    total: found.length,
    documents: Uint32Array.from(page, (i) => facilities[i]),
    scores: page.map((i) => Math.round(1000 - 10 * miles[i]) / 1000),
  };
}

const lowered = (scores: readonly number[], factor: number) =>
  scores.map((score) => Math.round(1000 * score * factor) / 1000);

const nothing: Matches = { total: 0, documents: new Uint32Array(0), scores: [] };

/**
 * Leaves out the needed words that no document has, such as a part of a brand's name. The document that matches the
 * other words is found only if it is the sole match, and at least two words match: one in the document's name and one
 * in its place. Its score is lowered by the share of the words that were left out.
 */
function withoutUnknownWords(index: SearchIndex, terms: readonly Term[], wanted: Int32Array): Matches {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const known = needed.filter((term) => documentsWith(index, term) > 0);
  if (known.length < 2 || known.length === needed.length) return nothing;
  const others = terms.filter((term) => !term.isNeeded || known.includes(term));
  const found = find(index, others, 0, 1, wanted);
  if (found.total !== 1) return nothing;
  const fields = known.map((term) => fieldsOf(index, term, index.documentOf[found.documents[0]]));
  const isIn = (some: number) => fields.some((matched) => (matched & some) !== 0);
  if (!isIn(1 << nameField) || !isIn((1 << cityField) | (1 << cityPartField) | (1 << stateField)))
    return nothing;
  return { ...found, scores: lowered(found.scores, known.length / needed.length) };
}

function isInNames(index: SearchIndex, word: string): boolean {
  const found = findWord(index, word);
  return found >= 0 && (index.wordFields[found] & (1 << nameField)) !== 0;
}

function fieldsOf(index: SearchIndex, { matches }: Term, document: number): number {
  const words = new Set(matches.map((match) => match >>> levelBits));
  let fields = 0;
  for (let at = index.tokenStart[document]; at < index.tokenStart[document + 1]; at++)
    if (words.has(index.tokens[at] >>> fieldBits)) fields |= 1 << (index.tokens[at] & fieldMask);
  return fields;
}

/** Finds the facilities or procedures without prices that match a text. Returns their positions, best first. */
export function unpricedMatches(image: Image, kind: DocumentKind, text: string): Uint32Array {
  const index = image.documents[kind];
  const unpriced = index.priced.map((bits) => ~bits);
  return find(index, termsOf(image, kind, text), 0, index.byName.length, unpriced).documents;
}

/** Returns the documents with prices in a state as a bit set. @param state null for the nation */
function pricedIn(image: Image, kind: DocumentKind, state: string | null): Int32Array {
  const { priced, documentOf } = image.documents[kind];
  if (state === null) return priced;
  const isThere = (i: number) =>
    kind === "facility"
      ? image.stateOf[i] === stateIndex.get(state)
      : groupSize(image, groupOf(image, i, state)) > 0;
  const there = bitsOf(
    Array.from(documentOf).filter((_, i) => isThere(i)),
    documentOf.length,
  );
  return there.map((bits, i) => bits & priced[i]);
}

/**
 * Finds a page of the documents that match all needed terms. Goes from the best level to the worst, and scores no
 * document that can't be better than the documents on the page.
 *
 * @param wanted the documents to look for, as bits
 */
export function find(
  index: SearchIndex,
  terms: readonly Term[],
  offset: number,
  limit: number,
  wanted = index.priced,
): Matches {
  const { byName, nameRank, documentOf, sizeStart } = index;
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  if (needed.length === 0 || needed.some((term) => documentsWith(index, term) === 0)) return nothing;
  const bitWords = bitWordsOf(documentOf.length);
  makeRoom(index, needed.length);
  const { done, fresh } = sets;
  for (let i = 0; i < bitWords; i++) done[i] = ~wanted[i];
  const page = new Best(Math.min(offset + limit, documentOf.length));
  const codes = needed.map(({ code }) => code).filter((code) => code >= 0);
  const score = scorerOf(index, terms);
  let total = 0;
  for (let level = exact; level > none; level--) {
    const marked = needed.map((term, i) => mark(index, term, level, sets.terms[i]));
    if (!marked.includes(true)) continue;
    const count = intersect(needed.length, bitWords);
    if (count === 0) continue;
    total += count;
    for (const code of codes)
      if (isSet(fresh, code)) {
        page.offer(codedPoints, nameRank[code]);
        fresh[code >>> 5] &= ~(1 << (code & 31));
      }
    const most = mostPoints(level);
    if (!page.takes(most, 0)) continue;
    for (let size = 0; size + 1 < sizeStart.length; size++) {
      const end = sizeStart[size + 1];
      for (
        let document = nextOf(fresh, sizeStart[size], end);
        document < end && page.takes(most, nameRank[document]);
        document = nextOf(fresh, document + 1, end)
      )
        page.offer(score(document, size), nameRank[document]);
    }
  }
  forgetWords(terms);
  const found = page.from(offset);
  return {
    total,
    documents: Uint32Array.from(found, ({ place }) => byName[place]),
    scores: found.map(({ points }) => Math.min(maxPoints, points) / maxPoints),
  };
}
