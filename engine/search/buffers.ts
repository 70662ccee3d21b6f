/**
 * Lends zeroed bytes to one search at a time. A new array as long as an index takes a few microseconds, and a search
 * may need several for each of its words.
 */

const buffers: Uint8Array[] = [];
let lent = 0;

/** Maximum arrays that a thread keeps. A search that needs more arrays gets new arrays. */
const mostBuffers = 32;

export function beginSearch(): void {
  lent = 0;
}

/** Lends an array until the next search begins. It has at least `count` bytes, and the first `count` are zero. */
export function zeroBytes(count: number): Uint8Array {
  if (lent === mostBuffers) return new Uint8Array(count);
  const buffer = buffers[lent];
  if (buffer !== undefined && buffer.length >= count) buffer.fill(0, 0, count);
  else buffers[lent] = new Uint8Array(count);
  return buffers[lent++];
}
