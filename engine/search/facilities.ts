import { type Image, textAt } from "../image/image.ts";
import { absentHospitals } from "./absent-hospitals.ts";
import { besideName, findOtherwise } from "./facility-guesses.ts";
import { findCodes, findNames } from "./facility-names.ts";
import { findNear, findPlaces, findSeveralPlaces, isInOtherState } from "./facility-places.ts";
import { facilityScorer, type Score } from "./facility-scores.ts";
import { findByWords, findLiterally } from "./facility-words.ts";
import type { Matches, Wanted } from "./find.ts";
import { Found, ranks, scored } from "./found.ts";
import { doubtful, fillers, phrasesOf, questions } from "./lexicon.ts";
import { type Term, termsOf } from "./matching.ts";
import { facilitiesInCity, stateOf } from "./places.ts";
import { medicalIn, termsIn } from "./procedure-terms.ts";
import type { Absent } from "./procedure-words.ts";
import type { Asked } from "./reading.ts";
import { indexWords, meaningOf, saysSomething } from "./text.ts";
import { indexOf } from "./text-index.ts";

/*
 * The answer to a search for facilities is a union: all that have every word literally (`literal.ts`), and all that the
 * readings find. Each way of finding a facility has a rank (`found.ts`), and the best rank counts. So a reading may add
 * facilities and move them up, but it can't remove any.
 */

export interface FacilityMatches extends Matches {
  /** Kinds of hospitals, states and procedures that are asked for and that this data can't have. */
  absent: readonly Absent[];
  terms: readonly Term[];
}

const forHospitals = phrasesOf("any");

/** @param state code of the state to which the search is limited; null for the nation */
export function findFacilities(
  image: Image,
  asked: Asked,
  isWanted: Wanted,
  state: string | null,
): FacilityMatches {
  const index = indexOf(image, "facility");
  const found = new Found(isWanted);
  const { words, typed } = asked;
  const terms = termsOf(image, index, words, saysSomething);
  let scorer: Score | undefined;
  // The scorer is made when it is first needed, because many searches find nothing that needs a score.
  const scoreOf: Score = (facility) => {
    scorer ??= facilityScorer(index, terms);
    return scorer(facility);
  };
  const isAll = !words.some(saysSomething);
  findCodes(image, index, words, found);
  findNames(image, words, typed, found);
  findPlaces(image, asked, state, scoreOf, found);
  const hows = findLiterally(image, index, typed, scoreOf, found);
  // A question that has words for a hospital is searched for these words alone, too.
  const plainly = words.filter((word) => !fillers.has(word) && !questions.has(word));
  const isAnywhere = isAll && !asked.isHere && !found.isOnePlace && plainly.length > 0;
  const isAsTyped = plainly.join(" ") === typed.join(" ");
  if (isAnywhere && !isAsTyped) findLiterally(image, index, plainly, scoreOf, found);
  findByWords(image, index, terms, scoreOf, found, hows);
  findNear(image, index, asked, found);
  const isSeveral = !found.isNamed && !found.isOnePlace && findSeveralPlaces(image, asked, found);
  if (!isSeveral && (found.isEmpty || found.top >= ranks.oneTypo))
    besideName({ image, index, words, terms, found });
  const isPlain = (word: string) =>
    !doubtful.has(word) || facilitiesInCity(image, [word]).length > 0 || medicalIn(words)(word);
  const plain = found.isEmpty ? words.filter(isPlain) : words;
  if (plain.length > 0 && plain.length < words.length) {
    // If hospitals elsewhere match, the doubtful words may be meant, so they are shown as ignored.
    const ignored = found.unwanted.size > 0 ? words.filter((word) => !isPlain(word)) : [];
    const rest = { ...asked, words: plain, typed: plain, ignored: [...asked.ignored, ...ignored] };
    return findFacilities(image, rest, isWanted, state);
  }
  if (found.isEmpty && !isAll) findOtherwise({ image, index, words, terms, found });
  const isHospital = (word: string) => forHospitals.has(word);
  if (isAnywhere && plainly.some(isHospital) && (plainly.every(isHospital) || found.isEmpty))
    for (const facility of index.byName) found.enter(facility, ranks.rest, 0);
  found.ignored = [...asked.ignored, ...found.ignored];
  const procedures = isAll && asked.isHere && found.isEmpty ? [] : absentProcedures(words, found);
  // A hospital that is found by a whole name, or in the place that the search names, isn't of the absent kind. Nor is
  // the only hospital found, if its name has the words for the kind.
  const [only] = found.ranked.size === 1 && found.ignored.length === 0 ? found.ranked.keys() : [];
  const name = only === undefined ? [] : indexWords(textAt(image.facilityName, only));
  const others = words.filter((word) => stateOf(word) !== undefined || !name.includes(meaningOf(word)));
  const isMeant = !found.isEmpty && (found.isNamed || found.isOnePlace);
  const hospitals = isMeant ? [] : absentHospitals(image, others, state);
  const isDoubted =
    isSeveral ||
    (isAll && !found.isNamed && !found.isOnePlace) ||
    found.ignored.length > 0 ||
    procedures.length > 0 ||
    hospitals.length > 0 ||
    (!found.isNamed && found.place === null && isInOtherState(image, words));
  return { ...scored(index, found, isDoubted, isAll), absent: [...hospitals, ...procedures], terms };
}

/**
 * Returns the procedures that are asked for and that this data can't have. Returns none if all words belong to a facility
 * or a place.
 */
function absentProcedures(words: readonly string[], found: Found): readonly Absent[] {
  if (found.isEmpty) return termsIn(words).named;
  if (found.ignored.length === 0 && (found.top <= ranks.significantWords || found.isOnePlace)) return [];
  return termsIn(words.filter(saysSomething)).named;
}
