import { type RowStatus, rowStatuses, statusOfRow } from "../exports/scope.ts";
import { facilitiesAround } from "../image/areas.ts";
import { groupOf, groupSize, stateIndex } from "../image/group-numbers.ts";
import type { Image } from "../image/image.ts";
import { type Extent, extentOf, type Point, tenthsBetween } from "../image/places.ts";
import { ratioInHundredths } from "../image/statistics.ts";
import { type Summary, summaryFields, summaryOf } from "../image/statistics-fields.ts";
import { summaryOfRows } from "../image/summaries.ts";
import { blank, byField } from "../snapshot/schema.ts";
import { identityOrder, stableOrder } from "../snapshot/sort.ts";
import { firstNotBefore } from "../sorted.ts";
import { type Condition, facilityTest, priceTest } from "./facility-conditions.ts";

export interface FacilityFilter {
  /** Position of a procedure. Only facilities that have a row for it are listed. */
  procedure?: number | undefined;
  /** Required status of the procedure's row; `all` allows any. Ignored without a procedure. */
  status: RowStatus | "all";
  states?: readonly string[] | undefined;
  near?: Circle | undefined;
  conditions?: readonly Condition[];
}

export interface Circle extends Point {
  miles: number;
}

/** The facilities that match a filter, ascending by CCN. */
export interface FacilityList {
  filter: FacilityFilter;
  /** Positions of the procedure's rows if the filter has a procedure, otherwise of facilities. */
  items: Uint32Array<ArrayBuffer>;
  /** The values to sort by. An absent value is `blank`. */
  values: Float64Array;
  /** Distances in tenths of a mile; empty without `near`. */
  distances: Int32Array;
  /** Number of facilities that are left out only because their location is unknown. */
  unplaced: number;
}

export const facilitySorts = ["name", "distance", "charge", "allowed", "markup", "services"] as const;
type FacilitySort = (typeof facilitySorts)[number];

export interface FacilityPage {
  length: number;
  items: Uint32Array;
  distances: Int32Array;
  unplaced: number;
  summary(): Summary;
}

/** With this type, `indexOf` accepts `all`, and returns −1 for it. */
const statuses: readonly (RowStatus | "all")[] = rowStatuses;
const pricedStatus = statuses.indexOf("priced");
/** Number of buckets of `withLowest`. Most buckets hold few facilities, and there are few buckets to count. */
const selectionBuckets = 2 ** 11;

/**
 * Returns up to `count` items of a sorted list, from position `offset` on. Ties are ordered by CCN, and absent values
 * come last. For all priced rows of a procedure in the nation or in one state, it takes O(`count`), or O(`count` · log
 * rows) if descending. Otherwise it takes as long as `listFacilities`.
 */
export function facilityPage(
  image: Image,
  filter: FacilityFilter,
  sort: FacilitySort,
  isDescending: boolean,
  offset: number,
  count: number,
): FacilityPage {
  const { procedure, status } = filter;
  const isWhole =
    procedure !== undefined && sort !== "distance" && status === "priced" && !isNarrowed(filter);
  if (isWhole) {
    const group = groupOf(image, procedure, filter.states?.[0] ?? null);
    const length = groupSize(image, group);
    return {
      length,
      items: pageOfGroup(
        image,
        group,
        sort,
        isDescending,
        offset,
        Math.min(count, Math.max(0, length - offset)),
      ),
      distances: new Int32Array(),
      unplaced: 0,
      summary: () => summaryOf(image, group),
    };
  }
  const list = listFacilities(image, filter, sort);
  const order = orderFacilities(list, isDescending, offset + count).subarray(offset, offset + count);
  return {
    length: list.items.length,
    items: order.map((i) => list.items[i]),
    distances: Int32Array.from(filter.near === undefined ? [] : order, (i) => list.distances[i]),
    unplaced: list.unplaced,
    summary: () => summaryOfList(image, list),
  };
}

function isNarrowed({
  procedure: _,
  status: __,
  states,
  conditions = [],
  ...others
}: FacilityFilter): boolean {
  return conditions.length > 0 || [states?.[1], ...Object.values(others)].some((each) => each !== undefined);
}

