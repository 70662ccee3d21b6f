import { type Image, textAt } from "../image/image.ts";
import {
  cityField,
  cityPartField,
  fieldBits,
  fieldMask,
  nameField,
  stateField,
  statePartField,
} from "./fields.ts";
import { find, guessed, type Matches, nothing, sure, type Wanted } from "./find.ts";
import { levelsOf } from "./levels.ts";
import { placeListed } from "./listed-places.ts";
import {
  documentsWith,
  exact,
  levelBits,
  levelMask,
  matchSound,
  matchTypos,
  none,
  oneTypo,
  type Term,
} from "./matching.ts";
import { type Nearby, nearbyIn } from "./near.ts";
import { isMedical, isOfProcedures } from "./procedure-terms.ts";
import { bodyParts, procedureMeaning } from "./procedure-words.ts";
import { type Region, regionIn } from "./regions.ts";
import { saintsInEnglish } from "./spanish.ts";
import { termsOf } from "./terms.ts";
import { initialsOf, meaningOf, splitWords } from "./text.ts";
import { findWord, indexOf, isInFields, type SearchIndex } from "./text-index.ts";
import { allowedTypos } from "./typos.ts";
import { departments, seldomMeantWords } from "./vocabulary.ts";

/**
 * Finds the facilities of a state or city, if a search asks for nothing else, or those around the place that it names. If there
 * are none, finds the facilities that match every needed word, or else all words but those that may say nothing, or else
 * by other spellings, initials, or all words but the unknown ones. In a region that the directory doesn't have, only the
 * one hospital that the other words name is found.
 *
 * @param words see `read`
 */
export function findFacilities(image: Image, words: readonly string[], isWanted: Wanted): Matches {
  const index = indexOf(image, "facility");
  const listed = placeListed(image, index, words);
  if (listed !== undefined) {
    const isThere = (facility: number) => listed.has(facility) && isWanted(facility);
    return sure(find(index, termsOf(image, index, ["in", ...listed.words]), isThere));
  }
  const region = regionIn(image, words);
  if (region !== undefined) return besideRegion(image, index, region, isWanted);
  const aside = asideIn(index, words);
  const near = (isNamed: boolean) => {
    const nearby = nearbyIn(image, words, isNamed);
    return nearby === undefined ? nothing : nearMatches(image, index, nearby, aside, isWanted);
  };
  const named = near(true);
  if (named.total > 0) return named;
  const terms = termsOf(image, index, words);
  const found = find(index, terms, isWanted);
  if (found.total > 0) return isGuess(index, terms, found) ? guessed(found) : sure(found);
  const around = near(false);
  if (around.total > 0) return around;
  for (const others of [withInitials, spelledBySound]) {
    const found = others(index, terms, isWanted, image);
    if (found.total > 0) return found;
  }
  const meant = aside.size === 0 ? terms : termsOf(image, index, words, (word) => aside.has(meaningOf(word)));
  if (aside.size > 0) {
    const others = find(index, meant, isWanted);
    if (others.total > 0 && isMeantBeside(index, words, aside, meant, others))
      return isGuess(index, meant, others) ? guessed(others) : sure(others);
  }
  const saints = saintsInEnglish(words);
  if (saints !== undefined) {
    const english = findFacilities(image, saints, isWanted);
    if (english.total > 0) return english;
  }
  for (const others of [withInitials, spelledBySound, withoutUnknownWords, withMoreTypos]) {
    const found = others(index, meant, isWanted, image);
    if (found.total > 0) return found;
  }
  const beside = regionIn(image, words, true);
  return beside === undefined ? nothing : besideRegion(image, index, beside, isWanted);
}

/** Finds the only hospital that the words beside a region name, as a guess: it may be elsewhere. */
function besideRegion(image: Image, index: SearchIndex, { name, others }: Region, isWanted: Wanted): Matches {
  const terms = termsOf(image, index, others);
  const found = find(index, terms, isWanted);
  return found.total === 1 && isNamed(index, terms, found.documents[0])
    ? { ...guessed(found), ignored: name.split(" ") }
    : nothing;
}

/** The nearest facilities come first. Each mile lowers the score by 0.01. */
function nearMatches(
  image: Image,
  index: SearchIndex,
  { rest, facilities, miles, name }: Nearby,
  aside: ReadonlySet<string>,
  isWanted: Wanted,
): Matches {
  const matching = (terms: readonly Term[]) =>
    terms.some(({ isNeeded }) => isNeeded)
      ? find(index, terms, isWanted).documents
      : facilities.filter(isWanted);
  const all = matching(termsOf(image, index, rest));
  const asked = new Set(
    all.length > 0 ? all : matching(termsOf(image, index, rest, (word) => aside.has(meaningOf(word)))),
  );
  const found = [...facilities.keys()].filter((i) => asked.has(facilities[i]));
  return {
    total: found.length,
    documents: Uint32Array.from(found, (i) => facilities[i]),
    scores: found.map((i) => Math.round(1000 - 10 * miles[i]) / 1000),
    place: { near: name },
  };
}

