import * as v from "valibot";
import { isSourceUrl, sourceUrlExpected } from "../address.ts";

/** Version of the file layout: its columns and the checksums over them. */
export const schemaVersion = 2;

/**
 * A snapshot's columns in file order. Columns of facilities and procedures hold texts, columns of rows hold 32-bit
 * integers. Amounts are US cents. Absent values are null.
 */
export const snapshotColumns = [
  { name: "ccn", part: "facilities", field: "ccn" },
  { name: "facility", part: "facilities", field: "name" },
  { name: "city", part: "facilities", field: "city" },
  { name: "state", part: "facilities", field: "state" },
  { name: "procedure_code", part: "procedures", field: "code" },
  { name: "procedure_name", part: "procedures", field: "name" },
  { name: "submitted_charge_cents", part: "rows", field: "charge" },
  { name: "medicare_allowed_cents", part: "rows", field: "allowed" },
  { name: "street", part: "facilities", field: "street" },
  { name: "zip", part: "facilities", field: "zip" },
  { name: "rural_urban_code", part: "facilities", field: "ruralUrbanCode" },
  { name: "rural_urban_description", part: "facilities", field: "ruralUrbanDescription" },
  { name: "services", part: "rows", field: "services" },
  { name: "beneficiaries", part: "rows", field: "beneficiaries" },
  { name: "medicare_payment_cents", part: "rows", field: "payment" },
  { name: "outlier_services", part: "rows", field: "outlierServices" },
  { name: "outlier_amount_cents", part: "rows", field: "outlierAmount" },
] as const;
export type SnapshotColumn = (typeof snapshotColumns)[number];

type FieldOf<Part> = Extract<SnapshotColumn, { part: Part }>["field"];
export type FacilityField = FieldOf<"facilities">;
export type ProcedureField = FieldOf<"procedures">;
export type MeasureField = FieldOf<"rows">;
export const facilityFields = snapshotColumns
  .filter((column) => column.part === "facilities")
  .map(({ field }) => field);
export const procedureFields = snapshotColumns
  .filter((column) => column.part === "procedures")
  .map(({ field }) => field);
export const measureFields = snapshotColumns
  .filter((column) => column.part === "rows")
  .map(({ field }) => field);

export function byField<Field extends string, Value>(
  fields: readonly Field[],
  value: (field: Field) => Value,
): Record<Field, Value> {
  return Object.fromEntries(fields.map((field) => [field, value(field)])) as Record<Field, Value>;
}

/** Stands for an absent number in an `Int32Array`. An absent text is an empty string. */
export const blank = -1;
export const maxCount = 2 ** 31 - 1;
/** The largest amount of a snapshot in cents: $21,474,836.47. */
export const maxCents = 2 ** 31 - 1;

/** A larger file is refused before anything is decompressed. */
export const maxSnapshotFileBytes = 2 ** 31 - 1;
/** A footer with more rows is refused before anything is decompressed. */
export const maxSnapshotRows = 50_000_000;
/**
 * Upper bound of the priced rows in an image. Each is stored twice as JSON of at least 96 bytes, and positions have 32
 * bits. Longer names lower the bound, so the exact size is checked before memory is allocated.
 */
export const maxImageRows = Math.floor(2 ** 32 / 2 / 96);
/** Maximum decoded bytes per row, in addition to `columnBytesAllowance`. */
export const maxColumnBytesPerRow = 512;
/** Decoded bytes that any file may have. A small file's dictionaries are large for its number of rows. */
export const columnBytesAllowance = 2 ** 20;

/** Names of states, DC and territories by code, in alphabetical order of codes. */
export const stateNames: Readonly<Record<string, string>> = Object.freeze(
  Object.fromEntries(
    (
      "AK Alaska, AL Alabama, AR Arkansas, AS American Samoa, AZ Arizona, CA California, CO Colorado, " +
      "CT Connecticut, DC District of Columbia, DE Delaware, FL Florida, GA Georgia, GU Guam, HI Hawaii, " +
      "IA Iowa, ID Idaho, IL Illinois, IN Indiana, KS Kansas, KY Kentucky, LA Louisiana, MA Massachusetts, " +
      "MD Maryland, ME Maine, MI Michigan, MN Minnesota, MO Missouri, MP Northern Mariana Islands, " +
      "MS Mississippi, MT Montana, NC North Carolina, ND North Dakota, NE Nebraska, NH New Hampshire, " +
      "NJ New Jersey, NM New Mexico, NV Nevada, NY New York, OH Ohio, OK Oklahoma, OR Oregon, PA Pennsylvania, " +
      "PR Puerto Rico, RI Rhode Island, SC South Carolina, SD South Dakota, TN Tennessee, TX Texas, UT Utah, " +
      "VA Virginia, VI U.S. Virgin Islands, VT Vermont, WA Washington, WI Wisconsin, WV West Virginia, " +
      "WY Wyoming"
    )
      .split(", ")
      .map((state) => [state.slice(0, 2), state.slice(3)]),
  ),
);
export const stateCodes: readonly string[] = Object.freeze(Object.keys(stateNames));

