import { findFacility } from "../answers/facilities.ts";
import type { Image } from "../image/image.ts";
import { isZip, maxMiles } from "../image/places.ts";
import { stateNames } from "../snapshot/schema.ts";
import { isKnown, withoutPossessive, writtenApart } from "./apart.ts";
import { groupOfCode, isHcpcsCode, withoutDiagnoses } from "./codes.ts";
import type { ShownPlace } from "./find.ts";
import { beforePlace, doubtful, entriesOf, isSmallWord, kinds, meaningsOf, phrasesOf } from "./lexicon.ts";
import { matchPhrases } from "./matching.ts";
import { namesOf } from "./names.ts";
import {
  facilitiesInCity,
  formsOfState,
  isStateCode,
  mostPlaceWords,
  namesakes,
  namesCounty,
} from "./places.ts";
import { placeIn } from "./procedure-place.ts";
import { saysNothing, withLevels } from "./procedure-words.ts";
import { isBeforeInitial, meaningOf, oneWord, plainWords, splitWords } from "./text.ts";
import { beginsWord, type DocumentKind, findWord, indexOf, type SearchIndex } from "./text-index.ts";

/** What a search asks for: its words in English, and what else its text says. */
export interface Asked {
  kind: DocumentKind;
  /** The text. In a search for procedures, codes of diagnoses are left out if other words say something. */
  text: string;
  /** The words in the language and spelling of the text, for literal matches. */
  typed: readonly string[];
  /** The words in English, without those in `placeWords` and `ignored`. */
  words: readonly string[];
  /** Whether a search for facilities has words such as `near me` or `nearest`, perhaps beside a place. */
  isHere: boolean;
  /**
   * The distance from the place that a search for facilities states, in miles. Null if there is none, or it is 0 or above
   * `maxMiles`; always null in a search for procedures.
   */
  miles: number | null;
  place: ShownPlace | null;
  placeWords: readonly string[];
  /** Words and codes that the search leaves out, such as those of a street or a diagnosis. */
  ignored: readonly string[];
}

export function read(image: Image, kind: DocumentKind, text: string): Asked {
  return kind === "facility" ? readForFacilities(image, text) : readForProcedures(image, text);
}

function readForFacilities(image: Image, text: string): Asked {
  const index = indexOf(image, "facility");
  const { text: undistanced, miles } = withoutDistance(text);
  const coded = joinedCcn(undistanced);
  const plain = plainWords(coded);
  const isAllKnown = plain.every((word) => isKnown(index, word));
  const joined = withoutPossessive(index, isAllKnown ? coded : writtenApart(index, coded));
  const { rest, ignored } = withoutStreet(image, joined);
  const split = splitWords(rest);
  // A single word may be the beginning of a name, such as clinica of clinical.
  const isName = (word: string) => split.length === 1 && beginsWord(index, word);
  const { words: english, isSpanish } = inEnglish("facility", split, isName);
  const small = isSpanish
    ? withoutSmallWords("facility", withoutArticles(image, english), noCapitals)
    : english;
  const { words, isHere } = withoutHere(small);
  const meant = withoutCountry(words).filter(
    (word, i, all) => !isLabel(word, all[i + 1]) && !isSelf(word, all[i - 1]),
  );
  const typed = joined === coded ? plain : plainWords(joined);
  return {
    ...{ kind: "facility", text, miles, ignored, place: null, placeWords: [] },
    isHere: isHere || words.some((word) => nearestWords.has(word)),
    typed: typed.filter((word, i) => !isLabel(word, typed[i + 1])),
    words: withState(image, saintsMeant(meant)),
  };
}

function readForProcedures(image: Image, text: string): Asked {
  const { rest: undiagnosed, diagnoses } = withoutDiagnoses(text);
  const split = splitWords(undiagnosed.replace(age, " ").replace(vertebrae, "$1"));
  // The boca of Boca Raton isn't the mouth.
  const { words: english, isSpanish } = inEnglish("procedure", split, (_, at) => isCityAt(image, split, at));
  const asked = withoutCountry(isSpanish ? withoutArticles(image, english) : english);
  const capitals = capitalsIn(undiagnosed);
  const { rest, place, span, aside } = placeIn(image, asked, capitals);
  const plain = isSpanish ? withoutSmallWords("procedure", rest, capitals) : rest;
  const words = withLevels(plain.filter((word, i) => !isSelf(word, plain[i - 1])));
  const isUnknownCode = (word: string) =>
    isHcpcsCode(word) && groupOfCode(image, word.toUpperCase()) === undefined;
  const others = words.filter((word) => !isUnknownCode(word));
  const isAlone = others.every(saysNothing);
  const meant = isAlone ? words : others;
  return {
    ...{ kind: "procedure", typed: split, words: meant, isHere: false, miles: null, place, placeWords: span },
    text: meant.every(saysNothing) ? text : undiagnosed,
    ignored: [
      ...(isAlone ? [] : words.filter(isUnknownCode).map((word) => word.toUpperCase())),
      ...diagnoses,
      ...aside,
    ],
  };
}

