/**
 * Lends zeroed bytes to one search at a time. A new array as long as an index takes a few microseconds, and a search needs one for
 * each of its words, several times.
 */

const buffers: Uint8Array[] = [];
let lent = 0;

/** Most arrays that a thread keeps. Longer sentences get new ones. */
const mostBuffers = 32;

/** Takes back all bytes that the search before was lent. */
export function beginSearch(): void {
  lent = 0;
}

/** Returns at least `count` bytes, of which the first `count` are zero, until the next search begins. */
export function zeroBytes(count: number): Uint8Array {
  if (lent === mostBuffers) return new Uint8Array(count);
  const buffer = buffers[lent];
  if (buffer !== undefined && buffer.length >= count) buffer.fill(0, 0, count);
  else buffers[lent] = new Uint8Array(count);
  return buffers[lent++];
}
