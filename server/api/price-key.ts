import { type Image, stateCodes, stateGroup, stateIndex } from "../../engine/query.ts";

/** Reads and writes price queries as one number. */

/**
 * A price query as one number: its group in the image and its limit. The form that nearly all clients send,
 * `procedure=` and four digits, then perhaps `&state=` and two capitals, then perhaps `&limit=` and a number, is read
 * without a string made on the way, as reading it like any other would cost as much as its answer.
 */

export const maxLimit = 50;
export const defaultLimit = 25;
/** Above any limit. */
const limitBase = 64;
const [digitZero, letterA] = [48, 65];
const letters = 26;

/** A state's place among a procedure's groups, by its two letters; −1 for none. */
const stateOfLetters = new Int8Array(letters * letters).fill(-1);
for (const [code, place] of stateIndex)
  stateOfLetters[(code.charCodeAt(0) - letterA) * letters + code.charCodeAt(1) - letterA] = place;

/** @returns the key; −1 where the query is in another form or has no answer */
export function readPriceKey(image: Image, query: string): number {
  if (!query.startsWith("procedure=")) return -1;
  let at = "procedure=".length;
  let code = 0;
  for (const end = at + 4; at < end; at++) {
    const digit = query.charCodeAt(at) - digitZero;
    if (!(digit >= 0 && digit <= 9)) return -1;
    code = 10 * code + digit;
  }
  const procedure = image.procedureOfNumber[code];
  if (procedure < 0) return -1;

  let group = procedure;
  if (query.startsWith("&state=", at)) {
    const first = query.charCodeAt(at + 7) - letterA;
    const second = query.charCodeAt(at + 8) - letterA;
    if (!(first >= 0 && first < letters && second >= 0 && second < letters)) return -1;
    const state = stateOfLetters[first * letters + second];
    if (state < 0) return -1;
    group = stateGroup(image, procedure, state);
    at += 9;
  }
  if (image.groupStart[group] === image.groupStart[group + 1]) return -1;

  let limit = defaultLimit;
  if (query.startsWith("&limit=", at)) {
    limit = 0;
    for (at += 7; at < query.length; at++) {
      const digit = query.charCodeAt(at) - digitZero;
      if (!(digit >= 0 && digit <= 9)) return -1;
      limit = 10 * limit + digit;
      if (limit === 0 || limit > maxLimit) return -1;
    }
    if (limit === 0) return -1;
  }
  return at === query.length ? priceKey(group, limit) : -1;
}

/** @param limit from 1 to `maxLimit` */
export function priceKey(group: number, limit: number): number {
  return group * limitBase + limit;
}

export function groupOfKey(key: number): number {
  return Math.floor(key / limitBase);
}

export function limitOfKey(key: number): number {
  return key % limitBase;
}

/** The query in the form that `readPriceKey` reads, with all that it leaves open. */
export function queryOfKey(image: Image, key: number): string {
  const group = groupOfKey(key);
  const place = group - image.procedures;
  const procedure = place < 0 ? group : Math.floor(place / stateCodes.length);
  const state = place < 0 ? "" : `&state=${stateCodes[place % stateCodes.length]}`;
  return `procedure=${image.codes[procedure]}${state}&limit=${limitOfKey(key)}`;
}
