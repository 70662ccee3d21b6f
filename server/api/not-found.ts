import {
  type Coverage,
  coverageOf,
  type DocumentKind,
  type FacilityFilter,
  type FacilityList,
  findFacility,
  groupOfCode,
  hcpcsCodeIn,
  type Image,
  isFirstMeant,
  listFacilities,
  procedureCodePattern,
  type RowCounts,
  type RowsAround,
  rowsOfScope,
  search,
  stateAt,
  sureScore,
  textAt,
  versionName,
} from "../../engine/query.ts";
import { basePath, type Versions } from "./endpoint.ts";
import { ApiError, echo, echoBare } from "./errors.ts";
import { facilityFilters } from "./facility-filters.ts";
import type { Around } from "./near.ts";
import { shortCcn } from "./parameters.ts";

/** Explains why there is no data: unknown arguments, no rows, or rows without prices. */

const oneOrMore = new Intl.ListFormat("en-GB", { type: "disjunction" });

const coverages = new WeakMap<Image, Coverage>();

/** Returns an image's coverage. Each thread computes it once, because that reads every facility. */
export function gapsOf(image: Image): Coverage {
  let coverage = coverages.get(image);
  if (coverage === undefined) {
    coverage = coverageOf(image);
    coverages.set(image, coverage);
  }
  return coverage;
}

/** @param asked a version's name, or a year */
export function unknownVersion({ byName }: Versions, asked: string): ApiError {
  const loaded = [...byName.keys()].join(", ");
  return new ApiError("not_found", `there is no data version ${echo(asked)}; loaded are ${loaded}`);
}

/** Makes the error for a procedure that is unknown or has no prices, in `state` or in the nation. */
export function noPrices(
  versions: Versions,
  image: Image,
  code: string,
  state: string | undefined,
): ApiError {
  const procedure = image.procedureOf.get(code);
  if (procedure === undefined) return noProcedure(versions, image, code);
  const counts = rowsOfScope(image, { procedure, state: state ?? null });
  const reason = unpriced(counts) ?? noRowsIn(image, state) ?? "the data has no row of it there";
  return notFound(image, `no prices for procedure ${echo(code)}${inState(state)}`, reason);
}

export function noPricesAround(
  image: Image,
  code: string,
  state: string | undefined,
  near: Around,
  { rows: { suppressed, incomplete } }: RowsAround,
): ApiError {
  const others = unpriced({ rows: suppressed + incomplete, suppressed });
  const isEmpty = listFacilities(image, { status: "all", near }, "name").items.length === 0;
  return notFound(
    image,
    `no prices for procedure ${echo(code)} within ${milesText(near.miles)} of ${near.name}${inState(state)}`,
    others ?? (isEmpty ? noneAround(image, near) : noRowsIn(image, state)),
  );
}

const milesText = (miles: number) => `${miles} mile${miles === 1 ? "" : "s"}`;

const nameOf = ({ description }: Image) => versionName(description.provenance);

/**
 * Makes the error for a procedure that is in none of `images`, or has no prices there.
 * @param images the requested images if `isChosen`, otherwise those of `newestOfYears`
 */
export function noTrend(
  images: readonly Image[],
  code: string,
  state: string | undefined,
  isChosen: boolean,
): ApiError {
  const years = inYears(images, isChosen);
  if (!images.some(({ procedureOf }) => procedureOf.has(code)))
    return withReason(
      `there is no procedure ${echo(code)} ${years}`,
      wayToGroup(images[images.length - 1], code),
    );
  const reason = noRowsIn(images[images.length - 1], state);
  const what = `no prices for procedure ${echo(code)}${inState(state)} ${years}`;
  return withReason(what, reason);
}

