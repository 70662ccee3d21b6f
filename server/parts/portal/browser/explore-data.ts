import type {
  Dataset,
  DatasetsAnswer,
  Entry,
  FacilitiesAnswer,
  FacilityAnswer,
  FacilityTrendsAnswer,
  Priced,
  ProcedureAnswer,
  ProceduresAnswer,
  Standing,
  TrendsAnswer,
} from "./answers.ts";
import { type Ask, Failure, pathOf, unlessFailed } from "./asking.ts";
import { type Choice, comparing, defaultProcedure, farthest, placeOf, sortKeys } from "./choice.ts";
import { entryOf, isPriced, type Standings } from "./words.ts";

/** Makes the view of the Explore page from the API's answers. The server makes the same view for its words. */

/** Maximum number of hospitals for a picture with a dot for each hospital. It is also the list's first page. */
const mostDots = 50;
const maxPageRows = 100;
const bins = 20;

type ChargeSummary = Pick<
  ProcedureAnswer["summary"],
  "facilities" | `${"min" | "p25" | "median" | "p75" | "max"}_charge` | "median_allowed"
>;
export type Scope = Pick<ProcedureAnswer, "rows" | "histogram" | "source"> & {
  procedure: { code: string; name: string };
  summary: ChargeSummary;
  allowed: Pick<ProcedureAnswer["allowed"], "min" | "p25" | "median" | "p75" | "max">;
};

export interface Pinned {
  letter: string;
  ccn: string;
  /** Null if the data doesn't have the hospital. */
  entry: Entry | null;
  /** The ranks of the hospital's charge: around the ZIP code, if it is there, else in nation and state. */
  standings: Standings;
  trend: FacilityTrendsAnswer | null;
}

export interface HospitalList {
  data: Priced[];
  next: string | null;
  facilities: number;
}

export interface View {
  choice: Choice;
  code: string;
  paths: Record<"scope" | "nation" | "list" | "trends" | "export", string>;
  /** A failure if no hospital in the chosen place has a price. */
  scope: Scope | Failure;
  nation: ProcedureAnswer | Failure;
  list: HospitalList;
  /** All priced hospitals of the place, cheapest first; null if more than `mostDots`, null or empty if none. */
  few: Priced[] | null;
  trends: TrendsAnswer | Failure;
  pinned: Pinned[];
  /** The procedure's unpriced hospitals if no hospital in the place has a price; null otherwise or without any. */
  unpriced: FacilitiesAnswer | null;
  /** The nearest hospital with a price if none around the ZIP code has one; null otherwise or without any. */
  nearest: Priced | null;
  datasets: Dataset[];
}

export const knownOf = ({ scope, nation, unpriced }: View) =>
  unlessFailed(scope) ?? unlessFailed(nation) ?? unpriced;

function pathsOf(code: string, choice: Choice): View["paths"] {
  const { state, near, year, sort, order, versions } = choice;
  const segment = `/healthcare/procedures/${encodeURIComponent(code)}`;
  const place = { procedure: code, ...placeOf(choice) };
  const sorted = { sort, ...(order === "desc" && { order }), limit: mostDots };
  // Around a ZIP code, all rows come at once, priced or not, and are sorted here.
  const around = { status: "all", sort: "distance", limit: maxPageRows };
  const list = pathOf("/healthcare/facilities", { ...place, ...(near === null ? sorted : around) }, year);
  return {
    scope: near === null ? pathOf(segment, { state }, year) : list,
    nation: pathOf(segment, {}, year),
    list,
    trends: pathOf("/healthcare/trends", { procedure: code, state, versions }),
    export: pathOf("/export.csv", { procedure: code, state }, year),
  };
}

const noPrice = new Failure(404, "not_found", "no hospital there has a price");

export function viewOf(choice: Choice, ask: Ask): View {
  const code = choice.procedure ?? defaultProcedure;
  const paths = pathsOf(code, choice);
  const { state, near, year } = choice;
  const [first, rest] = [[paths.nation, pathOf("/datasets")] as const, [paths.list, paths.trends] as const];
  // Asked together, a browser waits once. But a state may have no prices, and each refused request would be an error
  // on the browser's console.
  if (state === null) ask<object[]>(...first, ...rest);
  const [nation, versions] = ask<[ProcedureAnswer, DatasetsAnswer]>(...first);
  if (choice.procedure === null && nation instanceof Failure) {
    const most = pathOf("/healthcare/procedures", { sort: "facilities", limit: 1 }, year);
    const found = unlessFailed(ask<[ProceduresAnswer]>(most)[0])?.data[0]?.code;
    if (found && found !== code) return { ...viewOf({ ...choice, procedure: found }, ask), choice };
  }
  const datasets = unlessFailed(versions)?.data ?? [];
  const isCovered =
    state === null ||
    nation instanceof Failure ||
    datasets.some(({ coverage }) => coverage.states.includes(state));
  const hasPrices =
    nation instanceof Failure || state === null || nation.data.some((row) => row.state === state);
  const [trends] = isCovered ? ask<[TrendsAnswer]>(paths.trends) : [noPrice];
  const around = near === null ? null : rowsAt(paths.list, ask);
  const scope = around ? aroundScope(around) : hasPrices ? ask<[ProcedureAnswer]>(paths.scope)[0] : noPrice;
  const few = around && unlessFailed(around) ? pricedOf(unlessFailed(around)) : null;
  const list = few ? sortedList(few, choice) : hasPrices ? listAt(paths.list, ask) : emptyList;
  const unpriced = scope instanceof Failure && scope.status === 404;
  return {
    ...{ choice, code, paths, scope, nation, list, trends, datasets },
    few: fewOf(few ?? (list.next === null ? byCharge(list.data) : null)),
    pinned: pinnedOf(choice, code, few, ask),
    unpriced: !unpriced
      ? null
      : nation instanceof Failure
        ? unpricedOf({ ...choice, state: null, near: null }, code, ask)
        : around
          ? unlessFailed(around)
          : isCovered
            ? unpricedOf(choice, code, ask)
            : null,
    nearest: unpriced && near !== null && unlessFailed(nation) ? nearestOf(code, near, year, ask) : null,
  };
}

