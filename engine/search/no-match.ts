import { type Image, textAt } from "../image/image.ts";
import { stateNames } from "../snapshot/schema.ts";
import { read } from "./asked.ts";
import { facilitiesInCityOf } from "./cities.ts";
import { find, type Matches, pricedIn } from "./find.ts";
import { documentsWith, hasState, type Term } from "./matching.ts";
import { stateOf } from "./nicknames.ts";
import { termsOf } from "./terms.ts";
import { meaningOf, splitWords } from "./text.ts";
import { type DocumentKind, indexOf, type SearchIndex } from "./text-index.ts";
import { allowedTypos, forEachClose } from "./typos.ts";
import { absentHospitals, fillerWords, genericWords, questionWords, seldomMeantWords } from "./vocabulary.ts";

interface NoMatch {
  /** The word that prevents a match; undefined if no word of the text says what to look for. */
  word: string | undefined;
  /** Whether no document matches the word. Otherwise some documents match the word, but not the other words. */
  isUnknown: boolean;
  /** Similar words of procedures, or names of documents with similar words or with the other words. */
  near: string[];
}

const mostNear = 3;
/** Words to leave out in turn, to see what the other words find. */
const mostLeftOut = 8;

export function explainNoMatch(image: Image, kind: DocumentKind, text: string): NoMatch {
  const index = indexOf(image, kind);
  const isPriced = pricedIn(image, kind, null);
  const { words } = read(image, kind, text);
  const isAside = (word: string) => kind === "facility" && seldomMeantWords.has(word);
  const terms = termsOf(image, index, words, isAside);
  const namesOf = ({ documents }: Matches) => [
    ...new Set(Array.from(documents.subarray(0, mostNear), (document) => nameOf(image, kind, document))),
  ];
  const without = (left: Term) =>
    find(
      index,
      terms.filter((term) => term !== left),
      isPriced,
    );
  /** The facilities that have one of the words in place of the unknown one. */
  const namesWith = (close: readonly string[]) => {
    const read = close.map((word) =>
      termsOf(
        image,
        index,
        words.map((typed) => (typed === unknown?.word ? word : typed)),
      ),
    );
    return read.flatMap((terms) => namesOf(find(index, terms, isPriced))).slice(0, mostNear);
  };
  const unknown = terms.find((term) => term.isNeeded && documentsWith(index, term) === 0);
  if (unknown !== undefined) {
    const close = closeWords(index, unknown.word);
    const near =
      close.length === 0 ? namesOf(without(unknown)) : kind === "procedure" ? close : namesWith(close);
    return { word: unknown.word, isUnknown: true, near };
  }
  let word: string | undefined;
  let nearest: Matches | undefined;
  // The rarest word says most about what is searched for. The message names it unless leaving out another word gives
  // better matches.
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const rarestFirst = needed.toSorted((a, b) => documentsWith(index, a) - documentsWith(index, b));
  for (const term of rarestFirst.slice(0, mostLeftOut)) {
    const found = without(term);
    word ??= term.word;
    if (found.total === 0 || found.scores[0] <= (nearest?.scores[0] ?? 0)) continue;
    word = term.word;
    nearest = found;
  }
  return { word, isUnknown: false, near: nearest === undefined ? [] : namesOf(nearest) };
}

/** The state or territory that a text names and that has no facility here, as `Guam (GU)`; undefined if there is none. */
export function emptyStateIn(image: Image, text: string): string | undefined {
  const index = indexOf(image, "facility");
  const words = splitWords(text);
  for (let length = mostStateWords; length > 0; length--)
    for (let start = 0; start + length <= words.length; start++) {
      const word = words.slice(start, start + length).join("");
      const code = stateOf(word);
      // A code may also be a word, such as "as", unless it is at the end.
      if (code === undefined || (word.length === 2 && (start === 0 || start + length < words.length)))
        continue;
      return hasState(index, code.toLowerCase()) ? undefined : `${stateNames[code]} (${code})`;
    }
  return undefined;
}

const mostStateWords = 4;

/** Whether a text is a sentence, so that a hospital's name and city alone may find what its other words hide. */
export function isSentence(text: string): boolean {
  const aside = splitWords(text).filter((word) => questionWords.has(word) || seldomMeantWords.has(word));
  return aside.length >= wordsOfSentence;
}

const wordsOfSentence = 3;

/**
 * Returns the reason why the data set has no or few hospitals of the kind that a text asks for, or undefined if no
 * reason is known.
 */
export function absentHospital(image: Image, text: string): string | undefined {
  const words = splitWords(text);
  const found = absentHospitals.find(([ofKind]) => words.some((word) => ofKind.has(word)));
  if (found === undefined) return undefined;
  const [kinds, reason, hint] = found;
  if (hint !== undefined)
    return isOnlyIn(
      image,
      words.filter((word) => !kinds.has(word)),
      "VA",
    )
      ? reason + hint
      : reason;
  return kinds.has("maryland") && hasState(indexOf(image, "facility"), "maryland") ? undefined : reason;
}

/** Whether no significant word is left, or the words are a city with a hospital in the state. */
function isOnlyIn(image: Image, words: readonly string[], state: string): boolean {
  const meant = words.filter(
    (word) => !(fillerWords.has(word) || genericWords.facility.has(meaningOf(word))),
  );
  const there = facilitiesInCityOf(image, meant);
  return meant.length === 0 || [...there].some((facility) => textAt(image.state, facility) === state);
}

function nameOf(image: Image, kind: DocumentKind, document: number): string {
  if (kind === "procedure") return `${textAt(image.code, document)} ${textAt(image.procedureName, document)}`;
  const [ccn, name, city, state] = [image.ccn, image.facilityName, image.city, image.state].map((texts) =>
    textAt(texts, document),
  );
  return `${name} (${ccn}, ${city} ${state})`;
}

/** Words with at most one typo more than a match may have, the closest first. */
function closeWords(index: SearchIndex, word: string): string[] {
  const letters = [...word].length;
  const close: { word: number; typos: number }[] = [];
  forEachClose(index, word, letters, allowedTypos(letters) + 1, (word, typos) => {
    if (typos < letters - 1) close.push({ word, typos });
  });
  return close
    .sort((a, b) => a.typos - b.typos || a.word - b.word)
    .slice(0, mostNear)
    .map(({ word }) => textAt(index.words, word));
}
