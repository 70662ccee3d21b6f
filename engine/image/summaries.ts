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
import { detailFields, type Summary, summaryFields } from "./statistics-fields.ts";

type Columns = Pick<TableParts["rows"], "charge" | "allowed" | "services">;

/** Computes the values of `summaryFields` and of `detailFields` for each group in turn. */
export function summarize(rows: Columns, { order, groupStart }: Groups) {
  const groups = groupStart.length - 1;
  const summaries = new Float64Array(groups * summaryFields.length);
  const details = new Float64Array(groups * detailFields.length);
  for (let group = 0; group < groups; group++) {
    if (groupStart[group] === groupStart[group + 1]) continue;
    const found = order.subarray(groupStart[group], groupStart[group + 1]);
    const charges = taken(rows.charge, found);
    const allowed = taken(rows.allowed, found);
    const markup = ratioPercentiles(charges, allowed.slice(), 100);
    allowed.sort();
    const summary = statisticsOf(charges, allowed, taken(rows.services, found));
    const allowedAt = (percent: number) => percentile((rank) => allowed[rank], allowed.length, percent);
    const detail = {
      min_allowed: allowed[0],
      p10_allowed: allowedAt(10),
      p25_allowed: allowedAt(25),
      p75_allowed: allowedAt(75),
      p90_allowed: allowedAt(90),
      max_allowed: allowed[allowed.length - 1],
      p25_markup: markup(25),
      median_markup: markup(50),
      p75_markup: markup(75),
    };
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

/** Computes the statistics of priced rows. O(n log n). @param found positions of the rows, at least one */
export function summaryOfRows(rows: Columns, found: Uint32Array): Summary {
  // The rows lie far apart in memory, so the charges are copied before sorting.
  const charges = taken(rows.charge, found);
  const byCharge = stableOrder(charges, identityOrder(found.length));
  return statisticsOf(
    taken(charges, byCharge),
    taken(rows.allowed, found).sort(),
    taken(taken(rows.services, found), byCharge),
  );
}

/** @param charges ascending @param allowed ascending @param services in the order of `charges` */
function statisticsOf(charges: Int32Array, allowed: Int32Array, services: Int32Array): Summary {
  const { length } = charges;
  const charge = (percent: number) => percentile((rank) => charges[rank], length, percent);
  const [min, max] = [charges[0], charges[length - 1]];
  return {
    facilities: length,
    median_charge: charge(50),
    min_charge: min,
    max_charge: max,
    spread: ratioInHundredths(max, min),
    p10_charge: charge(10),
    p25_charge: charge(25),
    p75_charge: charge(75),
    p90_charge: charge(90),
    median_allowed: percentile((rank) => allowed[rank], length, 50),
    ...weighted(charges, services),
  };
}

/** Absent services have weight 0. */
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
