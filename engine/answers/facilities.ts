import type { TextColumn } from "../encode.ts";
import { type RowStatus, rowStatuses, statusOfRow } from "../exports/scope.ts";
import { groupSize, stateGroup } from "../image/group-numbers.ts";
import { type Image, textAt } from "../image/image.ts";
import { ratioInHundredths } from "../image/statistics.ts";
import { medianOf } from "../image/statistics-fields.ts";
import { blank, ccnPattern } from "../snapshot/schema.ts";
import { withPrefix } from "../sorted.ts";
import { countBelow, firstRow } from "./counts.ts";

const ccnInRequest = new RegExp(ccnPattern, "i");

/** Finds a facility by CCN, in capital or small letters. Returns its position, or −1 if there is none. */
export function findFacility(image: Image, ccn: string): number {
  return ccnInRequest.test(ccn) ? findCode(image.ccn, ccn.toUpperCase()) : -1;
}

/**
 * Finds a code among sorted codes that all have its length. Returns its position, or −1 if there is none. O(log codes).
 */
export function findCode(codes: TextColumn, code: string): number {
  const { start, end } = withPrefix(codes, Buffer.from(code));
  return start < end ? start : -1;
}

export function nameFacility(image: Image, facility: number) {
  return {
    ccn: textAt(image.ccn, facility),
    facility: textAt(image.facilityName, facility),
    city: textAt(image.city, facility),
    state: textAt(image.state, facility),
  };
}

export function describeFacility(image: Image, facility: number) {
  const code = textAt(image.ruralUrbanCode, facility) || null;
  const description = textAt(image.ruralUrbanDescription, facility) || null;
  return {
    ...nameFacility(image, facility),
    street: textAt(image.street, facility) || null,
    zip: textAt(image.zip, facility) || null,
    rural_urban: code === null && description === null ? null : { code, description },
  };
}

/** The rank of a charge among the facilities of a group. Amounts are in cents. */
export interface Standing {
  /** The lowest charge has rank 1, and equal charges have the same rank. */
  rank: number;
  facilities: number;
  /** The share of facilities that charge strictly less, in tenths of a percent, rounded half up. */
  permille: number;
  medianCharge: number;
}

/** The fields of every row, priced or not. Amounts are in cents, and an unknown value is null. */
interface RowMeasures {
  procedure: number;
  services: number | null;
  beneficiaries: number | null;
  payment: number | null;
  outlierServices: number | null;
  outlierAmount: number | null;
}

export interface PricedRow extends RowMeasures {
  status: "priced";
  charge: number;
  allowed: number;
  /** Charge ÷ allowed amount, in hundredths. */
  markup: number;
  national: Standing;
  state: Standing;
}

interface UnpricedRow
  extends RowMeasures,
    Record<Exclude<keyof PricedRow, keyof RowMeasures | "status">, null> {
  status: Exclude<RowStatus, "priced">;
}

export type FacilityPrice = PricedRow | UnpricedRow;

/** Returns the priced rows of a facility, ordered by APC code. */
export function facilityPrices(image: Image, facility: number): PricedRow[] {
  const prices: PricedRow[] = [];
  for (let row = firstRow(image, facility); image.facility[row] === facility; row++) {
    const price = priceOfRow(image, row);
    if (price.status === "priced") prices.push(price);
  }
  return prices;
}

export function findRow(image: Image, facility: number, procedure: number): number {
  for (let row = firstRow(image, facility); image.facility[row] === facility; row++)
    if (image.procedure[row] === procedure) return row;
  return -1;
}

export function priceOfRow(image: Image, row: number): FacilityPrice {
  const [charge, allowed, procedure] = [image.charge[row], image.allowed[row], image.procedure[row]];
  const status = rowStatuses[statusOfRow(charge, allowed)];
  const measures = {
    procedure,
    services: known(image.services[row]),
    beneficiaries: known(image.beneficiaries[row]),
    payment: known(image.payment[row]),
    outlierServices: known(image.outlierServices[row]),
    outlierAmount: known(image.outlierAmount[row]),
  };
  if (status !== "priced")
    return { ...measures, status, charge: null, allowed: null, markup: null, national: null, state: null };
  return {
    ...measures,
    status,
    charge,
    allowed,
    markup: ratioInHundredths(charge, allowed),
    national: standingIn(image, procedure, charge),
    state: standingIn(image, stateGroup(image, procedure, image.stateOf[image.facility[row]]), charge),
  };
}

const known = (value: number) => (value === blank ? null : value);

function standingIn(image: Image, group: number, charge: number): Standing {
  const facilities = groupSize(image, group);
  const lower = countBelow(image, group, charge);
  return {
    rank: lower + 1,
    facilities,
    permille: Math.floor((2000 * lower + facilities) / (2 * facilities)),
    medianCharge: medianOf(image, group),
  };
}
