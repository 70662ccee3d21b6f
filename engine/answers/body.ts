import { utf8 } from "../encode.ts";
import type { Image } from "../image/image.ts";

const lastPage = Buffer.from(utf8("null}"));
const [quote, closingBrace] = [34, 125];

/**
 * Computes the length in bytes of a body's end, which has the source and the path of the next page.
 *
 * @param next path of the next page in ASCII; null on the last page
 */
export function endLength({ tail }: Image, next: Uint8Array | null): number {
  return tail.length + (next === null ? lastPage.length : next.length + 3);
}

/** Writes a body's end at `start`, and returns the position after it. `endLength` gives the length. */
export function writeEnd({ tail }: Image, next: Uint8Array | null, body: Buffer, start: number): number {
  let at = start + tail.copy(body, start);
  if (next === null) return at + lastPage.copy(body, at);
  body[at++] = quote;
  body.set(next, at);
  at += next.length;
  body[at++] = quote;
  body[at++] = closingBrace;
  return at;
}

export function room(length: number, scratch: Buffer): Buffer {
  return length <= scratch.length ? scratch.subarray(0, length) : Buffer.allocUnsafe(length);
}
