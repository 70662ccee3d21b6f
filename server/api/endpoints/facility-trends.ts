import * as v from "valibot";
import {
  changeOf,
  describeFacility,
  type FacilityPrice,
  findFacility,
  findRow,
  type Image,
  nameProcedure,
  priceOfRow,
  versionName,
} from "../../../engine/query.ts";
import { endpoint } from "../endpoint.ts";
import { noFacilityTrend } from "../not-found.ts";
import { procedure, versionNames } from "../parameters.ts";
import { facilityTrendsResponse } from "../responses.ts";
import { isYear, newestOfYears, sourceOfYears, versionsNamed } from "../years.ts";
import { dollarsOrNull, standingOf } from "./facility.ts";

interface Year {
  image: Image;
  facility: number;
  price: FacilityPrice;
}

function yearsOf(images: readonly Image[], ccn: string, code: string): Year[] {
  return images.flatMap((image) => {
    const facility = findFacility(image, ccn);
    const procedure = image.procedureOf.get(code);
    const row = facility < 0 || procedure === undefined ? -1 : findRow(image, facility, procedure);
    return row < 0 ? [] : { image, facility, price: priceOfRow(image, row) };
  });
}

const change = (before: number | null, now: number | null) =>
  before === null || now === null ? null : changeOf(before, now) / 10;

function rowOf({ image, price }: Year, before: Year | undefined) {
  const { provenance } = image.description;
  return {
    data_year: provenance.dataYear,
    data_version: versionName(provenance),
    submitted_charge: dollarsOrNull(price.charge),
    medicare_allowed: dollarsOrNull(price.allowed),
    services: price.services,
    status: price.status,
    national: price.national && standingOf(price.national),
    within_state: price.state && standingOf(price.state),
    change:
      before === undefined
        ? null
        : {
            submitted_charge: change(before.price.charge, price.charge),
            medicare_allowed: change(before.price.allowed, price.allowed),
          },
  };
}

export const facilityTrends = endpoint({
  path: "/healthcare/facilities/{ccn}/trends",
  name: "facilityTrends",
  summary: "One facility's price for a procedure group over the loaded data years",
  description:
    "A year in which the hospital's row has no price is listed with its `status`, and a year without a row is left out. " +
    "Synthetic data versions are omitted where a real one is loaded. With `source.data_versions` as `versions`, an answer " +
    "can be asked for again",
  returns: "The facility as it is in the latest of these years, and a row per data year, the oldest first.",
  kind: "overall",
  segment: { name: "ccn", description: "CCN of the facility, letters in any case.", example: "990901" },
  parameters: v.object({ procedure, versions: versionNames }),
  response: facilityTrendsResponse,
  errors: ["missing_parameter", "not_found"],
  answer(context, values) {
    const { versions, segment } = context;
    const named = values.versions && versionsNamed(versions, values.versions);
    const images = named ?? newestOfYears(versions);
    const years = yearsOf(images, segment, values.procedure);
    const latest = years.at(-1);
    if (latest === undefined) throw noFacilityTrend(images, segment, values.procedure, named !== undefined);
    context.isPinned = values.versions?.some(isYear) === false;
    return {
      facility: describeFacility(latest.image, latest.facility),
      procedure: nameProcedure(latest.image, latest.price.procedure),
      data: years.map((year, i) => rowOf(year, years[i - 1])),
      source: sourceOfYears(years.map(({ image }) => image)),
    };
  },
});
