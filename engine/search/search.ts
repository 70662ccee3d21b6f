import { type Image, textAt } from "../image/image.ts";
import { stateNames } from "../snapshot/schema.ts";
import { absentHospitals } from "./absent-hospitals.ts";
import { beginSearch } from "./buffers.ts";
import { otherCodeIn } from "./codes.ts";
import { findFacilities } from "./facilities.ts";
import { type Matches, nothing, pricedIn } from "./find.ts";
import { beforePlace, fillers, kinds, phrasesOf } from "./lexicon.ts";
import { matchedBy } from "./matched.ts";
import type { Term } from "./matching.ts";
import { type NoMatch, whyNothing } from "./no-match.ts";
import { facilitiesOfNickname, isBeforePlace, isStateCode, stateOf } from "./places.ts";
import { termsIn } from "./procedure-terms.ts";
import type { Absent } from "./procedure-words.ts";
import { findProcedures, procedureTerms } from "./procedures.ts";
import { type Asked, capitalsIn, read } from "./reading.ts";
import { sureScore } from "./sure.ts";
import { meaningOf } from "./text.ts";
import { type DocumentKind, indexOf } from "./text-index.ts";

/*
 * A search is read once (`reading.ts`). Then its words are looked for in the index (`matching.ts`): as whole words, as
 * beginnings, with typos, as several words, or joined. A directory has a few thousand facilities and words. So typos are
 * found by comparing words of about the same length, without tables of n-grams.
 *
 * A library such as MiniSearch doesn't match words that are split or joined.
 */

export interface SearchAnswer extends Matches {
  /** For each procedure, what `matchedBy` returns; empty for facilities. */
  matched: string[][];
  /** The things that are asked for and that this data can't have, whatever else is found. */
  absent: readonly Absent[];
  /** Another search, in which a state's code has its other meaning; null if there is none. */
  alternative: Alternative | null;
  /** Why nothing is found; undefined if something is found. */
  why?: NoMatch;
}

export interface Alternative {
  q: string;
  state?: string;
}

/**
 * Searches the facilities or procedures that have prices, and returns a page of the matches.
 *
 * @param state null for the nation
 */
export function search(
  image: Image,
  kind: DocumentKind,
  text: string,
  offset: number,
  limit: number,
  state: string | null = null,
): SearchAnswer {
  beginSearch();
  const { asked, ...found } = findAll(image, kind, text, state);
  const alternative = state === null ? alternativeTo(image, asked, text, found) : null;
  if (found.total === 0) {
    const { terms, unwanted } = found;
    const why = whyNothing(image, asked, terms, unwanted, pricedIn(image, kind, null), state);
    return { ...nothing, place: asked.place, matched: [], absent: found.absent, alternative, why };
  }
  const end = offset + limit;
  const documents = found.documents.slice(offset, end);
  return {
    ...found,
    documents,
    scores: found.scores.slice(offset, end),
    matched: kind === "facility" ? [] : matchedBy(image, found.terms, documents),
    alternative,
  };
}

type Found = Matches & { terms: readonly Term[]; absent: readonly Absent[] };

function findAll(image: Image, kind: DocumentKind, text: string, state: string | null) {
  const asked = read(image, kind, text);
  const found =
    kind === "facility" ? searchFacilities(image, asked, state) : searchProcedures(image, asked, state);
  return { asked, ...found };
}

function searchFacilities(image: Image, asked: Asked, state: string | null): Found {
  return findFacilities(image, asked, pricedIn(image, "facility", state), state);
}

function searchProcedures(image: Image, asked: Asked, state: string | null): Found {
  const { words, ignored, place, placeWords, typed } = asked;
  const aside = ignored.map((word) => word.toLowerCase());
  const terms = procedureTerms(image, words);
  if (otherCodeIn(asked.text) !== undefined)
    return { ...nothing, terms, absent: termsIn([...words, ...aside]).named };
  const found = findProcedures(image, asked, terms, pricedIn(image, "procedure", state));
  // With a procedure, letters of a state may name something else, such as CT or VA. After "in", they don't.
  const before = typed[typed.lastIndexOf(placeWords[0]) - 1] ?? "";
  const isDoubtful = placeWords.length === 1 && found.total > 0 && !beforeCity.has(before);
  const letters = isDoubtful ? placeWords : [];
  const procedures = termsIn([...words, ...aside, ...letters]).named;
  const hospitals = absentHospitals(image, [...letters, ...aside], state);
  const absent = [...procedures, ...hospitals];
  return { ...found, terms, absent, place, ignored: [...ignored, ...found.ignored] };
}

/**
 * Returns another search, in which a state's code has its other meaning; null if there is none. If the code was read
 * as a word, the other search is limited to the state. If the code is also a city's nickname, such as LA, the other
 * search names the city if this search means the state, otherwise the state.
 */
function alternativeTo(image: Image, asked: Asked, text: string, found: Found): Alternative | null {
  const { words, kind, place, placeWords } = asked;
  if (![...words, ...placeWords].some(isStateCode)) return null;
  const capitals = kind === "facility" ? new Set() : capitalsIn(text);
  const end = words.findLastIndex((each) => !kinds.has(meaningOf(each)));
  // A code may also come first, before a procedure or a place.
  const isFirst = (each: string, i: number) =>
    i === 0 && (kind === "procedure" ? !fillers.has(each) : isBeforePlace(image, words, i));
  const isState = (each: string, i: number) =>
    isStateCode(each) &&
    (i >= end || isFirst(each, i) || capitals.has(each)) &&
    (i === 0 || !isBeforePlace(image, words, i));
  const word = place === null ? words.findLast(isState) : placeWords.length === 1 ? placeWords[0] : undefined;
  const state = word === undefined || !isStateCode(word) ? undefined : stateOf(word);
  if (word === undefined || state === undefined) return null;
  const [first] = found.documents;
  const isThere = kind === "facility" && first !== undefined && textAt(image.state, first) === state;
  const leads = isThere || (place !== null && "state" in place);
  const [city] = facilitiesOfNickname(indexOf(image, "facility"), word);
  // Lake Charles, LA is surely in the state.
  if (leads && (city === undefined || (kind === "facility" && found.scores[0] >= sureScore))) return null;
  const written = city === undefined ? " " : leads ? textAt(image.city, city) : stateNames[state];
  const q = text
    .replace(lastOf(word, city === undefined), written)
    .replace(/^[\s,;.]+|[\s,;.]+$/g, "")
    .replace(/\s+/g, " ");
  const other = findAll(image, kind, q, city === undefined ? state : null);
  if (other.total === 0 || (kind === "facility" && other.documents[0] === first)) return null;
  return city === undefined ? { q, state } : { q };
}

const beforeCity = phrasesOf("before-city");
const prepositions = [...beforePlace].join("|");

/** Returns an expression for the last occurrence of a word in a text, perhaps with the preposition before it. */
function lastOf(word: string, isWithPreposition: boolean): RegExp {
  const whole = `(?<![\\p{L}\\d])${word}(?![\\p{L}\\d])`;
  const before = isWithPreposition ? `(?:(?<![\\p{L}\\d])(?:${prepositions})\\s+)?` : "";
  return new RegExp(`${before}${whole}(?!.*${whole})`, "iu");
}
