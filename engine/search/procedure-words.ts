import { doubtful, entriesOf, fillers, meaningsOf, phrasesOf, questions, textsOf } from "./lexicon.ts";

/** The words of searches for procedures, and the procedure groups in plain words. */

const codesOf = new Map(entriesOf("codes").map(({ what, phrases }) => [what, phrases]));

/** APC code → the group's terms, and the HCPCS codes of frequent procedures in the group. */
export const plainWordsOf: Readonly<Record<string, { terms: readonly string[]; codes: readonly string[] }>> =
  Object.fromEntries(
    entriesOf("procedure").map(({ what, phrases }) => [
      what,
      { terms: phrases, codes: codesOf.get(what) ?? [] },
    ]),
  );

/** A procedure group for readers who aren't clinicians. */
export interface PlainProcedure {
  /** The group in plain words, such as `a mastectomy`. */
  title: string;
  part: string;
  /** Examples of what the group includes; for some groups also what it doesn't. */
  words: string;
}

const words = textsOf("words");
const parts = meaningsOf("part-of-body");
const plainProcedures = new Map(
  [...textsOf("title")].map(([code, title]): [string, PlainProcedure] => [
    code,
    { title, part: parts.get(code) ?? "", words: words.get(code) ?? "" },
  ]),
);

/** @param code an APC */
export function plainProcedure(code: string): PlainProcedure | undefined {
  return plainProcedures.get(code);
}

/** Something that this data can't have. `reason` says why, and where else to look. `see` is a URL for more. */
export interface Absent {
  name: string;
  reason: string;
  see: string;
}

const reasons = new Map(
  [...textsOf("reason")].map(([kind, text]) => {
    const see = text.slice(text.lastIndexOf(" ") + 1);
    return [kind, { reason: text.slice(0, -see.length - 1), see }];
  }),
);

/**
 * Returns what a line of the lexicon says is absent, or undefined for a kind without a reason.
 * @param what a kind, and perhaps a name
 * @param phrase the name if `what` has none
 */
export function absentOf(what: string, phrase: string): Absent | undefined {
  const [kind] = what.split(" ", 1);
  const reason = reasons.get(kind);
  return reason && { name: what.slice(kind.length + 1) || phrase, ...reason };
}

interface AbsentTerm {
  text: string;
  /** What is absent; undefined if the lexicon gives no reason for the absence. */
  absent: Absent | undefined;
  /** Whether groups have terms with the same words. */
  isAlsoHeld: boolean;
}

/** Words that ask for no procedure if only a part of the body stands beside them. */
export const bodyPartAsides = phrasesOf("body-aside");
/** Words that ask for something that no group includes, and that aren't medical. */
export const otherAsides = phrasesOf("aside-other");
/** Words that ask for something that no group includes, and say nothing if the text names a procedure too. */
export const asideWords: ReadonlySet<string> = new Set([
  ...phrasesOf("aside"),
  ...otherAsides,
  ...bodyPartAsides,
]);
export const bodyParts = phrasesOf("body");
/** Words that aren't needed if a search for procedures has other words. */
export const genericWords = phrasesOf("generic");

/** Terms for procedures and other things that no comprehensive APC includes. */
export const allAbsentTerms: readonly AbsentTerm[] = [
  ...["absent", "also-absent"].flatMap((kind) =>
    entriesOf(kind).flatMap(({ what, phrases }) =>
      phrases.map((text) => ({ text, absent: absentOf(what, text), isAlsoHeld: kind !== "absent" })),
    ),
  ),
  ...Array.from(asideWords, (text) => ({ text, absent: undefined, isAlsoHeld: false })),
];
/** The texts of `allAbsentTerms`, without terms that groups have, too. */
export const absentTerms: readonly string[] = allAbsentTerms
  .filter(({ isAlsoHeld }) => !isAlsoHeld)
  .map(({ text }) => text);

const related = meaningsOf("word");
/** Words that the index of procedures replaces by a related word. */
export const wordForms: ReadonlySet<string> = new Set(related.keys());

/** Returns a word as the index of procedures has it: replaced by a related word, or in the singular. */
export function procedureMeaning(word: string): string {
  const singular = singularOf(word);
  return related.get(word) ?? related.get(singular) ?? singular;
}

function singularOf(word: string): string {
  if (word.length < 4 || !/[^aiosu]s$/.test(word)) return word;
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  return word.slice(0, /(ch|sh|ss|x)es$/.test(word) ? -2 : -1);
}

const wordsOfTerms = new Set(
  [...Object.values(plainWordsOf).flatMap(({ terms }) => terms), ...allAbsentTerms.map(({ text }) => text)]
    .flatMap((term) => term.split(" "))
    .map(procedureMeaning),
);

/** Words of questions and sentences that no search for procedures needs. */
export const sentenceWords: ReadonlySet<string> = new Set([
  ...phrasesOf("sentence"),
  ...[...questions, ...doubtful].filter(
    (word) => !wordForms.has(word) && !wordsOfTerms.has(procedureMeaning(word)),
  ),
]);

/** Whether a word says nothing about which procedure is meant, if there are other words. */
export const saysNothing = (word: string): boolean =>
  fillers.has(word) || sentenceWords.has(word) || genericWords.has(procedureMeaning(word));

const levels = phrasesOf("level");
const numbers = meaningsOf("number");
const ordinals = meaningsOf("ordinal");

/**
 * Joins the word level and its number, as in names of procedure groups: `Level 3`, `level three`, `lvl III` and `3rd
 * level` are the word `level3`. @param words in small letters
 */
export function withLevels(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const [word, next, after] = [words[at], words[at + 1] ?? "", words[at + 2] ?? ""];
    const isBefore = levels.has(word) && numbers.has(next);
    const isAfter = ordinals.has(word) && levels.has(next) && !numbers.has(after);
    if (isBefore || isAfter) {
      joined.push(`level${isBefore ? numbers.get(next) : ordinals.get(word)}`);
      at++;
    } else joined.push(levels.has(word) ? "level" : word.replace(/^[a-z]+(?=[1-8]$)/, leveled));
  }
  return joined;
}

const leveled = (letters: string) => (levels.has(letters) ? "level" : letters);
