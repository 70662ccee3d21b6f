import { bufferOf, endLength, room, writeEnd } from "../answers/body.ts";
import type { Image } from "../image/image.ts";
import type { DocumentKind } from "./documents.ts";
import type { Matches } from "./search.ts";

/**
 * The answer to a search: its rows, each with its score and perhaps the words by which it was found.
 *
 * @param head JSON up to the first row
 * @returns a copy outside shared memory: the start of `out`, or memory of its own
 */
export function encodeMatches(
  image: Image,
  kind: DocumentKind,
  { documents, scores, matched }: Matches,
  head: string,
  next: Uint8Array | null,
  out: Buffer,
): Buffer {
  const { offsets, bytes } = image.documents[kind].rows;
  const rows = bufferOf(bytes);
  let most = 3 * head.length + endLength(image, next);
  const ends = scores.map((score, i) => {
    const words = matched?.[i];
    return words === undefined ? `${score}}` : `${score},"matched":${JSON.stringify(words)}}`;
  });
  for (const [i, document] of documents.entries())
    most += offsets[document + 1] - offsets[document] + 3 * ends[i].length + 1;
  const body = room(most, out);
  let at = body.write(head);
  for (let i = 0; i < documents.length; i++) {
    if (i > 0) body[at++] = comma;
    at += rows.copy(body, at, offsets[documents[i]], offsets[documents[i] + 1]);
    at += body.write(ends[i], at);
  }
  return body.subarray(0, writeEnd(image, next, body, at));
}

const comma = 44;
