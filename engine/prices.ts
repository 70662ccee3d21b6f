import { utf8 } from "./encode.ts";
import type { Image } from "./image.ts";

const none = Buffer.alloc(0);
const lastPage = utf8("null}");
const [quote, closingBrace] = [34, 125];

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
  next: Uint8Array | null = null,
  scratch: Buffer = none,
): Buffer {
  const first = image.groupStart[group] + offset;
  const last = Math.min(first + limit, image.groupStart[group + 1]) - 1;
  const headAt = image.headStart[group];
  const headEnd = image.headEnd[group];
  // On a first page the rows follow the head as they are.
  const rowsAt = offset === 0 ? headEnd : image.rowEnd[first - 1] + 1;
  const rowsEnd = image.rowEnd[last];
  const tail = image.tail;

  const endLength = next === null ? lastPage.length : next.length + 3;
  const length = headEnd - headAt + rowsEnd - rowsAt + tail.length + endLength;
  const body = length <= scratch.length ? scratch.subarray(0, length) : Buffer.allocUnsafe(length);
  const answers = buffers(image.answers);
  // Buffer's copy is one move of memory; a typed array's set() from shared memory goes word by word.
  let at: number;
  if (offset === 0) at = answers.copy(body, 0, headAt, rowsEnd);
  else {
    at = answers.copy(body, 0, headAt, headEnd);
    at += answers.copy(body, at, rowsAt, rowsEnd);
  }
  at += buffers(tail).copy(body, at);
  if (next === null) body.set(lastPage, at);
  else {
    body[at] = quote;
    body.set(next, at + 1);
    body[length - 2] = quote;
    body[length - 1] = closingBrace;
  }
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
