import { utf8 } from "./encode.ts";
import type { Image } from "./image.ts";

const lastPage = utf8("null}");

/** How many rows a group has, from `findGroup`. */
export function groupSize(image: Image, group: number): number {
  return image.groupStart[group + 1] - image.groupStart[group];
}

/**
 * The answer to a price query: the JSON of the summary over the whole group and some of its rows.
 *
 * @param group from `findGroup`
 * @param limit most rows to give, at least 1
 * @param offset rows to leave out, below `groupSize`
 * @param next path of the next page, plain ASCII
 * @returns a copy of its own, outside shared memory
 */
export function encodePrices(
  image: Image,
  group: number,
  limit: number,
  offset = 0,
  next: string | null = null,
): Uint8Array<ArrayBuffer> {
  const first = image.groupStart[group] + offset;
  const last = Math.min(first + limit, image.groupStart[group + 1]);
  const headAt = image.headStart[group];
  const headLength = image.headStart[group + 1] - headAt;
  const rowsAt = image.rowStart[first];
  const rowsLength = image.rowStart[last] - 1 - rowsAt; // without the last row's comma
  const end = next === null ? lastPage : utf8(`"${next}"}`);

  const body = new Uint8Array(headLength + rowsLength + image.tail.length + end.length);
  body.set(image.heads.subarray(headAt, headAt + headLength));
  body.set(image.rows.subarray(rowsAt, rowsAt + rowsLength), headLength);
  body.set(image.tail, headLength + rowsLength);
  body.set(end, headLength + rowsLength + image.tail.length);
  return body;
}
