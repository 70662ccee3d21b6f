import { rowStatuses, statusOfRow } from "../exports/scope.ts";
import { groupSize, stateGroup } from "../image/group-numbers.ts";
import type { Image } from "../image/image.ts";
import { type DetailField, detailsOf, type Summary, summaryOf } from "../image/statistics-fields.ts";
import { statisticsOfRows, summaryOfRows } from "../image/summaries.ts";
import { stateCodes } from "../snapshot/schema.ts";
import { firstNotBefore } from "../sorted.ts";
import { rowsOfScope } from "./counts.ts";
import { type Circle, listFacilities } from "./facility-list.ts";

/** The prices of a procedure in the nation, in a state, or around a place. Amounts are in cents. */
export interface Distribution {
  /** Positions of the priced rows, ascending by charge. */
  order: Uint32Array;
  summary: Summary;
  details: Record<DetailField, number>;
  /** Summaries of the states to which the priced rows belong, ordered by state code. */
  states: (Summary & { state: string })[];
  /** Counts of all rows, priced or not. */
  rows: Record<"priced" | "suppressed" | "incomplete", number>;
}

/** Sums up a group. O(states). @param group from `findGroup` @param state null for the nation */
export function distributionOfGroup(
  image: Image,
  group: number,
  procedure: number,
  state: string | null,
): Distribution {
  const { rows, suppressed } = rowsOfScope(image, { procedure, state });
  const priced = groupSize(image, group);
  return {
    order: image.order.subarray(image.groupStart[group], image.groupStart[group + 1]),
    summary: summaryOf(image, group),
    details: detailsOf(image, group),
    states: stateCodes.flatMap((each, i) => {
      const there = stateGroup(image, procedure, i);
      const isIn = state === null || state === each;
      return isIn && groupSize(image, there) > 0 ? [{ state: each, ...summaryOf(image, there) }] : [];
    }),
    rows: { priced, suppressed, incomplete: rows - priced - suppressed },
  };
}

export interface RowsAround extends Pick<Distribution, "rows"> {
  priced: Uint32Array;
  /** Number of rows left out only because the place of their hospital is unknown. */
  unplaced: number;
}

/** @param state null for all states */
export function rowsAround(image: Image, procedure: number, near: Circle, state: string | null): RowsAround {
  const filter = { procedure, status: "all" as const, near, states: state === null ? undefined : [state] };
  const { items, unplaced } = listFacilities(image, filter, "name");
  const rows = { priced: 0, suppressed: 0, incomplete: 0 };
  const statusOf = (row: number) => rowStatuses[statusOfRow(image.charge[row], image.allowed[row])];
  for (const row of items) rows[statusOf(row)]++;
  return { priced: items.filter((row) => statusOf(row) === "priced"), unplaced, rows };
}

/** Sums up rows around a place. At least one row must be priced. O(n log n). */
export function distributionAround(image: Image, { priced, rows }: RowsAround): Distribution {
  const byState = Map.groupBy(priced, (row) => stateCodes[image.stateOf[image.facility[row]]]);
  const states = [...byState].map(([state, of]) => ({
    state,
    ...summaryOfRows(image, Uint32Array.from(of)),
  }));
  states.sort((a, b) => (a.state < b.state ? -1 : 1));
  return { ...statisticsOfRows(image, priced), states, rows };
}

export interface Histogram {
  /** The edges in cents: strictly ascending, or the same charge twice if all charges are equal. */
  edges: number[];
  /** The number of charges in each bin. Every bin but the last excludes its upper edge. */
  counts: number[];
}

/**
 * Counts charges in up to `bins` bins of equal width on a logarithmic scale. There must be at least one charge. Edges
 * that round to the same cent are merged, which leaves fewer bins. O(bins · log facilities).
 */
export function histogramOf(
  { charge }: Image,
  { order }: Pick<Distribution, "order">,
  bins: number,
): Histogram {
  const { length } = order;
  const [lowest, highest] = [charge[order[0]], charge[order[length - 1]]];
  if (lowest === highest) return { edges: [lowest, highest], counts: [length] };
  const edges = [lowest];
  for (let i = 1; i < bins; i++) {
    const edge = Math.round(lowest * (highest / lowest) ** (i / bins));
    if (edge > edges[edges.length - 1] && edge < highest) edges.push(edge);
  }
  edges.push(highest);
  const below = edges.map((edge) => firstNotBefore(0, length, (i) => charge[order[i]] < edge));
  below[edges.length - 1] = length;
  return { edges, counts: below.slice(1).map((count, i) => count - below[i]) };
}
