import type { Cities, Places } from "../image/places.ts";
import { stateNames } from "../snapshot/schema.ts";
import { otherStateNames } from "./nicknames.ts";
import { withLevels } from "./numbered-levels.ts";
import { procedureMeaning } from "./procedure-words.ts";
import { abbreviations, ambiguousForms, fillerWords, institutions } from "./vocabulary.ts";

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
  const folded = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return folded.replace(/[øłđðħıßæœþ]/g, (letter) => plainLetters[letter]);
}

/**
 * Splits a text into words, without case, accents and punctuation. Consecutive initials (`M. D.`) make one word. A
 * possessive s is joined to the word before it.
 */
export function splitWords(text: string): string[] {
  const parts = foldedCase(text)
    .replace(/['’‘`´]/g, "")
    .replaceAll("&", " and ")
    .replace(/\b([dit]) *and *([acd])\b/g, "$1and$2")
    .replace(/\b(apc|ccn|cpt|hcpcs)(?=\d)/g, "$1 ")
    // Facilities have only the first five digits of a ZIP code.
    .replace(/(?<![\p{L}\p{N}])(\d{5})-\d{4}(?![\p{L}\p{N}])/gu, "$1")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  const words: string[] = [];
  let isInitial = false;
  for (const [i, part] of parts.entries()) {
    const wasInitial = isInitial;
    isInitial = singleLetter.test(part);
    const isPossessive = part === "s" && i > 0 && !fillerWords.has(parts[i - 1]);
    const joins = wasInitial ? isInitial : isPossessive && !singleLetter.test(parts[i + 1] ?? "");
    if (joins) words[words.length - 1] += part;
    else words.push(part);
  }
  return words;
}

const singleLetter = /^[a-z]$/;

/** Returns the long form of an abbreviation in names and places of hospitals, or the word itself. */
export function meaningOf(word: string): string {
  return abbreviations.get(word) ?? word;
}

/** Returns a city's name as one word, so that abbreviations, spaces, case and accents don't matter. */
export function cityWord(name: string): string {
  return indexWords(name).join("");
}

/** Returns a city's name as one word, a space, and the state's code. @param city such as `Saint Louis, MO` */
function cityKey(city: string): string {
  const comma = city.lastIndexOf(",");
  return `${cityWord(city.slice(0, comma))} ${city.slice(comma + 2)}`;
}

/** Makes the cities of a table of places. @param city the city and state of each ZIP code, such as `Boston, MA` */
export function citiesOf(
  city: readonly string[],
  { latitude, longitude }: Pick<Places, "latitude" | "longitude">,
): Cities {
  const keyOf = new Map(city.map((name) => [name, ""]));
  for (const name of keyOf.keys()) keyOf.set(name, cityKey(name));
  const zipsOf = Map.groupBy(city.keys(), (i) => keyOf.get(city[i]) ?? "");
  const key = [...zipsOf.keys()].sort();
  const zips = key.map((each) => zipsOf.get(each) ?? []);
  const meansOf = (axis: Int32Array) =>
    zips.map((of) => Math.round(of.reduce((sum, i) => sum + axis[i], 0) / of.length));
  return {
    key,
    name: zips.map(([first]) => city[first]),
    zips: zips.map(({ length }) => length),
    latitude: meansOf(latitude),
    longitude: meansOf(longitude),
  };
}

/** The functions that return a word's form in each index. */
export const meanings = { facility: meaningOf, procedure: procedureMeaning } as const;

/** Splits a text into words in the form that the index of facilities has. */
export function indexWords(text: string): string[] {
  return splitWords(text).map(meaningOf);
}

/** Splits a text into words in the form that the index of procedures has. */
export function procedureWords(text: string): string[] {
  return withLevels(splitWords(text)).map(procedureMeaning);
}

/** Returns the words of other names for the institutions in a hospital's name. */
export function otherNameWords(words: readonly string[]): string[] {
  const found = new Set<string[]>();
  for (const [at, word] of words.entries())
    for (const [name, other] of institutionsByWord.get(word) ?? [])
      if (name.every((part, i) => words[at + i] === part)) found.add(other);
  return [...found].flat();
}

/** Pairs of names of institutions, as words, by the first word of the first name. */
const institutionsByWord = Map.groupBy(
  institutions
    .map((names) => names.map(indexWords))
    .flatMap(([name, other]) => [
      [name, other],
      [other, name],
    ]),
  ([[first]]) => first,
);

/**
 * Returns the possible singulars of a plural, or plurals of a singular; none for a word shorter than `pluralLetters`.
 */
export function otherNumbers(word: string): string[] {
  if (word.length < pluralLetters) return [];
  if (word.endsWith("ies")) return [`${word.slice(0, -3)}y`];
  if (word.endsWith("s"))
    return word.endsWith("es") ? [word.slice(0, -1), word.slice(0, -2)] : [word.slice(0, -1)];
  return word.endsWith("y") ? [`${word.slice(0, -1)}ies`] : [`${word}s`];
}

const pluralLetters = 5;

const stateForms = Object.entries(stateNames).map(([code, name]): [string, string] => [
  code.toLowerCase(),
  splitWords(name).join(""),
]);
/** The codes of states, and the names of states written as one word. */
export const stateWords: ReadonlySet<string> = new Set(stateForms.flat());

/** A word → words that may mean the same: states and their codes, and ambiguous short forms. */
const others = new Map<string, string[]>();
for (const [short, long] of [...ambiguousForms, ...stateForms]) {
  others.set(short, [...(others.get(short) ?? []), long]);
  others.set(long, [...(others.get(long) ?? []), short]);
}
for (const [name, code] of otherStateNames) others.set(name, [...(others.get(name) ?? []), code]);

/** Returns words that may mean the same: a state's code or name, or other forms of an ambiguous word. */
export function otherMeanings(word: string): readonly string[] {
  return others.get(word) ?? [];
}

/**
 * Returns the initials of all words, then of the words that aren't fillers: `bidmc` for Beth Israel Deaconess Medical
 * Center. Initials of fewer than three letters don't tell names apart, so they are left out.
 */
export function initialsOf(name: readonly string[]): string[] {
  const words = name.filter((word) => /^\p{L}/u.test(word));
  const both = [words, words.filter((word) => !fillerWords.has(word))];
  const initials = both.map((of) => of.map(([letter]) => letter).join(""));
  return [...new Set(initials)].filter(({ length }) => length >= initialLetters);
}

const initialLetters = 3;
