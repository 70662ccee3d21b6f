import { encodeText, type TextColumn } from "../encode.ts";
import { DataError } from "../errors.ts";
import { type HcpcsCode, stateNames } from "../snapshot/schema.ts";
import { ascending, type TableParts } from "../snapshot/table.ts";
import { entriesOf, fillers, kinds, phrasesOf } from "./lexicon.ts";
import { genericWords, plainWordsOf } from "./procedure-words.ts";
import {
  indexWords,
  initialsOf,
  literalWords,
  meaningOf,
  otherNameWords,
  procedureWords,
  splitWords,
} from "./text.ts";

/** Makes the words of facilities and procedures, as the image has them. */

/**
 * Fields of a document's words. `fillerField` has weak words of the name. `repeatField` has repeated words of the name,
 * and other forms in which the name and the city may be written. `cityField` and `stateField` have a place's whole name
 * as one word, and `stateField` also the state's code. `cityPartField` and `statePartField` have the words of a place's
 * name that consists of several words. `beyondField` has other words, such as ZIP codes.
 */
export const [
  nameField,
  fillerField,
  repeatField,
  cityField,
  stateField,
  cityPartField,
  statePartField,
  beyondField,
] = [0, 1, 2, 3, 4, 5, 6, 7];
/**
 * Field of words from the descriptors of codes. Procedures have no places, so this field has the number of
 * `statePartField`.
 */
export const describedField = statePartField;
/** A token is a word with its field: word << fieldBits | field. */
export const fieldBits = 3;
export const fieldMask = (1 << fieldBits) - 1;
/** Marks the start of each term among a procedure's words. No word of a query equals this text. */
export const termStart = ",";

type Document = { words: readonly string[]; field: number }[];

interface Tokens {
  words: TextColumn;
  tokenStart: Uint32Array;
  tokens: Uint32Array;
}

/** Estimates of heap bytes, for `checkHeap`. */
const bytesPerDocument = 512;
const bytesPerCharacter = 16;
const bytesPerWord = 64;
const bytesPerDistinctWord = 640;

type Facilities = TableParts["facilities"];
type Procedures = TableParts["procedures"];
type WordsOf = (text: string) => { written: string[]; meant: string[]; literal: string[] };

/**
 * Returns a function that splits a text into words. The words are cached, because facilities share cities and states,
 * and names are needed several times.
 */
export function wordsByText(): WordsOf {
  const known = new Map<string, ReturnType<WordsOf>>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const written = splitWords(text);
    const words = { written, meant: written.map(meaningOf), literal: literalWords(text) };
    known.set(text, words);
    return words;
  };
}

/** Estimates the heap bytes of texts and their words. @throws DataError when the estimate exceeds `maxBytes` */
export function checkHeap(
  version: string,
  facilities: Facilities,
  procedures: Procedures,
  included: readonly HcpcsCode[][],
  maxBytes: number,
  wordsOf: WordsOf,
): void {
  const words = new Set<string>();
  const { street, zip, ruralUrbanCode, ruralUrbanDescription } = facilities;
  let bytes = [street, zip, ruralUrbanCode, ruralUrbanDescription]
    .flatMap((texts) => [...new Set(texts)])
    .reduce((sum, text) => sum + text.length * bytesPerCharacter, 0);
  const count = (texts: string[], extra: number) => {
    for (const text of texts) {
      bytes += extra + text.length * bytesPerCharacter;
      for (const word of wordsOf(text).meant) {
        bytes += bytesPerWord + (words.has(word) ? 0 : bytesPerDistinctWord) + word.length;
        words.add(word);
      }
      if (bytes > maxBytes)
        throw new DataError(`texts of ${version}`, `${bytes} bytes or more`, `at most ${maxBytes}`);
    }
  };
  count(facilities.name, bytesPerDocument);
  count(facilities.city, 0);
  count(facilities.zip, 0);
  count(procedures.name, bytesPerDocument);
  count(
    included.flat().map(({ description }) => description),
    0,
  );
}

/** CCN → the words of a hospital's unofficial names and of its systems. */
const wordsBesideName = Map.groupBy(
  ["hospital", "system"].flatMap((kind) =>
    entriesOf(kind).flatMap(({ what, phrases }) =>
      what.split(" ").map((ccn) => ({ ccn, words: phrases.flatMap(indexWords) })),
    ),
  ),
  ({ ccn }) => ccn,
);

/** Words of names that tell little about the hospital. */
export const weakWords: ReadonlySet<string> = new Set([...fillers, ...kinds, ...phrasesOf("weak")]);

