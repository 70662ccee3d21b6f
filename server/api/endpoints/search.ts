import * as v from "valibot";
import { documentKinds, encodeMatches, search as findMatches } from "../../../engine/query.ts";
import { type Endpoint, endpoint } from "../endpoint.ts";
import { noMatches } from "../not-found.ts";
import { nextPage, queryOf } from "../paging.ts";
import { required, rowLimit } from "../parameters.ts";
import { searchResponse } from "../responses.ts";

/** Answers searches. */

const howItMatches =
  "Case, accents and punctuation do not matter, and abbreviations, states and their codes, initials, plurals, and " +
  "words written apart or together are the same. Every word that says something has to match a facility's name, city, state, ZIP code or CCN, " +
  "or a procedure group's name, APC code or what patients call it; words such as the, of and in, and beside others " +
  "those of kind (hospital, medical center, clinic, health system) need not, but a match that has them is better. " +
  "A word typed again is the place it names, and so is a city before its state. The start of a word matches it, and so does a word other than a number with one typo from 5 letters or two from 9. A match is " +
  "as good as its worst word: exact before prefix before typo; then a name counts more than a city and a city more than " +
  "a state, and last how much of the name is asked for, and whether it begins with that. Where a word matches nothing, the answer is 404 and names it, " +
  "with what is near it. What has no price isn't listed; where nothing else matches, the 404 says so.";
const maxQueryCharacters = 200;
const expectedQuery = `1 to ${maxQueryCharacters} characters`;
export const search: Endpoint = endpoint({
  path: "/search",
  name: "search",
  summary: "Facilities by name, city, state, ZIP code or CCN; procedure groups by name or code",
  description:
    "Finds the CCN of a hospital or the APC code of a procedure group, for the other endpoints, by words as people type " +
    `them. ${howItMatches}`,
  returns: "The matches of the page, best first, and how many there are on all pages.",
  kind: "versioned",
  parameters: v.object({
    q: v.pipe(
      required,
      v.check((text) => [...text].length <= maxQueryCharacters, expectedQuery),
      v.metadata({ maxLength: maxQueryCharacters }),
      v.description(
        `What to look for, ${expectedQuery}: words of a name, a place, a ZIP code, a CCN or an APC code.`,
      ),
      v.examples(["harbor valley"]),
    ),
    type: v.optional(
      v.pipe(
        v.picklist(documentKinds, `one of ${documentKinds.join(", ")}`),
        v.description("Whether to look for facilities or procedure groups."),
        v.examples(["facility"]),
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
    if (matches.total === 0) throw noMatches(image, type, q);
    const head = JSON.stringify({ query: { q, type }, summary: { matches: matches.total } });
    const next = nextPage(context, search.name, matches.total, limit, () => queryOf(values));
    return encodeMatches(image, type, matches, `${head.slice(0, -1)},"data":[`, next, context.scratch);
  },
});
