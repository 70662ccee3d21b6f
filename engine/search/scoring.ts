import type { SearchIndex } from "./documents.ts";
import { exact, levelBits, levelMask, type Term } from "./matching.ts";
import {
  beyondField,
  cityField,
  cityPartField,
  fieldBits,
  fieldMask,
  fillerField,
  nameField,
  repeatField,
  stateField,
  statePartField,
  wordSize,
} from "./text.ts";

/** Weighs documents: how well their words match, where these stand, and how much of their names is asked for. */

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
export const maxPoints = 1000;
export const codedPoints = 2 * maxPoints;

/** Not 3, so that a half rounds down: a score's last digit hangs on it, and with it the bytes of answers. */
const almostThree = 3.0001;

/** What one search works on and the next one again. */
const scratch = {
  /** Of each word of the index, its first entry; zeros between searches. */
  entryOf: new Int32Array(0),
  /** Of each entry: the term that its word matches, how well, how the word is asked for, and its next entry; 0 for none. */
  entryTerm: new Uint16Array(0),
  entryLevel: new Uint8Array(0),
  entryAsked: new Uint8Array(0),
  nextEntry: new Int32Array(0),
};

/** Lists by word which terms ask for it. */
function enterWords({ wordOffsets }: SearchIndex, terms: readonly Term[]): void {
  const count = terms.reduce((sum, { matches }) => sum + matches.length, 1);
  if (scratch.entryOf.length < wordOffsets.length) scratch.entryOf = new Int32Array(wordOffsets.length);
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

/** Leaves the lists of a search's words empty, for the next one. */
export function forgetWords(terms: readonly Term[]): void {
  for (const { matches } of terms) for (const match of matches) scratch.entryOf[match >>> levelBits] = 0;
}

/** Gives the points of a document that matches all needed terms. */
type Scorer = (document: number, size: number) => number;

/** Weighs documents by their words, which lie together, until `forgetWords`. */
export function scorerOf(index: SearchIndex, terms: readonly Term[]): Scorer {
  enterWords(index, terms);
  const { tokenStart, tokens } = index;
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
export function coverageOf(size: number, nameWords: number, nameFillers: number, isNamed: boolean): number {
  if (nameWords === 0) return 0;
  const named = Math.min(1, (wordSize * nameWords) / (size + (wordSize - 1) * nameFillers));
  return isNamed || named === 1 ? named : 0;
}

function pointsOf(level: number, quality: number, coverage: number): number {
  const good = (2 * quality + coverage) / almostThree;
  return Math.round(maxPoints * ((level - 1 + (level < exact ? Math.min(1, good) : good)) / exact));
}

/** Points that no document of a level exceeds. */
export function mostPoints(level: number): number {
  return level === exact ? codedPoints : Math.round((maxPoints * level) / exact);
}

function weightOf(isNeeded: boolean): number {
  return isNeeded ? 1 : optionalWeight;
}

function totalWeight(terms: readonly Term[]): number {
  return terms.reduce((sum, { isNeeded }) => sum + weightOf(isNeeded), 0);
}
