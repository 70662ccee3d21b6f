/** How figures are summed up and written. */

export interface Spread {
  median: number;
  min: number;
  max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2;
  return { median, min: sorted[0], max: sorted[sorted.length - 1] };
}

export function digits(value: number, significant = 3): string {
  return value.toLocaleString("en", { maximumSignificantDigits: significant });
}

/** A row of figures for console.table. */
export function rounded(figures: Record<string, number>): Record<string, number> {
  const entries = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(3))]);
  return Object.fromEntries(entries);
}
