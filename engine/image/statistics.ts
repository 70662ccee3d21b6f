/**
 * Computes a percentile by linear interpolation between closest ranks (numpy's default, SQL `quantile_cont`), rounded
 * half up. The result is exact, because all arithmetic is on integers below 2^53.
 *
 * @param at returns the value at a rank from 0 to below `count`; the values are ascending integers below 2^40
 * @param count number of values, above zero
 */
export function percentile(at: (rank: number) => number, count: number, percent: number): number {
  const position = (count - 1) * percent;
  const rank = Math.floor(position / 100);
  const remainder = position % 100;
  const low = at(rank);
  if (remainder === 0) return low;
  return Math.floor((100 * low + (at(rank + 1) - low) * remainder + 50) / 100);
}

/**
 * Returns a function that computes percentiles of quotients of integers, rounded half up only at the end. Each
 * percentile takes O(n) on average.
 *
 * @param dividends one or more
 * @param divisors above zero
 * @param scale factor applied before rounding: 100 gives hundredths
 */
export function ratioPercentiles(dividends: ArrayLike<number>, divisors: ArrayLike<number>, scale: number) {
  const ratios = new Float64Array(dividends.length);
  for (let i = 0; i < ratios.length; i++) ratios[i] = dividends[i] / divisors[i];
  const moved = ratios.slice();
  const at = (rank: number) => {
    const i = ratios.indexOf(select(moved, rank));
    return [BigInt(dividends[i]), BigInt(divisors[i])];
  };
  return (percent: number): number => {
    const position = (ratios.length - 1) * percent;
    const [a, b] = at(Math.floor(position / 100));
    const [c, d] = at(Math.ceil(position / 100));
    const weight = BigInt(position % 100);
    const sum = BigInt(scale) * ((100n - weight) * a * d + weight * c * b);
    return Number((sum + 50n * b * d) / (100n * b * d));
  };
}

/**
 * Returns the value at a rank. Moves lower values before it and higher values after it (Hoare's selection). Sorting all
 * values would take several times as long. O(n) on average.
 */
function select(values: Float64Array, rank: number): number {
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const pivot = values[rank];
    let [i, j] = [low, high];
    while (i <= j) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i > j) break;
      const value = values[i];
      values[i++] = values[j];
      values[j--] = value;
    }
    if (j < rank) low = i;
    if (rank < i) high = j;
  }
  return values[rank];
}

/** Returns `amount / divisor` in hundredths, rounded half up. @param divisor above zero */
export function ratioInHundredths(amount: number, divisor: number): number {
  return Math.floor((200 * amount + divisor) / (2 * divisor));
}

/**
 * Lower weighted median: the smallest value for which the weights of all values up to it reach half of the total.
 *
 * @param values ascending
 * @param total the sum of all weights, above 0 and below 2^52
 */
export function weightedMedian(values: Int32Array, weights: Int32Array, total: number): number {
  let at = 0;
  for (let reached = weights[0]; 2 * reached < total; reached += weights[at]) at++;
  return values[at];
}

/**
 * Computes the weighted mean, rounded half up. The result is exact, because the part of the sum beyond a number's
 * precision is kept in a BigInt.
 *
 * @param total the sum of all weights, above 0
 */
export function weightedMean(values: Int32Array, weights: Int32Array, total: number): number {
  let large = 0n;
  let small = 0;
  for (let i = 0; i < values.length; i++) {
    const product = values[i] * weights[i];
    if (small + product <= Number.MAX_SAFE_INTEGER) {
      small += product;
    } else {
      large += BigInt(small) + BigInt(values[i]) * BigInt(weights[i]);
      small = 0;
    }
  }
  const sum = large + BigInt(small);
  return Number((2n * sum + BigInt(total)) / (2n * BigInt(total)));
}