const noCapitals: ReadonlySet<string> = new Set();

/**
 * Returns the two-letter words that a text has in capitals, converted to small letters. Returns an empty set if the text
 * has other letters, but no small letter.
 */
export function capitalsIn(text: string): ReadonlySet<string> {
  // Nearly all searches end here. The expressions below are slow.
  if (!/[A-Z]{2}/.test(text)) return noCapitals;
  const word = /(?<![\p{L}\d])[A-Z]{2}(?![\p{L}\d])/gu;
  const others = text.replace(word, "");
  const found = /\p{Ll}/u.test(others) || !/\p{L}/u.test(others) ? text.match(word) : null;
  return new Set(found?.map((code) => code.toLowerCase()));
}

const selves = phrasesOf("self");
const selfLetters = phrasesOf("self-letters");

/** In "near me", the "me" isn't Maine. */
const isSelf = (word: string, before: string | undefined) =>
  selfLetters.has(word) && before !== undefined && selves.has(before);

const forHospitals = phrasesOf("any");
const smallCodes = new Set(
  Object.keys(stateNames)
    .map((code) => code.toLowerCase())
    .filter((code) => isSmallWord(code) || doubtful.has(code)),
);

/**
 * Writes out a state's code after a county. After a city or a whole name, only codes that are small words elsewhere
 * are written out. Only words for hospitals and ZIP codes may follow the code.
 */
function withState(image: Image, words: readonly string[]): readonly string[] {
  const at = words.findLastIndex((word) => !forHospitals.has(word) && !isZip(image, word));
  const code = words[at] ?? "";
  const before = words.slice(0, at);
  const city = before.slice(0, before.findLastIndex((word) => !kinds.has(meaningOf(word))) + 1);
  const isCounty = isStateCode(code) && namesCounty(city);
  if (!isCounty && !smallCodes.has(code)) return words;
  // A city without hospitals has to be in the state: there is a city named Mem, but "memorial or" doesn't mean Oregon.
  const isName = () => namesOf(image).whole.has(oneWord(before));
  if (!isCounty && !isCityLast(image, city, code.toUpperCase()) && !isName()) return words;
  const [, name] = formsOfState(code.toUpperCase());
  return [...before, name, ...words.slice(at + 1)];
}

/** @param only the code of the state in which a city without hospitals has to be */
const isCity = (image: Image, words: readonly string[], only?: string) =>
  facilitiesInCity(image, words).length > 0 ||
  namesakes(image, words).some(({ state }) => only === undefined || state === only);

function isCityLast(image: Image, words: readonly string[], only?: string): boolean {
  for (let start = Math.max(0, words.length - mostPlaceWords); start < words.length; start++)
    if (isCity(image, words.slice(start), only)) return true;
  return false;
}

/** Whether a city's name of several words begins at a position. */
function isCityAt(image: Image, words: readonly string[], start: number): boolean {
  for (let end = start + 2; end <= Math.min(words.length, start + mostPlaceWords); end++)
    if (isCity(image, words.slice(start, end))) return true;
  return false;
}

const countries = Array.from(phrasesOf("country"), (phrase) => phrase.split(" "));

/** Removes the country's name after other words, such as a city. All hospitals are in that country. */
function withoutCountry(words: readonly string[]): readonly string[] {
  for (const country of countries) {
    const rest = words.slice(0, -country.length);
    const isLast = country.every((word, i) => word === words[rest.length + i]);
    if (isLast && rest.some((word) => !kinds.has(meaningOf(word)) && !isSmallWord(word))) return rest;
  }
  return words;
}

const labels = phrasesOf("numbered");

const isLabel = (word: string, next: string | undefined) =>
  next !== undefined && labels.has(word) && /^\d/.test(next);

