import * as v from "valibot";
import {
  coverageOf,
  describeDocument,
  documentKinds,
  encodePrices,
  facilityPrices,
  findFacility,
  findGroup,
  groupSize,
  type Image,
  listProcedures,
  procedureOrders,
  type Standing,
  search,
  stateCodes,
  statusOf,
  textAt,
  versionName,
} from "../engine/index.ts";
import { contentOf, decodeCursor, encodeCursor } from "./cursor.ts";
import { type Context, type Endpoint, endpoint } from "./endpoint.ts";
import { ApiError, echo } from "./errors.ts";
import { planNames } from "./plans.ts";
import { wholeNumber } from "./query.ts";

const required = v.pipe(v.string(), v.nonEmpty());
const expectedState = `one of ${stateCodes.join(", ")}`;
// The pattern first: upper-casing turns some other characters into two letters.
const state = v.optional(
  v.pipe(
    v.string(),
    v.regex(/^[A-Za-z]{2}$/, expectedState),
    v.toUpperCase(),
    v.picklist(stateCodes, expectedState),
    v.description("Two-letter state code, in any case. The whole nation without it."),
  ),
);
const rowLimit = (max: number) =>
  v.optional(v.pipe(wholeNumber(1, max), v.description(`Most rows to return, 1 to ${max}.`)), "25");

const dollars = v.pipe(v.number(), v.description("US dollars"));
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const source = v.object({ data_year: count, data_version: v.string(), caveat: v.string() });
const next = v.pipe(v.nullable(v.string()), v.description("Path of the next page; null on the last one"));
const scope = v.object({ state: v.pipe(v.string(), v.description("A state code, or `national`")) });

const sourceOf = ({ describe: { provenance } }: Image) => ({
  data_year: provenance.dataYear,
  data_version: versionName(provenance),
  caveat: provenance.caveat,
});

/** Path of the page after this one; null when there is none. */
function nextPage(
  context: Context,
  list: string,
  total: number,
  limit: number,
  values: object,
): string | null {
  const offset = context.offset + limit;
  if (offset >= total) return null;
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const texts = Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
  return `/api/v1/pages/${encodeCursor(context.image, list, offset, texts)}`;
}

const where = (code: string | undefined, { describe }: Image) =>
  `${code === undefined ? "" : ` in ${code}`} in data version ${versionName(describe.provenance)}`;

const prices: Endpoint = endpoint({
  path: "/healthcare/prices",
  name: "prices",
  summary: "Charges and allowed amounts of one procedure group, a row per facility, cheapest first",
  kind: "versioned",
  parameters: v.object({
    procedure: v.pipe(required, v.description("APC code of the procedure group, for example 5072.")),
    state,
    limit: rowLimit(50),
  }),
  response: v.object({
    procedure: v.object({ code: v.string(), name: v.string() }),
    scope,
    summary: v.object({
      facilities: count,
      median_charge: dollars,
      min_charge: dollars,
      max_charge: dollars,
      spread: v.pipe(v.number(), v.description("max_charge / min_charge")),
      p10_charge: dollars,
      p25_charge: dollars,
      p75_charge: dollars,
      p90_charge: dollars,
      median_allowed: dollars,
    }),
    data: v.array(
      v.object({
        facility: v.string(),
        city: v.string(),
        state: v.string(),
        ccn: v.string(),
        submitted_charge: dollars,
        medicare_allowed: dollars,
      }),
    ),
    source,
    next,
  }),
  errors: ["missing_parameter", "not_found"],
  answer(context, values) {
    const { image, offset } = context;
    const group = findGroup(image, values.procedure, values.state ?? null);
    if (group < 0)
      throw new ApiError(
        "not_found",
        `no prices for procedure ${echo(values.procedure)}${where(values.state, image)}`,
      );
    const page = nextPage(context, prices.name, groupSize(image, group), values.limit, values);
    return encodePrices(image, group, values.limit, offset, page);
  },
});

