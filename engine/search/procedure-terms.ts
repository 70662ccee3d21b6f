import { absentTerms, asideWords, plainWordsOf } from "./procedure-words.ts";
import { procedureWords } from "./text.ts";
import { fillerWords } from "./vocabulary.ts";

/** Finds terms for procedures in a text: those of groups, and those for what no group holds. */

interface ProcedureTerm {
  text: string;
  words: readonly string[];
  isAbsent: boolean;
}

/** Single words for what no group holds. They aren't matched by prefix or with typos. */
export const absentWords: ReadonlySet<string> = new Set(absentTerms.filter((term) => !term.includes(" ")));

const significantWords = (text: string) => procedureWords(text).filter((word) => !fillerWords.has(word));

/** All terms by their first word. */
function allTerms(): Map<string, ProcedureTerm[]> {
  const texts = [
    ...Object.values(plainWordsOf).flatMap(({ terms }) => terms.map((text) => ({ text, isAbsent: false }))),
    ...absentTerms.map((text) => ({ text, isAbsent: true })),
  ];
  const terms = texts.map((term): ProcedureTerm => ({ ...term, words: significantWords(term.text) }));
  return Map.groupBy(terms, ({ words }) => words[0]);
}

/** Made by a thread's first search for a procedure, because many threads never search. */
let termsByWord: ReturnType<typeof allTerms> | undefined;

/**
 * The longest terms in a text, whose words may be in any order: one that a group holds, and one that none holds. O(words ·
 * terms that begin with one of them).
 */
export function termsInText(text: string): { held?: ProcedureTerm; absent?: ProcedureTerm } {
  termsByWord ??= allTerms();
  const typed = new Set(significantWords(text));
  const longest: { held?: ProcedureTerm; absent?: ProcedureTerm } = {};
  for (const word of typed)
    for (const term of termsByWord.get(word) ?? []) {
      const kind = term.isAbsent ? "absent" : "held";
      if (term.words.length <= (longest[kind]?.words.length ?? 0)) continue;
      if (term.words.every((each) => typed.has(each))) longest[kind] = term;
    }
  if (longest.held !== undefined && asideWords.has(longest.absent?.text ?? "")) delete longest.absent;
  return longest;
}

/** What a text asks for and no group holds; undefined if it has no term for that. */
export function absentProcedure(text: string): string | undefined {
  return termsInText(text).absent?.text;
}
