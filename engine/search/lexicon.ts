import { readFileSync } from "node:fs";

/*
 * The words that people say and that snapshots lack. A line of a file in `data/` says what its phrases are:
 *
 *     state CA: calif, cali
 *     procedure 5491: cataract, lens replacement
 *
 * An indented line continues the previous line. A line that begins with `#` is a comment, and so is the rest of a line
 * after ` #`. A thread reads the files once.
 */

export interface Entry {
  /** What the phrases are, such as the state's code; empty if the kind says enough. */
  readonly what: string;
  readonly phrases: readonly string[];
}

const files = ["words", "forms", "places", "hospitals", "spanish", "procedure-words", "procedures", "absent"];

function entriesIn(file: string): (Entry & { kind: string })[] {
  const text = readFileSync(new URL(`data/${file}.txt`, import.meta.url), "utf8");
  const lines = text
    .replace(/^#.*\n| #.*$/gm, "")
    .replace(/\n {2}/g, " ")
    .split("\n");
  return lines
    .filter((line) => line !== "")
    .map((line) => {
      const [head] = line.split(":", 1);
      const [kind] = head.split(" ", 1);
      const phrases = line.slice(head.length + 1).trim();
      return { kind, what: head.slice(kind.length + 1), phrases: phrases === "" ? [] : phrases.split(", ") };
    });
}

const byKind = Map.groupBy(files.flatMap(entriesIn), ({ kind }) => kind);

/** Returns the lines of a kind. @throws Error for a kind that no file has */
export function entriesOf(kind: string): readonly Entry[] {
  const entries = byKind.get(kind);
  if (entries === undefined) throw new Error(`no file of the lexicon has lines of the kind ${kind}`);
  return entries;
}

export function phrasesOf(kind: string): ReadonlySet<string> {
  return new Set(entriesOf(kind).flatMap(({ phrases }) => phrases));
}

/** Returns what each phrase of a kind is. If several lines have a phrase, the last counts. */
export function meaningsOf(kind: string): ReadonlyMap<string, string> {
  return new Map(entriesOf(kind).flatMap(({ what, phrases }) => phrases.map((phrase) => [phrase, what])));
}

/** Returns whole texts by what they are about, such as the title of each procedure group. */
export function textsOf(kind: string): ReadonlyMap<string, string> {
  return new Map(entriesOf(kind).map(({ what, phrases }) => [what, phrases.join(", ")]));
}

/** Small words, and words such as inc and www. They say nothing about a hospital or a procedure. */
export const fillers = phrasesOf("filler");
/** Words for a hospital, and words that say as little. */
export const kinds = phrasesOf("kind");
/** Words of questions and sentences. They say nothing about which hospital is meant, unless a name has them. */
export const questions = phrasesOf("question");
/** Words of questions and sentences that are also in names of hospitals or places. */
export const doubtful = phrasesOf("doubtful");
export const beforePlace = phrasesOf("before-place");
/** Tells whether `fillers`, `questions` or `kinds` has a word itself, not its meaning. */
export const isSmallWord = (word: string) => fillers.has(word) || questions.has(word) || kinds.has(word);
