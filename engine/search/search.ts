import type { Image } from "../image/image.ts";
import { read } from "./asked.ts";
import { findFacilities } from "./facilities.ts";
import { find, inOrder, type Matches, nothing, pricedIn } from "./find.ts";
import { matchedBy } from "./matched.ts";
import { otherCodeIn } from "./other-codes.ts";
import { termsIn } from "./procedure-terms.ts";
import type { Absent } from "./procedure-words.ts";
import { findProcedures } from "./procedures.ts";
import { termsOf } from "./terms.ts";
import { type DocumentKind, indexOf } from "./text-index.ts";

/*
 * A search finds the words of the index that match each word of the query (`terms.ts`, `matching.ts`), intersects their
 * documents (`find.ts`), scores every document that is left (`scoring.ts`), and sorts them. A directory has a few
 * thousand facilities and words, so all of this takes less than a millisecond, and typos are found by comparing words of
 * about the same length, without tables of n-grams or deletions.
 *
 * No library matches words that are written apart or together: MiniSearch, Lucene and Tantivy don't.
 */

/**
 * Finds a page of the documents with prices that match every significant word of a text: exactly, by prefix, with a few
 * typos, or written apart or together. The documents are ordered by their worst match, then by how well and in which
 * fields the words match, and what part of the name they make up. A document whose code or unofficial name is in the
 * text comes first. `findFacilities` and `findProcedures` have other rules.
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
): Matches {
  const asked = read(image, kind, text);
  if (otherCodeIn(asked.text) !== undefined) return nothing;
  const isWanted = pricedIn(image, kind, state);
  const index = indexOf(image, kind);
  const pageOf = (matches: Matches) => partOf(inOrder(index, matches), offset, limit);
  if (kind === "facility") return pageOf(findFacilities(image, asked.words, isWanted));
  const terms = termsOf(image, index, asked.words);
  const page = pageOf(findProcedures(image, asked, terms, isWanted));
  return {
    ...page,
    matched: matchedBy(image, terms, page.documents),
    place: asked.place,
    ignored: [...asked.ignored, ...(page.ignored ?? [])],
  };
}

function partOf(matches: Matches, offset: number, limit: number): Matches {
  const end = offset + limit;
  const { documents, scores } = matches;
  return { ...matches, documents: documents.slice(offset, end), scores: scores.slice(offset, end) };
}

/** Names what a search asks for by words or codes and this data can't have, whatever else is found. */
export function absentIn(image: Image, text: string): readonly Absent[] {
  const { words, ignored } = read(image, "procedure", text);
  return termsIn([...words, ...ignored.map((word) => word.toLowerCase())]).named;
}

/** Finds the facilities or procedures without prices that match a text. Returns their positions, best first. */
export function unpricedMatches(image: Image, kind: DocumentKind, text: string): Uint32Array {
  const index = indexOf(image, kind);
  const isPriced = pricedIn(image, kind, null);
  const terms = termsOf(image, index, read(image, kind, text).words);
  return find(index, terms, (document) => !isPriced(document)).documents;
}
