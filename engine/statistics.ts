/**
 * Percentile of ascending integers by linear interpolation between closest ranks (numpy's default, SQL
 * `quantile_cont`), rounded half up. Exact: all arithmetic is on integers below 2^53.
 *
 * @param at the value at rank i, 0 ≤ i < count; ascending, each below 2^40
 * @param count how many values there are, at least 1
 * @param percent 0–100, whole
 */
export function percentile(at: (rank: number) => number, count: number, percent: number): number {
  const position = (count - 1) * percent;
  const rank = Math.floor(position / 100);
  const remainder = position % 100;
  const low = at(rank);
  if (remainder === 0) return low;
  return Math.floor((100 * low + (at(rank + 1) - low) * remainder + 50) / 100);
}

/** `max / min` in hundredths, rounded half up; `min` is above zero. */
export function ratioInHundredths(max: number, min: number): number {
  return Math.floor((200 * max + min) / (2 * min));
}

/**
 * Lower weighted median of ascending whole numbers: the least value at which the weights of all values up to it reach
 * half of their sum. It is one of the values, so nothing is rounded.
 *
 * @param at the value at a rank; ascending
 * @param weightAt its weight, a whole number of 0 or more
 * @param total the sum of all weights: above 0, below 2^52
 */
export function weightedMedian(
  at: (rank: number) => number,
  weightAt: (rank: number) => number,
  total: number,
): number {
  let rank = 0;
  for (let reached = weightAt(0); 2 * reached < total; reached += weightAt(rank)) rank++;
  return at(rank);
}

/**
 * Weighted mean of whole numbers, rounded half up. Exact: what a number doesn't hold is summed up beside it.
 *
 * @param at the value at rank i, 0 ≤ i < count; below 2^31
 * @param weightAt its weight, a whole number from 0 to below 2^31
 * @param total the sum of all weights: above 0
 */
export function weightedMean(
  at: (rank: number) => number,
  weightAt: (rank: number) => number,
  count: number,
  total: number,
): number {
  let large = 0n;
  let small = 0;
  for (let rank = 0; rank < count; rank++) {
    const product = at(rank) * weightAt(rank);
    if (small + product <= Number.MAX_SAFE_INTEGER) {
      small += product;
    } else {
      large += BigInt(small) + BigInt(at(rank)) * BigInt(weightAt(rank));
      small = 0;
    }
  }
  const sum = large + BigInt(small);
  return Number((2n * sum + BigInt(total)) / (2n * BigInt(total)));
}
