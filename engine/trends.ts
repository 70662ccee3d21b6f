import type { Image } from "./image.ts";

/** How a procedure group went from one data year to another. Changes are in tenths of a percent. */

/** The change of a number above zero, rounded half up. */
export function changeOf(before: number, now: number): number {
  return Math.floor((2000 * (now - before) + before) / (2 * before));
}

/** The facilities that are in two groups, and the medians of their own changes. */
export interface Matched {
  facilities: number;
  charge: number;
  allowed: number;
}

/**
 * Compares the facilities that are in two groups of two images, by CCN. O(n log n).
 *
 * @returns null where no facility is in both
 */
export function matchGroups(before: Image, groupBefore: number, now: Image, group: number): Matched | null {
  const rowOf = new Map<number, number>();
  for (let i = before.groupStart[groupBefore]; i < before.groupStart[groupBefore + 1]; i++)
    rowOf.set(ccnNumber(before, before.order[i]), before.order[i]);
  const pairs: [before: number, now: number][] = [];
  for (let i = now.groupStart[group]; i < now.groupStart[group + 1]; i++) {
    const row = rowOf.get(ccnNumber(now, now.order[i]));
    if (row !== undefined) pairs.push([row, now.order[i]]);
  }
  if (pairs.length === 0) return null;
  return {
    facilities: pairs.length,
    charge: medianChange(pairs, before.charge, now.charge),
    allowed: medianChange(pairs, before.allowed, now.allowed),
  };
}

/** A row's CCN as a number: six characters of ASCII. */
function ccnNumber({ ccn: { offsets, bytes }, facility }: Image, row: number): number {
  let number = 0;
  for (let i = offsets[facility[row]]; i < offsets[facility[row] + 1]; i++) number = number * 256 + bytes[i];
  return number;
}

/** The median of fractions, of which the middle two are put on one denominator. Rounded once, half up, and exact. */
function medianChange(pairs: readonly [number, number][], before: Int32Array, now: Int32Array): number {
  const changes = pairs
    .map(([from, to]) => ({ before: before[from], now: now[to], ratio: now[to] / before[from] }))
    .sort((a, b) => a.ratio - b.ratio);
  const [low, high] = [changes[(changes.length - 1) >> 1], changes[changes.length >> 1]];
  const [a, b, c, d] = [low.now, low.before, high.now, high.before].map(BigInt);
  const twice = a * d + c * b - 2n * b * d;
  return Number(floorDivided(1000n * twice + b * d, 2n * b * d));
}

function floorDivided(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return dividend < quotient * divisor ? quotient - 1n : quotient;
}
