import * as v from "valibot";
import {
  describeFacility,
  dollars,
  facilityPrices,
  findFacility,
  nameProcedure,
  type Standing,
} from "../../../engine/query.ts";
import { endpoint, sourceOf } from "../endpoint.ts";
import { noFacility } from "../not-found.ts";
import { facilityResponse } from "../responses.ts";

/** Converts a standing for an answer: permille to percent, and cents to dollars. */
export const standingOf = (standing: Standing) => ({
  rank: standing.rank,
  facilities: standing.facilities,
  percentile: standing.permille / 10,
  median_charge: dollars(standing.medianCharge),
});

export const dollarsOrNull = (cents: number | null) => (cents === null ? null : dollars(cents));

export const facility = endpoint({
  path: "/healthcare/facilities/{ccn}",
  name: "facility",
  summary: "Every priced procedure group at one facility, with its standing in the nation and its state",
  description:
    "For each procedure group with a price: the charge, what Medicare allowed and paid, and the charge's rank in the nation " +
    "and in the state. `/search` finds a hospital's CCN by its name",
  returns: "The facility, and its procedure groups by code.",
  kind: "versioned",
  segment: { name: "ccn", description: "CCN of the facility, letters in any case.", example: "990005" },
  parameters: v.object({}),
  response: facilityResponse,
  errors: ["not_found"],
  answer({ versions, image, segment }) {
    const found = findFacility(image, segment);
    if (found < 0) throw noFacility(versions, image, segment);
    const list = facilityPrices(image, found);
    return {
      facility: describeFacility(image, found),
      summary: { procedures: list.length },
      data: list.map((price) => ({
        ...nameProcedure(image, price.procedure),
        submitted_charge: dollars(price.charge),
        medicare_allowed: dollars(price.allowed),
        markup: dollars(price.markup),
        services: price.services,
        beneficiaries: price.beneficiaries,
        medicare_payment: dollarsOrNull(price.payment),
        outlier_services: price.outlierServices,
        outlier_amount: dollarsOrNull(price.outlierAmount),
        national: standingOf(price.national),
        within_state: standingOf(price.state),
      })),
      source: sourceOf(image),
    };
  },
});
