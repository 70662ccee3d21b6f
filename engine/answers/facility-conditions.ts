import type { Image } from "../image/image.ts";
import { facilitiesInCity } from "../search/places.ts";
import { splitWords } from "../search/text.ts";
import { findFacility } from "./facilities.ts";

/** Conditions on the facilities of a list, or on their prices. Amounts are in cents. */

type PriceTest = (charge: number, allowed: number) => boolean;
type FacilityTest = (facility: number) => boolean;

/** A condition on a facility's price, ignored in a list without a procedure. A row without a price doesn't meet it. */
export interface PriceCondition {
  price: PriceTest;
}

export interface FacilityCondition {
  facility: FacilityTest;
}

export type Condition = PriceCondition | FacilityCondition;

export const chargeFrom = (least: number): PriceCondition => ({ price: (charge) => charge >= least });
export const chargeUpTo = (most: number): PriceCondition => ({ price: (charge) => charge <= most });

/** @param city see `facilitiesInCity` */
export function inCity(image: Image, city: string): FacilityCondition {
  const found = new Set(facilitiesInCity(image, splitWords(city)));
  return { facility: (facility) => found.has(facility) };
}

export function oneOf(image: Image, ccns: readonly string[]): FacilityCondition {
  const found = new Set(ccns.map((ccn) => findFacility(image, ccn)));
  return { facility: (facility) => found.has(facility) };
}

export function priceTest(conditions: readonly Condition[]): PriceTest | undefined {
  return conditions
    .flatMap((each) => ("price" in each ? each.price : []))
    .reduce<PriceTest | undefined>(
      (before, test) =>
        before === undefined ? test : (charge, allowed) => before(charge, allowed) && test(charge, allowed),
      undefined,
    );
}

export function facilityTest(conditions: readonly Condition[]): FacilityTest | undefined {
  return conditions
    .flatMap((each) => ("facility" in each ? each.facility : []))
    .reduce<FacilityTest | undefined>(
      (before, test) => (before === undefined ? test : (facility) => before(facility) && test(facility)),
      undefined,
    );
}
