import type {
  FacilitiesAnswer,
  FacilityAnswer,
  PricesAnswer,
  ProcedureAnswer,
  ProceduresAnswer,
  TrendsAnswer,
} from "./answers.ts";
import { Failure, get } from "./api.ts";
import { askIfThere, pathOf } from "./ask.ts";
import type { Range } from "./facilities.ts";

/** Fetches what the page explore shows. */

/** The procedure that is shown when none is chosen. Where the data doesn't have it, the one that most facilities do is shown. */
export const defaultProcedure = "5072";

export interface Choice {
  procedure: string | null;
  state: string | null;
  year: string | null;
  facility: string | null;
  /** The lowest charge in the list, in dollars. */
  from: string | null;
  /** The charge that ends the list, in dollars. */
  to: string | null;
}

export function choiceOf({ searchParams }: URL): Choice {
  const chosen = (name: string) => searchParams.get(name)?.trim() || null;
  return {
    procedure: chosen("procedure"),
    state: chosen("state")?.toUpperCase() ?? null,
    year: chosen("year"),
    facility: chosen("facility"),
    from: chosen("from"),
    to: chosen("to"),
  };
}

type Paths = Record<"scope" | "nation" | "prices" | "trends" | "export", string>;

export interface View {
  choice: Choice;
  code: string;
  paths: Paths;
  /** The procedure in the chosen state; a failure where there is no data. */
  scope: ProcedureAnswer | Failure;
  nation: ProcedureAnswer | Failure;
  prices: PricesAnswer | Failure;
  range: Range | null;
  trends: TrendsAnswer | Failure;
  facility: FacilityAnswer | Failure | null;
  /** The procedure's rows where none has a price. */
  unpriced: Unpriced | null;
}

export interface Unpriced {
  name: string;
  year: string;
  suppressed: number;
  incomplete: number;
}

export const there = <T extends object>(answer: T | Failure | null): T | null =>
  answer instanceof Failure ? null : answer;

function pathsOf(code: string, { state, year }: Choice): Paths {
  const segment = `/healthcare/procedures/${encodeURIComponent(code)}`;
  return {
    scope: pathOf(segment, { state }, year),
    nation: pathOf(segment, {}, year),
    prices: pathOf("/healthcare/prices", { procedure: code, state }, year),
    trends: pathOf("/healthcare/trends", { procedure: code, state }),
    export: pathOf("/export.csv", { procedure: code, state }, year),
  };
}

/** Sends three requests at once, and one more for each of a state, a facility and a range. @throws Failure */
export async function load(choice: Choice, signal: AbortSignal): Promise<View> {
  const code = choice.procedure ?? defaultProcedure;
  const paths = pathsOf(code, choice);
  const facilityPath =
    choice.facility &&
    pathOf(`/healthcare/facilities/${encodeURIComponent(choice.facility)}`, {}, choice.year);
  const asked = {
    scope: askIfThere<ProcedureAnswer>(paths.scope, signal),
    nation: paths.nation === paths.scope ? null : askIfThere<ProcedureAnswer>(paths.nation, signal),
    prices: askIfThere<PricesAnswer>(paths.prices, signal),
    range: rangeOf(choice, code, signal),
    trends: askIfThere<TrendsAnswer>(paths.trends, signal),
    facility: facilityPath ? askIfThere<FacilityAnswer>(facilityPath, signal) : null,
  };
  const [scope, nation, prices, range, trends, facility] = await Promise.all([
    asked.scope,
    asked.nation ?? asked.scope,
    asked.prices,
    asked.range,
    asked.trends,
    asked.facility,
  ]);
  if (choice.procedure === null && nation instanceof Failure) {
    const path = pathOf("/healthcare/procedures", { sort: "facilities", limit: 1 }, choice.year);
    const most = await askIfThere<ProceduresAnswer>(path, signal);
    const found = there(most)?.data[0]?.code;
    if (found && found !== code) return { ...(await load({ ...choice, procedure: found }, signal)), choice };
  }
  const unpriced =
    scope instanceof Failure && scope.status === 404 ? await unpricedOf(code, choice, signal) : null;
  return { choice, code, paths, scope, nation, prices, range, trends, facility, unpriced };
}

const facilitiesPath = (parameters: Record<string, string | number | null>, year: string | null) =>
  pathOf("/healthcare/facilities", parameters, year);

/** Counts the rows of a procedure without prices. @returns null where the data has no row */
async function unpricedOf(
  procedure: string,
  { state, year }: Choice,
  signal: AbortSignal,
): Promise<Unpriced | null> {
  const rowsOf = async (status: string) => {
    const path = facilitiesPath({ procedure, state, status, limit: 1 }, year);
    return there(await askIfThere<FacilitiesAnswer>(path, signal));
  };
  const all = await rowsOf("all");
  if (all === null) return null;
  const suppressed = (await rowsOf("suppressed"))?.summary.facilities ?? 0;
  return {
    name: all.procedure?.name ?? "",
    year: String(all.source.data_year),
    suppressed,
    incomplete: all.summary.facilities - suppressed,
  };
}

/** The part of a price list between two charges. */
async function rangeOf(
  { from, to, state, year }: Choice,
  procedure: string,
  signal: AbortSignal,
): Promise<Range | null> {
  const [low, high] = [Number(from ?? Number.NaN), Number(to ?? Number.NaN)];
  if (!(low <= high)) return null;
  const parameters = { procedure, state, min_charge: from, max_charge: to, sort: "charge", limit: 100 };
  const first = await askIfThere<FacilitiesAnswer>(facilitiesPath(parameters, year), signal);
  if (first instanceof Failure) return { from: low, to: high, before: 0, data: [] };
  const rows = [...first.data];
  for (let { next } = first; next !== null; ) {
    const page: FacilitiesAnswer = await get(next, signal);
    rows.push(...page.data);
    next = page.next;
  }
  const standing = (row: (typeof rows)[number]) => (state === null ? row.national : row.within_state);
  const prices = rows.map((row) => ({
    ccn: row.ccn,
    facility: row.facility,
    city: row.city,
    state: row.state,
    submitted_charge: row.submitted_charge ?? 0,
    medicare_allowed: row.medicare_allowed ?? 0,
  }));
  // As in the histogram, a bar doesn't include its end, but the last one does: there nobody charges more.
  const ends = rows.filter((row) => row.submitted_charge === high);
  const isLast = ends.some((row) => {
    const { rank = 0, facilities = 0 } = standing(row) ?? {};
    return rank - 1 + ends.length === facilities;
  });
  return {
    from: low,
    to: high,
    before: (standing(rows[0])?.rank ?? 1) - 1,
    data: prices.filter(({ submitted_charge }) => isLast || submitted_charge < high),
  };
}

/** CCNs of the facilities among some, at most 50, that have a price for a procedure; null where it can't be asked. */
export async function pricedAmong(
  ccns: readonly string[],
  procedure: string,
  year: string | null,
  signal: AbortSignal,
): Promise<Set<string> | null> {
  const parameters = { procedure, ccn: ccns.join(","), limit: 50 };
  const asked = askIfThere<FacilitiesAnswer>(facilitiesPath(parameters, year), signal);
  const answer = await asked.catch(() => null);
  if (answer === null) return null;
  if (answer instanceof Failure) return answer.status === 404 ? new Set() : null;
  return new Set(answer.data.map(({ ccn }) => ccn));
}
