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
} from "./fields.ts";
import { levelsOf } from "./levels.ts";
import { likenessOf } from "./likeness.ts";
import { exact, levelBits, none, type Term } from "./matching.ts";
import { type SearchIndex, wordSize } from "./text-index.ts";

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
/** Weight of an optional word in a search for facilities. A needed word has weight 1. */
const optionalWeight = 0.15;
/** Flags of a word of the index: whether it matches a place, an optional or a needed word of the query. */
const [askedAsPlace, askedAsOptional, askedAsNeeded] = [1, 2, 4];
const nameFields = (1 << nameField) | (1 << fillerField) | (1 << repeatField);
/** Least likeness of a group whose name has all words. Only groups with the words as a whole term come before it. */
const likenessOfName = 0.85;
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

/** Slightly more than 3, so that halves in the last digit of a score round down. */
const almostThree = 3.0001;

/** Returns for each word of the index which kinds of the query's words match it, as flags. */
function flagsOf({ letters }: SearchIndex, terms: readonly Term[]): Uint8Array {
  const flags = new Uint8Array(letters.length);
  for (const { matches, isPlace, isNeeded } of terms) {
    const flag = isPlace ? askedAsPlace : isNeeded ? askedAsNeeded : askedAsOptional;
    for (const match of matches) flags[match >>> levelBits] |= flag;
  }
  return flags;
}

/** Returns a function that computes a document's points. */
export function scorerOf(index: SearchIndex, terms: readonly Term[]): (document: number) => number {
  const { tokenStart, tokens, nameSizes } = index;
  const levelsByTerm = levelsOf(index, terms);
  const flags = flagsOf(index, terms);
  const count = terms.length;
  const levels = new Uint8Array(count);
  const fields = new Uint8Array(count);
  const needs = Uint8Array.from(terms, ({ isNeeded }) => (isNeeded ? 1 : 0));
  const worths = terms.map(({ isPlace }) =>
    index.kind === "procedure" ? procedureWorth : isPlace ? placeWorth : fieldWorth,
  );
  const weightOf = ({ isNeeded }: Term) => (isNeeded ? 1 : index.kind === "procedure" ? 0 : optionalWeight);
  const weights = Float64Array.from(terms, (term) => weightOf(term) / exact);
  const weight = terms.reduce((sum, term) => sum + weightOf(term), 0);
  const hasPhrases = terms.some(({ phrases }) => phrases.size > 0);
  const likeness = index.kind === "procedure" ? likenessOf(index, terms) : undefined;
  return (document) => {
    for (let i = 0; i < count; i++) levels[i] = fields[i] = 0;
    let nameWords = 0;
    let nameFillers = 0;
    let asked = 0;
    let isLed = true;
    let isBegun = false;
    const end = tokenStart[document + 1];
    for (let at = tokenStart[document]; at < end; at++) {
      const word = tokens[at] >>> fieldBits;
      const field = tokens[at] & fieldMask;
      const flag = flags[word];
      const isAsked = flag > askedAsPlace;
      if (!isBegun && field !== fillerField) {
        isBegun = true;
        isLed = isAsked;
      }
      if (flag === 0) continue;
      // Only a word's first occurrence in a name has these fields, so each word counts once.
      if (isAsked && (field === nameField || field === fillerField)) {
        nameWords++;
        if (field === fillerField) nameFillers++;
        asked |= flag;
      }
      for (let i = 0; i < count; i++) {
        const level = levelsByTerm[i][word];
        if (level === none || level < levels[i]) continue;
        fields[i] = (level > levels[i] ? 0 : fields[i]) | (1 << field);
        levels[i] = level;
      }
    }
    if (hasPhrases)
      for (let i = 0; i < count; i++) {
        const phrase = terms[i].phrases.get(document) ?? none;
        if (phrase >>> fieldBits <= levels[i]) continue;
        const field = phrase & fieldMask;
        levels[i] = phrase >>> fieldBits;
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
    if (likeness !== undefined) {
      const isInName =
        worst === exact && fields.every((matched, i) => needs[i] === 0 || (matched & nameFields) !== 0);
      return pointsOf(worst, sum / weight, Math.max(likeness(document), isInName ? likenessOfName : 0));
    }
    const isNamed = (asked & askedAsNeeded) !== 0;
    return pointsOf(
      worst,
      sum / weight,
      coverageOf(nameSizes[document], nameWords, nameFillers, isNamed) * (isLed ? 1 : notLed),
    );
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