const procedures: Endpoint = endpoint({
  path: "/healthcare/procedures",
  name: "procedures",
  summary: "Procedure groups with the variation of their charges",
  kind: "versioned",
  parameters: v.object({
    sort: v.optional(
      v.pipe(
        v.picklist(procedureOrders, `one of ${procedureOrders.join(", ")}`),
        v.description("`code` and `name` ascending, the others descending; ties by code."),
      ),
      "code",
    ),
    min_facilities: v.optional(
      v.pipe(wholeNumber(1, 1_000_000), v.description("Only groups with at least so many facilities.")),
      "1",
    ),
    state,
    limit: rowLimit(100),
  }),
  response: v.object({
    scope,
    summary: v.object({ procedures: count }),
    data: v.array(
      v.object({
        code: v.string(),
        name: v.string(),
        facilities: count,
        median_charge: dollars,
        min_charge: dollars,
        max_charge: dollars,
        spread: v.number(),
      }),
    ),
    source,
    next,
  }),
  errors: ["not_found"],
  answer(context, values) {
    const { image, offset } = context;
    const list = listProcedures(image, values.state ?? null, values.min_facilities, values.sort);
    if (list.length === 0)
      throw new ApiError(
        "not_found",
        `no procedure has ${values.min_facilities} facilities with prices${where(values.state, image)}`,
      );
    return {
      scope: { state: values.state ?? "national" },
      summary: { procedures: list.length },
      data: list.slice(offset, offset + values.limit).map((row) => ({
        code: row.code,
        name: row.name,
        facilities: row.facilities,
        median_charge: row.median_charge / 100,
        min_charge: row.min_charge / 100,
        max_charge: row.max_charge / 100,
        spread: row.spread / 100,
      })),
      source: sourceOf(image),
      next: nextPage(context, procedures.name, list.length, values.limit, values),
    };
  },
});

const standing = v.object({
  rank: v.pipe(count, v.description("1 is the lowest charge; equal charges share a rank")),
  facilities: count,
  percentile: v.pipe(
    v.number(),
    v.description("Share of the facilities that charge strictly less, 0 to 100"),
  ),
  median_charge: dollars,
});
const standingOf = ({ rank, facilities, permille, medianCharge }: Standing) => ({
  rank,
  facilities,
  percentile: permille / 10,
  median_charge: medianCharge / 100,
});

const facility = endpoint({
  path: "/healthcare/facilities/{ccn}",
  name: "facility",
  summary: "Every priced procedure group at one facility, with its standing in the nation and its state",
  kind: "versioned",
  segment: { description: "CCN of the facility.", example: "050625" },
  parameters: v.object({}),
  response: v.object({
    facility: v.object({ ccn: v.string(), facility: v.string(), city: v.string(), state: v.string() }),
    summary: v.object({ procedures: count }),
    data: v.array(
      v.object({
        code: v.string(),
        name: v.string(),
        submitted_charge: dollars,
        medicare_allowed: dollars,
        national: standing,
        state: standing,
      }),
    ),
    source,
  }),
  errors: ["not_found"],
  answer({ image, segment }) {
    const found = findFacility(image, segment);
    const list = found < 0 ? [] : facilityPrices(image, found);
    if (list.length === 0)
      throw new ApiError("not_found", `no prices at facility ${echo(segment)}${where(undefined, image)}`);
    const { type: _, ...described } = describeDocument(image, "facility", found);
    return {
      facility: described,
      summary: { procedures: list.length },
      data: list.map((price) => ({
        code: textAt(image.codeOffsets, image.codeBytes, price.procedure),
        name: textAt(image.procedureNameOffsets, image.procedureNameBytes, price.procedure),
        submitted_charge: price.charge / 100,
        medicare_allowed: price.allowed / 100,
        national: standingOf(price.national),
        state: standingOf(price.state),
      })),
      source: sourceOf(image),
    };
  },
});

const maxQueryCharacters = 200;
const expectedQuery = `1 to ${maxQueryCharacters} characters`;
const searchEndpoint: Endpoint = endpoint({
  path: "/search",
  name: "search",
  summary: "Facilities by name, city, state or CCN; procedure groups by name or code",
  kind: "versioned",
  parameters: v.object({
    q: v.pipe(
      required,
      v.check((text) => [...text].length <= maxQueryCharacters, expectedQuery),
      v.description(`What to look for, ${expectedQuery}. Every word has to match.`),
    ),
    type: v.optional(
      v.pipe(
        v.picklist(documentKinds, `one of ${documentKinds.join(", ")}`),
        v.description("What to look for."),
      ),
      "facility",
    ),
    limit: rowLimit(50),
  }),
  response: v.object({
    query: v.object({ q: v.string(), type: v.picklist(documentKinds) }),
    summary: v.object({ matches: count }),
    data: v.array(
      v.variant("type", [
        v.object({
          type: v.literal("facility"),
          ccn: v.string(),
          facility: v.string(),
          city: v.string(),
          state: v.string(),
          score: v.number(),
        }),
        v.object({ type: v.literal("procedure"), code: v.string(), name: v.string(), score: v.number() }),
      ]),
    ),
    source,
    next,
  }),
  errors: ["missing_parameter", "not_found"],
  answer(context, values) {
    const { image, offset } = context;
    const { q, type, limit } = values;
    const { total, documents, scores } = search(image, type, q, offset, limit);
    if (total === 0)
      throw new ApiError("not_found", `no ${type} matches ${echo(q)}${where(undefined, image)}`);
    return {
      query: { q, type },
      summary: { matches: total },
      data: Array.from(documents, (document, i) => ({
        ...describeDocument(image, type, document),
        score: scores[i],
      })),
      source: sourceOf(image),
      next: nextPage(context, searchEndpoint.name, total, limit, values),
    };
  },
});