function pageOfGroup(
  image: Image,
  group: number,
  sort: Exclude<FacilitySort, "distance">,
  isDescending: boolean,
  offset: number,
  count: number,
): Uint32Array {
  const { groupStart, charge, allowed } = image;
  const order = sort === "charge" ? image.order : image.orders[sort];
  const [start, end] = [groupStart[group], groupStart[group + 1]];
  if (!isDescending) return order.slice(start + offset, start + offset + count);
  const sortedAt = sortedBy(image, sort, true);
  const valueAt = (i: number) => sortedAt(order[i], charge[order[i]], allowed[order[i]]);
  // Absent values stay at the end.
  const known = firstNotBefore(start, end, (i) => valueAt(i) !== blank);
  const page = new Uint32Array(count);
  /** The rest of a run of rows with the same value. Rows of a run stay ascending by CCN. */
  let [next, runEnd] = [0, 0];
  for (let i = 0; i < count; i++) {
    const fromEnd = known - 1 - offset - i;
    if (fromEnd < start) page[i] = order[start + offset + i];
    else {
      if (next === runEnd) {
        const value = valueAt(fromEnd);
        const runStart = firstNotBefore(start, known, (at) => valueAt(at) < value);
        runEnd = firstNotBefore(runStart, known, (at) => valueAt(at) <= value);
        next = runStart + runEnd - 1 - fromEnd;
      }
      page[i] = order[next++];
    }
  }
  return page;
}

/**
 * Lists the facilities that match a filter. O(rows of the procedure), or O(facilities) without a procedure. With `near`,
 * only facilities that `facilitiesAround` returns are read.
 */
export function listFacilities(image: Image, filter: FacilityFilter, sort: FacilitySort): FacilityList {
  const { facility: facilityOf, stateOf, procedureRows, procedureCharge, procedureAllowed } = image;
  const { procedure, status, near, conditions = [] } = filter;
  const isPriceWanted = priceTest(conditions);
  const isFacilityWanted = facilityTest(conditions);
  const wanted = statuses.indexOf(status);
  const states = filter.states && new Set(filter.states.map((state) => stateIndex.get(state)));
  const isAnyFacility = (states ?? isFacilityWanted ?? near) === undefined;
  const circle = near && { ...near, ...extentOf(near, near.miles) };
  const distanceTo = circle && distancesFrom(image, circle);
  const sortedAt = sortedBy(image, sort, procedure !== undefined);
  const facilities: [from: number, to: number][] = circle
    ? facilitiesAround(image, circle)
    : [[0, stateOf.length]];
  const ranges = procedure === undefined ? facilities : rowsOf(image, procedure, facilities);
  const most = ranges.reduce((sum, [start, end]) => sum + end - start, 0);
  const items = new Uint32Array(most);
  const values = new Float64Array(most);
  const distances = new Int32Array(near === undefined ? 0 : most);
  let found = 0;
  let unplaced = 0;
  for (const [start, end] of ranges)
    for (let i = start; i < end; i++) {
      let item = i;
      let charge = blank;
      let allowed = blank;
      if (procedure !== undefined) {
        item = procedureRows[i];
        charge = procedureCharge[i];
        allowed = procedureAllowed[i];
        const actual = statusOfRow(charge, allowed);
        if (wanted >= 0 && actual !== wanted) continue;
        if (actual !== pricedStatus) charge = allowed = blank;
        if (isPriceWanted !== undefined && (charge === blank || !isPriceWanted(charge, allowed))) continue;
      }
      if (!isAnyFacility) {
        const facility = procedure === undefined ? i : facilityOf[item];
        if (states !== undefined && !states.has(stateOf[facility])) continue;
        if (isFacilityWanted !== undefined && !isFacilityWanted(facility)) continue;
        const distance = distanceTo === undefined ? 0 : distanceTo(facility);
        if (distance === undefined) unplaced++;
        if (distance === undefined || distance < 0) continue;
        if (distanceTo !== undefined) distances[found] = distance;
      }
      values[found] = sort === "distance" ? distances[found] : sortedAt(item, charge, allowed);
      items[found++] = item;
    }
  return {
    filter,
    items: items.subarray(0, found),
    values: values.subarray(0, found),
    distances: distances.subarray(0, found),
    unplaced,
  };
}

/** Finds a procedure's rows at ascending ranges of facilities. Returns ranges of positions in `procedureRows`. */
function rowsOf(
  { facility, procedureRows, procedureStart }: Image,
  procedure: number,
  facilities: readonly [from: number, to: number][],
): [start: number, end: number][] {
  const end = procedureStart[procedure + 1];
  let start = procedureStart[procedure];
  // Rows are ascending by CCN, as facilities are.
  const firstOf = (first: number) => firstNotBefore(start, end, (i) => facility[procedureRows[i]] < first);
  return facilities.map(([from, to]) => {
    start = firstOf(from);
    const before = start;
    start = firstOf(to);
    return [before, start];
  });
}

