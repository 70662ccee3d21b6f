import * as v from "valibot";
import { documentKinds, encodeMatches, search as findMatches } from "../../../engine/query.ts";
import { notFound } from "../absence.ts";
import { type Endpoint, endpoint } from "../endpoint.ts";
import { echo } from "../errors.ts";
import { nextPage, queryOf } from "../paging.ts";
import { required, rowLimit } from "../parameters.ts";
import { searchResponse } from "../responses.ts";

/** Answers with what matches some words. */

const maxQueryCharacters = 200;
const expectedQuery = `1 to ${maxQueryCharacters} characters`;
export const search: Endpoint = endpoint({
  path: "/search",
  name: "search",
  summary: "Facilities by name, city, state or CCN; procedure groups by name or code",
  kind: "versioned",
  parameters: v.object({
    q: v.pipe(
      required,
      v.check((text) => [...text].length <= maxQueryCharacters, expectedQuery),
      v.metadata({ maxLength: maxQueryCharacters }),
      v.description(`What to look for, ${expectedQuery}. Every word has to match.`),
      v.examples(["springfield il"]),
    ),
    type: v.optional(
      v.pipe(
        v.picklist(documentKinds, `one of ${documentKinds.join(", ")}`),
        v.description("Whether to look for facilities or procedure groups."),
      ),
      "facility",
    ),
    limit: rowLimit(50),
  }),
  response: searchResponse,
  errors: ["missing_parameter", "not_found"],
  answer(context, values) {
    const { image, offset } = context;
    const { q, type, limit } = values;
    const matches = findMatches(image, type, q, offset, limit);
    if (matches.total === 0) throw notFound(image, `no ${type} matches ${echo(q)}`);
    const head = JSON.stringify({ query: { q, type }, summary: { matches: matches.total } });
    const next = nextPage(context, search.name, matches.total, limit, () => queryOf(values));
    return encodeMatches(image, type, matches, `${head.slice(0, -1)},"data":[`, next, context.scratch);
  },
});
