import type { Image } from "../image/image.ts";
import { endLength, room, writeEnd } from "./body.ts";

const none = Buffer.alloc(0);

/**
 * Writes the summary of the whole group and one page of its rows.
 *
 * @param group from `findGroup`
 * @param limit maximum number of rows, at least 1
 * @param offset number of rows to skip, less than `groupSize`
 * @param next path of the next page in ASCII; null on the last page
 * @returns the bytes, in `scratch` if they fit, otherwise in a new buffer
 */
export function encodePrices(
  image: Image,
  group: number,
  limit: number,
  offset = 0,
  next: Uint8Array | null = null,
  scratch: Buffer = none,
): Buffer {
  const first = image.groupStart[group] + offset;
  const last = Math.min(first + limit, image.groupStart[group + 1]) - 1;
  const headAt = image.headStart[group];
  const headEnd = image.headEnd[group];
  const rowsAt = offset === 0 ? headEnd : image.rowEnd[first - 1] + 1;
  const rowsEnd = image.rowEnd[last];

  const body = room(headEnd - headAt + rowsEnd - rowsAt + endLength(image, next), scratch);
  const { answers } = image;
  let at: number;
  // In the image, the first page's rows follow the head, so one copy is enough.
  if (offset === 0) at = answers.copy(body, 0, headAt, rowsEnd);
  else {
    at = answers.copy(body, 0, headAt, headEnd);
    at += answers.copy(body, at, rowsAt, rowsEnd);
  }
  writeEnd(image, next, body, at);
  return body;
}
