import {
  type Ask,
  type Dataset,
  type DatasetsAnswer,
  type Entry,
  type FacilitiesAnswer,
  type FacilityAnswer,
  type FacilityTrendsAnswer,
  Failure,
  isServed,
  type Priced,
  type ProcedureAnswer,
  type ProceduresAnswer,
  pathOf,
  type SearchAnswer,
  type Standing,
  servedOf,
  type TrendsAnswer,
  unlessFailed,
} from "./answers.ts";
import { maxPageRows, nearestOf, understood } from "./around.ts";
import { type Choice, defaultProcedure, farthest, placedAt, placeOf } from "./choice.ts";
import { isAsking, type OtherMeaning, onlyMeant, otherMeaning, surelyMeant } from "./nothing.ts";
import { type UnknownPlace, unknownPlace } from "./states.ts";
import { entryOf, isPriced, type Standings } from "./words.ts";

/** Makes the view of the Explore page from the API's answers. The server makes the same view when it writes the page. */

/** Maximum hospitals for a picture with a dot for each hospital. The list is also requested in pages of this size. */
const mostDots = 50;
const mostMatches = 10;

export interface Pinned {
  letter: string;
  ccn: string;
  /** Null if the data doesn't have the hospital. */
  entry: Entry | null;
  standings: Standings;
  /** Miles from the chosen place; undefined if not known. */
  miles: number | undefined;
  trend: FacilityTrendsAnswer | null;
}

interface HospitalList {
  data: Priced[];
  isAll: boolean;
  facilities: number;
}

export interface View {
  /** The data year or version in the URL if it isn't served; null otherwise. The newest is shown instead. */
  gone: string | null;
  /** The trend's data versions in the URL that aren't served, except `gone`. They are left out. */
  goneVersions: string[];
  /** The year and the data versions in the URL. */
  asked: Pick<Choice, "year" | "versions">;
  /**
   * The choice that is shown. If the URL's words mean one procedure, this procedure and the place in the words are
   * chosen.
   */
  choice: Choice;
  /** What the URL's words mean or may mean; null without words, or if they don't mean the procedure in the URL. */
  search: SearchAnswer | Failure | null;
  /** Another meaning of words that match no procedure; null if none was looked for, or none was found. */
  other: OtherMeaning | null;
  code: string;
  paths: Record<"scope" | "nation" | "list" | "all" | "trends", string>;
  /** A failure if no hospital in the chosen place has a price. */
  scope: ProcedureAnswer | Failure;
  nation: ProcedureAnswer | Failure;
  list: HospitalList;
  /** All priced hospitals of the place, cheapest first; null if they aren't all known, or are more than `mostDots`. */
  few: Priced[] | null;
  trends: TrendsAnswer | Failure;
  pinned: Pinned[];
  /** Hospitals without a price for the procedure. Null if none is known, or if a hospital in the place has a price. */
  unpriced: FacilitiesAnswer | null;
  /** The procedure group whose code the URL has in another form, such as 5072.0; null if there is none. */
  meant: ProcedureAnswer["procedure"] | null;
  unknown: UnknownPlace | null;
  /** The nearest hospital with a price if none around `near` has one; null otherwise, or if none is found. */
  nearest: Priced | null;
  datasets: Dataset[];
}

export const knownOf = ({ scope, nation, unpriced }: View) =>
  unlessFailed(scope) ?? unlessFailed(nation) ?? unpriced;

export function pathsOf(code: string, choice: Choice): View["paths"] {
  const { state, year, sort, order, versions } = choice;
  const segment = `/healthcare/procedures/${encodeURIComponent(code)}`;
  const here = placeOf(choice);
  const place = { procedure: code, ...here };
  // What a patient pays grows with the allowed amount.
  const sorted = {
    sort: sort === "pays" ? "allowed" : sort,
    ...(order === "desc" && { order }),
    limit: mostDots,
  };
  return {
    scope: pathOf(segment, here, year),
    nation: pathOf(segment, {}, year),
    list: pathOf("/healthcare/facilities", { ...place, ...sorted }, year),
    // The same list in as few pages as possible.
    all: pathOf("/healthcare/facilities", { ...place, ...sorted, limit: maxPageRows }, year),
    trends: pathOf("/healthcare/trends", { procedure: code, state, versions }),
  };
}

