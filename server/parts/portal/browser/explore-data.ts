import type {
  Dataset,
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
import { Failure } from "./api.ts";
import { askIfThere, pathOf, rowsAt, there } from "./ask.ts";
import { type Choice, defaultProcedure } from "./choice.ts";
import { entryOf, isPriced } from "./words.ts";

/** Fetches what the page explore shows. */

/** Most hospitals that are drawn as a dot each. */
const mostDots = 50;
const pageRows = 50;
const maxPageRows = 100;
const bins = 20;

/** A procedure group's prices in a place. */
export type Scope = Pick<
  ProcedureAnswer,
  "procedure" | "summary" | "rows" | "allowed" | "histogram" | "source"
>;

export interface Pinned {
  letter: string;
  ccn: string;
  /** The hospital; null where the data doesn't have it. */
  entry: Entry | null;
  /** Where its charge stands among those around a ZIP code; null where there are none. */
  standing: Pick<Standing, "rank" | "facilities"> | null;
  trend: FacilityTrendsAnswer | null;
}

export interface View {
  choice: Choice;
  code: string;
  paths: Record<"scope" | "nation" | "list" | "trends" | "export", string>;
  /** The prices in the chosen place; a failure where there are none. */
  scope: Scope | Failure;
  nation: ProcedureAnswer | Failure;
  list: FacilitiesAnswer | Failure;
  /** All hospitals of the place, cheapest first, where they are few. */
  few: Priced[] | null;
  trends: TrendsAnswer | Failure;
  pinned: Pinned[];
  /** The procedure's rows where none has a price. */
  unpriced: Unpriced | null;
}

/** What a part of the page shows, with the data versions as far as they are known. */
export interface PartProps {
  view: View;
  datasets: Dataset[];
}

export interface Unpriced {
  name: string;
  year: string;
  suppressed: number;
  incomplete: number;
}

const facilitiesPath = (parameters: Record<string, string | number | null>, year: string | null) =>
  pathOf("/healthcare/facilities", parameters, year);

const placeOf = ({ state, near, within }: Choice) => (near === null ? { state } : { near, within });

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

/** Sends three requests at once, and more for a place or hospitals to compare. @throws Failure */
export async function load(choice: Choice, signal: AbortSignal): Promise<View> {
  const code = choice.procedure ?? defaultProcedure;
  const paths = pathsOf(code, choice);
  const isNation = paths.nation === paths.scope;
  const nationAsked = askIfThere<ProcedureAnswer>(paths.nation, signal);
  const aroundAsked = choice.near === null ? null : rowsAt(paths.scope, signal);
  const stateAsked =
    choice.near !== null ? null : isNation ? nationAsked : askIfThere<ProcedureAnswer>(paths.scope, signal);
  const [nation, around, inState, list, trends, pinned] = await Promise.all([
    nationAsked,
    aroundAsked,
    stateAsked,
    askIfThere<FacilitiesAnswer>(paths.list, signal),
    askIfThere<TrendsAnswer>(paths.trends, signal),
    pinnedOf(choice, code, signal),
  ]);
  if (choice.procedure === null && nation instanceof Failure) {
    const path = pathOf("/healthcare/procedures", { sort: "facilities", limit: 1 }, choice.year);
    const most = await askIfThere<ProceduresAnswer>(path, signal);
    const found = there(most)?.data[0]?.code;
    if (found && found !== code) return { ...(await load({ ...choice, procedure: found }, signal)), choice };
  }
  const scope = around instanceof Failure ? around : around ? aroundScope(around) : (inState ?? nation);
  const few = around && !(around instanceof Failure) ? around.data.filter(isPriced) : null;
  return {
    ...{ choice, code, paths, scope, nation, list, trends, pinned: amongAround(pinned, few) },
    few: few && few.length <= mostDots ? few : await fewOf(scope, list, choice, code, signal),
    unpriced:
      scope instanceof Failure && scope.status === 404 ? await unpricedOf(code, choice, signal) : null,
  };
}

/** The compared hospitals with their distance and their rank among the hospitals around the place. */
const amongAround = (pinned: Pinned[], around: Priced[] | null): Pinned[] =>
  around === null
    ? pinned
    : pinned.map((one) => {
        const entry = around.find(({ ccn }) => ccn === one.ccn);
        if (entry === undefined) return one;
        const less = around.filter(
          ({ submitted_charge }) => submitted_charge < entry.submitted_charge,
        ).length;
        const { length: facilities } = around;
        const standing = { rank: less + 1, facilities };
        return { ...one, entry, standing };
      });

/** The prices around a ZIP code, from its hospitals with and without prices. */
function aroundScope({ procedure, summary, data, source }: FacilitiesAnswer): Scope | Failure {
  const rows = data.filter(isPriced);
  if (procedure === undefined || rows.length === 0)
    return new Failure(404, "not_found", "no hospital there has a price");
  const charges = rows.map(({ submitted_charge }) => submitted_charge);
  const amounts = rows.map(({ medicare_allowed }) => medicare_allowed).sort(d3.ascending);
  const of = (sorted: number[], share: number) => d3.quantileSorted(sorted, share) ?? 0;
  const quantiles = (sorted: number[]) => [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1].map((share) => of(sorted, share));
  const [min_charge, p10_charge, p25_charge, median_charge, p75_charge, p90_charge, max_charge] =
    quantiles(charges);
  const [min, p10, p25, median, p75, p90, max] = quantiles(amounts);
  const ratio = max_charge / min_charge;
  const edges = d3.range(bins + 1).map((i) => (i === bins ? max_charge : min_charge * ratio ** (i / bins)));
  const counts = new Array<number>(bins).fill(0);
  for (const charge of charges) counts[Math.min(bins - 1, d3.bisectRight(edges, charge) - 1)]++;
  const isOf = (status: string) => data.filter((row) => row.status === status).length;
  return {
    ...{ procedure: { ...procedure, includes: null }, source: { ...source } },
    summary: {
      ...{ min_charge, p10_charge, p25_charge, median_charge, p75_charge, p90_charge, max_charge },
      ...{ facilities: rows.length, spread: ratio, median_allowed: median },
      ...{ services: null, weighted_median_charge: null, weighted_mean_charge: null },
      weighted_facilities: summary.weighted_facilities ?? 0,
    },
    rows: { priced: rows.length, suppressed: isOf("suppressed"), incomplete: isOf("incomplete") },
    allowed: { min, p10, p25, median, p75, p90, max },
    histogram:
      min_charge === max_charge
        ? { edges: [min_charge, max_charge], counts: [rows.length] }
        : { edges, counts },
  };
}

/** All hospitals of a state or the nation, where they are few. */
async function fewOf(
  scope: Scope | Failure,
  list: FacilitiesAnswer | Failure,
  choice: Choice,
  procedure: string,
  signal: AbortSignal,
): Promise<Priced[] | null> {
  if (scope instanceof Failure || scope.summary.facilities > mostDots) return null;
  const isAll = !(list instanceof Failure) && list.data.length === scope.summary.facilities;
  const path = facilitiesPath(
    { procedure, ...placeOf(choice), sort: "charge", limit: mostDots },
    choice.year,
  );
  const all = isAll ? list : await askIfThere<FacilitiesAnswer>(path, signal);
  if (all instanceof Failure) return null;
  return all.data.filter(isPriced).sort((a, b) => a.submitted_charge - b.submitted_charge);
}

/** The hospitals to compare, each with its price and its years. */
function pinnedOf({ pinned, year }: Choice, procedure: string, signal: AbortSignal): Promise<Pinned[]> {
  return Promise.all(
    pinned.map(async (ccn, i) => {
      const segment = `/healthcare/facilities/${encodeURIComponent(ccn)}`;
      const answer = await askIfThere<FacilityAnswer>(pathOf(segment, {}, year), signal);
      const entry = answer instanceof Failure ? null : entryOf(answer, procedure);
      const trend =
        entry && isPriced(entry)
          ? await askIfThere<FacilityTrendsAnswer>(pathOf(`${segment}/trends`, { procedure }), signal)
          : null;
      return { letter: "ABC"[i], ccn, entry, standing: null, trend: there(trend) };
    }),
  );
}

/** Counts the rows of a procedure without prices. @returns null where the data has no row */
async function unpricedOf(procedure: string, choice: Choice, signal: AbortSignal): Promise<Unpriced | null> {
  const countOf = async (status: string) => {
    const path = facilitiesPath({ procedure, ...placeOf(choice), status, limit: 1 }, choice.year);
    return there(await askIfThere<FacilitiesAnswer>(path, signal));
  };
  const all = await countOf("all");
  if (all === null) return null;
  const suppressed = (await countOf("suppressed"))?.summary.facilities ?? 0;
  return {
    name: all.procedure?.name ?? "",
    year: String(all.source.data_year),
    suppressed,
    incomplete: all.summary.facilities - suppressed,
  };
}
