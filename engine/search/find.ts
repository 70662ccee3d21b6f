import { groupOf, groupSize, stateIndex } from "../image/group-numbers.ts";
import type { Image } from "../image/image.ts";
import { sureScore } from "./sure.ts";
import type { DocumentKind, SearchIndex } from "./text-index.ts";

/** The matches of a search, and their order. */

/** A place as an answer shows it: a ZIP code, a city (with its state if that is known), or a state's code. */
export type ShownPlace = { near: string } | { state: string };

export interface Matches {
  /** Number of matches on all pages. */
  total: number;
  /** Positions of the facilities or procedures, best first; in a `SearchAnswer`, only those of the page. */
  documents: Uint32Array;
  /** The score of each document, above 0 and at most 1, with three decimals. */
  scores: number[];
  ignored: readonly string[];
  place: ShownPlace | null;
  /** Positions of other matches, which have no prices, or none in the asked state. */
  unwanted: readonly number[];
}

export const nothing: Matches = {
  total: 0,
  documents: new Uint32Array(0),
  scores: [],
  ignored: [],
  place: null,
  unwanted: [],
};

export type Wanted = (document: number) => boolean;

/** @param state null for the nation */
export function pricedIn(image: Image, kind: DocumentKind, state: string | null): Wanted {
  if (kind === "procedure") return (procedure) => groupSize(image, groupOf(image, procedure, state)) > 0;
  const { pricedProcedures, stateOf } = image;
  if (state === null) return (facility) => pricedProcedures[facility] > 0;
  const there = stateIndex.get(state);
  return (facility) => stateOf[facility] === there && pricedProcedures[facility] > 0;
}

/** How well a document matches. The lowest rank comes first, and within a rank the highest score. */
export interface Ranked {
  rank: number;
  /** From 0 to 1. */
  score: number;
}

/**
 * Orders documents by rank, then by score from the highest, then by name, then by code. Scores are compared with three
 * decimals.
 */
export function inOrder(index: SearchIndex, ranked: ReadonlyMap<number, Ranked>): Matches {
  const keys = new Float64Array(ranked.size);
  let size = 0;
  for (const [document, { rank, score }] of ranked) keys[size++] = orderKey(index, document, rank, score);
  return inOrderOfKeys(index, keys);
}

/**
 * Returns a document's key for `inOrderOfKeys`. The lowest key comes first. The key consists of the rank, then how far
 * the score is below 1, then the position by name.
 */
export const orderKey = (
  { byName, nameOrder }: SearchIndex,
  document: number,
  rank: number,
  score: number,
): number => (1001 * rank + 1000 - Math.round(1000 * score)) * byName.length + nameOrder[document];

/** Orders documents by their keys, and reads documents and scores from the keys. @param keys sorted in place */
export function inOrderOfKeys({ byName }: SearchIndex, keys: Float64Array): Matches {
  keys.sort();
  const documents = new Uint32Array(keys.length);
  const scores: number[] = [];
  for (const [i, key] of keys.entries()) {
    const place = key % byName.length;
    documents[i] = byName[place];
    scores.push((1000 - (((key - place) / byName.length) % 1001)) / 1000);
  }
  return { ...nothing, total: keys.length, documents, scores };
}

/** Raises scores to 0.5 or more, for matches that are surely meant. */
export function sure(matches: Matches): Matches {
  return { ...matches, scores: matches.scores.map(sureScoreOf) };
}

/** Lowers scores to less than 0.5, for matches that may not be meant. */
export function guessed(matches: Matches): Matches {
  return { ...matches, scores: matches.scores.map(guessedScoreOf) };
}

export const sureScoreOf = (score: number) => rounded(sureScore + (1 - sureScore) * score);
export const guessedScoreOf = (score: number) => Math.max(0.001, rounded((sureScore - 0.001) * score));

const rounded = (score: number) => Math.round(1000 * score) / 1000;
