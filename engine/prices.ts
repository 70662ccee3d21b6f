import type { Image } from "./image.ts";

const none = Buffer.alloc(0);

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
 * @param scratch where to write it, if it fits there
 * @returns a copy outside shared memory: the start of `scratch`, or memory of its own
 */
export function encodePrices(
  image: Image,
  group: number,
  limit: number,
  offset = 0,
  next: string | null = null,
  scratch: Buffer = none,
): Buffer {
  const first = image.groupStart[group] + offset;
  const last = Math.min(first + limit, image.groupStart[group + 1]);
  const headAt = image.headStart[group];
  const headEnd = image.headStart[group + 1];
  const rowsAt = image.rowStart[first];
  const rowsEnd = image.rowStart[last] - 1; // without the last row's comma
  const tail = image.tail;
  const end = next === null ? "null}" : `"${next}"}`;

  const length = headEnd - headAt + rowsEnd - rowsAt + tail.length + end.length;
  const body = length <= scratch.length ? scratch.subarray(0, length) : Buffer.allocUnsafe(length);
  // Buffer's copy is one move of memory; a typed array's set() from shared memory goes word by word.
  let at = buffers(image.heads).copy(body, 0, headAt, headEnd);
  at += buffers(image.rows).copy(body, at, rowsAt, rowsEnd);
  at += buffers(tail).copy(body, at);
  body.write(end, at, "latin1");
  return body;
}

const bufferOf = new WeakMap<Uint8Array, Buffer>();

/** The same bytes as a Buffer; made once for each section. */
function buffers(section: Uint8Array): Buffer {
  let buffer = bufferOf.get(section);
  if (buffer === undefined) {
    buffer = Buffer.from(section.buffer, section.byteOffset, section.length);
    bufferOf.set(section, buffer);
  }
  return buffer;
}
