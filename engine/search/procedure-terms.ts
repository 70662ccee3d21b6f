import { encodeText } from "../encode.ts";
import { textAt } from "../image/image.ts";
import {
  type Absent,
  absentTerms,
  allAbsentTerms,
  asideWords,
  bodyPartAsides,
  bodyParts,
  plainWordsOf,
  procedureMeaning,
  sentenceWords,
  wordForms,
} from "./procedure-words.ts";
import { procedureWords } from "./text.ts";
import { type WordTable, wordTable } from "./text-index.ts";
import { allowedTypos, forEachClose, medicalEnding } from "./typos.ts";
import { fillerWords, genericWords } from "./vocabulary.ts";

interface ProcedureTerm {
  text: string;
  words: readonly string[];
  isAbsent: boolean;
  /** Whether groups have terms with the words of an absent term. */
  isAlsoHeld: boolean;
  absent?: Absent | undefined;
}

/** Terms of one word for procedures in no group. These words aren't matched by prefix or with typos. */
export const absentWords: ReadonlySet<string> = new Set(absentTerms.filter((term) => !term.includes(" ")));

/** Whether a word is medical, so that a search can't do without it. */
export function isMedical(word: string): boolean {
  return absentWords.has(word) || wordForms.has(word) || medicalEnding.test(word);
}

/** Whether a word says something about procedures by itself: cataract, replacement, knee. */
export function isOfProcedures(word: string): boolean {
  const meant = procedureMeaning(word);
  return isMedical(word) || genericWords.procedure.has(meant) || meanings.has(meant) || wholeTerms.has(meant);
}

/** Words that are a whole term for a group's procedure. */
const wholeTerms: ReadonlySet<string> = new Set(
  Object.values(plainWordsOf)
    .flatMap(({ terms }) => terms)
    .filter((term) => !term.includes(" "))
    .map(procedureMeaning),
);
const meanings: ReadonlySet<string> = new Set([...wordForms].map(procedureMeaning));

const significantWords = (text: string) => procedureWords(text).filter((word) => !fillerWords.has(word));

function allTerms(): Map<string, ProcedureTerm[]> {
  const held = Object.values(plainWordsOf).flatMap(({ terms }) =>
    terms.map((text) => ({ text, isAbsent: false, isAlsoHeld: false })),
  );
  const absent = allAbsentTerms.map((term) => ({ ...term, isAbsent: true }));
  const terms = [...held, ...absent].map(
    (term): ProcedureTerm => ({ ...term, words: significantWords(term.text) }),
  );
  return Map.groupBy(terms, ({ words }) => words[0]);
}

/** Many threads never search for a procedure. */
let termsByWord: ReturnType<typeof allTerms> | undefined;
/** The long words of terms. */
let longWords: WordTable | undefined;

/** A shorter word has too many neighbours. */
const leastMisspelt = 7;

function longWordsOf(terms: ReturnType<typeof allTerms>): WordTable {
  const words = [...terms.values()].flat().flatMap((term) => term.words);
  return wordTable(encodeText([...new Set(words)].filter(({ length }) => length >= leastMisspelt)));
}

/** Returns the word of a term that was meant by a word with typos; the word itself if there is none, or if two are as close. */
function spelled(word: string, terms: ReturnType<typeof allTerms>): string {
  if (word.length < leastMisspelt || !/^[a-z]+$/.test(word)) return word;
  longWords ??= longWordsOf(terms);
  if (longWords.positionOf.has(word)) return word;
  const allowed = allowedTypos(word.length);
  const closest: number[][] = [];
  forEachClose(longWords, word, word.length, allowed, (other, typos) => {
    closest[typos] = [...(closest[typos] ?? []), other];
  });
  const [meant, ...others] = closest.find((words) => words !== undefined) ?? [];
  return meant === undefined || others.length > 0 ? word : textAt(longWords.words, meant);
}

/** The terms of a text: see `termsIn`. */
interface TermsOfText {
  held: ProcedureTerm | undefined;
  absent: ProcedureTerm | undefined;
  /** What this data can't have, once each. */
  named: readonly Absent[];
}

/**
 * Finds the longest term for a procedure in a group, and the longest for a procedure in no group. The words of a term
 * may be in any order. The second term is left out if it is a part of a term for a group's procedure, or says nothing
 * beside such a term. O(words · terms that begin with one of the words).
 *
 * @param query see `read`
 */
export function termsIn(query: readonly string[]): TermsOfText {
  termsByWord ??= allTerms();
  const terms = termsByWord;
  const words = query.map((word) => spelled(procedureMeaning(word), terms));
  // A query may have two words for a term of one word, such as `gall bladder`. Then neither has a meaning of its own.
  const pairs = words
    .slice(1)
    .map((word, i) => [words[i], word])
    .filter((pair) => terms.get(pair.join(""))?.some((term) => term.words.length === 1));
  const typed = new Set([
    ...words.filter((word) => !fillerWords.has(word)),
    ...pairs.map((pair) => pair.join("")),
  ]);
  const found = [...typed]
    .flatMap((word) => terms.get(word) ?? [])
    .filter((term) => term.words.every((word) => typed.has(word)));
  const helds = found.filter(({ isAbsent }) => !isAbsent);
  const held = longestOf(helds);
  const isPart = (term: ProcedureTerm) =>
    helds.some(
      ({ words }) => words.length > term.words.length && term.words.every((word) => words.includes(word)),
    ) || pairs.some(([first, second]) => term.words.includes(first) !== term.words.includes(second));
  const isBodyPart =
    bodyParts.has(held?.text ?? "") &&
    words.every((word) => bodyParts.has(word) || bodyPartAsides.has(word) || isMeaningless(word));
  const isAside = ({ text }: ProcedureTerm) =>
    held !== undefined && asideWords.has(text) && !(isBodyPart && bodyPartAsides.has(text));
  // A fistula for dialysis isn't dialysis.
  const isBesideHeld = ({ isAlsoHeld, words }: ProcedureTerm) =>
    isAlsoHeld && helds.some((other) => !other.words.some((word) => words.includes(word)));
  const absents = found.filter(
    (term) => term.isAbsent && !isPart(term) && !isAside(term) && !isBesideHeld(term),
  );
  const isInOther = (term: ProcedureTerm) =>
    absents.some(
      ({ words }) => words.length > term.words.length && term.words.every((word) => words.includes(word)),
    );
  const named = absents
    .filter((term) => !isInOther(term))
    .flatMap(({ absent }) => (absent === undefined ? [] : [absent]));
  return {
    held,
    absent: longestOf(absents.filter(({ isAlsoHeld }) => !isAlsoHeld)),
    named: named.filter(({ name }, i) => named.findIndex((other) => other.name === name) === i),
  };
}

const isMeaningless = (word: string) => fillerWords.has(word) || sentenceWords.has(word);

const longestOf = (terms: readonly ProcedureTerm[]) =>
  terms.reduce<ProcedureTerm | undefined>(
    (longest, term) => (term.words.length > (longest?.words.length ?? 0) ? term : longest),
    undefined,
  );
