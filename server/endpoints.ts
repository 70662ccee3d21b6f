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
} from "../engine/query.ts";
import { contentOf, decodeCursor, encodeCursor } from "./cursor.ts";
import { type Context, type Endpoint, endpoint } from "./endpoint.ts";
import { ApiError, echo, echoUndecoded } from "./errors.ts";
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

// Shapes of answers. A title makes one a component of the OpenAPI document.
const text = (description: string, example: string) =>
  v.pipe(v.string(), v.description(description), v.examples([example]));
const dollars = (description: string) =>
  v.pipe(v.number(), v.minValue(0), v.description(`${description}, in US dollars`));
const count = (description: string) =>
  v.pipe(v.number(), v.integer(), v.minValue(0), v.description(description));
const dataYear = v.pipe(count("Year of the charges"), v.examples([2024]));
const dataVersion = text("Data version: year and revision", "2024.1");
const caveat = v.pipe(v.string(), v.description("What to know before using the numbers"));
const source = v.pipe(
  v.object({ data_year: dataYear, data_version: dataVersion, caveat }),
  v.title("Source"),
  v.description("Where the numbers come from"),
);
const next = v.pipe(v.nullable(v.string()), v.description("Path of the next page; null on the last one"));
const scope = v.pipe(
  v.object({ state: text("A state code, or `national`", "national") }),
  v.title("Scope"),
  v.description("The part of the country that the answer is about"),
);
const procedureFields = {
  code: text("APC code of the procedure group", "5072"),
  name: text("Name of the procedure group", "Level 2 Excision/ Biopsy/ Incision and Drainage"),
};
const facilityFields = {
  ccn: text("CCN, Medicare's number of the facility", "050625"),
  facility: text("Name of the facility", "Cedars-Sinai Medical Center"),
  city: text("City", "Los Angeles"),
  state: text("State code", "CA"),
};
const priceFields = {
  submitted_charge: dollars("Average charge that the facility submitted"),
  medicare_allowed: dollars("Average amount that Medicare allowed"),
};
const chargeFields = {
  median_charge: dollars("Median charge"),
  min_charge: dollars("Lowest charge"),
  max_charge: dollars("Highest charge"),
  spread: v.pipe(v.number(), v.minValue(1), v.description("max_charge / min_charge, two decimals")),
};

const sourceOf = ({ describe: { provenance } }: Image) => ({
  data_year: provenance.dataYear,
  data_version: versionName(provenance),
  caveat: provenance.caveat,
});

function badCursor(segment: string): ApiError {
  return new ApiError(
    "invalid_parameter",
    `${echoUndecoded(segment, "this")} is no cursor, expected the next of a page`,
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
): string | null {
  if (context.offset >= total) throw badCursor(context.segment);
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
    procedure: v.object(procedureFields),
    scope,
    summary: v.pipe(
      v.object({
        facilities: count("Facilities that match"),
        ...chargeFields,
        p10_charge: dollars("10th percentile of the charges"),
        p25_charge: dollars("25th percentile of the charges"),
        p75_charge: dollars("75th percentile of the charges"),
        p90_charge: dollars("90th percentile of the charges"),
        median_allowed: dollars("Median allowed amount"),
      }),
      v.description("Over all facilities that match, not only those of this page"),
    ),
    data: v.array(v.pipe(v.object({ ...facilityFields, ...priceFields }), v.title("FacilityPrice"))),
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
    return encodePrices(image, group, values.limit, offset, page, context.scratch);
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
    summary: v.object({ procedures: count("Procedure groups on all pages") }),
    data: v.array(
      v.pipe(
        v.object({ ...procedureFields, facilities: count("Facilities with prices"), ...chargeFields }),
        v.title("ProcedureVariation"),
      ),
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

const standing = v.pipe(
  v.object({
    rank: v.pipe(count("1 is the lowest charge; equal charges share a rank"), v.minValue(1)),
    facilities: count("Facilities that are compared, this one included"),
    percentile: v.pipe(
      v.number(),
      v.minValue(0),
      v.maxValue(100),
      v.description("Share of the facilities that charge strictly less, 0 to 100, one decimal"),
    ),
    median_charge: dollars("Median charge of the facilities that are compared"),
  }),
  v.title("Standing"),
  v.description("The facility's charge among those of the nation, or of its state"),
);
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
    facility: v.object(facilityFields),
    summary: v.object({ procedures: count("Procedure groups with a price at the facility") }),
    data: v.array(
      v.pipe(
        v.object({ ...procedureFields, ...priceFields, national: standing, state: standing }),
        v.title("ProcedurePrice"),
      ),
    ),
    source,
  }),
  errors: ["not_found"],
  answer({ image, segment }) {
    const found = findFacility(image, segment);
    const list = found < 0 ? [] : facilityPrices(image, found);
    if (list.length === 0)
      throw new ApiError(
        "not_found",
        `no prices at facility ${echoUndecoded(segment, "of this CCN")}${where(undefined, image)}`,
      );
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

const score = v.pipe(v.number(), v.description("The higher, the better; comparable within one answer"));
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
  response: v.object({
    query: v.object({ q: text("As it was asked", "springfield il"), type: v.picklist(documentKinds) }),
    summary: v.object({ matches: count("Matches on all pages") }),
    data: v.array(
      v.variant("type", [
        v.pipe(v.object({ type: v.literal("facility"), ...facilityFields, score }), v.title("FacilityMatch")),
        v.pipe(
          v.object({ type: v.literal("procedure"), ...procedureFields, score }),
          v.title("ProcedureMatch"),
        ),
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
      v.pipe(
        v.object({
          id: text("Stable name of the dataset", "opps-2024.1"),
          title: v.string(),
          publisher: v.string(),
          data_year: dataYear,
          data_version: dataVersion,
          status: v.pipe(
            v.picklist(["current", "available", "superseded"]),
            v.description("`current` answers without a version; `available` is the newest of an older year"),
          ),
          rows: count("All rows of the source"),
          priced_rows: count("Rows with a charge and an allowed amount: those that queries answer from"),
          suppressed_rows: count("Rows whose amounts the publisher left out for few services"),
          incomplete_rows: count("Other rows without prices, as with one amount only"),
          facilities: count("Facilities in the source"),
          procedures: count("Procedure groups in the source"),
          released: v.pipe(v.nullable(v.string()), v.description("Month of publication, YYYY-MM")),
          loaded_at: time,
          sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/), v.description("Checksum of the content")),
          source_url: v.nullable(v.string()),
          caveat,
          coverage: v.object({
            states: v.pipe(v.array(v.string()), v.description("State codes with prices")),
            missing_states: v.array(
              v.object({
                state: text("State code", "MD"),
                reason: text("Why", "the territories are outside the OPPS"),
              }),
            ),
            procedures_without_prices: v.pipe(v.array(v.string()), v.description("APC codes")),
          }),
        }),
        v.title("Dataset"),
      ),
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
    period: v.pipe(v.object({ start: time, end: time }), v.description("The month, in UTC")),
    quota: v.object({
      limit: count("Requests per month"),
      used: count("Requests of this month, this one included"),
      remaining: count("Requests left in this month"),
    }),
    burst: v.object({ limit: count("Requests per second") }),
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
    if (cursor === undefined || list === undefined) throw badCursor(context.segment);
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
