import { byField } from "../snapshot/schema.ts";
import type { Image } from "./image.ts";

/**
 * The statistics of a group's priced rows, in their order in `summaries`. Amounts are in cents, the spread is in
 * hundredths. `services` is NaN if no row's services are known. The weighted charges are NaN if the services are
 * unknown or add up to 0. `weighted_facilities` counts the rows with known services.
 */
export const summaryFields = [
  "facilities",
  "median_charge",
  "min_charge",
  "max_charge",
  "spread",
  "p10_charge",
  "p25_charge",
  "p75_charge",
  "p90_charge",
  "median_allowed",
  "services",
  "weighted_median_charge",
  "weighted_mean_charge",
  "weighted_facilities",
] as const;

/** Further statistics in their order in `details`: allowed amounts in cents, markups in hundredths. */
export const detailFields = [
  "min_allowed",
  "p10_allowed",
  "p25_allowed",
  "p75_allowed",
  "p90_allowed",
  "max_allowed",
  "p25_markup",
  "median_markup",
  "p75_markup",
] as const;

export type SummaryField = (typeof summaryFields)[number];
export type DetailField = (typeof detailFields)[number];

export type Summary = Record<SummaryField, number>;

/** Returns a group's statistics. All are 0 for a group without priced rows. */
export function summaryOf({ summaries }: Pick<Image, "summaries">, group: number): Summary {
  return fieldsAt(summaries, summaryFields, group);
}

const medianAt = summaryFields.indexOf("median_charge");

/**
 * Returns a group's median charge in cents. Reading the whole summary would take longer than finding a charge's rank.
 */
export function medianOf({ summaries }: Image, group: number): number {
  return summaries[group * summaryFields.length + medianAt];
}

export function detailsOf({ details }: Image, group: number): Record<DetailField, number> {
  return fieldsAt(details, detailFields, group);
}

function fieldsAt<Field extends string>(values: Float64Array, fields: readonly Field[], group: number) {
  const found: Partial<Record<Field, number>> = {};
  let at = group * fields.length;
  for (const field of fields) found[field] = values[at++];
  return found as Record<Field, number>;
}

/** Converts statistics to dollars and ratios. Unknown values are NaN, which JSON writes as null. */
export function dollarsOf(summary: Summary): Summary;
/** @param fields the wanted statistics, in the order of the answer */
export function dollarsOf<Field extends SummaryField>(
  summary: Summary,
  fields: readonly Field[],
): Record<Field, number>;
export function dollarsOf(summary: Summary, fields: readonly SummaryField[] = summaryFields) {
  return byField(fields, (field) => inDollars(field, summary[field]));
}

const counts: ReadonlySet<SummaryField> = new Set(["facilities", "services", "weighted_facilities"]);

/** Converts a statistic from cents to dollars, or from hundredths to a ratio. Counts stay the same. */
export function inDollars(field: SummaryField, value: number): number {
  return counts.has(field) ? value : dollars(value);
}

export const dollars = (cents: number): number => cents / 100;
