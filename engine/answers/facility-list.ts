import { type RowStatus, rowStatuses, statusOfRow } from "../exports/scope.ts";
import { groupOf, type Image, type Summary, stateIndex, summaryFields, summaryOf } from "../image/image.ts";
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

/** Miles in a degree of latitude, rounded down. */
const milesPerDegree = 69;
const millionths = 1e6;

/** Lists facilities. O(rows of the procedure), or O(facilities) without one. */
export function listFacilities(image: Image, filter: FacilityFilter): FacilityList {
  const { procedure, status, minCharge = 0, maxCharge = Number.POSITIVE_INFINITY, near } = filter;
  const isAnyCharge = filter.minCharge === undefined && filter.maxCharge === undefined;
  const states = filter.states && new Set(filter.states.map((state) => stateIndex.get(state)));
  const chosen = chosenFacilities(image, filter);
  const all =
    procedure === undefined
      ? undefined
      : image.procedureRows.subarray(image.procedureStart[procedure], image.procedureStart[procedure + 1]);
  const count = all?.length ?? image.stateOf.length;
  const facilities = new Uint32Array(count);
  const rows = new Uint32Array(all === undefined ? 0 : count);
  const distances = new Int32Array(near === undefined ? 0 : count);
  const distanceTo = near && distancesFrom(image, near);
  let found = 0;
  let unplaced = 0;
  for (let i = 0; i < count; i++) {
    const row = all === undefined ? -1 : all[i];
    const facility = row < 0 ? i : image.facility[row];
    if (states !== undefined && !states.has(image.stateOf[facility])) continue;
    if (chosen !== undefined && !chosen.has(facility)) continue;
    if (row >= 0) {
      const charge = image.charge[row];
      const actual = rowStatuses[statusOfRow(charge, image.allowed[row])];
      if (status !== "all" && actual !== status) continue;
      if (!isAnyCharge && !(actual === "priced" && charge >= minCharge && charge <= maxCharge)) continue;
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

const isPriced = ({ charge, allowed }: Image, row: number) => charge[row] > 0 && allowed[row] > 0;

/** A value of a priced row, else `blank`. */
const ofPriced =
  (value: (image: Image, row: number) => number) =>
  (image: Image, { rows }: FacilityList, i: number) =>
    isPriced(image, rows[i]) ? value(image, rows[i]) : blank;

/** The values by which a list is sorted, `blank` where absent; each as it is shown, so that what looks equal is. */
const sorts = {
  name: (image: Image, { facilities }: FacilityList, i: number) => image.nameOrder[facilities[i]],
  distance: (_: Image, { distances }: FacilityList, i: number) => distances[i],
  charge: ofPriced(({ charge }, row) => charge[row]),
  allowed: ofPriced(({ allowed }, row) => allowed[row]),
  markup: ofPriced(({ charge, allowed }, row) => ratioInHundredths(charge[row], allowed[row])),
  services: (image: Image, { rows }: FacilityList, i: number) => image.services[rows[i]],
};
type FacilitySort = keyof typeof sorts;
export const facilitySorts = Object.keys(sorts) as FacilitySort[];

/** The positions of a list in an order: ties by CCN, absent values last. O(length). */
export function orderFacilities(
  image: Image,
  list: FacilityList,
  sort: FacilitySort,
  isDescending: boolean,
): Uint32Array {
  const { length } = list.facilities;
  const valueAt = sorts[sort];
  const values = new Float64Array(length);
  let most = 0;
  for (let i = 0; i < length; i++) {
    values[i] = valueAt(image, list, i);
    if (values[i] > most) most = values[i];
  }
  // A markup may have more than 32 bits. The arrays keep the lower 32 bits of what is stored.
  const [low, high] = [new Uint32Array(length), new Uint32Array(length)];
  for (let i = 0; i < length; i++) {
    const key = values[i] === blank ? most + 1 : isDescending ? most - values[i] : values[i];
    low[i] = key;
    high[i] = key / 2 ** 32;
  }
  return stableOrder(high, stableOrder(low, identityOrder(length)));
}

/** The statistics of a list with a procedure, in cents: all but the number of facilities are NaN where none is priced. */
export function summaryOfList(image: Image, list: FacilityList): Summary {
  const { filter, rows } = list;
  const { procedure, states, city, ccns, near, minCharge, maxCharge, status } = filter;
  const narrowing = [city, ccns, near, minCharge, maxCharge, states?.[1]];
  const isWhole = (status === "priced" || status === "all") && narrowing.every((each) => each === undefined);
  const summary = () => {
    if (isWhole && procedure !== undefined)
      return summaryOf(image, groupOf(image, procedure, states?.[0] ?? null));
    return summaryOfRows(
      image,
      rows.filter((row) => isPriced(image, row)),
    );
  };
  const hasPrices = rows.some((row) => isPriced(image, row));
  const found = hasPrices ? summary() : byField(summaryFields, () => Number.NaN);
  return { ...found, facilities: rows.length };
}