/**
 * The words of a query that may say nothing about which hospital is meant: departments, procedures, and words of
 * sentences.
 */
function asideIn(index: SearchIndex, words: readonly string[]): Set<string> {
  const isAt = (phrase: readonly string[], at: number) =>
    phrase.every((word, i) => meaningOf(words[at + i] ?? "") === meaningOf(word));
  const inNames = (1 << nameField) | (1 << cityField) | (1 << cityPartField);
  const isProcedure = (word: string) =>
    bodyParts.has(procedureMeaning(word)) ||
    (isOfProcedures(word) && !isInFields(index, findWord(index, meaningOf(word)), inNames));
  return new Set(
    [
      ...departments.filter((phrase) => words.some((_, at) => isAt(phrase, at))).flat(),
      ...words.filter((word) => seldomMeantWords.has(word) || isProcedure(word)),
    ].map(meaningOf),
  );
}

/**
 * Whether matches without the words that were set aside are meant: the words are only those of a sentence, or the search
 * says hospital, or it names the first match. Beside words of procedures it has to tell one hospital.
 */
function isMeantBeside(
  index: SearchIndex,
  words: readonly string[],
  aside: ReadonlySet<string>,
  terms: readonly Term[],
  { documents: [first], total }: Matches,
): boolean {
  if ([...aside].every((word) => seldomMeantWords.has(word))) return true;
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  if (words.some((word) => /^hospitals?$/.test(word)) && needed.every((term) => isThere(index, term, first)))
    return true;
  const isTelling = total === 1 || needed[0].code === first;
  return isNamed(index, terms, first) && (isTelling || ![...aside].some(isOfProcedures));
}

/** Whether a term matches a facility's city or state. */
function isThere(index: SearchIndex, term: Term, facility: number): boolean {
  return (fieldsOf(index, term, facility) & placeFields) !== 0;
}

/** Whether a word of the query, as it is typed, is in the facility's name, or is an unofficial name of it. */
function isNamed(index: SearchIndex, terms: readonly Term[], facility: number): boolean {
  return terms.some((term) => {
    if (!term.isNeeded) return false;
    const typed = { ...term, matches: term.matches.filter((match) => (match & levelMask) === exact) };
    return term.code === facility || (fieldsOf(index, typed, facility) & (1 << nameField)) !== 0;
  });
}

/**
 * Whether the first match may not be meant: a word of the query is only a part of a city's name, or a word with a typo
 * may mean other words of matches that fit as well.
 */
function isGuess(index: SearchIndex, terms: readonly Term[], { documents, scores }: Matches): boolean {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const levels = levelsOf(index, needed);
  const first = readingOf(index, needed, levels, documents[0]);
  const asked = new Set(first.map(({ word }) => word));
  const isPart = cityPartsOf(index, documents[0]).some((word) => !asked.has(word));
  if (isPart && first.some(({ fields, level }) => level > none && (fields & ~partFields) === 0)) return true;
  if (first.every(({ level }) => level === none || level > oneTypo)) return false;
  for (let i = 1; i < documents.length && scores[i] > scores[0] - asGood; i++) {
    const other = readingOf(index, needed, levels, documents[i]);
    if (other.some(({ level, word }, at) => level <= oneTypo && level > none && word !== first[at].word))
      return true;
  }
  return false;
}

/** The words of a facility's city, if the city has several. */
function cityPartsOf({ tokenStart, tokens }: SearchIndex, facility: number): number[] {
  return Array.from(tokens.subarray(tokenStart[facility], tokenStart[facility + 1]))
    .filter((token) => (token & fieldMask) === cityPartField)
    .map((token) => token >>> fieldBits);
}

const partFields = (1 << cityPartField) | (1 << statePartField);
/** Matches fit equally well if their points out of 1 differ by less than this. */
const asGood = 0.02;

/** How a document matches each needed term: the level, the word of the index, and the fields as a bit mask. */
function readingOf(
  { tokenStart, tokens }: SearchIndex,
  needed: readonly Term[],
  levels: readonly Uint8Array[],
  document: number,
) {
  return needed.map(({ phrases, code }, i) => {
    const best = { level: none as number, word: -1, fields: 0 };
    if (phrases.has(document) || code === document) return best;
    for (let at = tokenStart[document]; at < tokenStart[document + 1]; at++) {
      const word = tokens[at] >>> fieldBits;
      const level = levels[i][word];
      if (level === none || level < best.level) continue;
      if (level > best.level) Object.assign(best, { level, word, fields: 0 });
      best.fields |= 1 << (tokens[at] & fieldMask);
    }
    return best;
  });
}

