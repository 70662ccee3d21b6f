/**
 * Says when a search's first match is surely meant. The pages' code uses this file in browsers, so the file imports
 * nothing.
 */

/** Minimum score of a match that is taken as meant. */
export const sureScore = 0.5;
/** Minimum lead of the first match's score over the second's, in thousandths, for the first alone to be meant. */
export const clearLead = 10;

/** Whether the first match alone is meant. @param scores of the matches, descending, from 0 to 1 with three decimals */
export function isFirstMeant([first = 0, second = 0]: readonly number[]): boolean {
  return first >= sureScore && Math.round(1000 * (first - second)) >= clearLead;
}
