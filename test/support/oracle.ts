import assert from "node:assert/strict";
import type * as v from "valibot";
import { blank, partsOf, type Snapshot, versionName } from "../../engine/index.ts";
import type { pricesResponse } from "../../server/api/responses.ts";

/** An answer with prices, but for the way to the next page, which the data doesn't say. */
export type PricesBody = Omit<v.InferOutput<typeof pricesResponse>, "next">;

/** Hundredths as the number that their decimal text reads as, exactly what a JSON parser makes of it. */
function hundredths(value: bigint): number {
  return Number(`${value / 100n}.${String(value % 100n).padStart(2, "0")}`);
}

/** A quotient of natural numbers, rounded half up. */
function halfUp(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return 2n * (dividend % divisor) >= divisor ? quotient + 1n : quotient;
}

/** Linear interpolation between closest ranks (numpy's default), in cents, rounded half up. */
function percentile(sorted: bigint[], percent: bigint): bigint {
  const position = percent * BigInt(sorted.length - 1);
  const rank = Number(position / 100n);
  const fraction = position % 100n;
  if (fraction === 0n) return sorted[rank];
  return halfUp(sorted[rank] * (100n - fraction) + sorted[rank + 1] * fraction, 100n);
}

/** The middle value, or the mean of the two middle ones, rounded half up. */
function median(sorted: bigint[]): bigint {
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : halfUp(sorted[half - 1] + sorted[half], 2n);
}

/** Each charge as often as it was made; nothing where no row says how often, or all say never. */
function weighted(charges: bigint[], services: number[]) {
  const known = services.filter((count) => count !== blank);
  const weights = services.map((count) => BigInt(count === blank ? 0 : count));
  const total = weights.reduce((sum, weight) => sum + weight, 0n);
  if (total === 0n)
    return {
      services: known.length === 0 ? null : 0,
      weighted_median_charge: null,
      weighted_mean_charge: null,
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
  };
}

/**
 * The price list by the definitions alone: plain loops over the snapshot's rows, exact integers. O(rows) a call.
 *
 * @param state an upper-case code, or null for the nation
 * @returns undefined when no row is priced
 */
export function naivePrices(
  snapshot: Snapshot,
  code: string,
  state: string | null,
  limit: number,
): PricesBody | undefined {
  const { provenance } = snapshot;
  const { facilities, procedures, rows } = partsOf(snapshot.table);
  const procedure = procedures.code.indexOf(code);
  const matches: number[] = [];
  for (let row = 0; row < rows.procedure.length; row++) {
    if (rows.procedure[row] !== procedure) continue;
    if (!(rows.charge[row] > 0 && rows.allowed[row] > 0)) continue;
    if (state !== null && facilities.state[rows.facility[row]] !== state) continue;
    matches.push(row);
  }
  if (matches.length === 0) return undefined;
  matches.sort((a, b) => {
    if (rows.charge[a] !== rows.charge[b]) return rows.charge[a] - rows.charge[b];
    return facilities.ccn[rows.facility[a]] < facilities.ccn[rows.facility[b]] ? -1 : 1;
  });
  const charges = matches.map((row) => BigInt(rows.charge[row]));
  const allowed = matches.map((row) => BigInt(rows.allowed[row]));
  allowed.sort((a, b) => Number(a - b));
  const lowest = charges[0];
  const highest = charges[charges.length - 1];
  return {
    procedure: { code, name: procedures.name[procedure] },
    scope: { state: state ?? "national" },
    summary: {
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
    },
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

/** The name of a price list; state is null for the nation. */
export function groupKey(code: string, state: string | null): string {
  return `${code} ${state ?? "national"}`;
}
