import * as v from "valibot";
import {
  describeFacility,
  documentKinds,
  encodeMatches,
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
} from "../../engine/query.ts";
import { gapsOf, noFacility, noPrices, noProcedures, notFound } from "./absence.ts";
import { contentOf, decodeCursor, pathOfPage } from "./cursor.ts";
import { type Context, type Endpoint, endpoint } from "./endpoint.ts";
import { ApiError, echo } from "./errors.ts";
import { wholeNumber } from "./parameters.ts";
import { defaultLimit, groupOfUsual, limitOfUsual, maxLimit } from "./price-key.ts";
import {
  datasetsShape,
  facilityShape,
  pricesShape,
  proceduresShape,
  searchShape,
  usageShape,
} from "./responses.ts";

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
  v.optional(
    v.pipe(wholeNumber(1, max), v.description(`Most rows to return, 1 to ${max}.`)),
    String(defaultLimit),
  );

const sourceOf = ({ description: { provenance } }: Image) => ({
  data_year: provenance.dataYear,
  data_version: versionName(provenance),
  caveat: provenance.caveat,
});

function badCursor(segment: string): ApiError {
  return new ApiError(
    "invalid_parameter",
    `${echo(segment)} is no cursor, expected the next of a page`,
    "cursor",
  );
}

/** Path of the page after this one; null when there is none. */
function nextPage(
  context: Context,
  list: string,
  total: number,
  limit: number,
  values: object,
): Buffer | null {
  if (context.offset >= total) throw badCursor(context.segment);
  const offset = context.offset + limit;
  if (offset >= total) return null;
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
  return pathOfPage(context.image, list, offset, query.toString());
}

export const prices: Endpoint = endpoint({
  path: "/healthcare/prices",
  name: "prices",
  summary: "Charges and allowed amounts of one procedure group, a row per facility, cheapest first",
  kind: "versioned",
  parameters: v.object({
    procedure: v.pipe(required, v.description("APC code of the procedure group, for example 5072.")),
    state,
    limit: rowLimit(maxLimit),
  }),
  response: pricesShape,
  errors: ["missing_parameter", "not_found"],
  answer(context, values) {
    const { image, offset } = context;
    const group = findGroup(image, values.procedure, values.state ?? null);
    if (group < 0) throw noPrices(image, values.procedure, values.state);
    const page = nextPage(context, prices.name, groupSize(image, group), values.limit, values);
    return encodePrices(image, group, values.limit, offset, page, context.scratch);
  },
});

/** The answer to a price query in its usual form, by its number from `readUsual`. */
export function encodeUsual(image: Image, usual: number, query: string, scratch: Buffer): Uint8Array {
  const [group, limit] = [groupOfUsual(usual), limitOfUsual(usual)];
  const whole = query.includes("&limit=") ? query : `${query}&limit=${limit}`;
  const next = limit < groupSize(image, group) ? pathOfPage(image, prices.name, limit, whole) : null;
  return encodePrices(image, group, limit, 0, next, scratch);
}

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
  response: proceduresShape,
  errors: ["not_found"],
  answer(context, values) {
    const { image, offset } = context;
    const list = listProcedures(image, values.state ?? null, values.min_facilities, values.sort);
    if (list.length === 0) throw noProcedures(image, values.state, values.min_facilities);
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
      next: nextPage(context, procedures.name, list.length, values.limit, values)?.toString() ?? null,
    };
  },
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
  segment: { name: "ccn", description: "CCN of the facility, letters in any case.", example: "050625" },
  parameters: v.object({}),
  response: facilityShape,
  errors: ["not_found"],
  answer({ image, segment }) {
    const found = findFacility(image, segment);
    const list = found < 0 ? [] : facilityPrices(image, found);
    if (list.length === 0) throw noFacility(image, segment, found);
    return {
      facility: describeFacility(image, found),
      summary: { procedures: list.length },
      data: list.map((price) => ({
        code: textAt(image.code, price.procedure),
        name: textAt(image.procedureName, price.procedure),
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
  response: searchShape,
  errors: ["missing_parameter", "not_found"],
  answer(context, values) {
    const { image, offset } = context;
    const { q, type, limit } = values;
    const matches = search(image, type, q, offset, limit);
    if (matches.total === 0) throw notFound(image, `no ${type} matches ${echo(q)}`);
    const head = JSON.stringify({ query: { q, type }, summary: { matches: matches.total } });
    const next = nextPage(context, searchEndpoint.name, matches.total, limit, values);
    return encodeMatches(image, type, matches, `${head.slice(0, -1)},"data":[`, next, context.scratch);
  },
});

const datasets = endpoint({
  path: "/datasets",
  name: "datasets",
  summary: "The data versions that are served, newest first, with their gaps",
  kind: "service",
  parameters: v.object({}),
  response: datasetsShape,
  errors: [],
  answer: ({ versions }) => ({
    data: versions.images.map((image) => {
      const { provenance, counts, sha256, contentSha256 } = image.description;
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
        content_sha256: contentSha256,
        source_sha256: provenance.sourceSha256,
        source_url: provenance.sourceUrl,
        caveat: provenance.caveat,
        coverage: gapsOf(image),
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
  response: usageShape,
  errors: [],
  answer: (context) => context.usage(),
});

const pages = endpoint({
  path: "/pages/{cursor}",
  name: "page",
  summary: "The next page of a list, from the data version of its first page",
  kind: "page",
  segment: {
    name: "cursor",
    description: "From the `next` of the page before.",
    example: "MjAyNC4xfjAxMjM0NTY3fnByaWNlc34yNX5wcm9jZWR1cmU9NTA3MiZsaW1pdD0yNQ",
  },
  parameters: v.object({}),
  response: v.union([prices.response, procedures.response, searchEndpoint.response]),
  errors: ["not_found"],
  answer(context) {
    const cursor = decodeCursor(context.segment);
    const list = cursor && [prices, procedures, searchEndpoint].find(({ name }) => name === cursor.list);
    if (cursor === undefined || list === undefined) throw badCursor(context.segment);
    const image = context.versions.byName.get(cursor.version);
    if (image === undefined || contentOf(image) !== cursor.content)
      throw new ApiError("not_found", `data version ${cursor.version} of this page isn't loaded any more`);
    const { versions, segment, scratch } = context;
    return list.answer(
      { versions, image, segment, offset: cursor.offset, scratch, usage: () => context.usage() },
      cursor.query,
    );
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