export function facilityDocuments(facilities: Facilities, wordsOf: WordsOf) {
  const initials = unambiguousInitials(facilities, wordsOf);
  return documentsOf(facilities.name, (i) => {
    const name = wordsOf(facilities.name[i]);
    const city = wordsOf(facilities.city[i]);
    const state = wordsOf(stateNames[facilities.state[i]] ?? "");
    const beside = (wordsBesideName.get(facilities.ccn[i]) ?? []).flatMap(({ words }) => words);
    return [
      { words: name.meant, field: nameField },
      { words: otherNameWords(name.meant), field: nameField },
      // The words of `meant` are long forms. The written words are added, so that their beginnings are found, too.
      { words: otherForms(name), field: repeatField },
      { words: otherForms(city), field: repeatField },
      { words: beside, field: beyondField },
      { words: initials[i], field: beyondField },
      ...placeWordsOf(city.meant, cityField, cityPartField),
      { words: [facilities.state[i].toLowerCase()], field: stateField },
      ...placeWordsOf(state.meant, stateField, statePartField),
      { words: wordsOf(facilities.zip[i]).meant, field: beyondField },
    ];
  });
}

const otherForms = ({ written, meant, literal }: ReturnType<WordsOf>) =>
  [...new Set([...written, ...literal])].filter((word) => !meant.includes(word));

/** A name of several words is also added as one word, such as `newyork`. */
function placeWordsOf(words: string[], whole: number, part: number): Document {
  if (words.length === 1) return [{ words, field: whole }];
  return [
    { words, field: part },
    { words: [words.join("")], field: whole },
  ];
}

/** Maximum facilities with the same initials. So few facilities can be distinguished by their cities. */
const mostWithInitials = 3;

/** Returns the initials of each name, without those that too many facilities share or that are a word of a name or city. */
function unambiguousInitials({ name, city }: Facilities, wordsOf: WordsOf): string[][] {
  const all = name.map((text) => initialsOf(wordsOf(text).written));
  const counts = new Map<string, number>();
  for (const initials of all)
    for (const letters of initials) counts.set(letters, (counts.get(letters) ?? 0) + 1);
  for (const text of [...name, ...city]) for (const word of wordsOf(text).meant) counts.delete(word);
  return all.map((initials) =>
    initials.filter((letters) => (counts.get(letters) ?? Infinity) <= mostWithInitials),
  );
}

/** @param included the HCPCS codes of each procedure */
export function procedureDocuments(procedures: Procedures, included: readonly HcpcsCode[][]) {
  return documentsOf(procedures.name, (i) => {
    const name = procedureWords(procedures.name[i]);
    const terms = plainWordsOf[procedures.code[i]]?.terms ?? [];
    const plain = terms.flatMap((term) => [termStart, ...procedureWords(term)]);
    // Generic words, and words of names and terms, are left out, because they would only change the order of matches.
    const others = new Set([...name, ...plain, ...genericWords]);
    const described = new Set(included[i].flatMap(({ description }) => procedureWords(description)));
    return [
      { words: name, field: nameField },
      { words: plain, field: beyondField },
      { words: [...described].filter((word) => !others.has(word)), field: describedField },
    ];
  });
}

function documentsOf(names: string[], documentOf: (i: number) => Document) {
  return {
    ...tokensOf(names.map((_, i) => documentOf(i))),
    byName: Uint32Array.from(ascending(names)),
  };
}

/** Replaces the words of documents by their positions among all words. O(words · log words). */
function tokensOf(documents: readonly Document[]): Tokens {
  const all = new Set(documents.flatMap((document) => document.flatMap(({ words }) => words)));
  const sorted = Array.from(all, (word) => ({ word, bytes: Buffer.from(word) }))
    .sort((a, b) => a.bytes.compare(b.bytes))
    .map(({ word }) => word);
  const positionOf = new Map(sorted.map((word, i) => [word, i]));
  const tokenStart = new Uint32Array(documents.length + 1);
  const tokens: number[] = [];
  for (const [i, document] of documents.entries()) {
    const known = new Set<string>();
    for (const { words, field } of document)
      for (const word of words) {
        const here = field === nameField ? nameFieldOf(word, known.has(word)) : field;
        tokens.push(((positionOf.get(word) ?? 0) << fieldBits) | here);
        known.add(word);
      }
    tokenStart[i + 1] = tokens.length;
  }
  return { words: encodeText(sorted), tokenStart, tokens: Uint32Array.from(tokens) };
}

function nameFieldOf(word: string, isRepeated: boolean): number {
  return isRepeated ? repeatField : weakWords.has(word) ? fillerField : nameField;
}