export function viewOf(choice: Choice, ask: Ask): View {
  const { year, versions } = choice;
  if (year === null && versions === null) return servedView(choice, ask);
  const datasets = unlessFailed(ask<[DatasetsAnswer]>(pathOf("/datasets"))[0])?.data;
  const gone = year === null || isServed(year, datasets) ? null : year;
  const { kept, gone: others } = servedOf(versions, datasets);
  const served = {
    year: gone === null ? year : null,
    versions: gone === null && kept.length > 0 ? kept.join(",") : null,
  };
  const goneVersions = others.filter((one) => one !== gone);
  return { ...servedView({ ...choice, ...served }, ask), gone, goneVersions, asked: { year, versions } };
}

/** Parameters that make a view's URL permanent: the procedure and the data versions that are shown. */
export function lastingOf(view: View) {
  const versions = unlessFailed(view.trends)?.source.data_versions.join(",") ?? null;
  const year = (unlessFailed(view.scope) ?? unlessFailed(view.nation))?.source.data_version ?? null;
  return { procedure: view.code, year, versions };
}

/** Parameters of the page's URL. Versions that aren't served stay in the URL, so that a reload gives the same note. */
export function addressOf(view: View) {
  const isGone = view.gone !== null || view.goneVersions.length > 0;
  return { ...lastingOf(view), ...(isGone && view.asked) };
}

function servedView(choice: Choice, ask: Ask): View {
  if (choice.words !== null) return searchedView(choice, choice.words, ask);
  const code = choice.procedure ?? defaultProcedure;
  const paths = pathsOf(code, choice);
  const { state, near, year } = choice;
  const [first, rest] = [[paths.nation, pathOf("/datasets")] as const, [paths.list, paths.trends] as const];
  // A browser waits only once for answers that it requests together. But a state may have no prices. The browser's console
  // shows each refused request as an error.
  if (state === null) ask<object[]>(...first, ...rest);
  const [nation, versions] = ask<[ProcedureAnswer, DatasetsAnswer]>(...first);
  if (choice.procedure === null && nation instanceof Failure) {
    const most = pathOf("/healthcare/procedures", { sort: "facilities", limit: 1 }, year);
    const found = unlessFailed(ask<[ProceduresAnswer]>(most)[0])?.data[0]?.code;
    if (found && found !== code) return { ...servedView({ ...choice, procedure: found }, ask), choice };
  }
  const datasets = unlessFailed(versions)?.data ?? [];
  const isCovered =
    state === null ||
    nation instanceof Failure ||
    datasets.some(({ coverage }) => coverage.states.includes(state));
  const hasPrices =
    nation instanceof Failure || state === null || nation.data.some((row) => row.state === state);
  const [trends] = isCovered ? ask<[TrendsAnswer]>(paths.trends) : [noPrice];
  const found = hasPrices ? listAt(paths.list, choice.shown, ask) : noPrice;
  const list = unlessFailed(found) ?? emptyList;
  // Around a place, the list says whether a hospital there has a price.
  const scope =
    found instanceof Failure && (near !== null || !hasPrices)
      ? found
      : ask<[ProcedureAnswer]>(paths.scope)[0];
  const unpriced = scope instanceof Failure && scope.status === 404;
  return {
    ...{
      choice,
      gone: null,
      goneVersions: [],
      asked: choice,
      search: typedSearch(choice, ask),
      other: null,
      code,
      paths,
      scope,
      nation,
      list,
      trends,
      datasets,
    },
    few: list.isAll && list.data.length <= mostDots ? byCharge(list.data) : null,
    pinned: pinnedOf(choice, code, unlessFailed(scope), ask),
    unpriced: !unpriced
      ? null
      : nation instanceof Failure
        ? unpricedOf({ ...choice, state: null, near: null }, code, ask)
        : isCovered
          ? unpricedOf(choice, code, ask)
          : null,
    meant: nation instanceof Failure ? meantBy(code, year, ask) : null,
    unknown: unknownPlace(choice, scope),
    nearest: unpriced && near !== null && unlessFailed(nation) ? nearestOf(code, near, year, ask) : null,
  };
}

