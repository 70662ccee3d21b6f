import { type Image, stateGroup, summaryOf } from "./image.ts";
import { stateCodes } from "./schema.ts";
import { percentile, ratioInHundredths } from "./statistics.ts";

/** How the charges of a procedure group are distributed. */

/** Amounts in cents. */
export interface Histogram {
  /** Ascending strictly; where all charges are equal, that charge twice. */
  edges: number[];
  /** How many charges lie in each of the ranges between them: from its lower edge to below its upper one, in the last range up to it. */
  counts: number[];
}

/**
 * Counts the charges of a group in ranges that are equally wide in their logarithms.
 *
 * @param group from `findGroup`
 * @param bins most ranges to give: edges that are the same cent are one
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

/** Of each facility's allowed amount, in cents. */
export function allowedOf(image: Image, group: number) {
  const { at, count } = ascending(image, group, (row) => image.allowed[row]);
  return {
    min: at(0),
    p10: percentile(at, count, 10),
    p25: percentile(at, count, 25),
    median: percentile(at, count, 50),
    p75: percentile(at, count, 75),
    p90: percentile(at, count, 90),
    max: at(count - 1),
  };
}

/** Of each facility's charge ÷ allowed amount, which is rounded to hundredths first, in hundredths. */
export function markupOf(image: Image, group: number) {
  const { at, count } = ascending(image, group, (row) =>
    ratioInHundredths(image.charge[row], image.allowed[row]),
  );
  return {
    p25: percentile(at, count, 25),
    median: percentile(at, count, 50),
    p75: percentile(at, count, 75),
  };
}

/** A number of each row of a group, sorted. */
function ascending({ order, groupStart }: Image, group: number, of: (row: number) => number) {
  const values = new Float64Array(groupStart[group + 1] - groupStart[group]);
  for (let i = 0; i < values.length; i++) values[i] = of(order[groupStart[group] + i]);
  values.sort();
  return { at: (rank: number) => values[rank], count: values.length };
}

/** The summaries of a procedure in every state that has prices of it, by code. */
export function stateSummaries(image: Image, procedure: number) {
  return stateCodes
    .map((state, i) => ({ state, ...summaryOf(image, stateGroup(image, procedure, i)) }))
    .filter(({ facilities }) => facilities > 0);
}
