import type { TextColumn } from "./encode.ts";

/**
 * Finds the first position from `start` on for which `isBefore` is false. Returns `end` if there is none.
 * O(log positions).
 */
export function firstNotBefore(start: number, end: number, isBefore: (position: number) => boolean): number {
  let low = start;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Finds the texts with a prefix among texts in byte order. `start` is the position of the first such text, `end` the
 * position after the last. The two are equal if there is no such text.
 */
export function withPrefix(texts: TextColumn, prefix: Uint8Array): { start: number; end: number } {
  const { offsets, bytes } = texts;
  const count = offsets.length - 1;
  /** 0 if the text has the prefix, below 0 if the text is before all texts with the prefix, above 0 otherwise. */
  const compared = (i: number) => {
    const end = offsets[i + 1];
    for (let at = offsets[i], n = 0; n < prefix.length; at++, n++) {
      if (at === end) return -1;
      if (bytes[at] !== prefix[n]) return bytes[at] - prefix[n];
    }
    return 0;
  };
  const start = firstNotBefore(0, count, (i) => compared(i) < 0);
  let end = start;
  while (end < count && compared(end) === 0) end++;
  return { start, end };
}
