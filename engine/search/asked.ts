import type { Image } from "../image/image.ts";
import { groupOfCode, isHcpcsCode } from "./codes.ts";
import { nameField } from "./fields.ts";
import { withoutKindOfPlace } from "./listed-places.ts";
import { levelOrVertebra, withLevels } from "./numbered-levels.ts";
import { withoutDiagnoses } from "./other-codes.ts";
import { type Place, placeIn } from "./places.ts";
import { procedureMeaning, saysNothing } from "./procedure-words.ts";
import { inEnglish, withoutSmallWords } from "./spanish.ts";
import { meaningOf, splitWords } from "./text.ts";
import { type DocumentKind, findWord, indexOf, isInFields } from "./text-index.ts";
import { wordsBeforeSelf } from "./vocabulary.ts";

/** Reads what a search asks for: its words in English, a place in a search for procedures, and codes set aside. */
export interface Asked {
  /** The text, without codes of diagnoses beside a procedure. */
  text: string;
  words: readonly string[];
  /** The place that a search for procedures names. It isn't in `words`. */
  place: Place | null;
  /**
   * Codes in capitals that no procedure group is known to include, codes of diagnoses, and names of several cities, beside
   * other words. They aren't in `words`.
   */
  ignored: readonly string[];
}

export function read(image: Image, kind: DocumentKind, text: string): Asked {
  const index = indexOf(image, kind);
  const { rest: undiagnosed, diagnoses } =
    kind === "procedure" ? withoutDiagnoses(text) : { rest: text, diagnoses: [] };
  const said = undiagnosed.replace(contraction, "$1");
  const split = splitWords(
    kind === "facility" ? withoutAddress(joinedCcn(said)) : said.replace(age, " ").replace(vertebrae, "$1"),
  );
  // A single word may be the beginning of a name, such as clinica of clinical.
  const isName = (word: string) => kind === "facility" && (split.length === 1 || findWord(index, word) >= 0);
  const translated = inEnglish(kind, split, isName);
  const isSpanish = translated.some((word, i) => word !== split[i]);
  const english = withoutKindOfPlace(indexOf(image, "facility"), translated);
  const plain = (words: readonly string[]) => (isSpanish ? withoutSmallWords(kind, words) : words);
  if (kind === "facility")
    return { text, words: saintsMeant(withoutSelf(plain(english))), place: null, ignored: [] };
  // The article isn't Los Angeles.
  const asked = isSpanish ? english.filter((word, i) => word !== "la" || i + 1 === english.length) : english;
  const { rest, place, aside } = placeIn(image, asked, capitalsIn(undiagnosed));
  const words = withLevels(withoutSelf(plain(rest)));
  const isUnknownCode = (word: string) =>
    isHcpcsCode(word) && groupOfCode(image, word.toUpperCase()) === undefined;
  const others = words.filter((word) => !isUnknownCode(word));
  const isAlone = others.every(saysNothing);
  const meant = levelsMeant(image, isAlone ? words : others);
  return {
    text: meant.every(saysNothing) ? text : undiagnosed,
    words: meant,
    place,
    ignored: [
      ...(isAlone ? [] : words.filter(isUnknownCode).map((word) => word.toUpperCase())),
      ...diagnoses,
      ...aside,
    ],
  };
}

/** The words of two letters in capitals, in small letters; none if longer words are in capitals only, too. */
function capitalsIn(text: string): ReadonlySet<string> {
  const word = /(?<![\p{L}\d])[A-Z]{2}(?![\p{L}\d])/gu;
  const others = text.replace(word, "");
  const found = /\p{Ll}/u.test(others) || !/\p{L}/u.test(others) ? text.match(word) : null;
  return new Set(found?.map((code) => code.toLowerCase()));
}

/** In "near me", the "me" isn't Maine. */
function withoutSelf(words: readonly string[]): readonly string[] {
  return words.filter((word, i) => word !== "me" || i === 0 || !wordsBeforeSelf.has(words[i - 1]));
}

/** `St. E's` is any saint whose name begins with the letter. */
function saintsMeant(words: readonly string[]): readonly string[] {
  return words.map((word, i) =>
    /^[a-z]s$/.test(word) && meaningOf(words[i - 1] ?? "") === "saint" ? word[0] : word,
  );
}

/** `L3` beside words of official names only is a level, and else a vertebra. */
function levelsMeant(image: Image, words: readonly string[]): readonly string[] {
  if (!words.some((word) => levelOrVertebra.test(word))) return words;
  const index = indexOf(image, "procedure");
  const isOfName = (word: string) =>
    isInFields(index, findWord(index, procedureMeaning(word)), 1 << nameField);
  const others = words.filter((word) => !levelOrVertebra.test(word) && !saysNothing(word));
  if (others.length === 0 || !others.every(isOfName)) return words;
  return words.map((word) => word.replace(levelOrVertebra, "level$1"));
}

/** A verb that is joined to the word before it: I'm, they've, what's. */
const contraction =
  /\b(i|you|he|she|it|we|they|who|what|where|when|how|there|here|that)['’‘`´](?:m|s|d|re|ve|ll)(?!\p{L})/giu;

/** The age of a patient, which isn't a significant number. */
const age = /\b\d{1,3}[\s-]?(?:(?:years?|yrs?|months?|weeks?|days?)[\s-]old|yo|y\/o)\b/giu;

/** Vertebrae such as C5-6, whose second number isn't significant alone. */
const vertebrae = /\b([clt]\d{1,2})\s?[-/]\s?\d{1,2}\b/giu;

/** Joins a CCN that is written with a hyphen: `33-0101`, `050-625`. */
function joinedCcn(text: string): string {
  return text
    .replace(/(?<![\d-])(\d{2})-([\da-z]\d{3})(?![\d-])/gi, "$1$2")
    .replace(/(?<![\d-])(\d{3})-(\d{3})(?![\d-])/g, "$1$2");
}

const street =
  /(?<![\p{L}\d])\d{1,5}[a-z]?\s+(?:[\p{L}\d.'’-]+\s+){1,4}?(?:(?:street|avenue|ave|av|blvd|boulevard|road|rd|drive|dr|lane|ln|parkway|pkwy|highway|hwy|place|pl|court|circle|cir|plaza|square|sq|terrace|turnpike|expressway|expy|way|pike|loop)\b|st\b(?=\s*(?:[.,]|$|[ns]?[ew]\b|[ns]\b)))\.?(?:\s+(?:[ns]?[ew]|[ns])\b\.?)?/giu;
/** A street's short form is also a saint's. Five digits are a ZIP code. */
const namelessStreet = /(?<![\p{L}\d])\d{1,4}\s+(?:[\p{L}\d.'’-]+\s+){1,3}?st\b\.?/giu;
const unit = /(?:p\.?\s?o\.?\s+box|suite|ste\.?|floor|room|unit|bldg\.?|building|#)\s*#?\s*\d+[a-z]?\b/giu;
const numberedPart = /,\s*(?:\d+|one|two|three)[^,\d][^,]*(?=,)/gi;

/** Leaves out the street and its number, because the words of streets are also words of names and cities. */
function withoutAddress(text: string): string {
  return text.replace(street, ",").replace(namelessStreet, ",").replace(unit, ",").replace(numberedPart, ",");
}