/** Makes the error for a facility without a row of a procedure in any of `images`. `noTrend` describes the parameters. */
export function noFacilityTrend(
  images: readonly Image[],
  ccn: string,
  code: string,
  isChosen: boolean,
): ApiError {
  const isKnown = images.some((image) => findFacility(image, ccn) >= 0);
  const isProcedure = images.some(({ procedureOf }) => procedureOf.has(code));
  const what = !isKnown
    ? `there is no facility ${echo(ccn)}`
    : isProcedure
      ? `facility ${echo(ccn)} has no row of procedure ${echo(code)}`
      : `there is no procedure ${echo(code)}`;
  const reason = isKnown ? wayToGroup(images[images.length - 1], code) : shortCcn(ccn);
  return withReason(`${what} ${inYears(images, isChosen)}`, reason);
}

function inYears(images: readonly Image[], isChosen: boolean): string {
  const names = images.map(nameOf).join(", ");
  return isChosen
    ? `in data version${images.length > 1 ? "s" : ""} ${names}`
    : `in any loaded data year (${names})`;
}

/** Makes the error for an unknown procedure, or for a procedure or a state that has no row, priced or not. */
export function noRows(
  versions: Versions,
  image: Image,
  code: string | undefined,
  state: string | undefined,
): ApiError {
  if (code === undefined) return notFound(image, `no rows${inState(state)}`, noRowsIn(image, state));
  if (!image.procedureOf.has(code)) return noProcedure(versions, image, code);
  return notFound(image, `no rows of procedure ${echo(code)}${inState(state)}`, noRowsIn(image, state));
}

/**
 * Makes the error for an empty list of facilities.
 * @param asked the parameters that narrow the list, as text
 * @param there the list's filter without conditions on the status and the prices of rows
 */
export function noFacilities(
  image: Image,
  asked: string,
  { filter, unplaced }: FacilityList,
  there: FacilityFilter,
): ApiError {
  const what = asked === "" ? "there is no facility" : `no facility matches ${echo(asked)}`;
  const { procedure, states, near } = filter;
  const around = near === undefined ? 0 : listFacilities(image, { status: "all", near }, "name").items.length;
  if (near !== undefined) {
    const all = listFacilities(image, { ...filter, near: undefined }, "name").items.length;
    if (all > 0 && all === unplaced)
      return notFound(image, what, `facilities whose ZIP code has no known place: ${unplaced}`);
    if (around === 0) return notFound(image, what, noneAround(image, near));
  }
  const others = procedure === undefined ? 0 : listFacilities(image, there, "name").items.length;
  if (others > 0)
    return notFound(
      image,
      what,
      `facilities with another ${oneOrMore.format(facilityFilters.differing)}: ${others}`,
    );
  if (near !== undefined)
    return notFound(
      image,
      what,
      `hospitals within ${near.miles} miles that don't meet the other conditions: ${around}`,
    );
  return notFound(image, what, states?.length === 1 ? noRowsIn(image, states[0]) : undefined);
}

function noneAround(image: Image, near: NonNullable<FacilityFilter["near"]>): string {
  const none = `no hospital is within ${milesText(near.miles)} of it`;
  const state = stateAt(image, near);
  const reason = noRowsIn(image, state);
  return reason === undefined ? none : `${none}, and it is in ${state}: ${reason}`;
}

export function noProcedures(image: Image, state: string | undefined, minFacilities: number): ApiError {
  const { pricedRows } = image.description.counts;
  const facilities = minFacilities === 1 ? "a facility" : `${minFacilities} facilities`;
  const what = `no procedure has ${facilities} with prices${inState(state)}`;
  const isPriced = state === undefined ? pricedRows > 0 : gapsOf(image).states.includes(state);
  if (isPriced) return notFound(image, what);
  return notFound(
    image,
    what,
    unpriced(rowsOfScope(image, { procedure: null, state: state ?? null })) ?? noRowsIn(image, state),
  );
}

export function noFacility(versions: Versions, image: Image, ccn: string): ApiError {
  const elsewhere = whereElse(versions, (other) => findFacility(other, ccn) >= 0);
  return notFound(image, `there is no facility ${echo(ccn)}`, elsewhere ?? shortCcn(ccn));
}

/** @param what what is missing, such as `there is no facility 010001`; the error adds the data version */
export function notFound({ description }: Image, what: string, reason?: string): ApiError {
  return withReason(`${what} in data version ${versionName(description.provenance)}`, reason);
}

