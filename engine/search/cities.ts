import type { Image } from "../image/image.ts";
import { findWord } from "./dictionary.ts";
import { nextOf, withWords } from "./documents.ts";
import { citiesOf, cityField, fieldBits, indexWords } from "./text.ts";

/** The facilities in the cities of a name, compared without case, accents, abbreviations and spaces. */
export function facilitiesInCity(image: Image, city: string): Set<number> {
  const index = image.documents.facility;
  const { tokenStart, tokens, documentOf, nameRank, byName } = index;
  const end = documentOf.length;
  const facilities = new Set<number>();
  for (const name of citiesOf(indexWords(city).join(""))) {
    const word = findWord(index, name);
    if (word < 0) continue;
    const having = withWords(index, [word]);
    for (
      let document = nextOf(having, 0, end);
      document < end;
      document = nextOf(having, document + 1, end)
    ) {
      const own = tokens.subarray(tokenStart[document], tokenStart[document + 1]);
      if (own.includes((word << fieldBits) | cityField)) facilities.add(byName[nameRank[document]]);
    }
  }
  return facilities;
}
