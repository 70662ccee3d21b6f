import { zeroBytes } from "./buffers.ts";
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
} from "./documents.ts";
import { exact, levelBits, levelsOf, none, type Term } from "./matching.ts";
import { type SearchIndex, wordSize } from "./text-index.ts";

/** Scores facilities by how well and in which fields words match, and by how much of the name is asked for. */

/** Worth of a match by its field. If a word matches equally well in several fields, the best field counts. */
const worthOfField: Readonly<Record<number, number>> = {
  [nameField]: 1,
  [fillerField]: 1,
  [repeatField]: 1,
  [cityField]: 0.92,
  [stateField]: 0.88,
  [cityPartField]: 0.84,
  [statePartField]: 0.8,
  [beyondField]: 0.92,
};
const optionalWeight = 0.15;

export interface FacilityScore {
  /** The level of the needed word that matches worst. */
  worst: number;
  /** From 0 to 1. */
  score: number;
}

export type Score = (facility: number) => FacilityScore;

/** Returns a function that scores facilities. The function is valid until the next search begins. */
export function facilityScorer(index: SearchIndex, terms: readonly Term[]): Score {
  const { tokenStart, tokens, nameSizes } = index;
  const levelsByTerm = levelsOf(index, terms);
  const asked = zeroBytes(index.fields.length);
  for (const { matches } of terms) for (const match of matches) asked[match >>> levelBits] = 1;
  const weights = terms.map(({ isNeeded }) => (isNeeded ? 1 : optionalWeight));
  const weight = weights.reduce((sum, each) => sum + each, 0);
  const count = terms.length;
  const levels = new Uint8Array(count);
  const worths = new Float64Array(count);
  const computed = (facility: number): FacilityScore => {
    levels.fill(none);
    worths.fill(0);
    let [nameWords, nameFillers] = [0, 0];
    const end = tokenStart[facility + 1];
    for (let at = tokenStart[facility]; at < end; at++) {
      const word = tokens[at] >>> fieldBits;
      if (asked[word] === 0) continue;
      const field = tokens[at] & fieldMask;
      // Only a word's first occurrence in a name has these fields, so each word counts once.
      if (field === nameField) nameWords++;
      else if (field === fillerField) nameFillers++;
      for (let i = 0; i < count; i++) {
        const level = levelsByTerm[i][word];
        if (level === none || level < levels[i]) continue;
        worths[i] = Math.max(level > levels[i] ? 0 : worths[i], worthOfField[field]);
        levels[i] = level;
      }
    }
    let worst = exact;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const phrase = terms[i].phrases.get(facility) ?? none;
      if (phrase !== none && phrase >>> fieldBits >= levels[i]) {
        levels[i] = phrase >>> fieldBits;
        worths[i] = Math.max(worths[i], worthOfField[phrase & fieldMask]);
        if ((phrase & fieldMask) === nameField) nameWords++;
      }
      if (terms[i].code === facility && levels[i] < exact) {
        levels[i] = exact;
        worths[i] = worthOfField[beyondField];
      }
      if (terms[i].isNeeded && levels[i] < worst) worst = levels[i];
      sum += (weights[i] * levels[i] * worths[i]) / exact;
    }
    const size = nameSizes[facility];
    const coverage = Math.min(1, (wordSize * nameWords + nameFillers) / Math.max(1, size));
    const quality = weight === 0 ? 0 : sum / weight;
    return { worst, score: (2 * quality + coverage) / 3 };
  };
  const scores = new Map<number, FacilityScore>();
  return (facility) => {
    let score = scores.get(facility);
    if (score === undefined) {
      score = computed(facility);
      scores.set(facility, score);
    }
    return score;
  };
}
