import type { TextColumn } from "../encode.ts";
import { type Image, textAt } from "../image/image.ts";
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
 * O(facilities).
 */
export function matchGroups(before: Image, groupBefore: number, now: Image, group: number): Matched | null {
  const earlier = earlierOf(before, now);
  const rowBefore = new Int32Array(before.stateOf.length).fill(-1);
  for (const row of rowsOf(before, groupBefore)) rowBefore[before.facility[row]] = row;
  const pairs: Pairs = { before: [], now: [] };
  for (const row of rowsOf(now, group)) {
    const facility = earlier[now.facility[row]];
    if (facility < 0 || rowBefore[facility] < 0) continue;
    pairs.before.push(rowBefore[facility]);
    pairs.now.push(row);
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

const rowsOf = ({ order, groupStart }: Image, group: number): Uint32Array =>
  order.subarray(groupStart[group], groupStart[group + 1]);

const earlierByImages = new WeakMap<Image, WeakMap<Image, Int32Array>>();

/**
 * Returns the position in `before` of each facility of `now`, or −1. A thread computes the positions at its first
 * comparison of two images, in O(facilities).
 */
function earlierOf(before: Image, now: Image): Int32Array {
  const known = earlierByImages.get(now) ?? new WeakMap<Image, Int32Array>();
  earlierByImages.set(now, known);
  let earlier = known.get(before);
  if (earlier === undefined) {
    const position = new Map(textsOf(before.ccn).map((ccn, i) => [ccn, i]));
    earlier = Int32Array.from(textsOf(now.ccn), (ccn) => position.get(ccn) ?? -1);
    known.set(before, earlier);
  }
  return earlier;
}

const textsOf = (texts: TextColumn) =>
  Array.from({ length: texts.offsets.length - 1 }, (_, i) => textAt(texts, i));

/** The median change in tenths of a percent, rounded half up only at the end. */
function medianChange(pairs: Pairs, before: Int32Array, now: Int32Array): number {
  const dividends = pairs.now.map((row) => now[row]);
  const divisors = pairs.before.map((row) => before[row]);
  return ratioPercentiles(dividends, divisors, 1000)(50) - 1000;
}
