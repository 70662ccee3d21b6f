import { type RowStatus, rowStatuses, statusOfRow } from "../exports/scope.ts";
import {
  groupOf,
  groupSize,
  type Image,
  type Summary,
  stateIndex,
  summaryFields,
  summaryOf,
} from "../image/image.ts";
import { tenthsBetween } from "../image/places.ts";
import { ratioInHundredths } from "../image/statistics.ts";
import { summaryOfRows } from "../image/summaries.ts";
import { facilitiesInCity } from "../search/cities.ts";
import { blank, byField } from "../snapshot/schema.ts";
import { identityOrder, stableOrder } from "../snapshot/sort.ts";
import { findFacility } from "./facilities.ts";

/** Which facilities to list: those that meet every condition that is given. */
export interface FacilityFilter {
  /** A procedure's position: facilities that have a row of it. */
  procedure: number | undefined;
  /** The status of that row. */
  status: RowStatus | "all";
  /** Cents; only priced rows have a charge. */
  minCharge: number | undefined;
  maxCharge: number | undefined;
  states: readonly string[] | undefined;
  city: string | undefined;
  ccns: readonly string[] | undefined;
  /** The position of a place, and the miles around it. */
  near: { place: number; miles: number } | undefined;
}

/** The facilities that a filter leaves, ascending by CCN. */
export interface FacilityList {
  filter: FacilityFilter;
  facilities: Uint32Array<ArrayBuffer>;
  /** The row of the procedure at each; empty without a procedure. */
  rows: Uint32Array<ArrayBuffer>;
  /** The distance of each in tenths of a mile; empty without a place. */
  distances: Int32Array;
  /** Facilities that meet every other condition, but whose place isn't known. */
  unplaced: number;
}

const priced = rowStatuses.indexOf("priced");
/** Miles in a degree of latitude, rounded down. */
const milesPerDegree = 69;
const millionths = 1e6;

/** Lists facilities. O(rows of the procedure), or O(facilities) without one. */
export function listFacilities(image: Image, filter: FacilityFilter): FacilityList {
  const { facility: facilityOf, charge, allowed, stateOf } = image;
  const { procedure, status, minCharge = 0, maxCharge = Number.POSITIVE_INFINITY, near } = filter;
  const isAnyCharge = filter.minCharge === undefined && filter.maxCharge === undefined;
  const wanted = status === "all" ? -1 : rowStatuses.indexOf(status);
  const states = filter.states && new Set(filter.states.map((state) => stateIndex.get(state)));
  const chosen = chosenFacilities(image, filter);
  const all =
    procedure === undefined
      ? undefined
      : image.procedureRows.subarray(image.procedureStart[procedure], image.procedureStart[procedure + 1]);
  const count = all?.length ?? stateOf.length;
  const facilities = new Uint32Array(count);
  const rows = new Uint32Array(all === undefined ? 0 : count);
  const distances = new Int32Array(near === undefined ? 0 : count);
  const distanceTo = near && distancesFrom(image, near);
  let found = 0;
  let unplaced = 0;
  for (let i = 0; i < count; i++) {
    const row = all === undefined ? -1 : all[i];
    const facility = row < 0 ? i : facilityOf[row];
    if (states !== undefined && !states.has(stateOf[facility])) continue;
    if (chosen !== undefined && !chosen.has(facility)) continue;
    if (row >= 0) {
      const actual = statusOfRow(charge[row], allowed[row]);
      if (wanted >= 0 && actual !== wanted) continue;
      const isBetween = actual === priced && charge[row] >= minCharge && charge[row] <= maxCharge;
      if (!isAnyCharge && !isBetween) continue;
      rows[found] = row;
    }
    if (distanceTo !== undefined) {
      const distance = distanceTo(facility);
      if (distance === undefined) unplaced++;
      if (distance === undefined || distance < 0) continue;
      distances[found] = distance;
    }
    facilities[found++] = facility;
  }
  return {
    filter,
    facilities: facilities.subarray(0, found),
    rows: rows.subarray(0, found),
    distances: distances.subarray(0, found),
    unplaced,
  };
}