const nearestWords = phrasesOf("nearest");
const heres = Array.from(phrasesOf("here"), (phrase) => phrase.split(" ")).sort(
  (a, b) => b.length - a.length,
);

/** Removes words such as `near me`. Words for a hospital may stand between them: `closest hospital to me`. */
function withoutHere(words: readonly string[]): { words: readonly string[]; isHere: boolean } {
  for (const phrase of heres)
    for (let start = words.indexOf(phrase[0]); start >= 0; start = words.indexOf(phrase[0], start + 1)) {
      const positions = [start];
      for (let at = start + 1; positions.length < phrase.length; at++) {
        if (words[at] === phrase[positions.length]) positions.push(at);
        else if (!kinds.has(words[at])) break;
      }
      if (positions.length === phrase.length)
        return { words: words.filter((_, i) => !positions.includes(i)), isHere: true };
    }
  return { words, isHere: false };
}

/** `St. E's` is any saint whose name begins with the letter. */
function saintsMeant(words: readonly string[]): readonly string[] {
  return words.map((word, i) =>
    /^[a-z]s$/.test(word) && isBeforeInitial(words[i - 1] ?? "") ? word[0] : word,
  );
}

const oneOf = (...kinds: string[]) => `(?:${kinds.flatMap((kind) => [...phrasesOf(kind)]).join("|")})`;

/** A distance before a place: `within 10 miles of 60614`, `2.5 km from 60614`. */
const distance = new RegExp(
  `\\b(?:${oneOf("in")}\\s+)?(\\d{1,3}(?:\\.\\d+)?)[\\s-]*(?:(${oneOf("kilometer")})|${oneOf("mile")})\\s+${oneOf("after-miles")}\\b`,
  "iu",
);
const kilometersPerMile = 1.609344;

/**
 * Replaces a distance by the word "near". If there is no distance, or if it is 0 or above `maxMiles`, the text stays
 * and `miles` is null.
 */
function withoutDistance(text: string): { text: string; miles: number | null } {
  if (!/\d/.test(text)) return { text, miles: null };
  const [, number = "0", kilometers] = distance.exec(text) ?? [];
  const miles = Number(number) / (kilometers === undefined ? 1 : kilometersPerMile);
  return miles <= 0 || miles > maxMiles
    ? { text, miles: null }
    : { text: text.replace(distance, "near"), miles };
}

/** The age of a patient, which isn't a significant number. */
const age = new RegExp(`\\b\\d{1,3}[\\s-]?${oneOf("age").replaceAll(" ", "[\\s-]")}\\b`, "giu");

/** Vertebrae such as C5-6, whose second number isn't significant alone. */
const vertebrae = /\b([clt]\d{1,2})\s?[-/]\s?\d{1,2}\b/giu;

