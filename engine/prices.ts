import type { Image } from "./image.ts";

/**
 * The answer to a price query: the JSON of the summary over the whole group and its first rows.
 *
 * @param group from `findGroup`
 * @param limit most rows to give, at least 1
 * @returns a copy of its own, outside shared memory
 */
export function encodePrices(image: Image, group: number, limit: number): Uint8Array<ArrayBuffer> {
  const first = image.groupStart[group];
  const last = Math.min(first + limit, image.groupStart[group + 1]);
  const headAt = image.headStart[group];
  const headEnd = image.headStart[group + 1];
  const rowsAt = image.rowStart[first];
  const rowsEnd = image.rowStart[last] - 1; // without the last row's comma
  const headLength = headEnd - headAt;
  const body = new Uint8Array(headLength + rowsEnd - rowsAt + image.tail.length);
  body.set(image.heads.subarray(headAt, headEnd));
  body.set(image.rows.subarray(rowsAt, rowsEnd), headLength);
  body.set(image.tail, headLength + rowsEnd - rowsAt);
  return body;
}
