import {
  type Ask,
  type FacilitiesAnswer,
  Failure,
  type Priced,
  type ProcedureAnswer,
  pathOf,
  type SearchAnswer,
  type Standing,
  unlessFailed,
} from "./answers.ts";
import { farthest } from "./choice.ts";
import { isPriced } from "./words.ts";

/** Finds places and hospitals around them, and sums up the prices there, because the API does that only for states. */

const bins = 20;
/** Maximum number of rows of a page of the API's list. */
export const maxPageRows = 100;

type ChargeSummary = Pick<
  ProcedureAnswer["summary"],
  "facilities" | `${"min" | "p25" | "median" | "p75" | "max"}_charge` | "median_allowed"
>;
export type Scope = Pick<ProcedureAnswer, "rows" | "histogram" | "source"> & {
  procedure: { code: string; name: string };
  summary: ChargeSummary;
  allowed: Pick<ProcedureAnswer["allowed"], "min" | "p25" | "median" | "p75" | "max">;
};

export const noPrice = new Failure(404, "not_found", "no hospital there has a price");

/** Summarizes prices around a ZIP code. The answer must list every hospital in the circle, priced or not. */
export function aroundScope(answer: FacilitiesAnswer | Failure): Scope | Failure {
  if (answer instanceof Failure) return answer;
  const { procedure, summary, data, source } = answer;
  if (procedure === undefined || !isKnown(summary)) return noPrice;
  const rows = data.filter(isPriced);
  const amounts = rows.map(({ medicare_allowed }) => medicare_allowed).sort((a, b) => a - b);
  const [min, p25, median, p75, max] = [0, 0.25, 0.5, 0.75, 1].map((share) => quantile(amounts, share));
  const isOf = (status: string) => data.filter((row) => row.status === status).length;
  return {
    ...{ procedure, source },
    summary: { ...summary, facilities: rows.length },
    rows: { priced: rows.length, suppressed: isOf("suppressed"), incomplete: isOf("incomplete") },
    allowed: { min, p25, median, p75, max },
    histogram: histogramOf(
      rows.map(({ submitted_charge }) => submitted_charge),
      summary,
    ),
  };
}

const isKnown = (summary: FacilitiesAnswer["summary"] | ChargeSummary): summary is ChargeSummary =>
  typeof summary.median_charge === "number";

/** Interpolates between the two nearest amounts. @param sorted at least one amount, ascending */
export function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low + (high - low) * (at % 1);
}

/** Counts charges in bins of equal width on a logarithmic scale. If all charges are equal, there is one bin. */
function histogramOf(charges: number[], { min_charge: min, max_charge: max }: ChargeSummary) {
  if (min === max) return { edges: [min, max], counts: [charges.length] };
  const edges = Array.from(
    { length: bins + 1 },
    (_, i) => Math.round(100 * min * (max / min) ** (i / bins)) / 100,
  );
  const counts = new Array<number>(bins).fill(0);
  for (const charge of charges)
    counts[Math.max(0, edges.slice(1, -1).filter((edge) => edge <= charge).length)]++;
  return { edges, counts };
}

/** The API takes only a city's name that one state has. Of several cities, the one with the most hospitals is meant. */
export function placeMeant(
  place: SearchAnswer["query"]["place"],
  year: string | null,
  ask: Ask,
): SearchAnswer["query"]["place"] {
  if (place === null || !("near" in place) || /[,\d]/.test(place.near)) return place;
  const path = pathOf("/healthcare/facilities", { city: place.near, limit: maxPageRows }, year);
  const rows = unlessFailed(ask<[FacilitiesAnswer]>(path)[0])?.data ?? [];
  const cities = [...Map.groupBy(rows, ({ city, state }) => `${city}, ${state}`)];
  const [most] = cities.toSorted(([, a], [, b]) => b.length - a.length);
  return most ? { near: most[0] } : place;
}

/** The nearest hospital with a price, or null. */
export function nearestOf(procedure: string, near: string, year: string | null, ask: Ask): Priced | null {
  const parameters = { procedure, near, within: farthest, sort: "distance", limit: 1 };
  const found = unlessFailed(ask<[FacilitiesAnswer]>(pathOf("/healthcare/facilities", parameters, year))[0]);
  return found?.data.find(isPriced) ?? null;
}

/** Returns the rank of a hospital's charge among hospitals around a place. */
export function rankAmong(
  cheapestFirst: readonly Priced[],
  { submitted_charge: own }: Priced,
): Pick<Standing, "rank" | "facilities"> {
  const cheaper = cheapestFirst.filter(({ submitted_charge }) => submitted_charge < own).length;
  return { rank: cheaper + 1, facilities: cheapestFirst.length };
}

/** Writes the distance between two ZIP codes' centers. Under a mile, it is too inexact for a number. */
export function milesText(miles: number | undefined, isSameZip: boolean): string {
  if (miles === undefined) return "–";
  return miles >= 1 ? miles.toFixed(1) : isSameZip ? "same ZIP" : "under 1";
}
