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
