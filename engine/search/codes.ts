import { findCode } from "../answers/facilities.ts";
import type { Image } from "../image/image.ts";
import { hcpcsPattern } from "../snapshot/schema.ts";
import { splitWords } from "./text.ts";

/** The procedure group that includes a HCPCS code, in small or capital letters, or −1. O(log codes). */
export function procedureIncluding({ hcpcs, hcpcsProcedure }: Image, word: string): number {
  const code = word.toUpperCase();
  const found = hcpcsPattern.test(code) ? findCode(hcpcs, code) : -1;
  return found < 0 ? -1 : hcpcsProcedure[found];
}

/** The first word of a text that looks like a HCPCS or CPT code, in capitals; undefined if no word does. */
export function hcpcsCodeIn(text: string): string | undefined {
  return splitWords(text)
    .map((word) => word.toUpperCase())
    .find((word) => hcpcsPattern.test(word));
}
