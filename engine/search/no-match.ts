import { findFacility } from "../answers/facilities.ts";
import { type Image, textAt } from "../image/image.ts";
import { isZip } from "../image/places.ts";
import { stateNames } from "../snapshot/schema.ts";
import { groupOfCode, hcpcsCodeIn, otherCodeIn } from "./codes.ts";
import { doubtful } from "./lexicon.ts";
import { documentsWith, documentsWithAll, hasState, levelBits, oneTypo, type Term } from "./matching.ts";
import { mostPlaceWords, placesNamed, regionNamed, stateOf } from "./places.ts";
import type { Asked } from "./reading.ts";
import { saysSomething } from "./text.ts";
import { type DocumentKind, indexOf, isNumber, type SearchIndex } from "./text-index.ts";
import { allowedTypos, closeTo } from "./typos.ts";

export interface NoMatch {
  /** Positions of matches that have prices in other states. */
  elsewhere: readonly number[];
  unpriced: readonly number[];
  /** A sentence about a code of another system, such as a DRG; undefined if there is none. */
  otherCode: string | undefined;
  /** A HCPCS or CPT code that is in no group of the data. */
  code: string | undefined;
  /** Five or six digits that are no hospital's CCN, no ZIP code and no procedure's code. */
  ccn: string | undefined;
  /** The place, if a search for procedures names a place and nothing else. */
  place: string | undefined;
  isHere: boolean;
  region: string | undefined;
  /** A state or territory of the search that has no hospital here, such as `Guam (GU)`. */
  emptyState: string | undefined;
  /** The word that prevents a match; undefined if no word of the text says what to look for. */
  word: string | undefined;
  /** Whether no document matches `word`. */
  isUnknown: boolean;
  /** Similar words of procedures, or names of documents that match similar words or the search's other words. */
  near: readonly string[];
}

const mostNear = 3;

/**
 * @param unwanted positions of matches that have no prices, or none in the state
 * @param isPriced whether a document has prices in the nation
 * @param state code of the state to which the search is limited; null for the nation
 */
export function whyNothing(
  image: Image,
  asked: Asked,
  terms: readonly Term[],
  unwanted: readonly number[],
  isPriced: (document: number) => boolean,
  state: string | null,
): NoMatch {
  const { kind, text, words } = asked;
  const index = indexOf(image, kind);
  const code = kind === "procedure" ? hcpcsCodeIn(text) : undefined;
  const ccn = kind === "facility" ? /^\D*(\d{5,6})\D*$/.exec(text)?.[1] : undefined;
  // Five digits may be a procedure's code. Then the error suggests a search for procedures.
  const isKnown =
    ccn !== undefined &&
    (isZip(image, ccn) || findFacility(image, ccn) >= 0 || groupOfCode(image, ccn) !== undefined);
  const isPlace = kind === "procedure" && placesNamed(image, asked.typed).length > 0;
  const without = wordWithout(image, index, terms, isPriced);
  // Words that fit any hospital find none if the state has no hospitals.
  const isAll = state !== null && without.word === undefined;
  const searched = isAll ? emptyStateIn(index, [state.toLowerCase()]) : undefined;
  return {
    elsewhere: unwanted.filter(isPriced),
    unpriced: unwanted.filter((document) => !isPriced(document)),
    otherCode: otherCodeIn(text),
    code: code !== undefined && image.procedureOf.has(groupOfCode(image, code) ?? "") ? undefined : code,
    ccn: isKnown ? undefined : ccn,
    place: isPlace && groupOfCode(image, text.trim()) === undefined ? text.trim() : undefined,
    isHere: asked.isHere,
    region: kind === "facility" ? regionIn(image, words) : undefined,
    emptyState: kind === "facility" ? (emptyStateIn(index, words) ?? searched) : undefined,
    ...without,
  };
}

function regionIn(image: Image, words: readonly string[]): string | undefined {
  for (let length = mostPlaceWords; length > 0; length--)
    for (let start = 0; start + length <= words.length; start++) {
      const region = regionNamed(image, words.slice(start, start + length));
      if (region !== undefined) return region.name;
    }
  return undefined;
}

function emptyStateIn(index: SearchIndex, words: readonly string[]): string | undefined {
  for (let length = mostPlaceWords; length > 0; length--)
    for (let start = 0; start + length <= words.length; start++) {
      const word = words.slice(start, start + length).join("");
      const code = stateOf(word);
      // A code may also be a word, such as "as", if other words follow.
      const isWord = word.length === 2 && words.slice(start + length).some(saysSomething);
      if (code === undefined || isWord) continue;
      return hasState(index, code.toLowerCase()) ? undefined : `${stateNames[code]} (${code})`;
    }
  return undefined;
}

/**
 * Returns the first word without a match. If all words match, returns the rarest word without which something would be
 * found, or else the rarest word.
 */
function wordWithout(
  image: Image,
  index: SearchIndex,
  terms: readonly Term[],
  isPriced: (document: number) => boolean,
): Pick<NoMatch, "word" | "isUnknown" | "near"> {
  const { kind } = index;
  const needed = terms.filter(({ isNeeded, word }) => isNeeded && !doubtful.has(word));
  const namesOf = (of: readonly Term[]) => {
    const first = documentsWithAll(index, of)
      .filter(isPriced)
      .sort((a, b) => index.nameOrder[a] - index.nameOrder[b])
      .slice(0, mostNear);
    return [...new Set(first.map((document) => nameOf(image, kind, document)))];
  };
  const [unknown] = needed.filter((term) => documentsWith(index, term) === 0);
  if (unknown !== undefined) {
    const known = needed.filter((term) => documentsWith(index, term) > 0);
    const { word } = unknown;
    const close = closeWords(index, word);
    if (close.length === 0) return { word, isUnknown: true, near: namesOf(known) };
    if (kind === "procedure")
      return { word, isUnknown: true, near: close.map((each) => textAt(index.words, each)) };
    const guess = { ...unknown, matches: close.map((each) => (each << levelBits) | oneTypo) };
    return { word, isUnknown: true, near: namesOf([...known, guess]) };
  }
  const rarestFirst = needed.toSorted(
    (a, b) => documentsWith(index, a) - documentsWith(index, b) || (a.word < b.word ? -1 : 1),
  );
  for (const left of rarestFirst) {
    const near = namesOf(needed.filter((term) => term !== left));
    if (near.length > 0) return { word: left.word, isUnknown: false, near };
  }
  return { word: rarestFirst[0]?.word, isUnknown: false, near: [] };
}

function nameOf(image: Image, kind: DocumentKind, document: number): string {
  if (kind === "procedure") return `${textAt(image.code, document)} ${textAt(image.procedureName, document)}`;
  const [ccn, name, city, state] = [image.ccn, image.facilityName, image.city, image.state].map((texts) =>
    textAt(texts, document),
  );
  return `${name} (${ccn}, ${city} ${state})`;
}

/** Returns the positions of at most `mostNear` words, the closest first. They may have one typo more than a match. */
function closeWords(index: SearchIndex, word: string): number[] {
  // Another number is another place or procedure.
  if (isNumber(word)) return [];
  const letters = [...word].length;
  return closeTo(index, word, allowedTypos(letters) + 1)
    .filter(({ typos }) => typos < letters - 1)
    .sort((a, b) => a.typos - b.typos || a.word - b.word)
    .slice(0, mostNear)
    .map((each) => each.word);
}