/** Finds the group that a code in a spreadsheet's form means, such as 5,072 or 5072.0; null if none. */
function meantBy(code: string, year: string | null, ask: Ask) {
  const [, first, rest] = /^(\d),?(\d{3})(?:\.0*)?$/.exec(code) ?? [];
  const meant = `${first}${rest}`;
  if (first === undefined || meant === code) return null;
  const [found] = ask<[ProcedureAnswer]>(pathOf(`/healthcare/procedures/${meant}`, {}, year));
  return unlessFailed(found)?.procedure ?? null;
}

const searchPath = (words: string, year: string | null) =>
  pathOf("/search", { q: words, type: "procedure", limit: mostMatches }, year);

/** Returns what the words `typed` may mean, if they mean the chosen procedure; else null. */
function typedSearch({ typed, procedure, year }: Choice, ask: Ask): SearchAnswer | Failure | null {
  if (typed === null || procedure === null) return null;
  const search = understood(ask<[SearchAnswer]>(searchPath(typed, year))[0], year, ask);
  return (surelyMeant(search) ?? onlyMeant(search)) === procedure ? search : null;
}

/**
 * Makes the view of the procedure that words surely mean, or of the only procedure that they may mean. In all other cases
 * the view has no prices, because visitors would take them for an answer.
 */
function searchedView(choice: Choice, words: string, ask: Ask): View {
  const [found, versions] = ask<[SearchAnswer, DatasetsAnswer]>(
    searchPath(words, choice.year),
    pathOf("/datasets"),
  );
  const search = understood(found, choice.year, ask);
  const meant = surelyMeant(search) ?? onlyMeant(search);
  if (meant !== null && !(search instanceof Failure)) {
    const typed = isAsking(search) ? words : null;
    const meantChoice = placedAt({ ...choice, words: null, typed, procedure: meant }, search.query.place);
    return { ...servedView(meantChoice, ask), search };
  }
  const isOther = search instanceof Failure && search.absent.length === 0;
  return {
    ...{ choice, gone: null, goneVersions: [], asked: choice, search, code: "", paths: pathsOf("", choice) },
    other: isOther ? otherMeaning(words, choice.year, ask) : null,
    datasets: unlessFailed(versions)?.data ?? [],
    ...{ scope: noPrice, nation: noPrice, trends: noPrice, list: emptyList, few: null },
    ...{ pinned: [], unpriced: null, meant: null, unknown: null, nearest: null },
  };
}

const noPrice = new Failure(404, "not_found", "no hospital there has a price");
const emptyList: HospitalList = { data: [], isAll: true, facilities: 0 };
const byCharge = (priced: readonly Priced[]) =>
  priced.toSorted((a, b) => a.submitted_charge - b.submitted_charge);

function listAt(path: string, shown: number, ask: Ask): HospitalList | Failure {
  const [answer] = ask<[FacilitiesAnswer]>(path);
  if (answer instanceof Failure) return answer;
  const data = answer.data.filter(isPriced);
  const { facilities } = answer.summary;
  if (!answer.next || data.length >= shown) return { data, isAll: !answer.next, facilities };
  const others = listAt(answer.next, shown - data.length, ask);
  return others instanceof Failure
    ? { data, isAll: false, facilities }
    : { data: [...data, ...others.data], isAll: others.isAll, facilities };
}

/** @returns an answer with the rows of all pages, or a failure if there is no data */
export function rowsAt(path: string, ask: Ask): FacilitiesAnswer | Failure {
  const [first] = ask<[FacilitiesAnswer]>(path);
  if (first instanceof Failure || first.next === null) return first;
  const others = rowsAt(first.next, ask);
  return others instanceof Failure ? others : { ...first, data: [...first.data, ...others.data], next: null };
}

