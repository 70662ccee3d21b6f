import { groupSize, stateGroup } from "../image/group-numbers.ts";
import type { Image } from "../image/image.ts";
import { summaryOf } from "../image/statistics-fields.ts";
import { stateCodes } from "../snapshot/schema.ts";
import { countBelow } from "./counts.ts";

export interface Histogram {
  /** The edges in cents, strictly ascending. If all charges are equal, the charge is in the array twice. */
  edges: number[];
  /** The number of charges in each bin. Every bin but the last excludes its upper edge. */
  counts: number[];
}

/**
 * Counts the charges of a group in bins of equal width on a logarithmic scale. There are fewer than `bins` if edges
 * round to the same cent. O(bins · log facilities).
 *
 * @param group from `findGroup`
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
  const below = edges.map((edge) => countBelow(image, group, edge));
  below[edges.length - 1] = end - start;
  return { edges, counts: below.slice(1).map((count, i) => count - below[i]) };
}

/** Returns the procedure's summary for each state that has prices for it, ordered by state code. */
export function stateSummaries(image: Image, procedure: number) {
  return stateCodes.flatMap((state, i) => {
    const group = stateGroup(image, procedure, i);
    return groupSize(image, group) === 0 ? [] : { state, ...summaryOf(image, group) };
  });
}
