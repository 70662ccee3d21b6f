import type { Image } from "../image/image.ts";
import { ratioPercentiles } from "../image/statistics.ts";

/** Computes the change from `before` to `now` in tenths of a percent, rounded half up. @param before above zero */
export function changeOf(before: number, now: number): number {
  return Math.floor((2000 * (now - before) + before) / (2 * before));
}

/** The number of facilities in both groups, and the median changes of their amounts in tenths of a percent. */
interface Matched {
  facilities: number;
  charge: number;
  allowed: number;
}

/**
 * Compares the facilities that the groups of two images have in common, matched by CCN. Returns null if there are none.
 * O(n log n).
 */
export function matchGroups(before: Image, groupBefore: number, now: Image, group: number): Matched | null {
  const [earlier, later] = [rowsByCcn(before, groupBefore), rowsByCcn(now, group)];
  const [earlierCcns, laterCcns] = [ccnNumbers(before, earlier), ccnNumbers(now, later)];
  const pairs: Pairs = { before: [], now: [] };
  for (let i = 0, j = 0; i < earlier.length && j < later.length; ) {
    const difference = earlierCcns[i] - laterCcns[j];
    if (difference === 0) {
      pairs.before.push(earlier[i]);
      pairs.now.push(later[j]);
    }
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
  if (pairs.now.length === 0) return null;
  return {
    facilities: pairs.now.length,
    charge: medianChange(pairs, before.charge, now.charge),
    allowed: medianChange(pairs, before.allowed, now.allowed),
  };
}

interface Pairs {
  before: number[];
  now: number[];
}

function rowsByCcn({ order, groupStart }: Image, group: number): Uint32Array {
  return order.slice(groupStart[group], groupStart[group + 1]).sort();
}

function ccnNumbers({ ccn: { offsets, bytes }, facility }: Image, rows: Uint32Array): Float64Array {
  const numbers = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) {
    const at = facility[rows[i]];
    for (let j = offsets[at]; j < offsets[at + 1]; j++) numbers[i] = numbers[i] * 256 + bytes[j];
  }
  return numbers;
}

/** The median change in tenths of a percent, rounded half up only at the end. */
function medianChange(pairs: Pairs, before: Int32Array, now: Int32Array): number {
  const dividends = pairs.now.map((row) => now[row]);
  const divisors = pairs.before.map((row) => before[row]);
  return ratioPercentiles(dividends, divisors, 1000)(50) - 1000;
}
