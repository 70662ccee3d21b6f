import type { Image } from "../image/image.ts";
import { cityField, cityPartField, fieldBits, fieldMask, nameField, stateField } from "./fields.ts";
import { find, lowered, type Matches, nothing, type Wanted } from "./find.ts";
import { documentsWith, levelBits, type Term } from "./matching.ts";
import { type Nearby, nearbyIn } from "./near.ts";
import { termsOf } from "./terms.ts";
import { meaningOf } from "./text.ts";
import { indexOf, type SearchIndex } from "./text-index.ts";
import { genericWords } from "./vocabulary.ts";

/**
 * Finds the facilities around the place that a text names. If there are none, finds the facilities that match every
 * needed word of the text, or else all words but the unknown ones.
 */
export function findFacilities(image: Image, text: string, isWanted: Wanted): Matches {
  const index = indexOf(image, "facility");
  const nearby = nearbyIn(image, text);
  const near = nearby === undefined ? nothing : nearMatches(image, index, nearby, isWanted);
  if (near.total > 0) return near;
  const terms = termsOf(image, index, text);
  const found = find(index, terms, isWanted);
  return found.total > 0 ? found : withoutUnknownWords(index, terms, isWanted);
}

/** The nearest facilities come first. Each mile lowers the score by 0.01. */
function nearMatches(
  image: Image,
  index: SearchIndex,
  { rest, facilities, miles }: Nearby,
  isWanted: Wanted,
): Matches {
  const terms = termsOf(image, index, rest);
  const isAsked = terms.some(({ isNeeded, word }) => isNeeded && !genericWords.facility.has(meaningOf(word)));
  const asked = new Set(isAsked ? find(index, terms, isWanted).documents : facilities.filter(isWanted));
  const found = [...facilities.keys()].filter((i) => asked.has(facilities[i]));
  return {
    total: found.length,
    documents: Uint32Array.from(found, (i) => facilities[i]),
    scores: found.map((i) => Math.round(1000 - 10 * miles[i]) / 1000),
  };
}

/**
 * Leaves out the needed words that no document has, such as a part of a brand's name. The document that matches the
 * other words is found only if it is the sole match, and at least two words match: one in the document's name and one
 * in its place. Its score is lowered by the share of the words that were left out.
 */
function withoutUnknownWords(index: SearchIndex, terms: readonly Term[], isWanted: Wanted): Matches {
  const needed = terms.filter(({ isNeeded }) => isNeeded);
  const known = needed.filter((term) => documentsWith(index, term) > 0);
  if (known.length < 2 || known.length === needed.length) return nothing;
  const others = terms.filter((term) => !term.isNeeded || known.includes(term));
  const found = find(index, others, isWanted);
  if (found.total !== 1) return nothing;
  const fields = known.map((term) => fieldsOf(index, term, found.documents[0]));
  const isIn = (some: number) => fields.some((matched) => (matched & some) !== 0);
  if (!isIn(1 << nameField) || !isIn((1 << cityField) | (1 << cityPartField) | (1 << stateField)))
    return nothing;
  return lowered(found, known.length / needed.length);
}

function fieldsOf(index: SearchIndex, { matches }: Term, document: number): number {
  const words = new Set(matches.map((match) => match >>> levelBits));
  let fields = 0;
  for (let at = index.tokenStart[document]; at < index.tokenStart[document + 1]; at++)
    if (words.has(index.tokens[at] >>> fieldBits)) fields |= 1 << (index.tokens[at] & fieldMask);
  return fields;
}
