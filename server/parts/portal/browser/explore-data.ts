import * as d3 from "../../../shared/browser/d3.ts";
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
import { ask, askOrFailure, Failure, pathOf, rowsAt, unlessFailed } from "./api.ts";
import { type Choice, defaultProcedure, placeOf } from "./choice.ts";
import { entryOf, isPriced } from "./words.ts";

/** Fetches the data of the Explore page. */

/** Maximum number of hospitals for a picture with a dot for each hospital. */
const mostDots = 50;
const pageRows = 50;
const maxPageRows = 100;
const bins = 20;

type ChargeSummary = Pick<
  ProcedureAnswer["summary"],
  "facilities" | `${"min" | "p10" | "p25" | "median" | "p75" | "p90" | "max"}_charge` | "median_allowed"
>;
export type Scope = Pick<ProcedureAnswer, "rows" | "allowed" | "histogram" | "source"> & {
  procedure: { code: string; name: string };
  summary: ChargeSummary;
};

export interface Pinned {
  letter: string;
  ccn: string;
  /** Null if the data doesn't have the hospital. */
  entry: Entry | null;
  /** The rank of the hospital's charge around a ZIP code; null if the hospital isn't there. */
  standing: Pick<Standing, "rank" | "facilities"> | null;
  trend: FacilityTrendsAnswer | null;
}

export type HospitalList = Pick<FacilitiesAnswer, "data" | "next"> & { summary: { facilities: number } };
const emptyList: HospitalList = { data: [], next: null, summary: { facilities: 0 } };

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
  /**
   * The procedure's unpriced hospitals if no hospital in the place has a price; null otherwise or without hospitals.
   */
  unpriced: FacilitiesAnswer | null;
}

export const knownOf = ({ scope, nation, unpriced }: View) =>
  unlessFailed(scope) ?? unlessFailed(nation) ?? unpriced;

/** Properties of parts of the page. `datasets` is empty until the data versions are loaded. */
export interface PartProps {
  view: View;
  datasets: Dataset[];
}

const facilitiesPath = (parameters: Record<string, string | number | null>, year: string | null) =>
  pathOf("/healthcare/facilities", parameters, year);

function pathsOf(code: string, choice: Choice): View["paths"] {
  const { state, near, year, from, to, sort, order, versions } = choice;
  const segment = `/healthcare/procedures/${encodeURIComponent(code)}`;
  const place = { procedure: code, ...placeOf(choice) };
  const asked = { sort, ...(order === "desc" && { order }) };
  return {
    scope:
      near === null
        ? pathOf(segment, { state }, year)
        : facilitiesPath({ ...place, status: "all", sort: "charge", limit: maxPageRows }, year),
    nation: pathOf(segment, {}, year),
    list: facilitiesPath({ ...place, min_charge: from, max_charge: to, ...asked, limit: pageRows }, year),
    trends: pathOf("/healthcare/trends", { procedure: code, state, versions }),
    export: pathOf("/export.csv", { procedure: code, state }, year),
  };
}

/** Sends the requests for a choice early. A later `load` finds their answers in the cache of `ask`. */
export function askAhead(choice: Choice): void {
  const { nation, scope, list, trends } = pathsOf(choice.procedure ?? defaultProcedure, choice);
  for (const path of [nation, scope, list, trends])
    ask(path).catch(() => {
      // `load` gets the same failures, and the page shows them.
    });
}

/** Loads the data for a choice. A place and hospitals to compare need further requests. @throws Failure */
export async function load(choice: Choice): Promise<View> {
  const code = choice.procedure ?? defaultProcedure;
  const paths = pathsOf(code, choice);
  const nationAsked = askOrFailure<ProcedureAnswer>(paths.nation);
  const { hasPrices, isCovered } = await coverageOf(choice, nationAsked);
  const aroundAsked = choice.near === null ? null : rowsAt(paths.scope);
  const stateAsked =
    choice.near !== null ? null : hasPrices ? askOrFailure<ProcedureAnswer>(paths.scope) : noPrice;
  const [nation, around, inState, listed, trends, pinned] = await Promise.all([
    nationAsked,
    aroundAsked,
    stateAsked,
    hasPrices ? askOrFailure<FacilitiesAnswer>(paths.list) : noPrice,
    isCovered ? askOrFailure<TrendsAnswer>(paths.trends) : noPrice,
    pinnedOf(choice, code),
  ]);
  if (choice.procedure === null && nation instanceof Failure) {
    const path = pathOf("/healthcare/procedures", { sort: "facilities", limit: 1 }, choice.year);
    const most = await askOrFailure<ProceduresAnswer>(path);
    const found = unlessFailed(most)?.data[0]?.code;
    if (found && found !== code) return { ...(await load({ ...choice, procedure: found })), choice };
  }
  const scope = around instanceof Failure ? around : around ? aroundScope(around) : (inState ?? nation);
  const unpricedThere = () => {
    if (nation instanceof Failure) return unpricedOf({ ...choice, state: null, near: null }, code);
    // For a ZIP code, `around` already includes the hospitals without prices.
    if (around) return unlessFailed(around);
    return isCovered ? unpricedOf(choice, code) : null;
  };
  const list = unlessFailed(listed) ?? emptyList;
  const few = around && !(around instanceof Failure) ? around.data.filter(isPriced) : null;
  return {
    ...{ choice, code, paths, scope, nation, list, trends, pinned: amongAround(pinned, few) },
    few: few && few.length <= mostDots ? few : await fewOf(scope, choice, code),
    unpriced: scope instanceof Failure && scope.status === 404 ? await unpricedThere() : null,
  };
}

