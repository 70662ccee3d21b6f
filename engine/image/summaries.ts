import { blank } from "../snapshot/schema.ts";
import type { TableColumns } from "../snapshot/table.ts";
import type { Groups } from "./groups.ts";
import { type Summary, summaryFields } from "./image.ts";
import { percentile, ratioInHundredths, weightedMean, weightedMedian } from "./statistics.ts";

/** The values of `summaryFields` for each group. */
export function summarize(rows: TableColumns["rows"], { order, groupStart }: Groups): Float64Array {
  const summaries = new Float64Array((groupStart.length - 1) * summaryFields.length);
  let largest = 0;
  for (let group = 0; group + 1 < groupStart.length; group++)
    largest = Math.max(largest, groupStart[group + 1] - groupStart[group]);
  const scratch = [rows.charge, rows.allowed, rows.services].map(() => new Int32Array(largest));
  for (let group = 0; group + 1 < groupStart.length; group++) {
    const start = groupStart[group];
    const count = groupStart[group + 1] - start;
    if (count === 0) continue;
    const [charges, allowed, services] = scratch.map((column) => column.subarray(0, count));
    for (let i = 0; i < count; i++) {
      const row = order[start + i];
      charges[i] = rows.charge[row];
      allowed[i] = rows.allowed[row];
      services[i] = rows.services[row];
    }
    allowed.sort();
    const charge = (rank: number) => charges[rank];
    const min = charges[0];
    const max = charges[count - 1];
    const summary: Summary = {
      facilities: count,
      median_charge: percentile(charge, count, 50),
      min_charge: min,
      max_charge: max,
      spread: ratioInHundredths(max, min),
      p10_charge: percentile(charge, count, 10),
      p25_charge: percentile(charge, count, 25),
      p75_charge: percentile(charge, count, 75),
      p90_charge: percentile(charge, count, 90),
      median_allowed: percentile((rank) => allowed[rank], count, 50),
      ...weighted(charges, services),
    };
    for (const [i, field] of summaryFields.entries())
      summaries[group * summaryFields.length + i] = summary[field];
  }
  return summaries;
}

/** The statistics in which a charge's weight is its services. Absent services become 0, which is no weight. */
function weighted(charges: Int32Array, services: Int32Array) {
  let isKnown = false;
  let total = 0;
  for (let i = 0; i < services.length; i++) {
    if (services[i] === blank) services[i] = 0;
    else isKnown = true;
    total += services[i];
  }
  return {
    services: isKnown ? total : Number.NaN,
    weighted_median_charge: total > 0 ? weightedMedian(charges, services, total) : Number.NaN,
    weighted_mean_charge: total > 0 ? weightedMean(charges, services, total) : Number.NaN,
  };
}
