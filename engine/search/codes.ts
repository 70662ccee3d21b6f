import { findCode } from "../answers/facilities.ts";
import type { Image } from "../image/image.ts";
import { hcpcsPattern } from "../snapshot/schema.ts";
import { plainWordsOf } from "./procedure-words.ts";
import { splitWords } from "./text.ts";

/**
 * Finds the procedure group that includes a HCPCS code, in small or capital letters. Returns its position, or −1 if
 * there is none. O(log codes).
 */
export function procedureIncluding({ hcpcs, hcpcsProcedure }: Image, word: string): number {
  const code = word.toUpperCase();
  const found = hcpcsPattern.test(code) ? findCode(hcpcs, code) : -1;
  return found < 0 ? -1 : hcpcsProcedure[found];
}

const vocabularyCodes = new Map(
  Object.entries(plainWordsOf).flatMap(([group, { codes }]) =>
    codes.map((code): [string, string] => [code, group]),
  ),
);

/**
 * Returns the APC code of the procedure group that includes a HCPCS code, by the image's codes or else by the
 * vocabulary of searches; undefined if neither has the code. The image may lack the group. @param code in capitals
 */
export function groupOfCode(image: Image, code: string): string | undefined {
  const procedure = procedureIncluding(image, code);
  return procedure < 0 ? vocabularyCodes.get(code) : image.codes[procedure];
}

/** Tells whether a word looks like a HCPCS or CPT code, in small or capital letters. */
export function isHcpcsCode(word: string): boolean {
  return hcpcsPattern.test(word.toUpperCase());
}

/** Returns the first word that looks like a HCPCS or CPT code, in capitals, or undefined if there is none. */
export function hcpcsCodeIn(text: string): string | undefined {
  return splitWords(text)
    .map((word) => word.toUpperCase())
    .find((word) => hcpcsPattern.test(word));
}
