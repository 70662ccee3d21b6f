import type { Image } from "../image/image.ts";
import { findWord } from "./dictionary.ts";
import { nextOf, withWords } from "./documents.ts";
import { cityField, cityOf, fieldBits, indexWords } from "./text.ts";

/** The facilities in the cities of a name, compared without case, accents, abbreviations and spaces. */
export function facilitiesInCity(image: Image, city: string): Set<number> {
  const index = image.documents.facility;
  const { tokenStart, tokens, documentOf, nameRank, byName } = index;
  const facilities = new Set<number>();
  const word = findWord(index, cityOf(indexWords(city).join("")));
  if (word < 0) return facilities;
  const having = withWords(index, [word]);
  const end = documentOf.length;
  for (let document = nextOf(having, 0, end); document < end; document = nextOf(having, document + 1, end)) {
    const own = tokens.subarray(tokenStart[document], tokenStart[document + 1]);
    if (own.includes((word << fieldBits) | cityField)) facilities.add(byName[nameRank[document]]);
  }
  return facilities;
}
