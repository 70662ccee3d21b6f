import { findCode } from "../answers/facilities.ts";
import type { Image } from "../image/image.ts";
import { hcpcsPattern } from "../snapshot/schema.ts";
import { plainWordsOf } from "./procedure-words.ts";
import { splitWords } from "./text.ts";

/** Finds codes in searches: HCPCS and CPT codes, and those of other systems. */

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

export function isHcpcsCode(word: string): boolean {
  return hcpcsPattern.test(word.toUpperCase());
}

/** Returns the first word that looks like a HCPCS or CPT code, in capitals, or undefined if there is none. */
export function hcpcsCodeIn(text: string): string | undefined {
  return splitWords(text)
    .map((word) => word.toUpperCase())
    .find((word) => hcpcsPattern.test(word));
}

// The names of code systems are here and not in the lexicon, because they are parts of the codes' forms.
const drg = /\b(?:ms-?|apr-?)?drgs?[\s#:.-]*(?:code|number|no\.?)?\s*\d{1,3}\b/i;
const icd = /\bicd[\s-]?(?:9|10|11)(?:[\s-]?(?:cm|pcs))?\b|\bicd\s+codes?\b/i;
const diagnosis = /(?<![\w.])[a-tv-z]\d[\da-z]\.[\da-z]{1,4}(?![\w.])/gi;
const npi = /(?<!\d)[12]\d{9}(?!\d)/;

/**
 * Removes diagnosis codes that have a dot, such as M17.11, and with them a name such as ICD-10. A referral often has
 * such a code next to a procedure. Returns the rest of the text, and the codes in capitals.
 */
export function withoutDiagnoses(text: string): { rest: string; diagnoses: readonly string[] } {
  const diagnoses = (text.match(diagnosis) ?? []).map((code) => code.toUpperCase());
  return { rest: diagnoses.length === 0 ? text : text.replace(diagnosis, " ").replace(icd, " "), diagnoses };
}

/** Returns a sentence about a DRG, ICD codes or an NPI that a text seems to mean; undefined if it seems to mean none. */
export function otherCodeIn(text: string): string | undefined {
  const [group] = drg.exec(text) ?? [];
  if (group !== undefined)
    return `${group.toUpperCase()} is a DRG, which groups stays of inpatients; this data set has APCs, which group outpatient procedures`;
  if (icd.test(text) || text.search(diagnosis) >= 0)
    return "ICD codes name diagnoses and inpatient procedures; this data set has APCs, and search finds them by words, HCPCS or CPT codes";
  const [number] = npi.exec(text) ?? [];
  if (number !== undefined)
    return `${number} looks like an NPI, and this data set has hospitals by CCN, which has six characters; search by the hospital's name and city instead`;
  return undefined;
}