/**
 * Leaves out the needed words that no document has, such as a part of a brand's name. The document that matches the
 * other words is found only if it is the sole match, and at least two words match: one in the document's name and one
 * in its place. A medical word or a number is never left out.
 */
function withoutUnknownWords(index: SearchIndex, terms: readonly Term[], isWanted: Wanted): Matches {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const known = needed.filter((term) => documentsWith(index, term) > 0);
  if (known.length < 2 || known.length === needed.length) return nothing;
  const unknown = needed.filter((term) => !known.includes(term)).map(({ word }) => word);
  if (unknown.some((word) => /[0-9]/.test(word) || isMedical(word))) return nothing;
  const others = terms.filter((term) => !term.isNeeded || known.includes(term));
  const found = find(index, others, isWanted);
  if (found.total !== 1) return nothing;
  const fields = known.map((term) => fieldsOf(index, term, found.documents[0]));
  const isIn = (some: number) => fields.some((matched) => (matched & some) !== 0);
  if (!isIn(1 << nameField) || !isIn(placeFields)) return nothing;
  return { ...guessed(found, known.length / needed.length), ignored: unknown };
}

const placeFields = (1 << cityField) | (1 << cityPartField) | (1 << stateField);

/**
 * Allows one more typo in a word that matches nothing, if another word matches the place. The hospital is found only if
 * it is the sole reading of the word there.
 */
function withMoreTypos(index: SearchIndex, terms: readonly Term[], isWanted: Wanted): Matches {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const unknown = needed.filter((term) => documentsWith(index, term) === 0);
  const [term] = unknown;
  if (unknown.length !== 1 || needed.length < 2 || [...term.word].length < closeLetters) return nothing;
  const guess: Term = { ...term, matches: [] };
  matchTypos(index, guess, term.word, allowedTypos([...term.word].length) + 1);
  const read = terms.map((other) => (other === term ? guess : other));
  const found = find(index, read, isWanted);
  if (found.total === 0 || isGuess(index, read, found)) return nothing;
  const isInPlace = needed.some((other) => other !== term && isThere(index, other, found.documents[0]));
  return isInPlace ? guessed(found) : nothing;
}

/**
 * Reads a word that no name in the place has as the initials of a hospital's name there. The other needed words have to
 * match the place.
 */
function withInitials(index: SearchIndex, terms: readonly Term[], isWanted: Wanted, image: Image): Matches {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  for (const term of needed) {
    if (needed.length < 2 || !/^[a-z]{3,6}$/.test(term.word)) continue;
    const others = terms.filter((other) => other !== term);
    const found = find(
      index,
      others,
      (facility) =>
        initialsOf(splitWords(textAt(image.facilityName, facility))).includes(term.word) &&
        isWanted(facility),
    );
    const isPlace = (other: Term) => isThere(index, other, found.documents[0]);
    if (found.total === 1 && needed.every((other) => other === term || isPlace(other))) return sure(found);
  }
  return nothing;
}

/**
 * Reads a word as another word that sounds alike, if the other words match and one of them matches the place. The
 * hospital is found only if it is the only one, and hospitals of a city if all words name their place.
 */
function spelledBySound(index: SearchIndex, terms: readonly Term[], isWanted: Wanted, image: Image): Matches {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  for (const term of needed) {
    if (needed.length < 2 || isOfProcedures(term.word) || seldomMeantWords.has(term.word)) continue;
    const heard: Term = { ...term, matches: [...term.matches] };
    matchSound(index, heard, term.word);
    if (heard.matches.length === term.matches.length) continue;
    const read = terms.map((other) => (other === term ? heard : other));
    const found = find(index, read, isWanted);
    const isPlace = (other: Term) => other !== term && isThere(index, other, found.documents[0]);
    const cities = new Set(Array.from(found.documents, (facility) => cityOf(image, facility)));
    if (cities.size !== 1 || !needed.some(isPlace)) continue;
    const isCity = needed.every((other) =>
      isThere(index, other === term ? heard : other, found.documents[0]),
    );
    if (found.total === 1 || isCity) return sure(found);
  }
  return nothing;
}

const cityOf = (image: Image, facility: number) =>
  `${textAt(image.city, facility)}, ${textAt(image.state, facility)}`;

/** Fewer letters may be anything with two typos. */
const closeLetters = 6;

function fieldsOf(index: SearchIndex, { matches, phrases }: Term, document: number): number {
  const words = new Set(matches.map((match) => match >>> levelBits));
  const phrase = phrases.get(document);
  let fields = phrase === undefined ? 0 : 1 << (phrase & fieldMask);
  for (let at = index.tokenStart[document]; at < index.tokenStart[document + 1]; at++)
    if (words.has(index.tokens[at] >>> fieldBits)) fields |= 1 << (index.tokens[at] & fieldMask);
  return fields;
}
