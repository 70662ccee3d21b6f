import type { Image } from "../image/image.ts";
import { findFacilities } from "./facilities.ts";
import { find, type Matches, pricedIn } from "./find.ts";
import { matchedBy } from "./matched.ts";
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
  const isWanted = pricedIn(image, kind, state);
  if (kind === "facility") return pageOf(findFacilities(image, text, isWanted), offset, limit);
  const index = indexOf(image, kind);
  const terms = termsOf(image, index, text);
  const page = pageOf(findProcedures(index, terms, text, isWanted), offset, limit);
  return { ...page, matched: matchedBy(image, terms, page.documents) };
}

function pageOf({ total, documents, scores }: Matches, offset: number, limit: number): Matches {
  const end = offset + limit;
  return { total, documents: documents.slice(offset, end), scores: scores.slice(offset, end) };
}

/** Finds the facilities or procedures without prices that match a text. Returns their positions, best first. */
export function unpricedMatches(image: Image, kind: DocumentKind, text: string): Uint32Array {
  const index = indexOf(image, kind);
  const isPriced = pricedIn(image, kind, null);
  return find(index, termsOf(image, index, text), (document) => !isPriced(document)).documents;
}
