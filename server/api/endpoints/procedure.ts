import * as v from "valibot";
import {
  allowedOf,
  dollarsOf,
  findGroup,
  histogramOf,
  markupOf,
  rowsOfProcedure,
  stateSummaries,
  summaryOf,
  textAt,
} from "../../../engine/query.ts";
import { wholeNumber } from "../../shared/schemas.ts";
import { endpoint } from "../endpoint.ts";
import { noPrices } from "../not-found.ts";
import { state } from "../parameters.ts";
import { procedureResponse } from "../responses.ts";
import { sourceOf } from "./source.ts";

/** Answers with the distribution of one procedure group's charges. */

const hundredths = <Key extends string>(values: Record<Key, number>) =>
  Object.fromEntries(Object.entries<number>(values).map(([name, value]) => [name, value / 100]));

export const procedure = endpoint({
  path: "/healthcare/procedures/{code}",
  name: "procedure",
  summary: "The charges of one procedure group in depth: distribution, allowed amounts, markup and states",
  description:
    "How the charges of one procedure group are distributed: their statistics and histogram, the amounts that Medicare " +
    "allows, how many times as high the charge is (markup), and a row per state to compare states in one request.",
  returns: "The procedure group in depth: summary, allowed amounts, markup, histogram, states.",
  kind: "versioned",
  segment: { name: "code", description: "APC code of the procedure group.", example: "5072" },
  parameters: v.object({
    state,
    bins: v.optional(
      v.pipe(wholeNumber(1, 100), v.description("Most bars of the histogram, 1 to 100."), v.examples([4])),
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
    const { rows, suppressed } = rowsOfProcedure(image, place, values.state ?? null);
    return {
      procedure: { code, name: textAt(image.procedureName, place) },
      scope: { state: values.state ?? "national" },
      summary: dollarsOf(summary),
      rows: { priced: summary.facilities, suppressed, incomplete: rows - summary.facilities - suppressed },
      allowed: hundredths(allowedOf(image, group)),
      markup: hundredths(markupOf(image, group)),
      histogram: { edges: edges.map((edge) => edge / 100), counts },
      data: stateSummaries(image, place)
        .filter((row) => values.state === undefined || row.state === values.state)
        .map((row) => ({
          state: row.state,
          facilities: row.facilities,
          ...hundredths({
            median_charge: row.median_charge,
            p25_charge: row.p25_charge,
            p75_charge: row.p75_charge,
            min_charge: row.min_charge,
            max_charge: row.max_charge,
            spread: row.spread,
            median_allowed: row.median_allowed,
          }),
        })),
      source: sourceOf(image),
    };
  },
});
