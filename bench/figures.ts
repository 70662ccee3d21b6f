import { median } from "d3";

/** Summarizes and formats figures. */

export type Spread = ReturnType<typeof spreadOf>;

export function spreadOf(values: readonly number[]) {
  return { median: median(values) ?? Number.NaN, min: Math.min(...values), max: Math.max(...values) };
}

export function digits(value: number, significant = 3): string {
  return value.toLocaleString("en", { maximumSignificantDigits: significant });
}

/** Rounds figures to three digits, as a row for `console.table`. */
export function rounded(figures: Record<string, number>): Record<string, number> {
  const entries = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(3))]);
  return Object.fromEntries(entries);
}
