import type { TextColumn } from "../encode.ts";
import { groupOf, type Image, summaryOf, textAt } from "../image/image.ts";
import { blank, ccnPattern } from "../snapshot/schema.ts";
import { firstRow } from "./counts.ts";

/** The facility with a CCN, or −1. O(log facilities). Small letters, which older snapshots may hold, are found. */
export function findFacility(image: Image, ccn: string): number {
  if (!ccnPattern.test(ccn)) return -1;
  const found = findCode(image.ccn, ccn);
  return found < 0 ? findCode(image.ccn, ccn.toUpperCase()) : found;
}

/** The position of a code among codes of its length, which ascend; −1 where there is none. O(log codes). */
export function findCode({ offsets, bytes }: TextColumn, code: string): number {
  let low = 0;
  let high = offsets.length - 2;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    let order = 0;
    for (let i = 0; i < code.length && order === 0; i++)
      order = bytes[offsets[middle] + i] - code.charCodeAt(i);
    if (order === 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

export function describeFacility(image: Image, facility: number) {
  const code = textAt(image.ruralUrbanCode, facility) || null;
  const description = textAt(image.ruralUrbanDescription, facility) || null;
  return {
    ccn: textAt(image.ccn, facility),
    facility: textAt(image.facilityName, facility),
    city: textAt(image.city, facility),
    state: textAt(image.state, facility),
    street: textAt(image.street, facility) || null,
    zip: textAt(image.zip, facility) || null,
    rural_urban: code === null && description === null ? null : { code, description },
  };
}

/** The rank of a charge among the facilities of a group. Amounts are in cents. */
export interface Standing {
  /** 1 is the lowest charge; equal charges share a rank. */
  rank: number;
  facilities: number;
  /** The share of facilities that charge strictly less, in tenths of a percent, rounded half up. */
  permille: number;
  medianCharge: number;
}

/** A priced row. Amounts are in cents. */
export interface FacilityPrice {
  procedure: number;
  charge: number;
  allowed: number;
  services: number | null;
  beneficiaries: number | null;
  payment: number | null;
  outlierServices: number | null;
  outlierAmount: number | null;
  national: Standing;
  state: Standing;
}

/** Every priced procedure at a facility, by code. */
export function facilityPrices(image: Image, facility: number): FacilityPrice[] {
  const state = textAt(image.state, facility);
  const prices: FacilityPrice[] = [];
  for (let row = firstRow(image, facility); image.facility[row] === facility; row++) {
    const charge = image.charge[row];
    const allowed = image.allowed[row];
    if (charge <= 0 || allowed <= 0) continue;
    const procedure = image.procedure[row];
    prices.push({
      procedure,
      charge,
      allowed,
      services: known(image.services[row]),
      beneficiaries: known(image.beneficiaries[row]),
      payment: known(image.payment[row]),
      outlierServices: known(image.outlierServices[row]),
      outlierAmount: known(image.outlierAmount[row]),
      national: standing(image, groupOf(image, procedure, null), charge),
      state: standing(image, groupOf(image, procedure, state), charge),
    });
  }
  return prices;
}

const known = (value: number) => (value === blank ? null : value);

function standing(image: Image, group: number, charge: number): Standing {
  const start = image.groupStart[group];
  const facilities = image.groupStart[group + 1] - start;
  let low = 0;
  let high = facilities;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (image.charge[image.order[start + middle]] < charge) low = middle + 1;
    else high = middle;
  }
  return {
    rank: low + 1,
    facilities,
    permille: Math.floor((2000 * low + facilities) / (2 * facilities)),
    medianCharge: summaryOf(image, group).median_charge,
  };
}
