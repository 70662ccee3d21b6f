import { endLength, room, writeEnd } from "../answers/body.ts";
import type { Image } from "../image/image.ts";
import type { DocumentKind } from "./documents.ts";
import type { Matches } from "./search.ts";

/**
 * Writes a search's answer as JSON outside shared memory: in `out` if that is surely long enough, otherwise in new
 * memory.
 *
 * @param head JSON up to the first row
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
  const ends = Array.from(documents, (_, i) => endOfRow(matched?.[i] ?? []));
  let most = ends.reduce((sum, { length }) => sum + length, 3 * head.length + endLength(image, next));
  for (const document of documents) most += offsets[document + 1] - offsets[document] + maxScoreLength + 1;
  const body = room(most, out);
  let at = body.write(head);
  for (let i = 0; i < documents.length; i++) {
    if (i > 0) body[at++] = comma;
    at += bytes.copy(body, at, offsets[documents[i]], offsets[documents[i] + 1]);
    at += body.write(String(scores[i]), at, "latin1");
    at += ends[i].copy(body, at);
  }
  return body.subarray(0, writeEnd(image, next, body, at));
}

function endOfRow(matched: readonly string[]): Buffer {
  return matched.length === 0 ? plainEnd : Buffer.from(`,"matched":${JSON.stringify(matched)}}`);
}

const plainEnd = Buffer.of(125);
const comma = 44;
const maxScoreLength = 5;
