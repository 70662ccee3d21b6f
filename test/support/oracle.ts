import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type * as v from "valibot";
import { blank, type Snapshot, type TableParts, versionName } from "../../engine/index.ts";
import type { pricesResponse } from "../../server/api/responses.ts";

/** Computes answers directly from the definitions, by plain loops over a snapshot's rows, and with exact integers. */

/** The oracle doesn't compute the path of the next page. */
export type PricesBody = Omit<v.InferOutput<typeof pricesResponse>, "next">;

/** The division rounds correctly: 1234n gives the same number as the text 12.34. */
export const hundredths = (value: bigint) => Number(value) / 100;

export function halfUp(dividend: bigint, divisor: bigint): bigint {
  const [double, twice] = [2n * dividend + divisor, 2n * divisor];
  return double / twice - (double < 0n && double % twice !== 0n ? 1n : 0n);
}

/** Linear interpolation between closest ranks (numpy's default), rounded half up. */
export function percentile(sorted: bigint[], percent: bigint): bigint {
  const position = percent * BigInt(sorted.length - 1);
  const rank = Number(position / 100n);
  const fraction = position % 100n;
  if (fraction === 0n) return sorted[rank];
  return halfUp(sorted[rank] * (100n - fraction) + sorted[rank + 1] * fraction, 100n);
}

/** The mean of two middle values is rounded half up. */
export function median(sorted: bigint[]): bigint {
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : halfUp(sorted[half - 1] + sorted[half], 2n);
}

/** Weighted charges are null if all rows' services are unknown or 0. */
function weighted(charges: bigint[], services: number[]) {
  const known = services.filter((count) => count !== blank);
  const weights = services.map((count) => BigInt(count === blank ? 0 : count));
  const total = weights.reduce((sum, weight) => sum + weight, 0n);
  if (total === 0n)
    return {
      services: known.length === 0 ? null : 0,
      weighted_median_charge: null,
      weighted_mean_charge: null,
      weighted_facilities: known.length,
    };
  const below = (most: bigint) =>
    charges.reduce((sum, charge, i) => sum + (charge <= most ? weights[i] : 0n), 0n);
  const median = charges.find((charge) => 2n * below(charge) >= total);
  assert.ok(median !== undefined);
  const sum = charges.reduce((part, charge, i) => part + charge * weights[i], 0n);
  return {
    services: Number(total),
    weighted_median_charge: hundredths(median),
    weighted_mean_charge: hundredths(halfUp(sum, total)),
    weighted_facilities: known.length,
  };
}

/** Sorted by charge and then by CCN. @param state in upper case; null for the nation */
export function pricedRows({ facilities, procedures, rows }: TableParts, code: string, state: string | null) {
  const procedure = procedures.code.indexOf(code);
  const isIn = (row: number) => state === null || facilities.state[rows.facility[row]] === state;
  const ccnOf = (row: number) => facilities.ccn[rows.facility[row]];
  let byProcedure = pricedByProcedure.get(rows.procedure);
  if (byProcedure === undefined) {
    const priced = [...rows.procedure.keys()].filter((row) => isPriced(rows, row));
    byProcedure = Map.groupBy(priced, (row) => rows.procedure[row]);
    pricedByProcedure.set(rows.procedure, byProcedure);
  }
  return (byProcedure.get(procedure) ?? [])
    .filter(isIn)
    .sort((a, b) => rows.charge[a] - rows.charge[b] || (ccnOf(a) < ccnOf(b) ? -1 : 1));
}

/** Without this cache, tests of the sample's 100,000 rows are slow. */
const pricedByProcedure = new WeakMap<Int32Array, Map<number, number[]>>();

export const isPriced = ({ charge, allowed }: TableParts["rows"], row: number) =>
  charge[row] > 0 && allowed[row] > 0;

export const bigints = (values: Iterable<number>) =>
  Array.from(values, BigInt).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));

/** @param matches rows in ascending order of charges */
export function summaryOf({ rows }: TableParts, matches: number[]) {
  const charges = matches.map((row) => BigInt(rows.charge[row]));
  const allowed = bigints(matches.map((row) => rows.allowed[row]));
  const [lowest, highest] = [charges[0], charges[charges.length - 1]];
  return {
    facilities: matches.length,
    median_charge: hundredths(median(charges)),
    min_charge: hundredths(lowest),
    max_charge: hundredths(highest),
    spread: hundredths(halfUp(highest * 100n, lowest)),
    p10_charge: hundredths(percentile(charges, 10n)),
    p25_charge: hundredths(percentile(charges, 25n)),
    p75_charge: hundredths(percentile(charges, 75n)),
    p90_charge: hundredths(percentile(charges, 90n)),
    median_allowed: hundredths(median(allowed)),
    ...weighted(
      charges,
      matches.map((row) => rows.services[row]),
    ),
  };
}

/** @param state in upper case; null for the nation @returns undefined when no row is priced */
export function naivePrices(
  snapshot: Snapshot,
  code: string,
  state: string | null,
  limit: number,
): PricesBody | undefined {
  const { provenance } = snapshot;
  const parts = snapshot.table;
  const { facilities, procedures, rows } = parts;
  const matches = pricedRows(parts, code, state);
  if (matches.length === 0) return undefined;
  return {
    list: "prices",
    procedure: { code, name: procedures.name[procedures.code.indexOf(code)] },
    scope: { state: state ?? "national" },
    summary: summaryOf(parts, matches),
    data: matches.slice(0, limit).map((row) => ({
      facility: facilities.name[rows.facility[row]],
      city: facilities.city[rows.facility[row]],
      state: facilities.state[rows.facility[row]],
      ccn: facilities.ccn[rows.facility[row]],
      submitted_charge: hundredths(BigInt(rows.charge[row])),
      medicare_allowed: hundredths(BigInt(rows.allowed[row])),
    })),
    source: {
      data_year: provenance.dataYear,
      data_version: versionName(provenance),
      caveat: provenance.caveat,
    },
  };
}

const plainWords = readFileSync(new URL("../../engine/search/data/procedures.txt", import.meta.url), "utf8");

/** The text of a procedure group's line in the lexicon; null if it has none. */
export const plainText = (kind: "title" | "words", code: string) =>
  new RegExp(`^${kind} ${code}: (.*)$`, "m").exec(plainWords)?.[1] ?? null;

/** The part of the body in whose line of the lexicon the procedure group is; null if it is in none. */
export const bodyPart = (code: string) =>
  new RegExp(`^part-of-body (.*?): .*\\b${code}\\b`, "m").exec(plainWords)?.[1] ?? null;

/** A procedure group as all answers but prices have it. */
export const withTitle = (group: { code: string; name: string }) => ({
  ...group,
  title: plainText("title", group.code),
});

export function groupKey(code: string, state: string | null): string {
  return `${code} ${state ?? "national"}`;
}