/** Removes the hyphen of a CCN such as `33-0101`, and adds the leading zero that `ccn 10001` lacks. */
function joinedCcn(text: string): string {
  if (!/\d/.test(text)) return text;
  return text
    .replace(/\b(ccn[\s:#]*)(\d{5})\b/gi, "$10$2")
    .replace(/(?<![\d-])(\d{2})-([\da-z]\d{3})(?![\d-])/gi, "$1$2")
    .replace(/(?<![\d-])(\d{3})-(\d{3})(?![\d-])/g, "$1$2");
}

const street = new RegExp(
  // A number, up to four words, and a word such as avenue.
  `(?<![\\p{L}\\d])(\\d{1,6}[a-z]?)\\s+(?:[\\p{L}\\d.'’-]+\\s+){1,4}?${oneOf("street")}\\b` +
    // A direction, and a suite or floor.
    `\\.?(?:\\s+(?:[ns]?[ew]|[ns])\\b\\.?)?(?:[\\s,]+(?:#|${oneOf("numbered")}\\b\\.?)\\s*#?\\s*\\d+[a-z]?\\b)?`,
  "giu",
);
/** A saint's name, or the end of a street's name before another word. */
const saintOrStreet = /\bst\.?\s+(?=([\p{L}'’]+))/giu;

/**
 * Removes a street with its number, because the words of streets are also words of names and cities. If the number is a
 * CCN or a ZIP code, the street stays.
 */
function withoutStreet(image: Image, text: string): { rest: string; ignored: string[] } {
  if (!/\d/.test(text)) return { rest: text, ignored: [] };
  const ignored: string[] = [];
  const index = indexOf(image, "facility");
  const withSaints = text.replace(saintOrStreet, (written: string, next: string) =>
    isSaint(index, next) ? "saint " : written,
  );
  const rest = withSaints.replace(street, (written: string, number: string) => {
    if (findFacility(image, number) >= 0 || isZip(image, number)) return written;
    ignored.push(...(written.match(/[\p{L}\p{N}]+/gu) ?? []));
    return ",";
  });
  return { rest, ignored };
}

function isSaint(index: SearchIndex, name: string): boolean {
  const word = `saint${plainWords(name).join("")}`;
  const phrases = new Map<number, number>();
  matchPhrases(index, word, [], { phrases });
  return phrases.size > 0 || findWord(index, word) >= 0;
}

/** Leaves out Spanish articles, except at the end, where LA is a place, and at the beginning of a city's name. */
const withoutArticles = (image: Image, words: readonly string[]) =>
  words.filter((word, i) => !articles.has(word) || i + 1 === words.length || isCityAt(image, words, i));

interface Phrases {
  starts: ReadonlySet<string>;
  byPhrase: ReadonlyMap<string, readonly string[]>;
}

const articles = phrasesOf("spanish-article");
const contractions = meaningsOf("spanish-contraction");

/** Joins a phrase's words by spaces, without articles after the first word. So a search may lack the `la` of `de la`. */
const phraseOf = ([first, ...others]: readonly string[]) =>
  [first, ...others.map((word) => contractions.get(word) ?? word).filter((word) => !articles.has(word))].join(
    " ",
  );

function phrasesIn(...kinds: string[]): Phrases {
  const byPhrase = new Map(
    kinds
      .flatMap(entriesOf)
      .flatMap(({ what, phrases }) =>
        phrases.map((phrase): [string, string[]] => [
          phraseOf(phrase.split(" ")),
          what.split(" ").filter((word) => word !== ""),
        ]),
      ),
  );
  return { starts: new Set(Array.from(byPhrase.keys(), (phrase) => phrase.split(" ", 1)[0])), byPhrase };
}

const spanish = {
  facility: phrasesIn("spanish-for-hospitals", "spanish"),
  procedure: phrasesIn("spanish", "spanish-for-procedures"),
} as const;
const smallWords = {
  facility: phrasesIn("spanish-small-for-hospitals"),
  procedure: phrasesIn("spanish-small-for-procedures"),
} as const;
const saints = phrasesIn("spanish-saint");

const mostWords = 5;

/**
 * Replaces Spanish phrases by English words, the longest phrase first. Small words, such as `de`, stay, and so does a
 * single word for which `isName` is true.
 */
function inEnglish(kind: DocumentKind, words: readonly string[], isName: IsKept) {
  const english = replaced(words, spanish[kind], isName);
  return { words: english, isSpanish: english.some((word, i) => word !== words[i]) };
}

/**
 * Leaves out small Spanish words. Many are words of names, too, so call this only if there are other Spanish words. A
 * state's code, such as DE or MI, stays if it is in capitals, or at the end after a word such as "in".
 */
function withoutSmallWords(kind: DocumentKind, words: readonly string[], capitals: ReadonlySet<string>) {
  const last = beforePlace.has(words.at(-2) ?? "") ? words.at(-1) : undefined;
  const isState = (word: string) => (word === last || capitals.has(word)) && isStateCode(word);
  return replaced(words, smallWords[kind], isState);
}

/** Replaces Spanish names of saints, which may also be cities, by the English names. Returns undefined if there is none. */
export function saintsInEnglish(words: readonly string[]): readonly string[] | undefined {
  const english = replaced(words, saints, () => false);
  return english.some((word, i) => word !== words[i]) ? english : undefined;
}

type IsKept = (word: string, at: number) => boolean;

function replaced(words: readonly string[], { starts, byPhrase }: Phrases, isKept: IsKept): string[] {
  const read: string[] = [];
  for (let at = 0; at < words.length; ) {
    if (!starts.has(words[at])) {
      read.push(words[at++]);
      continue;
    }
    let length = Math.min(mostWords, words.length - at);
    const phrase = (count: number) => phraseOf(words.slice(at, at + count));
    // An article at the end belongs to what follows.
    while (length > 1 && (articles.has(words[at + length - 1]) || !byPhrase.has(phrase(length)))) length--;
    const english = length === 1 && isKept(words[at], at) ? undefined : byPhrase.get(phrase(length));
    read.push(...(english ?? [words[at]]));
    at += length;
  }
  return read;
}
