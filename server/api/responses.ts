import * as v from "valibot";
import { documentKinds, rowStatuses, type SummaryField } from "../../engine/query.ts";
import { component, count, described, dollars, object, rows, text, textOrNull, titled } from "./described.ts";
import { facilityFilters } from "./facility-filters.ts";

/** The schemas of the endpoints' responses. A schema with a title is a component of the OpenAPI document. */

const dataYear = titled("DataYear", v.pipe(count("Year of the charges"), v.examples([2024])));
const dataVersion = titled("DataVersion", text("Data version: year and revision", "2024.1"));
const caveat = titled("Caveat", v.pipe(v.string(), v.description("What to know before using the numbers")));
const sourceFields = { data_year: dataYear, data_version: dataVersion, caveat };
const source = component("Source", "Where the numbers come from", sourceFields);
const list = <Name extends string>(name: Name) =>
  described("The list that this page belongs to", v.literal(name));
const next = titled(
  "Next",
  v.pipe(v.nullable(v.string()), v.description("Path of the next page; null on the last one")),
);
const scopeFields = { state: text("A state code, or `national`", "DC") };
const scope = component("Scope", "The part of the country that the answer is about", scopeFields);
const procedureFields = {
  code: titled("ApcCode", text("APC code of the procedure group", "5072")),
  name: titled(
    "GroupName",
    text("Name of the procedure group", "Level 2 Excision/ Biopsy/ Incision and Drainage"),
  ),
};
const procedureGroup = component("ProcedureGroup", "The procedure group", procedureFields);
const titledFields = {
  ...procedureFields,
  title: titled("ProcedureTitle", textOrNull("The group in plain words; null if there are none")),
};
const words = textOrNull("What the group includes, in plain words");
const titledGroup = component("TitledGroup", "The procedure group", titledFields);
const facilityFields = {
  ccn: titled("Ccn", text("CCN, Medicare's number of the facility", "990005")),
  facility: titled(
    "FacilityName",
    text("Name of the facility", "Orchard Heights Community Hospital (sample)"),
  ),
  city: text("City", "Orchard Heights"),
  state: text("State code", "AK"),
};
const priceFields = {
  submitted_charge: dollars("Average charge that the facility submitted"),
  medicare_allowed: dollars("Average amount that Medicare allowed"),
};
const chargeFields = {
  median_charge: titled("MedianCharge", dollars("Median charge per facility, each counted once")),
  min_charge: dollars("Lowest charge"),
  max_charge: dollars("Highest charge"),
  spread: v.pipe(v.number(), v.minValue(1), v.description("max_charge / min_charge, two decimals")),
};

const standing = component("Standing", "The rank of the facility's charge in the nation or in its state", {
  rank: v.pipe(count("1 is the lowest charge; equal charges share a rank"), v.minValue(1)),
  facilities: count("Number of facilities compared, including this one"),
  percentile: v.pipe(
    v.number(),
    v.minValue(0),
    v.maxValue(100),
    v.description("Share of the facilities that charge strictly less, 0 to 100, one decimal"),
  ),
  median_charge: dollars("Median charge of the facilities that are compared"),
});

const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const time = v.pipe(v.string(), v.isoTimestamp());

const facilitiesThatMatch = count("Facilities that match");
const statistics = {
  ...chargeFields,
  p10_charge: dollars("10th percentile of the charges"),
  p25_charge: dollars("25th percentile of the charges"),
  p75_charge: dollars("75th percentile of the charges"),
  p90_charge: dollars("90th percentile of the charges"),
  median_allowed: dollars("Median allowed amount"),
};
const weightedStatistics = {
  services: v.nullable(
    count("Services of these facilities, as far as they are known; null if no row has them"),
  ),
  weighted_median_charge: v.nullable(
    dollars("At least half of the services have this charge or a lower one"),
  ),
  weighted_mean_charge: v.nullable(
    dollars("Mean charge per service: a facility's charge counts once for each of its services"),
  ),
  weighted_facilities: count(
    "Facilities whose services are known. The weighted charges are computed from these",
  ),
};
const chargeSummary = component(
  "ChargeSummary",
  "Statistics of all facilities that match. They count each facility once. The weighted ones count each service, and are " +
    "null if no row has services",
  { facilities: facilitiesThatMatch, ...statistics, ...weightedStatistics } satisfies Record<
    SummaryField,
    v.GenericSchema
  >,
);

export const pricesResponse = v.object({
  list: list("prices"),
  procedure: procedureGroup,
  scope,
  summary: chargeSummary,
  data: rows("One row per facility, cheapest first", "FacilityPrice", { ...facilityFields, ...priceFields }),
  source,
  next,
});

