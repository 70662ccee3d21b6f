import { type Image, stateGroup, summaryOf } from "../image/image.ts";
import { percentile, ratioPercentiles } from "../image/statistics.ts";
import { stateCodes } from "../snapshot/schema.ts";

export interface Histogram {
  /** Strictly ascending; if all charges are equal, that charge twice. */
  edges: number[];
  /** The number of charges from each edge to below the next. The last range includes its upper edge. */
  counts: number[];
}

/**
 * Counts the charges of a group (from `findGroup`) in ranges that are equally wide in their logarithms: `bins` at most,
 * as edges that are the same cent are one.
 */
export function histogramOf(image: Image, group: number, bins: number): Histogram {
  const [start, end] = [image.groupStart[group], image.groupStart[group + 1]];
  const charge = (i: number) => image.charge[image.order[i]];
  const [lowest, highest] = [charge(start), charge(end - 1)];
  if (lowest === highest) return { edges: [lowest, highest], counts: [end - start] };
  const edges = [lowest];
  for (let i = 1; i < bins; i++) {
    const edge = Math.round(lowest * (highest / lowest) ** (i / bins));
    if (edge > edges[edges.length - 1] && edge < highest) edges.push(edge);
  }
  edges.push(highest);
  const counts = new Array<number>(edges.length - 1).fill(0);
  let bin = 0;
  for (let i = start; i < end; i++) {
    while (bin < counts.length - 1 && charge(i) >= edges[bin + 1]) bin++;
    counts[bin]++;
  }
  return { edges, counts };
}

/** Percentiles of the facilities' allowed amounts, in cents. */
export function allowedOf(image: Image, group: number) {
  const values = Float64Array.from(rowsOf(image, group), (row) => image.allowed[row]).sort();
  const at = (rank: number) => values[rank];
  return {
    min: at(0),
    p10: percentile(at, values.length, 10),
    p25: percentile(at, values.length, 25),
    median: percentile(at, values.length, 50),
    p75: percentile(at, values.length, 75),
    p90: percentile(at, values.length, 90),
    max: at(values.length - 1),
  };
}

/** Percentiles of the facilities' charge ÷ allowed amount, in hundredths. */
export function markupOf(image: Image, group: number) {
  const rows = rowsOf(image, group);
  const charges = rows.map((row) => image.charge[row]);
  const allowed = rows.map((row) => image.allowed[row]);
  const at = ratioPercentiles(charges, allowed, 100);
  return { p25: at(25), median: at(50), p75: at(75) };
}

const rowsOf = ({ order, groupStart }: Image, group: number) =>
  order.subarray(groupStart[group], groupStart[group + 1]);

/** The summaries of a procedure in every state that has prices of it, by code. */
export function stateSummaries(image: Image, procedure: number) {
  return stateCodes
    .map((state, i) => ({ state, ...summaryOf(image, stateGroup(image, procedure, i)) }))
    .filter(({ facilities }) => facilities > 0);
}