export function facilityOfItem(image: Image, { procedure }: FacilityFilter, item: number): number {
  return procedure === undefined ? item : image.facility[item];
}

/**
 * Returns a function that gives an item's value to sort by. Values are rounded as in answers, so that values that look
 * equal are ties.
 */
function sortedBy(
  image: Image,
  sort: FacilitySort,
  isOfRows: boolean,
): (item: number, charge: number, allowed: number) => number {
  const { facility, nameOrder, services } = image;
  const values = {
    name: (item: number) => nameOrder[isOfRows ? facility[item] : item],
    distance: () => blank,
    charge: (_: number, charge: number) => charge,
    allowed: (_: number, __: number, allowed: number) => allowed,
    markup: (_: number, charge: number, allowed: number) =>
      charge === blank ? blank : ratioInHundredths(charge, allowed),
    services: (row: number) => services[row],
  };
  return values[sort];
}

/**
 * Returns a function that computes a facility's distance in tenths of a mile: −1 if the facility is too far away,
 * undefined if its location is unknown.
 */
function distancesFrom(image: Image, { latitude, longitude, miles, north, east }: Circle & Extent) {
  const { placeOf, placeLatitude, placeLongitude } = image;
  return (facility: number): number | undefined => {
    const there = placeOf[facility];
    if (there < 0) return undefined;
    // Comparing coordinates is cheaper than computing the distance.
    if (Math.abs(placeLatitude[there] - latitude) > north) return -1;
    if (Math.abs(placeLongitude[there] - longitude) > east) return -1;
    const tenths = tenthsBetween(latitude, longitude, placeLatitude[there], placeLongitude[there]);
    return tenths <= 10 * miles ? tenths : -1;
  };
}

/**
 * Returns positions in a list, sorted by value: at least the first `count`, or all if there are fewer. Ties are ordered
 * by CCN, and absent values come last. O(length).
 */
export function orderFacilities(
  { values }: FacilityList,
  isDescending: boolean,
  count = values.length,
): Uint32Array {
  let most = 0;
  for (let i = 0; i < values.length; i++) if (values[i] > most) most = values[i];
  const keyOf = (value: number) => (value === blank ? most + 1 : isDescending ? most - value : value);
  const positions = withLowest(values, keyOf, most + 1, count);
  const keys = Float64Array.from(positions, (position) => keyOf(values[position]));
  // A markup may need more than 32 bits, so keys are sorted by their lower half, then by their upper half.
  let order = stableOrder(new Uint32Array(keys), identityOrder(keys.length));
  if (most + 1 >= 2 ** 32)
    order = stableOrder(
      Uint32Array.from(keys, (key) => key / 2 ** 32),
      order,
    );
  return order.map((i) => positions[i]);
}

/**
 * Returns the positions of the values with the `count` lowest keys, ascending. Other values in the last bucket that is
 * needed are included, too.
 */
function withLowest(
  values: Float64Array,
  keyOf: (value: number) => number,
  highest: number,
  count: number,
): Uint32Array<ArrayBuffer> {
  if (count >= values.length) return identityOrder(values.length);
  const counts = new Uint32Array(selectionBuckets);
  const scale = (selectionBuckets - 1) / highest;
  for (let i = 0; i < values.length; i++) counts[Math.floor(keyOf(values[i]) * scale)]++;
  let bound = 0;
  let found = 0;
  while (found < count) found += counts[bound++];
  const positions = new Uint32Array(found);
  for (let i = 0, at = 0; at < found; i++)
    if (Math.floor(keyOf(values[i]) * scale) < bound) positions[at++] = i;
  return positions;
}

/**
 * Computes the statistics of a list whose filter has a procedure. `facilities` counts all listed rows. If no row is
 * priced, all other statistics are NaN.
 */
function summaryOfList(image: Image, { filter, items: rows }: FacilityList): Summary {
  const { procedure = 0, states, status } = filter;
  const isWhole = status === "all" && !isNarrowed(filter);
  const group = groupOf(image, procedure, states?.[0] ?? null);
  const { charge, allowed } = image;
  const arePriced = isWhole || status === "priced";
  const priced = arePriced
    ? rows
    : rows.filter((row) => statusOfRow(charge[row], allowed[row]) === pricedStatus);
  const isNone = isWhole ? groupSize(image, group) === 0 : priced.length === 0;
  const found = () => (isWhole ? summaryOf(image, group) : summaryOfRows(image, priced));
  return { ...(isNone ? byField(summaryFields, () => Number.NaN) : found()), facilities: rows.length };
}
