import * as v from "valibot";
import {
  detailsOf,
  dollars,
  dollarsOf,
  findGroup,
  histogramOf,
  nameProcedure,
  plainProcedure,
  rowsOfScope,
  stateSummaries,
  summaryOf,
  textAt,
} from "../../../engine/query.ts";
import { wholeNumber } from "../../shared/schemas.ts";
import { endpoint, sourceOf } from "../endpoint.ts";
import { noPrices } from "../not-found.ts";
import { state } from "../parameters.ts";
import { procedureResponse } from "../responses.ts";

/** Answers with the distribution of one procedure group's charges. */

/** The statistics of a state, in the order of the answer. */
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
    "each state. `/search?type=procedure` finds the code by words",
  returns: "The procedure group in depth: summary, allowed amounts, markup, histogram, states.",
  kind: "versioned",
  segment: { name: "code", description: "APC code of the procedure group.", example: "5072" },
  parameters: v.object({
    state,
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
  answer({ versions, image, segment: code }, values) {
    const group = findGroup(image, code, values.state ?? null);
    if (group < 0) throw noPrices(versions, image, code, values.state);
    const place = image.procedureOf.get(code) ?? 0;
    const { edges, counts } = histogramOf(image, group, values.bins);
    const summary = summaryOf(image, group);
    const detail = detailsOf(image, group);
    const { rows, suppressed } = rowsOfScope(image, { procedure: place, state: values.state ?? null });
    return {
      procedure: {
        ...nameProcedure(image, place),
        words: plainProcedure(code)?.words ?? null,
        includes: JSON.parse(textAt(image.includes, place)),
      },
      scope: { state: values.state ?? "national" },
      summary: dollarsOf(summary),
      rows: { priced: summary.facilities, suppressed, incomplete: rows - summary.facilities - suppressed },
      allowed: {
        min: dollars(detail.min_allowed),
        p10: dollars(detail.p10_allowed),
        p25: dollars(detail.p25_allowed),
        median: dollars(summary.median_allowed),
        p75: dollars(detail.p75_allowed),
        p90: dollars(detail.p90_allowed),
        max: dollars(detail.max_allowed),
      },
      markup: {
        p25: dollars(detail.p25_markup),
        median: dollars(detail.median_markup),
        p75: dollars(detail.p75_markup),
      },
      histogram: { edges: edges.map(dollars), counts },
      data: stateSummaries(image, place)
        .filter((row) => values.state === undefined || row.state === values.state)
        .map((row) => ({ state: row.state, ...dollarsOf(row, ofState) })),
      source: sourceOf(image),
    };
  },
});
