import { findWord } from "./dictionary.ts";
import type { SearchIndex } from "./documents.ts";
import { exact, levelBits, levelMask, none, type Term } from "./matching.ts";
import {
  beyondField,
  cityField,
  cityPartField,
  describedField,
  fieldBits,
  fieldMask,
  fillerField,
  nameField,
  repeatField,
  stateField,
  statePartField,
  termStart,
  wordSize,
} from "./text.ts";

/** Scores documents by how well words match, in which fields, and how much of the name is asked for. */

/** Bonus for a match in several fields. */
const severalFields = 0.02;
/** The worth of a match in each field of a facility, for words that aren't a place. */
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
/** The worth of a match in each field of a facility, for words that may be a place, such as words after "in". */
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
const procedureWorth = worths(
  { [nameField]: 1, [fillerField]: 1, [repeatField]: 1, [beyondField]: 1, [describedField]: 0.5 },
  0,
);
/** A needed word has weight 1. */
const optionalWeight = 0.15;
/** Flags of a word of the index: whether it matches an optional or a needed word of the query that is no place. */
const [askedAsOptional, askedAsNeeded] = [1, 2];
/** Factor for names whose first significant word isn't in the query: Virginia's university isn't West Virginia's. */
const notLed = 0.8;

/** The result has a score for each bit mask of matched fields. */
function worths(worthOf: Readonly<Record<number, number>>, bonus = severalFields): Float64Array {
  return Float64Array.from({ length: 1 << (fieldMask + 1) }, (_, fields) => {
    const matched = Object.entries(worthOf).filter(([field]) => (fields & (1 << Number(field))) !== 0);
    return Math.max(0, ...matched.map(([, worth]) => worth)) + (matched.length > 1 ? bonus : 0);
  });
}

/** Points that give the highest score, 1. */
export const maxPoints = 1000;
/** Points of a document whose code or unofficial name is in the query. */
export const codedPoints = 2 * maxPoints;

/** Slightly more than 3, so that halves in the last digit of a score round down. */
const almostThree = 3.0001;

/** Lowers the weight of a generic word, such as removal, in the likeness to a term. */
const genericWeight = 0.3;
/**
 * A word that is a whole term, and that at most this many groups have, finds these groups whatever the query's other
 * words are.
 */
const mostWithRareWord = 2;

/** Worth of a query's word that the most similar term lacks, but another term of the group has. */
const worthOfOtherTerms = 0.5;

/** The weight of a word by the number of documents that have the word, for one size of index at a time. */
let rarities = new Float64Array(0);

function raritiesAmong(documents: number): Float64Array {
  if (rarities.length !== documents + 1)
    rarities = Float64Array.from(
      { length: documents + 1 },
      (_, count) => 1 - Math.log(Math.max(1, count)) / Math.log(2 * documents),
    );
  return rarities;
}

const scratch = {
  /** The first entry of each index word, or 0. An entry is a word's match with a term. All zeros between searches. */
  entryOf: new Int32Array(0),
  entryTerm: new Uint16Array(0),
  entryLevel: new Uint8Array(0),
  entryAsked: new Uint8Array(0),
  /** The next entry of the same word, or 0. */
  nextEntry: new Int32Array(0),
};

