import * as v from "valibot";
import {
  distributionAround,
  distributionOfGroup,
  dollars,
  dollarsOf,
  findGroup,
  histogramOf,
  nameProcedure,
  plainProcedure,
  rowsAround,
  textAt,
} from "../../../engine/query.ts";
import { wholeNumber } from "../../shared/schemas.ts";
import { endpoint, sourceOf } from "../endpoint.ts";
import { facilityFilters, lacks } from "../facility-filters.ts";
import { aroundOf } from "../near.ts";
import { noPrices, noPricesAround } from "../not-found.ts";
import { state } from "../parameters.ts";
import { procedureResponse } from "../responses.ts";

const ofState = [
  "facilities",
  "median_charge",
  "p25_charge",
  "p75_charge",
  "min_charge",
  "max_charge",
  "spread",
  "median_allowed",
] as const;

export const procedure = endpoint({
  path: "/healthcare/procedures/{code}",
  name: "procedure",
  summary: "The charges of one procedure group in depth: distribution, allowed amounts, markup and states",
  description:
    "Statistics, a histogram, the amounts that Medicare allows, the markup (charge divided by allowed amount), and a row for " +
    "each state. With `near`, all of this is over the facilities around a place. `/search?type=procedure` finds the code " +
    "by words",
  returns: "The procedure group in depth: summary, allowed amounts, markup, histogram, states.",
  kind: "versioned",
  segment: { name: "code", description: "APC code of the procedure group.", example: "5072" },
  parameters: v.object({
    state,
    near: facilityFilters.parameters.near,
    within: facilityFilters.parameters.within,
    bins: v.optional(
      v.pipe(
        wholeNumber(1, 100),
        v.description("Maximum number of bars of the histogram, 1 to 100."),
        v.examples([4]),
      ),
      "30",
    ),
  }),
  response: procedureResponse,
  errors: ["not_found"],
  answer(context, values) {
    const { versions, segment: code } = context;
    for (const { name, needs } of facilityFilters.lacking({ within: values.within, near: values.near }))
      throw lacks(name, name, needs);
    const around = aroundOf(versions, values);
    const { image } = context;
    const group = findGroup(image, code, values.state ?? null);
    const procedure = image.procedureOf.get(code);
    if (procedure === undefined || (group < 0 && around === undefined))
      throw noPrices(versions, image, code, values.state);
    const there = around && rowsAround(image, procedure, around, values.state ?? null);
    if (around !== undefined && there?.priced.length === 0)
      throw noPricesAround(image, code, values.state, around, there);
    const found = there
      ? distributionAround(image, there)
      : distributionOfGroup(image, group, procedure, values.state ?? null);
    const { summary, details, states, rows } = found;
    const { edges, counts } = histogramOf(image, found, values.bins);
    return {
      procedure: {
        ...nameProcedure(image, procedure),
        words: plainProcedure(code)?.words ?? null,
        includes: JSON.parse(textAt(image.includes, procedure)),
      },
      scope: {
        state: values.state ?? "national",
        ...(around && { near: around.name, within: around.miles }),
      },
      summary: dollarsOf(summary),
      rows: { ...rows, ...(there && { unplaced: there.unplaced }) },
      allowed: {
        min: dollars(details.min_allowed),
        p10: dollars(details.p10_allowed),
        p25: dollars(details.p25_allowed),
        median: dollars(summary.median_allowed),
        p75: dollars(details.p75_allowed),
        p90: dollars(details.p90_allowed),
        max: dollars(details.max_allowed),
      },
      markup: {
        p25: dollars(details.p25_markup),
        median: dollars(details.median_markup),
        p75: dollars(details.p75_markup),
      },
      histogram: { edges: edges.map(dollars), counts },
      data: states.map((row) => ({ state: row.state, ...dollarsOf(row, ofState) })),
      source: { ...sourceOf(image), ...(around && { places: image.description.places }) },
    };
  },
});
