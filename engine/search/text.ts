import { entriesOf, fillers, isSmallWord, kinds, meaningsOf, phrasesOf } from "./lexicon.ts";
import { procedureMeaning, withLevels } from "./procedure-words.ts";

/** Splits texts into words, and gives words the form that an index has. */

/** Letters that Unicode doesn't decompose into a plain letter and an accent. */
const plainLetters: Readonly<Record<string, string>> = {
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  ħ: "h",
  ı: "i",
  ß: "ss",
  æ: "ae",
  œ: "oe",
  þ: "th",
};

/** Returns a text in small letters without accents. */
export function foldedCase(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return text.toLowerCase();
  const folded = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return folded.replace(/[øłđðħıßæœþ]/g, (letter) => plainLetters[letter]);
}

const apostrophes = /['’‘`´]/g;

/**
 * Splits a text into words in small letters without accents, at everything that is no letter or digit. `&` becomes the
 * word "and". An apostrophe doesn't divide a word. A ZIP code such as 60614-1234 loses its last four digits.
 */
export function plainWords(text: string): string[] {
  return wordsOf(withoutApostrophes(text));
}

/** Removes apostrophes first, because `foldedCase` turns an acute accent that stands alone into a space. */
const withoutApostrophes = (text: string) => foldedCase(text.replace(apostrophes, ""));

function wordsOf(folded: string): string[] {
  return (
    folded
      .replaceAll("&", " and ")
      // Facilities have only the first five digits of a ZIP code.
      .replace(/(?<![\p{L}\p{N}])(\d{5})-\d{4}(?![\p{L}\p{N}])/gu, "$1")
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/**
 * Splits a text into words, like `plainWords`. Consecutive initials (`M. D.`) make one word. A possessive s is joined to
 * the word before it.
 */
export function splitWords(text: string): string[] {
  const parts = wordsOf(
    withoutApostrophes(text)
      .replaceAll("&", " and ")
      // Letters of procedures, such as D&C, make one word.
      .replace(/\b([dit]) *and *([acd])\b/g, "$1and$2")
      // The name of a kind of code is separated from a code that follows without a space: `apc5115`.
      .replace(/\b(apc|ccn|cpt|hcpcs)(?=\d)/g, "$1 "),
  );
  const words: string[] = [];
  let isInitial = false;
  for (const [i, part] of parts.entries()) {
    const wasInitial = isInitial;
    isInitial = singleLetter.test(part);
    const isPossessive = part === "s" && i > 0 && !fillers.has(parts[i - 1]);
    const joins = wasInitial ? isInitial : isPossessive && !singleLetter.test(parts[i + 1] ?? "");
    if (joins) words[words.length - 1] += part;
    else words.push(part);
  }
  return words;
}

const singleLetter = /^[a-z]$/;

/** Returns the words by which a name may be found literally. A word with an apostrophe is returned whole and divided. */
export function literalWords(text: string): string[] {
  return [...new Set([text, text.replace(apostrophes, " ")].flatMap(plainWords))];
}

const forms = meaningsOf("form");

/** Returns what an abbreviation or another form of a word means in names and places of hospitals, or the word itself. */
export function meaningOf(word: string): string {
  return forms.get(word) ?? word;
}

/** Whether a word says nothing about which hospital is meant, such as the word hospital. */
export const saysNothing = (word: string) => isSmallWord(word) || kinds.has(meaningOf(word));
export const saysSomething = (word: string) => !saysNothing(word);

const beforeInitial = phrasesOf("before-initial");

/** Whether a letter after a word may be the beginning of a name: `St. E`. */
export const isBeforeInitial = (word: string) => beforeInitial.has(meaningOf(word));

/** Joins a name's words into one, so that abbreviations and spaces don't matter. @param words see `splitWords` */
export function oneWord(words: readonly string[]): string {
  return words.map(meaningOf).join("");
}

export const meanings = { facility: meaningOf, procedure: procedureMeaning } as const;

/** Splits a text into words in the form that the index of facilities has. */
export function indexWords(text: string): string[] {
  return splitWords(text).map(meaningOf);
}

/** Splits a text into words in the form that the index of procedures has. */
export function procedureWords(text: string): string[] {
  return withLevels(splitWords(text)).map(procedureMeaning);
}

/** The two names of an institution, in both orders, by the first word of the first name. */
const institutionsByWord = Map.groupBy(
  entriesOf("institution").flatMap(({ what, phrases }) =>
    phrases.flatMap((phrase) => {
      const [name, other] = [what, phrase].map(indexWords);
      return [
        [name, other],
        [other, name],
      ];
    }),
  ),
  ([[first]]) => first,
);

/** Returns the words of other names for the institutions in a hospital's name. */
export function otherNameWords(words: readonly string[]): string[] {
  const found = new Set<string[]>();
  for (const [at, word] of words.entries())
    for (const [name, other] of institutionsByWord.get(word) ?? [])
      if (name.every((part, i) => words[at + i] === part)) found.add(other);
  return [...found].flat();
}

/** A short form that may mean something else, or a long form → the other forms. */
const others = Map.groupBy(
  entriesOf("short").flatMap(({ what, phrases }) =>
    phrases.flatMap((short) => [
      { word: short, other: what },
      { word: what, other: short },
    ]),
  ),
  ({ word }) => word,
);

export function otherForms(word: string): readonly string[] {
  return others.get(word)?.map(({ other }) => other) ?? [];
}

/**
 * Returns the initials of all words that begin with a letter, with and without fillers: `bidmc` for Beth Israel Deaconess
 * Medical Center. Initials of fewer than three letters don't distinguish names, so they are left out.
 */
export function initialsOf(name: readonly string[]): string[] {
  const words = name.filter((word) => /^\p{L}/u.test(word));
  const both = [words, words.filter((word) => !fillers.has(word))];
  const initials = both.map((of) => of.map(([letter]) => letter).join(""));
  return [...new Set(initials)].filter(({ length }) => length >= initialLetters);
}

const initialLetters = 3;