function enterWords({ words }: SearchIndex, terms: readonly Term[]): void {
  const count = terms.reduce((sum, { matches }) => sum + matches.length, 1);
  if (scratch.entryOf.length < words.offsets.length) scratch.entryOf = new Int32Array(words.offsets.length);
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

/** Clears the memory that `scorerOf` has filled for these terms. Call it after each search. */
export function forgetWords(terms: readonly Term[]): void {
  for (const { matches } of terms) for (const match of matches) scratch.entryOf[match >>> levelBits] = 0;
}

type Scorer = (document: number, size: number) => number;

/** Returns a function that computes a document's points. It is valid until `forgetWords` is called. */
export function scorerOf(index: SearchIndex, terms: readonly Term[]): Scorer {
  enterWords(index, terms);
  const { tokenStart, tokens } = index;
  const { entryOf, entryTerm, entryLevel, entryAsked, nextEntry } = scratch;
  const count = terms.length;
  const levels = new Uint8Array(count);
  const fields = new Uint8Array(count);
  const needs = Uint8Array.from(terms, ({ isNeeded }) => (isNeeded ? 1 : 0));
  const worths = terms.map(({ kind, isPlace }) =>
    kind === "procedure" ? procedureWorth : isPlace ? placeWorth : fieldWorth,
  );
  const weightOf = ({ kind, isNeeded }: Term) => (isNeeded ? 1 : kind === "procedure" ? 0 : optionalWeight);
  const weights = Float64Array.from(terms, (term) => weightOf(term) / exact);
  const weight = terms.reduce((sum, term) => sum + weightOf(term), 0);
  const hasPhrases = terms.some(({ phrases }) => phrases.size > 0);
  const likeness = terms[0]?.kind === "procedure" ? likenessOf(index, terms, worthOfOtherTerms) : undefined;
  return (document, size) => {
    for (let i = 0; i < count; i++) levels[i] = fields[i] = 0;
    let nameWords = 0;
    let nameFillers = 0;
    let asked = 0;
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
      // Only a word's first occurrence in a name has these fields, so each word counts once.
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
    if (likeness !== undefined) return pointsOf(worst, sum / weight, likeness(document));
    const isNamed = (asked & askedAsNeeded) !== 0;
    return pointsOf(
      worst,
      sum / weight,
      coverageOf(size, nameWords, nameFillers, isNamed) * (isLed ? 1 : notLed),
    );
  };
}

/**
 * Computes how much the query is like each of the procedure groups, from 0 to 1.
 *
 * @param otherTerms worth of a word that the most similar term lacks, but another term of the group has
 */
export function likenesses(
  index: SearchIndex,
  terms: readonly Term[],
  documents: readonly number[],
  otherTerms = worthOfOtherTerms,
): number[] {
  enterWords(index, terms);
  const likenesses = documents.map(likenessOf(index, terms, otherTerms));
  forgetWords(terms);
  return likenesses;
}

/**
 * The likeness to a group is the likeness to the most similar of its name and terms: the weighted share of the term's
 * words that the query has, times the weighted share of the query's words that the term has. The fewer groups have a
 * word, the more the word weighs.
 */
function likenessOf(
  index: SearchIndex,
  terms: readonly Term[],
  otherTerms: number,
): (document: number) => number {
  const { tokenStart, tokens, documentCount, documentOf } = index;
  const { entryOf, entryTerm, entryLevel, nextEntry } = scratch;
  const start = findWord(index, termStart);
  const rarities = raritiesAmong(documentOf.length);
  const weights = terms.map((term) => {
    let best = none;
    let count = 1;
    for (const match of term.matches) {
      const level = match & levelMask;
      const documents = documentCount[match >>> levelBits];
      if (level > best || (level === best && documents < count)) [best, count] = [level, documents];
    }
    return term.isNeeded ? rarities[count] : best === exact ? genericWeight * rarities[count] : 0;
  });
  const weight = weights.reduce((sum, each) => sum + each, 0);
  // A single word of a longer query says too little, unless the word is a rare term by itself.
  const leastRarity = rarities[Math.min(mostWithRareWord, documentOf.length)];
  const leastNeeded = Math.min(2, terms.filter(({ isNeeded }) => isNeeded).length);
  /** For each word of the query, the number of the last part (name or term) that had the word. */
  const hadBy = new Uint32Array(terms.length);
  /** For each matched part, the share of the part's words that the query has. */
  const shares: number[] = [];
  /** For each matched part, the total weight of the query's words in it. */
  const asks: number[] = [];
  let term = 0;
  return (document) => {
    let all = 0;
    let matched = 0;
    let asked = 0;
    let askedAnywhere = 0;
    let needed = 0;
    shares.length = asks.length = 0;
    const first = ++term;
    const end = tokenStart[document + 1];
    for (let at = tokenStart[document]; at <= end; at++) {
      const word = tokens[at] >>> fieldBits;
      if (at === end || word === start || (tokens[at] & fieldMask) === describedField) {
        if (matched > 0) {
          shares.push(matched / all);
          asks.push(asked);
        }
        if (at < end && word !== start) break;
        all = matched = asked = 0;
        term++;
        continue;
      }
      let level = none;
      for (let entry = entryOf[word]; entry !== 0; entry = nextEntry[entry]) {
        const typed = entryTerm[entry];
        level = Math.max(level, entryLevel[entry]);
        if (hadBy[typed] === term) continue;
        if (hadBy[typed] < first) {
          askedAnywhere += weights[typed];
          if (terms[typed].isNeeded) needed++;
        }
        hadBy[typed] = term;
        asked += weights[typed];
      }
      const worth = rarities[documentCount[word]];
      all += worth;
      if (level !== none) matched += (worth * (level + exact)) / (2 * exact);
    }
    let best = 0;
    for (let i = 0; i < shares.length; i++) {
      if (needed < leastNeeded && (shares[i] < 1 || asks[i] < leastRarity)) continue;
      const worth = asks[i] + otherTerms * (askedAnywhere - asks[i]);
      best = Math.max(best, (shares[i] * worth) / weight);
    }
    return best;
  };
}

/**
 * Computes the share of a name that the query asks for, from 0 to 1. It is 0 unless a needed word or the whole name
 * matches. Fillers count little.
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

/** Upper bound of a document's points if its worst match is at `level`. */
export function mostPoints(level: number): number {
  return level === exact ? codedPoints : Math.round((maxPoints * level) / exact);
}