/** Matches a CCN, which is text, because leading zeros matter. */
export const ccnPattern = /^[0-9A-Za-z]{6}$/;
export const procedureCodePattern = /^[0-9]{4}$/;
export const zipPattern = /^[0-9]{5}$/;
/** Matches a code of the Healthcare Common Procedure Coding System (HCPCS) or a CPT code: 27447, 0616T, G0105. */
export const hcpcsPattern = /^(?:[0-9]{4}[0-9A-Z]|[A-Z][0-9]{4})$/;
/** Matches a Rural-Urban Commuting Area (RUCA) code: 1 to 10, or 99 for "not coded", with an optional decimal. */
export const ruralUrbanCodePattern = /^([1-9]|10|99)(\.[0-9])?$/;

/** Maximum length of a text in a column, and of a HCPCS code's description. */
export const maxNameCharacters = 500;
/** Maximum length of a status indicator. CMS's status indicators have one or two characters. */
export const maxStatusCharacters = 10;

export const minDataYear = 2016;
export const maxDataYear = 2099;

export interface Provenance {
  dataYear: number;
  /** Number of the snapshot within its data year, from 1. */
  revision: number;
  title: string;
  publisher: string;
  sourceUrl: string | null;
  /** SHA-256 of the source file in hexadecimal; null without a source file and in old snapshots. */
  sourceSha256: string | null;
  /** Month of publication as `YYYY-MM`; null if unknown. */
  released: string | null;
  caveat: string;
}

/** A HCPCS code from CMS's OPPS Addendum B. Absent texts are empty strings. */
export interface HcpcsCode {
  code: string;
  /** APC code of the procedure group. */
  procedure: string;
  /** Status indicator, such as J1: how Medicare pays for the code. */
  status: string;
  description: string;
}

/** Returns the name of a data version, `<year>.<revision>`, such as `2024.2`. */
export function versionName({ dataYear, revision }: Provenance): string {
  return `${dataYear}.${revision}`;
}

export interface Counts {
  rows: number;
  /** Rows with a charge and an allowed amount above zero. */
  pricedRows: number;
  /** Rows in which both amounts are blank. */
  suppressedRows: number;
  /** Rows with one blank amount, or an amount of zero. */
  incompleteRows: number;
  facilities: number;
  procedures: number;
}

const decimal = v.pipe(v.string(), v.regex(/^(0|[1-9][0-9]{0,9})$/), v.transform(Number));
const dataYear = v.pipe(decimal, v.integer(), v.minValue(minDataYear), v.maxValue(maxDataYear));
const revision = v.pipe(decimal, v.minValue(1), v.maxValue(9999));
const text = v.pipe(
  v.string(),
  v.maxLength(4000),
  v.check((value) => !/\p{Cc}/u.test(value), "no control character"),
);
const sourceUrl = v.pipe(
  v.string(),
  v.check((value) => value === "" || isSourceUrl(value), sourceUrlExpected),
);
export const releasedPattern = /^20[0-9]{2}-(0[1-9]|1[0-2])$/;

const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));

/** A snapshot's metadata in the Parquet footer. All values are strings; the empty string means absent. */
export const metadataSchema = v.object({
  schema_version: v.pipe(decimal, v.literal(schemaVersion)),
  data_year: dataYear,
  revision,
  title: text,
  publisher: text,
  source_url: sourceUrl,
  released: v.union([v.literal(""), v.pipe(v.string(), v.regex(releasedPattern))]),
  caveat: text,
  rows: v.pipe(decimal, v.minValue(1)),
  priced_rows: decimal,
  suppressed_rows: decimal,
  incomplete_rows: decimal,
  facilities: decimal,
  procedures: decimal,
  sha256,
  /** Older snapshots lack this field and the next. */
  content_sha256: v.optional(sha256),
  source_sha256: v.optional(sha256),
  /** JSON of ascending HCPCS codes, each as `[code, procedure, status, description]`; absent if they are unknown. */
  hcpcs_codes: v.optional(v.string()),
});