export const proceduresResponse = v.object({
  list: list("procedures"),
  scope,
  summary: object("Of the list", { procedures: count("Number of procedure groups on all pages") }),
  data: rows("One row per procedure group, in the requested order", "ProcedureVariation", {
    ...titledFields,
    part: textOrNull("The part of the body"),
    words,
    facilities: count("Facilities with prices"),
    ...chargeFields,
  }),
  source,
  next,
});

const ratio = (description: string) =>
  v.pipe(v.number(), v.minValue(0), v.description(`${description}, two decimals`));

const places = textOrNull("The table of ZIP codes' coordinates; null if there is none");

export const procedureResponse = v.object({
  procedure: object("The procedure group", {
    ...titledFields,
    words,
    includes: described(
      "The HCPCS and CPT codes of the group; null if the data version has none. CPT codes and their descriptions are the " +
        "American Medical Association's",
      v.nullable(
        v.array(
          v.object({
            code: described("HCPCS or CPT code", v.string()),
            description: described("Short descriptor; null if the source has none", v.nullable(v.string())),
          }),
        ),
      ),
    ),
  }),
  scope: object("The part of the country that the answer is about", {
    ...scopeFields,
    near: v.optional(described("ZIP code, or city with its state", v.string())),
    within: v.optional(count("Miles around it")),
  }),
  summary: chargeSummary,
  rows: object("Number of rows of the procedure in the scope, one per facility", {
    priced: count("Rows with both amounts. All figures are computed from these rows alone"),
    suppressed: count("Rows whose amounts the publisher hides, because of few services"),
    incomplete: count("Rows without a price for another reason"),
    unplaced: v.optional(count("With `near`: rows left out, because their ZIP code has no known place")),
  }),
  allowed: object("The amounts that Medicare allowed, counting each facility once", {
    min: dollars("Lowest"),
    p10: dollars("10th percentile"),
    p25: dollars("25th percentile"),
    median: dollars("Median"),
    p75: dollars("75th percentile"),
    p90: dollars("90th percentile"),
    max: dollars("Highest"),
  }),
  markup: object("Percentiles of charge divided by allowed amount, over facilities", {
    p25: ratio("25th percentile"),
    median: ratio("Median"),
    p75: ratio("75th percentile"),
  }),
  histogram: object("Number of facilities by charge", {
    edges: v.pipe(
      v.array(dollars("Edge")),
      v.minLength(2),
      v.description(
        "Ascending from min_charge to max_charge, in equal steps of the logarithm. If all charges are equal, that charge twice",
      ),
    ),
    counts: v.pipe(
      v.array(count("Facilities")),
      v.minLength(1),
      v.description("The charges from each edge to below the next one; the last range includes its end"),
    ),
  }),
  data: rows(
    "One row per state that has prices, by code. With `state`, only that state's row",
    "StateVariation",
    {
      state: facilityFields.state,
      facilities: count("Facilities with prices"),
      median_charge: chargeFields.median_charge,
      p25_charge: dollars("25th percentile of the charges"),
      p75_charge: dollars("75th percentile of the charges"),
      min_charge: chargeFields.min_charge,
      max_charge: chargeFields.max_charge,
      spread: chargeFields.spread,
      median_allowed: dollars("Median allowed amount"),
    },
  ),
  source: object("Where the numbers come from", {
    ...sourceFields,
    places: v.optional(places),
  }),
});

const zip = v.nullable(text("ZIP code", "99648"));
const facilityAtLength = component("FacilityAtLength", "The facility", {
  ...facilityFields,
  street: v.nullable(text("Street", "6203 Heron Street")),
  zip,
  rural_urban: described(
    "The facility's Rural-Urban Commuting Area (RUCA); null if unknown",
    v.nullable(
      v.object({
        code: v.nullable(text("RUCA code", "1")),
        description: v.nullable(
          text(
            "The meaning of the code",
            "Metropolitan area core: primary flow within an urbanized area of 50,000 and greater",
          ),
        ),
      }),
    ),
  ),
});
const markup = ratio("Charge divided by allowed amount");
const measures = {
  services: v.nullable(count("Services of the year")),
  beneficiaries: v.nullable(count("Beneficiaries who had them")),
  medicare_payment: v.nullable(dollars("Average amount that Medicare itself paid")),
};