/** @param scope the prices of the chosen place; null if there are none */
function pinnedOf(choice: Choice, procedure: string, scope: ProcedureAnswer | null, ask: Ask): Pinned[] {
  const { pinned, year, versions } = choice;
  const segments = pinned.map((ccn) => `/healthcare/facilities/${encodeURIComponent(ccn)}`);
  const answers = ask<FacilityAnswer[]>(...segments.map((segment) => pathOf(segment, {}, year)));
  const entries = answers.map((answer) => (answer instanceof Failure ? null : entryOf(answer, procedure)));
  const trendOf = (entry: Entry | null, i: number) =>
    entry && isPriced(entry) ? [pathOf(`${segments[i]}/trends`, { procedure, versions })] : [];
  const milesPaths = choice.near === null || scope === null ? [] : milesPathsOf(choice, entries);
  ask<object[]>(...milesPaths, ...entries.flatMap(trendOf));
  const [all = null] = ask<FacilitiesAnswer[]>(...milesPaths);
  const miles = new Map(unlessFailed(all)?.data.map(({ ccn, distance }) => [ccn, distance]));
  const around = scope === null ? [] : aroundOf(choice, procedure, scope, miles, ask);
  return entries.map((entry, i) => {
    const [trend = null] = ask<FacilityTrendsAnswer[]>(...trendOf(entry, i));
    const there = around.find((one) => one.entry.ccn === entry?.ccn);
    return {
      ...{ letter: "ABC"[i], ccn: pinned[i], entry: there?.entry ?? entry, trend: unlessFailed(trend) },
      miles: miles.get(entry?.ccn ?? ""),
      standings: { ...entry, ...(there && { around: there.rank }) },
    };
  });
}

function milesPathsOf({ near, year }: Choice, entries: readonly (Entry | null)[]): string[] {
  const ccn = entries.flatMap((entry) => entry?.ccn ?? []).join(",");
  return ccn === "" ? [] : [pathOf("/healthcare/facilities", { ccn, near, within: farthest }, year)];
}

/**
 * Finds which hospitals of `miles` have a price in the chosen circle, with the ranks of their charges there.
 * @param miles distances by CCN. They have one decimal, so a hospital just outside the circle may seem to be inside.
 */
function aroundOf(
  { near, within, year }: Choice,
  procedure: string,
  scope: ProcedureAnswer,
  miles: ReadonlyMap<string, number | undefined>,
  ask: Ask,
): { entry: Priced; rank: Pick<Standing, "rank" | "facilities"> }[] {
  const inside = [...miles].flatMap(([ccn, distance = farthest]) => (distance <= within ? [ccn] : []));
  if (inside.length === 0) return [];
  const pathAt = (of: Record<string, string | number>) =>
    pathOf("/healthcare/facilities", { procedure, near, within, ...of }, year);
  const [found] = ask<[FacilitiesAnswer]>(pathAt({ ccn: inside.join(",") }));
  const entries = unlessFailed(found)?.data.filter(isPriced) ?? [];
  const notCheaper = ask<FacilitiesAnswer[]>(
    ...entries.map(({ submitted_charge }) => pathAt({ min_charge: submitted_charge, limit: 1 })),
  );
  const { facilities } = scope.summary;
  return entries.map((entry, i) => ({
    entry,
    rank: { rank: facilities - (unlessFailed(notCheaper[i])?.summary.facilities ?? 0) + 1, facilities },
  }));
}

function unpricedOf(choice: Choice, procedure: string, ask: Ask): FacilitiesAnswer | null {
  const parameters = { procedure, ...placeOf(choice), status: "all", limit: maxPageRows };
  const found = unlessFailed(
    ask<[FacilitiesAnswer]>(pathOf("/healthcare/facilities", parameters, choice.year))[0],
  );
  // The API also accepts words for a procedure, but pages accept only codes.
  return found?.procedure?.code === procedure ? found : null;
}
