import { textAt } from "../image/image.ts";
import { levelBits, matchPrefix, matchTypos, type Term } from "./matching.ts";
import { meaningOf } from "./text.ts";
import type { SearchIndex } from "./text-index.ts";
import { fillerWords, genericWords, questionWords } from "./vocabulary.ts";

const sayNothing = (word: string) =>
  fillerWords.has(word) || questionWords.has(word) || genericWords.facility.has(meaningOf(word));

/** Words that aren't the beginning of another word. */
const wordsForHospital: ReadonlySet<string> = new Set(
  "the hospital hospitals medical center centers centre clinic clinics regional".split(" "),
);
/** From this letter on, a word is found by its beginning also where the beginning is a word that says nothing. */
const begunLetters = 3;

/**
 * If all words of a query say nothing, its last word may be the beginning of a word that says something: `for` of Fort,
 * `corp` of Corpus Christi. If the word was corrected, it may mean another word: `centea` of Centra.
 */
export function matchBegun(index: SearchIndex, term: Term, typed: string): void {
  const { word } = term;
  const isCorrected = typed !== word;
  if (isCorrected) matchTypos(index, term, typed);
  else if (word.length < begunLetters || wordsForHospital.has(word)) return;
  else matchPrefix(index, Buffer.from(word), [term]);
  const isLonger = (match: number) => {
    const found = textAt(index.words, match >>> levelBits);
    return found !== word && !sayNothing(found);
  };
  const longer = term.matches.filter(isLonger);
  if (longer.length > 0 || isCorrected || genericWords.facility.has(word)) term.matches = longer;
  term.isNeeded = term.matches.length > 0;
}
