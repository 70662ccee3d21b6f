import * as v from "valibot";
import {
  defaultMiles,
  documentKinds,
  search as findMatches,
  type Image,
  nameFacility,
  nameProcedure,
  textAt,
} from "../../../engine/query.ts";
import { endpoint, sourceOf } from "../endpoint.ts";
import { noMatches } from "../no-matches.ts";
import { nextPage, queryOf } from "../paging.ts";
import { rowLimit, state, textUpTo } from "../parameters.ts";
import { searchResponse } from "../responses.ts";

const howItMatches =
  "Finds facilities of whose name, city or state each word is a word, or from the third letter on a beginning, or by ZIP " +
  "code or CCN. Places, unofficial names, typos, and English and Spanish questions add matches and take none away.\n\n" +
  "`score` is 0.5 and more where one thing is meant; below, many fit alike, or words were dropped or guessed. " +
  "`query.ignored` lists words that were set aside. A ZIP code, and a place after `near`, list hospitals " +
  `within ${defaultMiles} miles. A place in a search for procedures (\`in Houston\`) is taken off, ` +
  "and returned in `query.place`. `absent` names what this data can't have, such as an MRI, and where to look.\n\n" +
  "Only what has prices is listed; with `state`, only what has prices there. `matched` says which codes or words " +
  "found a procedure group.";
/** The list's name in cursors. Change it when the order of the matches changes. */
export const searchList = "matches";
const maxQueryCharacters = 200;
const expectedQuery = `1 to ${maxQueryCharacters} characters`;
const name = "search" as const;
export const search = endpoint({
  path: "/search",
  name,
  summary: "Facilities by name, city, state, ZIP code or CCN; procedure groups by name or code",
  description:
    "Finds the CCN of a hospital, or the APC code of a procedure group, by words as people type them. The other " +
    `endpoints take these codes. ${howItMatches}`,
  returns: "The matches of the page, best first, and how many there are on all pages.",
  kind: "versioned",
  parameters: v.object({
    q: v.pipe(
      textUpTo(maxQueryCharacters, expectedQuery),
      v.description(
        `What to look for, ${expectedQuery}: words of a name, a place, a ZIP code, a CCN, or an APC, HCPCS or CPT code.`,
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
    state,
    limit: rowLimit(50),
  }),
  response: searchResponse,
  errors: ["missing_parameter", "not_found"],
  answer(context, values) {
    const { image, offset } = context;
    const { q, type, state, limit } = values;
    const matches = findMatches(image, type, q, offset, limit, state);
    if (matches.total === 0) throw noMatches(image, type, q, state, matches);
    const { absent } = matches;
    const next = nextPage(context, searchList, matches.total, limit, () => queryOf(values));
    const row = (document: number, i: number) => {
      const [score, matched = []] = [matches.scores[i], matches.matched[i]];
      return {
        ...(type === "facility" ? facilityAt(image, document) : procedureAt(image, document)),
        score,
        ...(matched.length > 0 && { matched }),
      };
    };
    return {
      list: name,
      query: {
        q,
        type,
        state: state ?? null,
        ignored: matches.ignored,
        place: matches.place,
        alternative: matches.alternative,
      },
      ...(absent.length > 0 && { absent }),
      summary: { matches: matches.total },
      data: Array.from(matches.documents, row),
      source: sourceOf(image),
      next: next?.toString() ?? null,
    };
  },
});

const facilityAt = (image: Image, facility: number) => ({
  type: "facility" as const,
  ...nameFacility(image, facility),
  zip: textAt(image.zip, facility) || null,
});

const procedureAt = (image: Image, procedure: number) => ({
  type: "procedure" as const,
  ...nameProcedure(image, procedure),
});
