import { blank } from "../snapshot/schema.ts";
import { identityOrder, stableOrder, taken } from "../snapshot/sort.ts";
import type { TableParts } from "../snapshot/table.ts";
import type { Groups } from "./groups.ts";
import {
  percentile,
  ratioInHundredths,
  ratioPercentiles,
  weightedMean,
  weightedMedian,
} from "./statistics.ts";
import { type DetailField, detailFields, type Summary, summaryFields } from "./statistics-fields.ts";

type Columns = Pick<TableParts["rows"], "charge" | "allowed" | "services">;

export function summarize(rows: Columns, { order, groupStart }: Groups) {
  const groups = groupStart.length - 1;
  const summaries = new Float64Array(groups * summaryFields.length);
  const details = new Float64Array(groups * detailFields.length);
  for (let group = 0; group < groups; group++) {
    if (groupStart[group] === groupStart[group + 1]) continue;
    const priced = pricedRows(rows, order.subarray(groupStart[group], groupStart[group + 1]));
    const summary = summaryOfPriced(priced);
    const detail = detailsOfPriced(priced);
    summaries.set(
      summaryFields.map((field) => summary[field]),
      group * summaryFields.length,
    );
    details.set(
      detailFields.map((field) => detail[field]),
      group * detailFields.length,
    );
  }
  return { summaries, details };
}

/** Computes the summary of priced rows. O(n log n). @param found positions of the rows, at least one */
export function summaryOfRows(rows: Columns, found: Uint32Array): Summary {
  return summaryOfPriced(pricedRows(rows, byCharge(rows, found)));
}

/**
 * Computes all statistics of priced rows, and their order by charge. O(n log n).
 * @param found positions of the rows, at least one
 */
export function statisticsOfRows(rows: Columns, found: Uint32Array) {
  const order = byCharge(rows, found);
  const priced = pricedRows(rows, order);
  return { order, summary: summaryOfPriced(priced), details: detailsOfPriced(priced) };
}

function byCharge({ charge }: Columns, found: Uint32Array): Uint32Array {
  // The rows lie far apart in memory, so the charges are copied before sorting.
  return stableOrder(taken(charge, found), identityOrder(found.length)).map((i) => found[i]);
}

/** The amounts and services of one or more priced rows, ascending by charge except `ascendingAllowed`. */
interface PricedRows {
  charge: Int32Array;
  allowed: Int32Array;
  services: Int32Array;
  ascendingAllowed: Int32Array;
}

/**
 * Copies the values of rows, because the rows lie far apart in memory.
 *
 * @param order positions of the rows, ascending by charge
 */
function pricedRows(rows: Columns, order: Uint32Array): PricedRows {
  const allowed = taken(rows.allowed, order);
  return {
    charge: taken(rows.charge, order),
    allowed,
    services: taken(rows.services, order),
    ascendingAllowed: allowed.slice().sort(),
  };
}

/** @param values ascending */
const percentilesOf = (values: Int32Array) => (percent: number) =>
  percentile((rank) => values[rank], values.length, percent);

function summaryOfPriced({ charge, services, ascendingAllowed }: PricedRows): Summary {
  const { length } = charge;
  const [min, max] = [charge[0], charge[length - 1]];
  const chargeAt = percentilesOf(charge);
  return {
    facilities: length,
    median_charge: chargeAt(50),
    min_charge: min,
    max_charge: max,
    spread: ratioInHundredths(max, min),
    p10_charge: chargeAt(10),
    p25_charge: chargeAt(25),
    p75_charge: chargeAt(75),
    p90_charge: chargeAt(90),
    median_allowed: percentilesOf(ascendingAllowed)(50),
    ...weighted(charge, services),
  };
}

function detailsOfPriced({ charge, allowed, ascendingAllowed }: PricedRows): Record<DetailField, number> {
  const allowedAt = percentilesOf(ascendingAllowed);
  const markupAt = ratioPercentiles(charge, allowed, 100);
  return {
    min_allowed: ascendingAllowed[0],
    p10_allowed: allowedAt(10),
    p25_allowed: allowedAt(25),
    p75_allowed: allowedAt(75),
    p90_allowed: allowedAt(90),
    max_allowed: ascendingAllowed[ascendingAllowed.length - 1],
    p25_markup: markupAt(25),
    median_markup: markupAt(50),
    p75_markup: markupAt(75),
  };
}

/** Computes the statistics that are weighted by services. Absent services have weight 0, and become 0 in `services`. */
function weighted(charges: Int32Array, services: Int32Array) {
  let known = 0;
  let total = 0;
  for (let i = 0; i < services.length; i++) {
    if (services[i] === blank) services[i] = 0;
    else known++;
    total += services[i];
  }
  return {
    services: known > 0 ? total : Number.NaN,
    weighted_median_charge: total > 0 ? weightedMedian(charges, services, total) : Number.NaN,
    weighted_mean_charge: total > 0 ? weightedMean(charges, services, total) : Number.NaN,
    weighted_facilities: known,
  };
}