const noPrice = new Failure(404, "not_found", "no hospital there has a price");

/**
 * Finds out whether the chosen state has prices for the procedure, and whether a data version has the state. Missing
 * data isn't requested, because the browser would write each 404 to its console.
 */
async function coverageOf({ state }: Choice, nationAsked: Promise<ProcedureAnswer | Failure>) {
  const nation = state === null ? null : unlessFailed(await nationAsked);
  if (nation?.data.every((row) => row.state !== state) !== true) return { hasPrices: true, isCovered: true };
  const { data } = await ask<DatasetsAnswer>(pathOf("/datasets"));
  return { hasPrices: false, isCovered: data.some(({ coverage }) => coverage.states.includes(state ?? "")) };
}

/** Gives hospitals around the ZIP code their distance, and their rank among the priced hospitals there. */
const amongAround = (pinned: Pinned[], around: Priced[] | null): Pinned[] =>
  pinned.map((one) => {
    const entry = around?.find(({ ccn }) => ccn === one.ccn);
    if (!around || !entry) return one;
    const cheaper = around.findIndex(({ submitted_charge }) => submitted_charge === entry.submitted_charge);
    return { ...one, entry, standing: { rank: cheaper + 1, facilities: around.length } };
  });

/** Summarizes prices around a ZIP code. The answer must list every hospital in the circle, priced or not. */
function aroundScope({ procedure, summary, data, source }: FacilitiesAnswer): Scope | Failure {
  if (procedure === undefined || !isKnown(summary)) return noPrice;
  const rows = data.filter(isPriced);
  const amounts = rows.map(({ medicare_allowed }) => medicare_allowed);
  const [min, p10, p25, median, p75, p90, max] = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1].map(
    (share) => d3.quantile(amounts, share) ?? 0,
  );
  const isOf = (status: string) => data.filter((row) => row.status === status).length;
  return {
    ...{ procedure, source },
    summary: { ...summary, facilities: rows.length },
    rows: { priced: rows.length, suppressed: isOf("suppressed"), incomplete: isOf("incomplete") },
    allowed: { min, p10, p25, median, p75, p90, max },
    histogram: histogramOf(
      rows.map(({ submitted_charge }) => submitted_charge),
      summary,
    ),
  };
}

const isKnown = (summary: FacilitiesAnswer["summary"] | ChargeSummary): summary is ChargeSummary =>
  typeof summary.median_charge === "number";

/** Counts charges in bins of equal width on a logarithmic scale. If all charges are equal, there is one bin. */
function histogramOf(charges: number[], { min_charge: min, max_charge: max }: ChargeSummary) {
  if (min === max) return { edges: [min, max], counts: [charges.length] };
  const cents = (dollars: number) => Math.round(dollars * 100) / 100;
  const edges = d3.range(bins + 1).map((i) => cents(min * (max / min) ** (i / bins)));
  const bars = d3.bin().domain([min, max]).thresholds(edges.slice(1, -1))(charges);
  return { edges, counts: bars.map(({ length }) => length) };
}

/**
 * Fetches all priced hospitals of a state or the nation. If the page's list needs the same request, it is sent once.
 * @returns null if the place has no priced hospital, or more than `mostDots`
 */
async function fewOf(scope: Scope | Failure, choice: Choice, procedure: string): Promise<Priced[] | null> {
  if (scope instanceof Failure || scope.summary.facilities > mostDots) return null;
  const place = { procedure, ...placeOf(choice) };
  const all = await askOrFailure<FacilitiesAnswer>(
    facilitiesPath({ ...place, sort: "charge", limit: mostDots }, choice.year),
  );
  return unlessFailed(all)?.data.filter(isPriced) ?? null;
}

function pinnedOf({ pinned, year }: Choice, procedure: string): Promise<Pinned[]> {
  return Promise.all(
    pinned.map(async (ccn, i) => {
      const segment = `/healthcare/facilities/${encodeURIComponent(ccn)}`;
      const answer = await askOrFailure<FacilityAnswer>(pathOf(segment, {}, year));
      const entry = answer instanceof Failure ? null : entryOf(answer, procedure);
      const trend =
        entry && isPriced(entry)
          ? await askOrFailure<FacilityTrendsAnswer>(pathOf(`${segment}/trends`, { procedure }))
          : null;
      return { letter: "ABC"[i], ccn, entry, standing: null, trend: unlessFailed(trend) };
    }),
  );
}

/** @returns null if the data has no row */
async function unpricedOf(choice: Choice, procedure: string): Promise<FacilitiesAnswer | null> {
  const path = facilitiesPath(
    { procedure, ...placeOf(choice), status: "all", limit: maxPageRows },
    choice.year,
  );
  return unlessFailed(await askOrFailure<FacilitiesAnswer>(path));
}