export const facilityResponse = v.object({
  facility: facilityAtLength,
  summary: object("Of the facility", { procedures: count("Procedure groups with a price at the facility") }),
  data: rows(
    "One row per priced procedure group, by code; none if the facility has no prices",
    "ProcedurePrice",
    {
      ...titledFields,
      ...priceFields,
      markup,
      ...measures,
      outlier_services: v.nullable(count("Services with an outlier payment")),
      outlier_amount: v.nullable(dollars("Average outlier payment of these services")),
      national: standing,
      within_state: standing,
    },
  ),
  source,
});

const statusOfRow = titled(
  "RowStatus",
  described(
    "`priced`: the row has both amounts. `suppressed`: the publisher hides the amounts of few services. `incomplete`: no price for another reason",
    v.picklist(rowStatuses),
  ),
);
const ifPriced = {
  submitted_charge: v.nullable(priceFields.submitted_charge),
  medicare_allowed: v.nullable(priceFields.medicare_allowed),
};
const standings = {
  national: described("Among the nation's facilities; null unless priced", v.nullable(standing)),
  within_state: described("Among the facilities of its state; null unless priced", v.nullable(standing)),
};
const optionalFields = <Fields extends v.ObjectEntries>(fields: Fields) =>
  v.partial(v.object(fields)).entries;
/** Makes fields of `ChargeSummary` nullable, because perhaps nothing is priced. */
const asInSummary = <Fields extends v.ObjectEntries>(fields: Fields) =>
  Object.fromEntries(
    Object.keys(fields).map((name) => [name, described("As in `ChargeSummary`", v.nullable(v.number()))]),
  ) as unknown as { [Name in keyof Fields]: v.NullableSchema<v.NumberSchema<undefined>, undefined> };

const absent = rows("What the words ask for and this data can't have", "Absent", {
  name: described("What it is, such as `MRI`", v.string()),
  reason: described("Why this data can't have it", v.string()),
  see: described("URL where to look instead", v.string()),
});

export const facilitiesResponse = v.object({
  list: list("facilities"),
  query: object(
    "The query as the server understood it, with all defaults. Parameters that weren't given are null",
    {
      procedure: described(
        "The procedure group, and what was asked for",
        v.nullable(v.object({ ...titledFields, asked: textOrNull("As it was asked; null on later pages") })),
      ),
      ...facilityFilters.echoes,
      sort: described("What the list is sorted by", v.string()),
      order: described("Ascending or descending", v.string()),
      limit: count("Rows on a page"),
    },
  ),
  procedure: v.optional(titledGroup),
  absent: v.optional(absent),
  summary: object(
    "Of all facilities that match. With `procedure` also the statistics of charges; null if none is priced",
    {
      facilities: facilitiesThatMatch,
      ...optionalFields({
        ...asInSummary({ ...statistics, ...weightedStatistics }),
        unknown: described(
          "With `ccn`: the CCNs that the data version doesn't have, in the order given",
          v.array(v.string()),
        ),
        unplaced: count(
          "With `near`: facilities that meet all other conditions, but whose ZIP code has no known place",
        ),
      }),
    },
  ),
  data: rows("One row per facility, in the requested order", "FacilityEntry", {
    ...facilityFields,
    zip,
    procedures: count("Procedure groups with a price at the facility"),
    ...optionalFields({
      distance: described("With `near`: great-circle miles between the ZIP codes, one decimal", v.number()),
      ...ifPriced,
      medicare_payment: measures.medicare_payment,
      markup: v.nullable(markup),
      services: measures.services,
      beneficiaries: measures.beneficiaries,
      status: statusOfRow,
      ...standings,
    }),
  }),
  source: object("Where the numbers come from", {
    ...sourceFields,
    places,
  }),
  next,
});

const score = titled(
  "Score",
  described(
    "0.5 and more where one thing is meant; below, many fit alike, or words were dropped or guessed",
    v.number(),
  ),
);
export const searchResponse = v.object({
  list: list("search"),
  query: object("What was asked for", {
    q: text("As it was asked", "harbor valley"),
    type: described("What was searched for", v.picklist(documentKinds)),
    state: textOrNull("The state's code; null for the whole nation"),
    ignored: described("Words that were set aside", v.array(v.string())),
    place: described(
      "The place in the words, as a parameter of `/healthcare/facilities`: `near`, a ZIP code or a city with its state, or `state`",
      v.nullable(
        v.union([
          v.object({ near: described("A ZIP code, or a city with its state", v.string()) }),
          v.object({ state: described("State code", v.string()) }),
        ]),
      ),
    ),
    alternative: described(
      "Where letters have two meanings, such as OK",
      v.nullable(
        v.object({
          q: text("Words", "knee replacement"),
          state: v.optional(text("State code", "OK")),
        }),
      ),
    ),
  }),
  absent: v.optional(absent),
  summary: object("Of the list", { matches: count("Matches on all pages") }),
  data: described(
    "The matches, best first",
    v.array(
      v.variant("type", [
        v.pipe(
          v.object({ type: described("What it is", v.literal("facility")), ...facilityFields, zip, score }),
          v.title("FacilityMatch"),
        ),
        v.pipe(
          v.object({
            type: described("What it is", v.literal("procedure")),
            ...titledFields,
            score,
            matched: v.optional(
              described("The codes and words that found it, if not those of its name", v.array(v.string())),
            ),
          }),
          v.title("ProcedureMatch"),
        ),
      ]),
    ),
  ),
  source,
  next,
});

