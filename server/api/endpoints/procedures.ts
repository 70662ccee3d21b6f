import * as v from "valibot";
import {
  dollarsOf,
  listProcedures,
  nameProcedure,
  plainProcedure,
  procedureOrders,
} from "../../../engine/query.ts";
import { wholeNumber } from "../../shared/schemas.ts";
import { endpoint, sourceOf } from "../endpoint.ts";
import { noProcedures } from "../not-found.ts";
import { nextPage, queryOf } from "../paging.ts";
import { rowLimit, state } from "../parameters.ts";
import { proceduresResponse } from "../responses.ts";

const ofGroup = ["facilities", "median_charge", "min_charge", "max_charge", "spread"] as const;

const name = "procedures" as const;
export const procedures = endpoint({
  path: "/healthcare/procedures",
  name,
  summary: "Procedure groups with the variation of their charges",
  description:
    "Lists the procedure groups (APC codes) that have prices. With `sort=spread`, the groups whose charges differ most come " +
    "first. `min_facilities` omits groups that few hospitals offer",
  returns: "The page's procedure groups, and how many there are on all pages.",
  kind: "versioned",
  parameters: v.object({
    sort: v.optional(
      v.pipe(
        v.picklist(procedureOrders, `one of ${procedureOrders.join(", ")}`),
        v.description("`code` and `name` ascending, the others descending; ties by code."),
        v.examples(["spread"]),
      ),
      "code",
    ),
    min_facilities: v.optional(
      v.pipe(
        wholeNumber(1, Number.MAX_SAFE_INTEGER),
        v.description("Only groups with at least this many facilities."),
        v.examples([2]),
      ),
      "1",
    ),
    state,
    limit: rowLimit(100),
  }),
  response: proceduresResponse,
  errors: ["not_found"],
  answer(context, values) {
    const { image, offset } = context;
    const list = listProcedures(image, values.state ?? null, values.min_facilities, values.sort);
    if (list.length === 0) throw noProcedures(image, values.state, values.min_facilities);
    return {
      list: name,
      scope: { state: values.state ?? "national" },
      summary: { procedures: list.length },
      data: list.slice(offset, offset + values.limit).map((row) => {
        const named = nameProcedure(image, row.procedure);
        const { part = null, words = null } = plainProcedure(named.code) ?? {};
        return { ...named, part, words, ...dollarsOf(row, ofGroup) };
      }),
      source: sourceOf(image),
      next: nextPage(context, name, list.length, values.limit, () => queryOf(values))?.toString() ?? null,
    };
  },
});
