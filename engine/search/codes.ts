import { findCode } from "../answers/facilities.ts";
import type { Image } from "../image/image.ts";
import { hcpcsPattern } from "../snapshot/schema.ts";
import { splitWords } from "./text.ts";

/** −1 if no group includes the code. O(log codes). */
export function procedureIncluding({ hcpcs, hcpcsProcedure }: Image, word: string): number {
  const code = word.toUpperCase();
  const found = hcpcsPattern.test(code) ? findCode(hcpcs, code) : -1;
  return found < 0 ? -1 : hcpcsProcedure[found];
}

/** undefined if no word looks like a HCPCS or CPT code */
export function hcpcsCodeIn(text: string): string | undefined {
  return splitWords(text)
    .map((word) => word.toUpperCase())
    .find((word) => hcpcsPattern.test(word));
}