const sourceOfYears = component("SourceOfYears", "Where the numbers come from", {
  data_years: described("The years of the rows", v.array(dataYear)),
  data_versions: described(
    "The data versions of the rows, in the same order. As `versions` they give the same answer again",
    v.array(dataVersion),
  ),
  caveat,
});
const percentChange = (what: string) => described(`${what}, in percent`, v.number());

export const trendsResponse = v.object({
  procedure: titledGroup,
  scope,
  data: rows(
    "One row per data year that has prices, the oldest first; with `versions` a row per version",
    "YearOfPrices",
    {
      data_year: dataYear,
      data_version: dataVersion,
      name: described(
        "Name of the procedure group in that year. A different name may mean different content",
        procedureFields.name,
      ),
      facilities: count("Facilities with prices"),
      min_charge: chargeFields.min_charge,
      p25_charge: dollars("25th percentile of the charges"),
      median_charge: chargeFields.median_charge,
      p75_charge: dollars("75th percentile of the charges"),
      max_charge: chargeFields.max_charge,
      median_allowed: dollars("Median allowed amount"),
      change: described(
        "Change from the listed year before, over all facilities of each year; null in the first year",
        v.nullable(
          v.object({
            median_charge: percentChange("Change of the median charge"),
            median_allowed: percentChange("Change of the median allowed amount"),
          }),
        ),
      ),
      matched: described(
        "The same over the facilities with prices in both years; null if there are none",
        v.nullable(
          v.object({
            facilities: count("Facilities with prices in both years"),
            median_charge: percentChange("Median of each facility's own change of its charge"),
            median_allowed: percentChange("Median of each facility's own change of its allowed amount"),
          }),
        ),
      ),
    },
  ),
  source: sourceOfYears,
});

const changeIfPriced = (what: string) => v.nullable(percentChange(what));

export const facilityTrendsResponse = v.object({
  facility: facilityAtLength,
  procedure: titledGroup,
  data: rows(
    "One row per data year in which the facility has the procedure group, the oldest first",
    "YearOfFacility",
    {
      data_year: dataYear,
      data_version: dataVersion,
      ...ifPriced,
      services: measures.services,
      status: statusOfRow,
      ...standings,
      change: described(
        "Change from the listed year before; null in the first year",
        v.nullable(
          v.object({
            submitted_charge: changeIfPriced("Change of the charge; null unless both years are priced"),
            medicare_allowed: changeIfPriced(
              "Change of the allowed amount; null unless both years are priced",
            ),
          }),
        ),
      ),
    },
  ),
  source: sourceOfYears,
});

const status = titled(
  "VersionStatus",
  described(
    "`current` answers requests without a version; `available` is the newest revision of an older year; `superseded` has a newer revision",
    v.picklist(["current", "available", "superseded"]),
  ),
);

const versionList = rows("The loaded data versions, newest first", "Version", {
  data_year: dataYear,
  data_version: dataVersion,
  status,
  path: text(
    "Path of its hospitals. The paths of its other endpoints begin alike",
    "/api/v1/versions/2024.1/healthcare/facilities",
  ),
});

export const versionsResponse = v.object({ data: versionList });

export const overviewResponse = v.object({
  description: text("Path of the API's OpenAPI document", "/api/v1/openapi.json"),
  endpoints: rows("Every endpoint", "EndpointOutline", {
    path: text("Path. Names in braces are parameters", "/api/v1/healthcare/prices"),
    version_path: described(
      "Its path for one data version or year; null if there is none",
      v.nullable(v.string()),
    ),
    summary: described("What it answers", v.string()),
    parameters: described(
      "Its parameters",
      v.array(
        v.object({
          name: text("Name", "procedure"),
          in: described("Where it stands", v.picklist(["path", "query"])),
          required: described("Whether a request needs it", v.boolean()),
          description: described("What it means", v.string()),
          default: described(
            "Its default; null if it has none",
            v.nullable(v.union([v.string(), v.number()])),
          ),
        }),
      ),
    ),
  }),
  versions: versionList,
});

