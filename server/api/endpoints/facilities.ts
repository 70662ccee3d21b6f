import * as v from "valibot";
import {
  defaultMiles,
  dollarsOf,
  type FacilityPrice,
  facilityOfItem,
  facilityPage,
  facilitySorts,
  findFacility,
  listFacilities,
  nameFacility,
  priceOfRow,
  textAt,
} from "../../../engine/query.ts";
import { endpoint, sourceOf } from "../endpoint.ts";
import { ApiError } from "../errors.ts";
import { facilityFilters, lacks, type Needed } from "../facility-filters.ts";
import { aroundOf } from "../near.ts";
import { noFacilities } from "../not-found.ts";
import { nextPage, queryOf } from "../paging.ts";
import { rowLimit, textUpTo } from "../parameters.ts";
import { type ProcedureAsked, procedureAsked } from "../procedure-asked.ts";
import { facilitiesResponse } from "../responses.ts";
import { dollarsOrNull, standingOf } from "./facility.ts";

const orders = ["asc", "desc"] as const;
const maxProcedureCharacters = 200;

const neededBySort: Partial<Record<(typeof facilitySorts)[number], Needed>> = {
  distance: "near",
  charge: "procedure",
  allowed: "procedure",
  markup: "procedure",
  services: "procedure",
};

const parameters = v.object({
  procedure: v.optional(
    v.pipe(
      textUpTo(maxProcedureCharacters, `an APC code, or 1 to ${maxProcedureCharacters} characters of words`),
      v.description(
        "APC code of a procedure group, words such as `knee replacement`, or a HCPCS or CPT code. Words that fit several groups are an error with `candidates`.",
      ),
      v.examples(["5072"]),
    ),
  ),
  ...facilityFilters.parameters,
  sort: v.optional(
    v.pipe(
      v.picklist(facilitySorts, `one of ${facilitySorts.join(", ")}`),
      v.description(
        "`distance` only with `near`; `charge`, `allowed`, `markup` and `services` only with `procedure`. Ties are sorted by CCN.",
      ),
      v.examples(["charge"]),
    ),
    "name",
  ),
  order: v.optional(
    v.pipe(
      v.picklist(orders, `one of ${orders.join(", ")}`),
      v.description("Ascending or descending. Absent values come last in both."),
      v.examples(["desc"]),
    ),
    "asc",
  ),
  limit: rowLimit(100),
});
type Values = v.InferOutput<typeof parameters>;

/**
 * @throws ApiError `invalid_parameter` when a parameter or the sort order requires a parameter that is missing, or
 * `min_charge` is above `max_charge`
 */
function checkTogether(values: Values): void {
  const bySort = neededBySort[values.sort];
  const lacking = facilityFilters.lacking(values).map((each) => ({ ...each, what: each.name }));
  if (bySort !== undefined && values[bySort] === undefined)
    lacking.push({ name: "sort", what: `sort=${values.sort}`, needs: bySort });
  for (const { name, what, needs } of lacking) throw lacks(name, what, needs);
  const { min_charge: least = 0, max_charge: most = Number.POSITIVE_INFINITY } = values;
  if (least > most)
    throw new ApiError("invalid_parameter", `min_charge is ${least}, expected at most max_charge (${most})`, {
      param: "min_charge",
    });
}

const groupOf = ({ code, name, title }: ProcedureAsked) => ({ code, name, title });

/** Returns the query with all defaults, and null for parameters that aren't given. @param asked null on later pages */
function understood(values: Values, procedure: ProcedureAsked | undefined, asked: string | null) {
  const { near, within, status, sort, order, limit } = values;
  return {
    procedure: procedure === undefined ? null : { ...groupOf(procedure), asked },
    ...facilityFilters.echoOf(values),
    within: near === undefined ? null : (within ?? defaultMiles),
    status: procedure === undefined ? null : (status ?? "priced"),
    sort,
    order,
    limit,
  };
}

const priceFieldsOf = (price: FacilityPrice) => ({
  submitted_charge: dollarsOrNull(price.charge),
  medicare_allowed: dollarsOrNull(price.allowed),
  medicare_payment: dollarsOrNull(price.payment),
  markup: dollarsOrNull(price.markup),
  services: price.services,
  beneficiaries: price.beneficiaries,
  status: price.status,
  national: price.national && standingOf(price.national),
  within_state: price.state && standingOf(price.state),
});

const name = "facilities" as const;
export const facilities = endpoint({
  path: "/healthcare/facilities",
  name,
  summary: "Hospitals by state, city, CCN or nearness, and with a procedure group what each charges for it",
  description:
    "Lists hospitals that meet every condition that is given. With `procedure`, only hospitals that have the procedure group " +
    "are listed, each with its price and its standing: `procedure`, `near` and `sort=charge` give the cheapest hospitals " +
    "around a place, and `procedure` and `ccn` put some hospitals side by side.\n\n" +
    "Distances are great-circle miles, rounded to one decimal, between ZIP codes, or from the mean of a city's ZIP codes. " +
    "`summary.unplaced` counts the hospitals whose ZIP code has no known place",
  returns: "The query as it is understood, statistics of all hospitals that match, and the page's hospitals.",
  kind: "versioned",
  parameters,
  response: facilitiesResponse,
  errors: ["not_found"],
  answer(context, values) {
    checkTogether(values);
    const { versions, offset } = context;
    const around = aroundOf(versions, values);
    const { image } = context;
    const asked =
      values.procedure === undefined ? undefined : procedureAsked(versions, image, values.procedure);
    // What words mean may change with the software's release.
    if (asked?.isSearched) context.isPinned = false;
    const known = { ...values, procedure: asked?.code, near: around?.name };
    const filter = { ...facilityFilters.filterOf(values, { image, around }), procedure: asked?.procedure };
    const isDescending = values.order === "desc";
    const page = facilityPage(image, filter, values.sort, isDescending, offset, values.limit);
    const { length } = page;
    if (length === 0) {
      const { sort: _, order: __, limit: ___, ...narrowing } = known;
      const there = { ...facilityFilters.placeOf(values, { image, around }), procedure: asked?.procedure };
      throw noFacilities(image, queryOf(narrowing), listFacilities(image, filter, values.sort), there);
    }
    const next = nextPage(context, name, length, values.limit, () => queryOf(known));
    const isPriced = asked !== undefined;
    const unknown = values.ccn?.map((ccn) => ccn.toUpperCase()).filter((ccn) => findFacility(image, ccn) < 0);
    const row = (item: number, i: number) => {
      const facility = facilityOfItem(image, filter, item);
      return {
        ...nameFacility(image, facility),
        zip: textAt(image.zip, facility) || null,
        procedures: image.pricedProcedures[facility],
        ...(around !== undefined && { distance: page.distances[i] / 10 }),
        ...(isPriced && priceFieldsOf(priceOfRow(image, item))),
      };
    };
    return {
      list: name,
      query: understood(known, asked, offset === 0 ? (values.procedure ?? null) : null),
      ...(asked !== undefined && { procedure: groupOf(asked) }),
      ...(asked !== undefined && asked.absent.length > 0 && { absent: asked.absent }),
      summary: {
        ...(isPriced ? dollarsOf(page.summary()) : { facilities: length }),
        ...(around !== undefined && { unplaced: page.unplaced }),
        ...(unknown !== undefined && { unknown }),
      },
      data: Array.from(page.items, row),
      source: { ...sourceOf(image), places: image.description.places },
      next: next?.toString() ?? null,
    };
  },
});
