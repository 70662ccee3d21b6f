import { groupOf, groupSize, stateIndex } from "../image/group-numbers.ts";
import type { Image } from "../image/image.ts";
import { stableOrder } from "../snapshot/sort.ts";
import { levelBits, type Term } from "./matching.ts";
import type { Place } from "./places.ts";
import { maxPoints, scorerOf } from "./scoring.ts";
import { sureScore } from "./sure.ts";
import { type DocumentKind, documentsOf, type SearchIndex } from "./text-index.ts";

export interface Matches {
  /** Number of matches on all pages. */
  total: number;
  /** Positions of the facilities or procedures on the page, best first. */
  documents: Uint32Array;
  /** The score of each document, above 0 and at most 1. */
  scores: number[];
  /** How many of the first matches have a code of the query; see `codedPoints`. */
  coded?: number;
  /** The codes and words by which each procedure was found, except its own code and the words of its name. */
  matched?: string[][];
  /** Words of the query that were set aside. */
  ignored?: readonly string[];
  /** The place that was read in the query. */
  place?: Place | null;
}

export const nothing: Matches = { total: 0, documents: new Uint32Array(0), scores: [] };

/** Tells whether a search looks for a document. */
export type Wanted = (document: number) => boolean;

/** Points of a document whose code or unofficial name is in the query. Its score is 1 like that of `maxPoints`. */
const codedPoints = 2 * maxPoints;

/** Returns which documents have prices in a state. @param state null for the nation */
export function pricedIn(image: Image, kind: DocumentKind, state: string | null): Wanted {
  if (kind === "procedure") return (procedure) => groupSize(image, groupOf(image, procedure, state)) > 0;
  const { pricedProcedures, stateOf } = image;
  if (state === null) return (facility) => pricedProcedures[facility] > 0;
  const there = stateIndex.get(state);
  return (facility) => stateOf[facility] === there && pricedProcedures[facility] > 0;
}

/**
 * Finds all documents that match every needed term, best first. Equal scores are ordered by name, then by code.
 * O(documents of the words that match).
 */
export function find(index: SearchIndex, terms: readonly Term[], isWanted: Wanted): Matches {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  if (needed.length === 0) return nothing;
  const matched = matchedTerms(index, needed);
  const found: number[] = [];
  for (const document of index.byName)
    if (matched[document] === needed.length && isWanted(document)) found.push(document);
  if (found.length === 0) return nothing;
  const coded = new Set(needed.map(({ code }) => code));
  const score = scorerOf(index, terms);
  /** The points that each document lacks. */
  const lacks = new Uint32Array(matched.length);
  for (const document of found) lacks[document] = coded.has(document) ? 0 : codedPoints - score(document);
  const documents = stableOrder(lacks, Uint32Array.from(found));
  const scores = Array.from(
    documents,
    (document) => Math.min(maxPoints, codedPoints - lacks[document]) / maxPoints,
  );
  return {
    total: documents.length,
    documents,
    scores,
    coded: found.filter((document) => coded.has(document)).length,
  };
}

/** Counts for each document how many of the terms it matches, up to the first term that it doesn't match. */
function matchedTerms(index: SearchIndex, terms: readonly Term[]): Uint16Array {
  const matched = new Uint16Array(index.byName.length);
  for (const [i, { matches, phrases, code }] of terms.entries()) {
    const enter = (document: number) => {
      if (matched[document] === i) matched[document] = i + 1;
    };
    for (const match of matches)
      for (const document of documentsOf(index, match >>> levelBits)) enter(document);
    for (const document of phrases.keys()) enter(document);
    if (code >= 0) enter(code);
  }
  return matched;
}

/**
 * Orders matches with equal scores by name, then by code. Scores that are rounded may be equal where the points weren't.
 * O(documents of the index).
 */
export function inOrder({ byName }: SearchIndex, matches: Matches): Matches {
  if (matches.total < 2) return matches;
  const { coded = 0, scores } = matches;
  /** What each match lacks of the score 1, in thousandths, plus 2; 1 for those with a code, and 0 for other documents. */
  const lacks = new Uint32Array(byName.length);
  for (const [i, document] of matches.documents.entries())
    lacks[document] = i < coded ? 1 : 1002 - Math.round(1000 * scores[i]);
  const documents = stableOrder(
    lacks,
    byName.filter((document) => lacks[document] > 0),
  );
  return { ...matches, documents };
}

/** Raises the scores of matches that are meant to 0.5 and more. */
export function sure(matches: Matches): Matches {
  return { ...matches, scores: matches.scores.map((score) => rounded(sureScore + (1 - sureScore) * score)) };
}

/** Lowers the scores of matches that may not be meant below 0.5. @param factor lowers them further, at most 1 */
export function guessed(matches: Matches, factor = 1): Matches {
  const most = sureScore - 0.001;
  return {
    ...matches,
    scores: matches.scores.map((score) => Math.max(0.001, rounded(most * factor * score))),
  };
}

const rounded = (score: number) => Math.round(1000 * score) / 1000;