export const datasetsResponse = v.object({
  data: rows("The data versions, newest first", "Dataset", {
    id: text("Stable name of the dataset", "opps-2024.1"),
    title: described("Title of the publication", v.string()),
    publisher: described("Who published it", v.string()),
    data_year: dataYear,
    data_version: dataVersion,
    status,
    rows: count("All rows of the source"),
    priced_rows: count("Rows with a charge and an allowed amount. Queries are answered from these"),
    suppressed_rows: count("Rows whose amounts the publisher hides, because of few services"),
    incomplete_rows: count("Other rows without prices"),
    facilities: count("Facilities in the source"),
    procedures: count("Procedure groups in the source"),
    released: described("Month of publication, YYYY-MM", v.nullable(v.string())),
    loaded_at: described("When this server loaded it", time),
    sha256: described("Checksum of the rows, the codes and the provenance", sha256),
    content_sha256: described("Checksum of the rows alone", sha256),
    content_sql: described(
      "A statement for DuckDB that gives `content_sha256` from the file of /export.parquet",
      v.string(),
    ),
    source_sha256: described("SHA-256 of the source file; null if unknown", v.nullable(sha256)),
    source_url: described("URL of the source file; null if unknown", v.nullable(v.string())),
    caveat,
    checksum: described("Whether the snapshot file has a checksum of itself", v.boolean()),
    synthetic: described("Whether the rows are invented", v.boolean()),
    previous: described(
      "Comparison with the previous revision of the same year; null if that isn't served",
      v.nullable(
        v.object({
          data_version: dataVersion,
          rows_added: count("Rows that the previous revision lacks"),
          rows_removed: count("Rows of the previous revision that this one lacks"),
          rows_changed: count("Rows of both revisions in which a value differs"),
        }),
      ),
    ),
    coverage: object("What the data version has prices for, and what it lacks", {
      states: described("State codes with prices", v.array(v.string())),
      missing_states: described(
        "States without prices",
        v.array(
          v.object({
            state: text("State code", "GU"),
            reason: text("Why", "hospitals there are outside the OPPS"),
          }),
        ),
      ),
      procedures_without_prices: described("APC codes", v.array(v.string())),
    }),
    verify: described(
      "How to check the version against CMS's file; null if it isn't from one",
      v.nullable(
        v.object({
          file: described("Name of CMS's file; null if unknown", v.nullable(v.string())),
          source_url: described("Its URL; null if unknown", v.nullable(v.string())),
          sha256: described("Its SHA-256", sha256),
          sql: described(
            "A statement for DuckDB that counts the file's rows, and adds up the priced ones as /export.csv has them, in dollars",
            v.string(),
          ),
        }),
      ),
    ),
    totals: described(
      "Comparison with CMS's own totals by nation and state; null if there was none",
      v.nullable(
        v.object({
          checked: count("Totals that were compared"),
          agree: count("Totals that the rows can add up to"),
          differ: count("Other totals"),
          worst: described("The largest difference in words; null if there is none", v.nullable(v.string())),
        }),
      ),
    ),
  }),
});

export const usageResponse = v.object({
  account: described("The account's name", v.string()),
  plan: described("Its plan", v.string()),
  period: object("The month, in UTC", {
    start: described("Its start", time),
    end: described("The next one's start", time),
  }),
  quota: object("Requests allowed per month", {
    limit: count("Requests per month"),
    used: count("Requests made this month, including this one"),
    remaining: count("Requests left in this month"),
  }),
  burst: object("Requests allowed per second", { limit: count("Requests per second") }),
  days: v.pipe(
    v.array(
      v.object({
        date: described("The day", v.pipe(v.string(), v.isoDate())),
        used: count("Requests of the day"),
      }),
    ),
    v.minLength(1),
    v.description(
      "The UTC days of this month up to today, those without requests included; they add up to quota.used",
    ),
  ),
  events: v.pipe(
    v.array(
      v.object({
        type: described("Below 100 % a warning", v.picklist(["quota.warning", "quota.exhausted"])),
        threshold: count("Percent of the quota that was reached: 80, 90 or 100"),
        at: described("When it was recorded", time),
      }),
    ),
    v.maxLength(15),
    v.description("This month's newest 15 warnings, by time and then threshold"),
  ),
});
export type Usage = v.InferOutput<typeof usageResponse>;
