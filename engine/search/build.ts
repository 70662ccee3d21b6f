import { DataError } from "../errors.ts";
import { type HcpcsCode, stateNames } from "../snapshot/schema.ts";
import { ascending, type TableParts } from "../snapshot/table.ts";
import {
  beyondField,
  cityField,
  cityPartField,
  describedField,
  nameField,
  repeatField,
  stateField,
  statePartField,
  termStart,
} from "./fields.ts";
import { wordsBesideName } from "./other-names.ts";
import { plainWordsOf } from "./procedure-words.ts";
import { initialsOf, meaningOf, otherNameWords, procedureWords, splitWords } from "./text.ts";
import { type Document, placeWordsOf, tokensOf } from "./tokens.ts";
import { directions, genericWords, sharedStateWords } from "./vocabulary.ts";

/** Estimated heap bytes, like the constants below. */
const bytesPerDocument = 512;
const bytesPerCharacter = 16;
const bytesPerWord = 64;
/** Added to `bytesPerWord`. */
const bytesPerDistinctWord = 640;

type Facilities = TableParts["facilities"];
type Procedures = TableParts["procedures"];
type WordsOf = (text: string) => { written: string[]; meant: string[] };

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
    const words = { written, meant: written.map(meaningOf) };
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

/** Returns the words of the facilities as the image has them. */
export function facilityDocuments(facilities: Facilities, wordsOf: WordsOf) {
  const initials = unambiguousInitials(facilities, wordsOf);
  return documentsOf(facilities.name, (i) => {
    const name = wordsOf(facilities.name[i]);
    const city = wordsOf(facilities.city[i]);
    return [
      { words: name.meant, field: nameField },
      { words: otherNameWords(name.meant).filter((word) => !directions.has(word)), field: nameField },
      // The index has the long forms. With the written words, their prefixes are found too.
      { words: replacedWords(name), field: repeatField },
      { words: replacedWords(city), field: repeatField },
      { words: wordsBesideName(facilities.ccn[i]), field: beyondField },
      { words: initials[i], field: beyondField },
      ...placeWordsOf(city.meant, cityField, cityPartField),
      { words: [facilities.state[i].toLowerCase()], field: stateField },
      ...placeWordsOf(wordsOf(stateNames[facilities.state[i]]).meant, stateField, statePartField).map(
        ({ words, field }) => ({
          words: field === stateField ? words : words.filter((word) => !sharedStateWords.has(word)),
          field,
        }),
      ),
      { words: wordsOf(facilities.zip[i]).meant, field: beyondField },
    ];
  });
}

const replacedWords = ({ written, meant }: ReturnType<WordsOf>) =>
  written.filter((word, i) => meant[i] !== word);

/** Three facilities with the same initials can still be told apart by their cities. */
const mostWithInitials = 3;

/** Initials are left out if too many facilities share them, or if they are a word of a name or city. */
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

/** Returns the words of the procedures as the image has them. @param included the HCPCS codes of each procedure */
export function procedureDocuments(procedures: Procedures, included: readonly HcpcsCode[][]) {
  return documentsOf(procedures.name, (i) => {
    const name = procedureWords(procedures.name[i]);
    const terms = plainWordsOf[procedures.code[i]]?.terms ?? [];
    const plain = terms.flatMap((term) => [termStart, ...procedureWords(term)]);
    // Generic words and words of names and terms would only change the order of matches.
    const others = new Set([...name, ...plain, ...genericWords.procedure]);
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
