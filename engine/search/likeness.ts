import { zeroBytes } from "./buffers.ts";
import {
  describedField,
  fieldBits,
  fieldMask,
  fillerField,
  nameField,
  repeatField,
  termStart,
} from "./documents.ts";
import { exact, levelBits, levelMask, levelsOf, none, type Term } from "./matching.ts";
import { isMeaningless } from "./procedure-terms.ts";
import { countOf, findWord, type SearchIndex } from "./text-index.ts";

/** Scores procedure groups by how similar a query is to a group's name and terms. */

/** Factor for the weight of a generic word, such as removal. */
const genericWeight = 0.3;
/** Factor for the weight of a meaningless word, such as open. It only separates terms that are otherwise alike. */
const smallWeight = 0.1;
/** Maximum groups that have a rare word. A rare word that is a whole term finds them, whatever the other words are. */
const mostWithRareWord = 2;

const worthOfOtherTerms = 0.5;

const raritiesByIndex = new WeakMap<SearchIndex, Float64Array>();

/** Returns the weights of words, by the number of documents that have a word. */
function raritiesOf(index: SearchIndex): Float64Array {
  let rarities = raritiesByIndex.get(index);
  if (rarities === undefined) {
    const documents = index.byName.length;
    rarities = Float64Array.from(
      { length: documents + 1 },
      (_, count) => 1 - Math.log(Math.max(1, count)) / Math.log(2 * documents),
    );
    raritiesByIndex.set(index, rarities);
  }
  return rarities;
}

/**
 * Returns a function that computes how similar the query is to a procedure group, from 0 to 1. The function is valid
 * until the next search begins.
 *
 * The likeness to a group is the likeness to the most similar of its name and terms: the weighted share of the term's
 * words that the query has, times the weighted share of the query's words that the term has. The fewer groups have a
 * word, the more the word weighs.
 *
 * @param otherTerms worth of a word that the most similar term lacks, but another term of the group has
 */
export function likenessOf(
  index: SearchIndex,
  terms: readonly Term[],
  otherTerms = worthOfOtherTerms,
): (document: number) => number {
  const { tokenStart, tokens, byName } = index;
  const levelsByTerm = levelsOf(index, terms);
  const start = findWord(index, termStart);
  const rarities = raritiesOf(index);
  const bestLevels = zeroBytes(index.fields.length);
  for (const { matches } of terms)
    for (const match of matches) {
      const word = match >>> levelBits;
      bestLevels[word] = Math.max(bestLevels[word], match & levelMask);
    }
  const weights = terms.map((term) => {
    let best = none;
    let count = 1;
    for (const match of term.matches) {
      const level = match & levelMask;
      const documents = countOf(index, match >>> levelBits);
      if (level > best || (level === best && documents < count)) [best, count] = [level, documents];
    }
    if (term.isNeeded) return rarities[count];
    return best === exact ? (isMeaningless(term.word) ? smallWeight : genericWeight) * rarities[count] : 0;
  });
  const weight = weights.reduce((sum, each) => sum + each, 0);
  // A single word of a longer query says too little, unless the word is a rare term by itself.
  const leastRarity = rarities[Math.min(mostWithRareWord, byName.length)];
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
      const worth = rarities[countOf(index, word)];
      all += worth;
      const level = bestLevels[word];
      if (level === none) continue;
      matched += (worth * (level + exact)) / (2 * exact);
      for (let typed = 0; typed < terms.length; typed++) {
        if (levelsByTerm[typed][word] === none || hadBy[typed] === term) continue;
        if (hadBy[typed] < first) {
          askedAnywhere += weights[typed];
          if (terms[typed].isNeeded) needed++;
        }
        hadBy[typed] = term;
        asked += weights[typed];
      }
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
 * Minimum likeness of a group whose name has all needed words exactly. So most such groups tie. A group comes before
 * them if its whole name or a term is nearly the query.
 */
const likenessOfName = 0.85;
const nameFields: ReadonlySet<number> = new Set([nameField, fillerField, repeatField]);

/**
 * Returns a function that computes the score, from 0 to 1, of a group that matches every needed term: by its worst match
 * first, then by how well the words match and how similar the group is to the query. The function is valid until the next
 * search begins.
 */
export function procedureScorer(index: SearchIndex, terms: readonly Term[]): (document: number) => number {
  const { tokenStart, tokens } = index;
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const levelsByTerm = levelsOf(index, needed);
  const likeness = likenessOf(index, terms);
  return (document) => {
    let worst = exact;
    let sum = 0;
    let isAllInName = true;
    for (let i = 0; i < needed.length; i++) {
      const { phrases, code } = needed[i];
      const phrase = phrases.get(document);
      let level = code === document ? exact : phrase === undefined ? none : phrase >>> fieldBits;
      let isInName = false;
      for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++) {
        const here = levelsByTerm[i][tokens[at] >>> fieldBits];
        if (here === none || here < level) continue;
        isInName = (here === level && isInName) || nameFields.has(tokens[at] & fieldMask);
        level = here;
      }
      worst = Math.min(worst, level);
      isAllInName &&= isInName;
      sum += level / exact;
    }
    const like = Math.max(likeness(document), isAllInName && worst === exact ? likenessOfName : 0);
    const good = ((2 * sum) / needed.length + like) / 3;
    return (worst - 1 + Math.min(1, good)) / exact;
  };
}