/** The facilities with one of the CCNs and in the city; undefined where neither is asked for. */
function chosenFacilities(image: Image, { ccns, city }: FacilityFilter): ReadonlySet<number> | undefined {
  const named = ccns && new Set(ccns.map((ccn) => findFacility(image, ccn)));
  if (city === undefined) return named;
  const inCity = facilitiesInCity(image, city);
  return named === undefined ? inCity : new Set([...named].filter((facility) => inCity.has(facility)));
}

/** Gives a facility's distance in tenths of a mile: −1 beyond the miles, and undefined where its place isn't known. */
function distancesFrom(image: Image, { place, miles }: { place: number; miles: number }) {
  const { placeOf, placeLatitude, placeLongitude } = image;
  const [latitude, longitude] = [placeLatitude[place], placeLongitude[place]];
  const mostNorth = ((miles + 1) / milesPerDegree) * millionths;
  return (facility: number): number | undefined => {
    const there = placeOf[facility];
    if (there < 0) return undefined;
    // Most facilities are far to the north or south, which costs less to see than the distance.
    if (Math.abs(placeLatitude[there] - latitude) > mostNorth) return -1;
    const tenths = tenthsBetween(latitude, longitude, placeLatitude[there], placeLongitude[there]);
    return tenths <= 10 * miles ? tenths : -1;
  };
}

export const facilitySorts = ["name", "distance", "charge", "allowed", "markup", "services"] as const;
type FacilitySort = (typeof facilitySorts)[number];

/** The value by which a list is sorted, `blank` where absent. Each is as it is shown, so that what looks equal is. */
function sortedBy(image: Image, list: FacilityList, sort: FacilitySort): (i: number) => number {
  const { nameOrder, charge, allowed, services } = image;
  const { facilities, distances, rows } = list;
  const ofPriced = (value: (row: number) => number) => (i: number) =>
    charge[rows[i]] > 0 && allowed[rows[i]] > 0 ? value(rows[i]) : blank;
  const values = {
    name: (i: number) => nameOrder[facilities[i]],
    distance: (i: number) => distances[i],
    charge: ofPriced((row) => charge[row]),
    allowed: ofPriced((row) => allowed[row]),
    markup: ofPriced((row) => ratioInHundredths(charge[row], allowed[row])),
    services: (i: number) => services[rows[i]],
  };
  return values[sort];
}

/** The positions of a list in an order: ties by CCN, absent values last. O(length). */
export function orderFacilities(
  image: Image,
  list: FacilityList,
  sort: FacilitySort,
  isDescending: boolean,
): Uint32Array {
  const { length } = list.facilities;
  const valueAt = sortedBy(image, list, sort);
  const values = new Float64Array(length);
  let most = 0;
  for (let i = 0; i < length; i++) {
    values[i] = valueAt(i);
    if (values[i] > most) most = values[i];
  }
  for (let i = 0; i < length; i++)
    if (values[i] === blank) values[i] = most + 1;
    else if (isDescending) values[i] = most - values[i];
  // What is stored in an array of integers loses all bits but the lower 32; a markup may have more.
  const byLow = stableOrder(new Uint32Array(values), identityOrder(length));
  if (most + 1 < 2 ** 32) return byLow;
  return stableOrder(
    Uint32Array.from(values, (value) => value / 2 ** 32),
    byLow,
  );
}

/** The statistics of a list with a procedure, in cents: all but the number of facilities are NaN where none is priced. */
export function summaryOfList(image: Image, { filter, rows }: FacilityList): Summary {
  const { procedure = 0, states, city, ccns, near, minCharge, maxCharge, status } = filter;
  const narrowing = [city, ccns, near, minCharge, maxCharge, states?.[1]];
  const isWhole = (status === "priced" || status === "all") && narrowing.every((each) => each === undefined);
  const group = groupOf(image, procedure, states?.[0] ?? null);
  const { charge, allowed } = image;
  const priced = isWhole ? rows : rows.filter((row) => charge[row] > 0 && allowed[row] > 0);
  const isNone = isWhole ? groupSize(image, group) === 0 : priced.length === 0;
  const found = () => (isWhole ? summaryOf(image, group) : summaryOfRows(image, priced));
  return { ...(isNone ? byField(summaryFields, () => Number.NaN) : found()), facilities: rows.length };
}
