import { type Image, stateGroup, stateIndex } from "../../engine/query.ts";

/*
 * The price query in the form that nearly all clients send: `procedure=` and four digits, then perhaps `&state=` and
 * two capitals, then perhaps `&limit=` and a number. It is read without a string made on the way, as reading it like
 * any other would cost more than its answer. What is in another form, or has no answer, goes the general way.
 */

export const maxLimit = 50;
export const defaultLimit = 25;
/** Above any limit, so that a query is one whole number. */
const limitBase = 64;
const [digitZero, letterA] = [48, 65];
const letters = 26;

/** A state's place among a procedure's groups, by its two letters; −1 for none. */
const stateOfLetters = new Int8Array(letters * letters).fill(-1);
for (const [code, place] of stateIndex)
  stateOfLetters[(code.charCodeAt(0) - letterA) * letters + code.charCodeAt(1) - letterA] = place;

/** @returns the query as a number, for `groupOfUsual` and `limitOfUsual`; −1 where it isn't a usual one with an answer */
export function readUsual(image: Image, query: string): number {
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
  return at === query.length ? group * limitBase + limit : -1;
}

export function groupOfUsual(usual: number): number {
  return Math.floor(usual / limitBase);
}

export function limitOfUsual(usual: number): number {
  return usual % limitBase;
}