const time = v.pipe(v.string(), v.isoTimestamp());
const datasets = endpoint({
  path: "/datasets",
  name: "datasets",
  summary: "The data versions that are served, newest first, with their gaps",
  kind: "service",
  parameters: v.object({}),
  response: v.object({
    data: v.array(
      v.object({
        id: v.string(),
        title: v.string(),
        publisher: v.string(),
        data_year: count,
        data_version: v.string(),
        status: v.picklist(["current", "available", "superseded"]),
        rows: count,
        priced_rows: count,
        suppressed_rows: count,
        incomplete_rows: count,
        facilities: count,
        procedures: count,
        released: v.nullable(v.pipe(v.string(), v.description("Month of publication, YYYY-MM"))),
        loaded_at: time,
        sha256: v.string(),
        source_url: v.nullable(v.string()),
        caveat: v.string(),
        coverage: v.object({
          states: v.array(v.string()),
          missing_states: v.array(v.object({ state: v.string(), reason: v.string() })),
          procedures_without_prices: v.array(v.string()),
        }),
      }),
    ),
  }),
  errors: [],
  answer: ({ versions }) => ({
    data: versions.images.map((image) => {
      const { provenance, counts, sha256 } = image.describe;
      const version = versionName(provenance);
      return {
        id: `opps-${version}`,
        title: provenance.title,
        publisher: provenance.publisher,
        data_year: provenance.dataYear,
        data_version: version,
        status: statusOf(versions.images, image),
        rows: counts.rows,
        priced_rows: counts.pricedRows,
        suppressed_rows: counts.suppressedRows,
        incomplete_rows: counts.incompleteRows,
        facilities: counts.facilities,
        procedures: counts.procedures,
        released: provenance.released,
        loaded_at: versions.loadedAt.get(version),
        sha256,
        source_url: provenance.sourceUrl,
        caveat: provenance.caveat,
        coverage: coverageOf(image),
      };
    }),
  }),
});

const usage = endpoint({
  path: "/usage",
  name: "usage",
  summary: "What the caller's account has used of its month",
  kind: "service",
  parameters: v.object({}),
  response: v.object({
    account: v.string(),
    plan: v.picklist(planNames),
    period: v.object({ start: time, end: time }),
    quota: v.object({ limit: count, used: count, remaining: count }),
    burst: v.object({ limit: v.pipe(count, v.description("Requests per second")) }),
  }),
  errors: [],
  answer: (context) => context.usage(),
});

const pages = endpoint({
  path: "/pages/{cursor}",
  name: "page",
  summary: "The next page of a list, from the data version of its first page",
  kind: "page",
  segment: { description: "From the `next` of the page before.", example: "WzEsIjIwMjQuMSIsIjAxMjM0NTY3Il0" },
  parameters: v.object({}),
  response: v.union([prices.response, procedures.response, searchEndpoint.response]),
  errors: ["not_found"],
  answer(context) {
    const cursor = decodeCursor(context.segment);
    const list = cursor && [prices, procedures, searchEndpoint].find(({ name }) => name === cursor.list);
    if (cursor === undefined || list === undefined)
      throw new ApiError(
        "invalid_parameter",
        `${echo(context.segment)} is no cursor, expected the next of a page`,
        "cursor",
      );
    const image = context.versions.byName.get(cursor.version);
    if (image === undefined || contentOf(image) !== cursor.content)
      throw new ApiError("not_found", `data version ${cursor.version} of this page isn't loaded any more`);
    return list.answer({ ...context, image, offset: cursor.offset }, new Map(Object.entries(cursor.values)));
  },
});

/** All endpoints but the OpenAPI document, which describes them. */
export const endpoints: readonly Endpoint[] = [
  prices,
  searchEndpoint,
  procedures,
  facility,
  datasets,
  usage,
  pages,
];
