import type {
  FacilityAnswer,
  PricesAnswer,
  ProcedureAnswer,
  ProceduresAnswer,
  TrendsAnswer,
} from "./answers.ts";
import { Failure, getFile } from "./api.ts";
import { askIfThere, pathOf } from "./ask.ts";
import type { Range } from "./facilities.ts";

/**
 * Fetches what the page explore shows.
 *
 * Ranges of charges and rows without prices are read from whole exports, until the API has parameters for both.
 */

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
    range: rangeOf(choice, paths.export, signal),
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
    scope instanceof Failure && scope.status === 404 ? await unpricedOf(paths.export, signal) : null;
  return { choice, code, paths, scope, nation, prices, range, trends, facility, unpriced };
}

/** Fetches an export. @returns its lines, and a function that reads a line's column */
async function linesOf(path: string, signal?: AbortSignal) {
  const text = await getFile(path, signal).then((file) => file.text());
  // d3.csvParse compiles a function from a string, which the page's policy forbids.
  const [columns, ...lines] = d3.csvParseRows(text);
  return { lines, cell: (line: string[], column: string) => line[columns.indexOf(column)] };
}

/** Counts the rows of a procedure without prices. @returns null where the data has no row */
async function unpricedOf(path: string, signal: AbortSignal): Promise<Unpriced | null> {
  try {
    const { lines, cell } = await linesOf(path, signal);
    const count = (status: string) => lines.filter((line) => cell(line, "status") === status).length;
    return {
      name: cell(lines[0], "procedure"),
      year: cell(lines[0], "data_year"),
      suppressed: count("suppressed"),
      incomplete: count("incomplete"),
    };
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return null;
    throw error;
  }
}

/** The part of a price list between two charges. */
async function rangeOf({ from, to }: Choice, path: string, signal: AbortSignal): Promise<Range | null> {
  const [low, high] = [Number(from ?? Number.NaN), Number(to ?? Number.NaN)];
  if (!(low <= high)) return null;
  const { lines, cell } = await linesOf(path, signal);
  const all = lines
    .filter((line) => cell(line, "status") === "priced")
    .map((line) => ({
      ccn: cell(line, "ccn"),
      facility: cell(line, "facility"),
      city: cell(line, "city"),
      state: cell(line, "state"),
      submitted_charge: Number(cell(line, "submitted_charge")),
      medicare_allowed: Number(cell(line, "medicare_allowed")),
    }));
  all.sort((a, b) => a.submitted_charge - b.submitted_charge || d3.ascending(a.ccn, b.ccn));
  const highest = all.at(-1)?.submitted_charge;
  // As in the histogram, the last bar includes its end.
  const isIn = (charge: number) =>
    charge >= low && (charge < high || (charge === high && charge === highest));
  return {
    from: low,
    to: high,
    before: all.filter(({ submitted_charge }) => submitted_charge < low).length,
    data: all.filter(({ submitted_charge }) => isIn(submitted_charge)),
  };
}

let latestPriced: { path: string; facilities: Promise<Set<string> | null> } | null = null;

/** CCNs of all facilities with a price for a procedure; null where the export can't be read. The latest is kept. */
export function pricedIn(code: string, year: string | null): Promise<Set<string> | null> {
  const path = pathOf("/export.csv", { procedure: code }, year);
  if (latestPriced?.path === path) return latestPriced.facilities;
  const read = async () => {
    const { lines, cell } = await linesOf(path);
    const priced = lines.filter((line) => cell(line, "status") === "priced");
    return new Set(priced.map((line) => cell(line, "ccn")));
  };
  latestPriced = { path, facilities: read().catch(() => null) };
  return latestPriced.facilities;
}