const withReason = (what: string, reason: string | undefined) =>
  new ApiError("not_found", reason === undefined ? what : `${what}: ${reason}`);

export function noProcedure(versions: Versions, image: Image, code: string): ApiError {
  const elsewhere = whereElse(versions, ({ procedureOf }) => procedureOf.has(code));
  return notFound(image, `there is no procedure ${echo(code)}`, elsewhere ?? wayToGroup(image, code));
}

const searchPath = (q: string) => `${basePath}/search?${new URLSearchParams({ type: "procedure", q })}`;
const maxSearchCharacters = 64;

/**
 * Says how to find the procedure group that a text means: a group's code in another form, a HCPCS or CPT code, or words.
 * Returns undefined for four digits.
 */
function wayToGroup(image: Image, asked: string): string | undefined {
  if (procedureCodePattern.test(asked)) return undefined;
  const written = groupWritten(image, asked);
  const way =
    written === undefined
      ? (groupIncluding(image, asked) ?? searchFor(image, asked))
      : `${image.codes[written]} (${textAt(image.procedureName, written)}) may be meant`;
  return `procedure groups have four digits; ${way}`;
}

/** Finds a group by its code in a form such as 5072, 5,072, APC 5072 or 5072.0; undefined if there is none. */
export function groupWritten(image: Image, text: string): number | undefined {
  const code = text
    .trim()
    .replace(/^apc/i, "")
    .replace(/\.0*$/, "")
    .replace(/[\p{P}\p{S}\p{Z}]/gu, "");
  return procedureCodePattern.test(code) ? image.procedureOf.get(code) : undefined;
}

/** Names the group that includes the HCPCS or CPT code in a text; undefined if there is no code, or no known group. */
export function groupIncluding(image: Image, text: string): string | undefined {
  const code = hcpcsCodeIn(text);
  const group = code && groupOfCode(image, code);
  if (group === undefined) return undefined;
  const procedure = image.procedureOf.get(group);
  const name = procedure === undefined ? "not in this data version" : textAt(image.procedureName, procedure);
  return `${group} (${name}) includes the code ${code}`;
}

/** Whether a search finds what is meant, instead of a guess. */
export function findsSurely(image: Image, kind: DocumentKind, text: string): boolean {
  return isSure(search(image, kind, text, 0, 1).scores);
}

const isSure = ([first = 0]: readonly number[]) => first >= sureScore;

/** Says where words for a procedure can be used: in a search, and in the list of facilities if they mean one procedure. */
export function searchFor(image: Image, text: string): string {
  const isShown = text.length <= maxSearchCharacters && echoBare(text) === text;
  const { scores, place } = isShown ? search(image, "procedure", text, 0, 2) : { scores: [], place: null };
  if (place === null && isFirstMeant(scores))
    return (
      `${basePath}/healthcare/facilities?${new URLSearchParams({ procedure: text })} takes these words, and ` +
      `${searchPath(text)} finds groups by them`
    );
  return `a search finds them by words, such as ${searchPath(isSure(scores) ? text : "knee replacement")}`;
}

function whereElse({ images }: Versions, has: (image: Image) => boolean): string | undefined {
  const other = images.find(has);
  return other && `data version ${versionName(other.description.provenance)} has it`;
}

export const inState = (state: string | undefined) => (state === undefined ? "" : ` in ${state}`);

export function unpriced({ rows, suppressed }: RowCounts): string | undefined {
  if (rows === 0) return undefined;
  const kind =
    suppressed === rows ? "suppressed" : suppressed === 0 ? "incomplete" : "suppressed or incomplete";
  return rows === 1 ? `the only row is ${kind}` : `all ${rows} rows are ${kind}`;
}

/** Says why a state has no rows. Returns undefined if it has rows, no reason is known, or no state is given. */
function noRowsIn(image: Image, state: string | undefined): string | undefined {
  if (state === undefined || rowsOfScope(image, { procedure: null, state }).rows > 0) return undefined;
  return gapsOf(image).missing_states.find((missing) => missing.state === state)?.reason;
}