const emptyList: HospitalList = { data: [], next: null, facilities: 0 };
const fewOf = (priced: Priced[] | null) => (priced && priced.length <= mostDots ? priced : null);
const byCharge = (priced: readonly Priced[]) =>
  priced.toSorted(comparing(({ submitted_charge }) => submitted_charge));
const pricedOf = (answer: FacilitiesAnswer | null) => byCharge(answer?.data.filter(isPriced) ?? []);

function listAt(path: string, ask: Ask): HospitalList {
  const answer = unlessFailed(ask<[FacilitiesAnswer]>(path)[0]);
  if (answer === null) return emptyList;
  return { data: answer.data.filter(isPriced), next: answer.next, facilities: answer.summary.facilities };
}

/** @returns an answer with the rows of all pages, or a failure if there is no data */
export function rowsAt(path: string, ask: Ask): FacilitiesAnswer | Failure {
  const [first] = ask<[FacilitiesAnswer]>(path);
  if (first instanceof Failure || first.next === null) return first;
  const others = rowsAt(first.next, ask);
  return others instanceof Failure ? others : { ...first, data: [...first.data, ...others.data], next: null };
}

function sortedList(priced: readonly Priced[], { sort, order }: Choice): HospitalList {
  const ascending = priced.toSorted(comparing(sortKeys[sort]));
  const data = order === "asc" ? ascending : ascending.reverse();
  return { data, next: null, facilities: data.length };
}

/** Summarizes prices around a ZIP code. The answer must list every hospital in the circle, priced or not. */
function aroundScope(answer: FacilitiesAnswer | Failure): Scope | Failure {
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

/** @param around all priced hospitals around the ZIP code, cheapest first; null without a ZIP code */
function pinnedOf({ pinned, year }: Choice, procedure: string, around: Priced[] | null, ask: Ask): Pinned[] {
  const segments = pinned.map((ccn) => `/healthcare/facilities/${encodeURIComponent(ccn)}`);
  const answers = ask<FacilityAnswer[]>(...segments.map((segment) => pathOf(segment, {}, year)));
  const entries = answers.map((answer) => (answer instanceof Failure ? null : entryOf(answer, procedure)));
  const trendOf = (entry: Entry | null, i: number) =>
    entry && isPriced(entry) ? [pathOf(`${segments[i]}/trends`, { procedure })] : [];
  ask<FacilityTrendsAnswer[]>(...entries.flatMap(trendOf));
  return entries.map((entry, i) => {
    const [trend = null] = ask<FacilityTrendsAnswer[]>(...trendOf(entry, i));
    const there = around?.find(({ ccn }) => ccn === entry?.ccn);
    return {
      ...{ letter: "ABC"[i], ccn: pinned[i], entry: there ?? entry, trend: unlessFailed(trend) },
      standings: there && around ? { around: rankAmong(around, there) } : (entry ?? {}),
    };
  });
}

function rankAmong(
  cheapestFirst: readonly Priced[],
  { submitted_charge: own }: Priced,
): Pick<Standing, "rank" | "facilities"> {
  const cheaper = cheapestFirst.filter(({ submitted_charge }) => submitted_charge < own).length;
  return { rank: cheaper + 1, facilities: cheapestFirst.length };
}

function unpricedOf(choice: Choice, procedure: string, ask: Ask): FacilitiesAnswer | null {
  const parameters = { procedure, ...placeOf(choice), status: "all", limit: maxPageRows };
  const found = unlessFailed(
    ask<[FacilitiesAnswer]>(pathOf("/healthcare/facilities", parameters, choice.year))[0],
  );
  // The API takes words for a procedure, too, but pages take codes only.
  return found?.procedure?.code === procedure ? found : null;
}

function nearestOf(procedure: string, near: string, year: string | null, ask: Ask): Priced | null {
  const parameters = { procedure, near, within: farthest, sort: "distance", limit: 1 };
  const found = unlessFailed(ask<[FacilitiesAnswer]>(pathOf("/healthcare/facilities", parameters, year))[0]);
  return found?.data.find(isPriced) ?? null;
}
