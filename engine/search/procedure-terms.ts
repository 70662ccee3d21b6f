import { fillers } from "./lexicon.ts";
import {
  type Absent,
  absentTerms,
  allAbsentTerms,
  asideWords,
  bodyPartAsides,
  bodyParts,
  genericWords,
  otherAsides,
  plainWordsOf,
  procedureMeaning,
  sentenceWords,
  wordForms,
} from "./procedure-words.ts";
import { procedureWords } from "./text.ts";
import { medicalEnding } from "./typos.ts";

interface ProcedureTerm {
  text: string;
  words: readonly string[];
  isAbsent: boolean;
  /** Whether groups have terms with the words of an absent term. */
  isAlsoHeld: boolean;
  absent?: Absent | undefined;
}

/** Terms of one word for something that no group includes. */
export const absentWords: ReadonlySet<string> = new Set(absentTerms.filter((term) => !term.includes(" ")));

/** An ordinal (3rd), a single letter, or a vertebra (l4, c5). */
const ordinalOrLetter = /^([clst][0-9]{1,2}|[a-z]|1st|2nd|3rd|[4-9]th)$/;

export const isMeaningless = (word: string) =>
  fillers.has(word) || sentenceWords.has(word) || asideWords.has(word) || ordinalOrLetter.test(word);

/**
 * Whether a word is medical, so that a search can't leave it out. A medical word says something about procedures by
 * itself, as cataract, replacement and knee do. Generic words, such as surgery, aren't medical.
 */
export function isMedical(word: string): boolean {
  const meant = procedureMeaning(word);
  if (isAsideOrGeneric(meant)) return false;
  return (
    medicalEnding.test(word) ||
    [absentWords, wordForms].some((words) => words.has(word)) ||
    [absentWords, bodyParts, meanings, wholeTerms].some((words) => words.has(meant))
  );
}

/**
 * Returns a function that tells whether a word of a query is medical, alone or as a part of a term for a procedure.
 * @param query the words of `Asked`
 */
export function medicalIn(query: readonly string[]): (word: string) => boolean {
  const { together } = termsIn(query);
  return (word) => {
    const meant = procedureMeaning(word);
    return isMedical(word) || (together.has(meant) && !isAsideOrGeneric(meant));
  };
}

const isAsideOrGeneric = (meant: string) => otherAsides.has(meant) || genericWords.has(meant);

/** Whether a word is medical, generic, or for something that no group includes. */
export const isOfProcedures = (word: string): boolean =>
  isAsideOrGeneric(procedureMeaning(word)) || isMedical(word);

const wholeTerms: ReadonlySet<string> = new Set(
  Object.values(plainWordsOf)
    .flatMap(({ terms }) => terms)
    .filter((term) => !term.includes(" "))
    .map(procedureMeaning),
);
const meanings: ReadonlySet<string> = new Set([...wordForms].map(procedureMeaning));

const significantWords = (text: string) => procedureWords(text).filter((word) => !fillers.has(word));

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

/** The terms by their first words; made when first needed, because many threads never search. */
let termsByWord: ReturnType<typeof allTerms> | undefined;

interface TermsOfText {
  held: ProcedureTerm | undefined;
  absent: ProcedureTerm | undefined;
  /** The things that the text names and that this data can't have, each once. */
  named: readonly Absent[];
  /** The words of terms of several words, as `procedureMeaning` returns them. */
  together: ReadonlySet<string>;
}

const noTerms: TermsOfText = { held: undefined, absent: undefined, named: [], together: new Set() };

/**
 * Finds the longest term for a procedure in a group, and the longest term for something that no group includes. The words
 * of a term may be in any order. A term for something that no group includes doesn't count if it is a part of a term for
 * a group's procedure, or says nothing together with such a term.
 *
 * @param query the words of `Asked`
 */
export function termsIn(query: readonly string[]): TermsOfText {
  const text = query.join(" ");
  if (latest?.text !== text) latest = { text, terms: findTerms(query) };
  return latest.terms;
}

/** What `termsIn` found last. A search asks several times for the same words. */
let latest: { text: string; terms: TermsOfText } | undefined;

function findTerms(query: readonly string[]): TermsOfText {
  termsByWord ??= allTerms();
  const terms = termsByWord;
  const words = query.map(procedureMeaning);
  // A query may have two words for a term of one word, such as `gall bladder`. An absent term with only one of the two
  // isn't meant then.
  const pairs = words
    .slice(1)
    .map((word, i) => [words[i], word])
    .filter((pair) => terms.get(pair.join(""))?.some((term) => term.words.length === 1));
  const typed = new Set([
    ...words.filter((word) => !fillers.has(word)),
    ...pairs.map((pair) => pair.join("")),
  ]);
  const found = [...typed]
    .flatMap((word) => terms.get(word) ?? [])
    .filter((term) => term.words.every((word) => typed.has(word)));
  if (found.length === 0) return noTerms;
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
  const absents = found.filter((term) => term.isAbsent && !isPart(term) && !isAside(term));
  const isInOther = (term: ProcedureTerm) =>
    absents.some(
      ({ words }) => words.length > term.words.length && term.words.every((word) => words.includes(word)),
    );
  const all = absents.filter((term) => term.absent !== undefined && !isInOther(term));
  const named = all.flatMap(({ absent }) => (absent === undefined ? [] : [absent]));
  return {
    held,
    absent: longestOf(absents.filter(({ isAlsoHeld }) => !isAlsoHeld)),
    named: named.filter(({ name }, i) => named.findIndex((other) => other.name === name) === i),
    together: new Set(
      [...(held === undefined ? [] : [held]), ...all]
        .filter(({ text }) => text.includes(" "))
        .flatMap((term) => term.words),
    ),
  };
}

const longestOf = (terms: readonly ProcedureTerm[]) =>
  terms.reduce<ProcedureTerm | undefined>(
    (longest, term) => (term.words.length > (longest?.words.length ?? 0) ? term : longest),
    undefined,
  );
