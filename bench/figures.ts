import { median } from "d3-array";

export type Spread = ReturnType<typeof spreadOf>;

export function spreadOf(values: readonly number[]) {
  return { median: median(values) ?? Number.NaN, min: Math.min(...values), max: Math.max(...values) };
}

export function digits(value: number, significant = 3): string {
  return value.toLocaleString("en", { maximumSignificantDigits: significant });
}

export function rounded(figures: Record<string, number>): Record<string, number> {
  const entries = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(3))]);
  return Object.fromEntries(entries);
}
