import * as v from "valibot";
import {
  detailsOf,
  dollarsOf,
  findGroup,
  histogramOf,
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

const hundredths = <Key extends string>(values: Record<Key, number>) =>
  Object.fromEntries(Object.entries<number>(values).map(([name, value]) => [name, value / 100]));

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
        code,
        name: textAt(image.procedureName, place),
        includes: JSON.parse(textAt(image.includes, place)),
      },
      scope: { state: values.state ?? "national" },
      summary: dollarsOf(summary),
      rows: { priced: summary.facilities, suppressed, incomplete: rows - summary.facilities - suppressed },
      allowed: hundredths({
        min: detail.min_allowed,
        p10: detail.p10_allowed,
        p25: detail.p25_allowed,
        median: summary.median_allowed,
        p75: detail.p75_allowed,
        p90: detail.p90_allowed,
        max: detail.max_allowed,
      }),
      markup: hundredths({
        p25: detail.p25_markup,
        median: detail.median_markup,
        p75: detail.p75_markup,
      }),
      histogram: { edges: edges.map((edge) => edge / 100), counts },
      data: stateSummaries(image, place)
        .filter((row) => values.state === undefined || row.state === values.state)
        .map((row) => ({
          state: row.state,
          facilities: row.facilities,
          median_charge: row.median_charge / 100,
          p25_charge: row.p25_charge / 100,
          p75_charge: row.p75_charge / 100,
          min_charge: row.min_charge / 100,
          max_charge: row.max_charge / 100,
          spread: row.spread / 100,
          median_allowed: row.median_allowed / 100,
        })),
      source: sourceOf(image),
    };
  },
});
