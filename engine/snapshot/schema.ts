import * as v from "valibot";
import { isSourceUrl, sourceUrlExpected } from "../address.ts";

/** Version of the file layout: its columns and the checksums over them. */
export const schemaVersion = 2;

/**
 * A snapshot's columns, in the order in which `encodeSnapshot` writes them. Columns of facilities and procedures hold
 * texts, columns of rows hold 32-bit integers. Amounts are US cents. Absent values are null. A file may lack the columns
 * from `street` on.
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
  const found: Partial<Record<Field, Value>> = {};
  for (const field of fields) found[field] = value(field);
  return found as Record<Field, Value>;
}

/** Stands for an absent number in an `Int32Array`. An absent text is an empty string. */
export const blank = -1;
export const maxCount = 2 ** 31 - 1;
/** The largest amount of a snapshot in cents: $21,474,836.47. */
export const maxCents = 2 ** 31 - 1;

/** The columns that every file must have. Another column may be absent, which means that all its values are absent. */
export const requiredColumns: ReadonlySet<string> = new Set(
  snapshotColumns.slice(0, 8).map(({ name }) => name),
);
/** The columns of texts that have a value in every row. */
export const requiredTexts: ReadonlySet<string> = new Set(
  snapshotColumns.slice(0, 6).map(({ name }) => name),
);

/** A larger file is refused before anything is decoded. */
export const maxSnapshotFileBytes = 2 ** 31 - 1;
/** A footer with more rows is refused before anything is decoded. */
export const maxSnapshotRows = 50_000_000;
/**
 * Upper bound of the priced rows in an image. Each is stored twice as JSON of at least 96 bytes, and positions have 32
 * bits. Longer names lower the bound, so the exact size is checked before memory is allocated.
 */
export const maxImageRows = Math.floor(2 ** 32 / 2 / 96);
/** Maximum bytes per row that the footer may declare, in addition to `columnBytesAllowance`. */
export const maxColumnBytesPerRow = 512;
/** Bytes that a file's footer may declare beyond `maxColumnBytesPerRow`, because small files have large dictionaries. */
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

/** Matches a CCN, which is text, because leading zeros matter. Its letters are capitals. */
export const ccnPattern = /^[0-9A-Z]{6}$/;
export const procedureCodePattern = /^[0-9]{4}$/;
export const zipPattern = /^[0-9]{5}$/;
/** Matches a code of the Healthcare Common Procedure Coding System (HCPCS) or a CPT code: 27447, 0616T, G0105. */
export const hcpcsPattern = /^(?:[0-9]{4}[0-9A-Z]|[A-Z][0-9]{4})$/;
/** Matches a Rural-Urban Commuting Area (RUCA) code: 1 to 10, or 99 for "not coded", with an optional decimal. */
export const ruralUrbanCodePattern = /^([1-9]|10|99)(\.[0-9])?$/;

/** Maximum length of a text in a column, and of a HCPCS code's description. */
export const maxNameCharacters = 500;
/** Maximum length of a title, a publisher or a caveat. */
export const maxMetadataCharacters = 4000;
/** Maximum length of a status indicator. CMS's status indicators have one or two characters. */
export const maxStatusCharacters = 10;

export const minDataYear = 2016;
export const maxDataYear = 2099;
export const maxRevision = 9999;

export interface Version {
  dataYear: number;
  /** Number of the snapshot within its data year, from 1. */
  revision: number;
}

export interface Provenance extends Version {
  title: string;
  publisher: string;
  sourceUrl: string | null;
  /** SHA-256 of the source file in hexadecimal; null if unknown. */
  sourceSha256: string | null;
  /** Month of publication as `YYYY-MM`; null if unknown. */
  released: string | null;
  caveat: string;
  /** Undefined if the release was never compared. The comparison isn't a part of any checksum of the content. */
  totals?: Totals;
}

/** How many of the publisher's own totals a release agrees with. */
export interface Totals {
  checked: number;
  agree: number;
  differ: number;
  /** The largest difference, in words; null if there is none. */
  worst: string | null;
}

/** A provenance as a file states it. `sealSnapshot` replaces a title, publisher or caveat that is null by a default. */
export type StatedProvenance = Omit<Provenance, "title" | "publisher" | "caveat"> &
  Record<"title" | "publisher" | "caveat", string | null>;

export const syntheticPublisher = "Healthcare Charge Query Service (synthetic)";
/** No state uses this prefix, so all CCNs of a sample begin with it. */
export const syntheticCcnPrefix = "99";
export const syntheticCaveat =
  "This is a synthetic sample: facilities and amounts are invented, calibrated on published state averages of " +
  "CMS 2023. It says nothing about any real hospital and is not for decisions.";

/** A file with fewer facilities counts as a part of a release. A whole release has some 3,000. */
export const leastFacilities = 2000;

/**
 * Returns what users of a year's CMS release have to know. If there are too few facilities for a whole release, the
 * text states their number.
 */
export function standardCaveat(dataYear: number, facilities: number): string {
  const part =
    facilities >= leastFacilities
      ? ""
      : ` This file has only ${facilities} hospital${facilities === 1 ? "" : "s"}, where a whole release has some 3,000: hospitals and states may be missing.`;
  return (
    `Averages per hospital and comprehensive APC for Original Medicare in calendar year ${dataYear}; ` +
    "submitted charges are list prices, not what patients pay. " +
    "CMS suppresses the amounts of rows with 10 or fewer services, which take no part in any figure." +
    part
  );
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

export function versionName({ dataYear, revision }: Version): string {
  return `${dataYear}.${revision}`;
}

export const snapshotNameExpected =
  `<year>.<revision>.parquet with a year from ${minDataYear} to ${maxDataYear} and a revision from 1 to ${maxRevision}, ` +
  "without leading zeros, such as 2024.1.parquet";

/**
 * Returns the data version in a snapshot file's path, or undefined if the file's name isn't as `snapshotNameExpected`
 * says.
 */
export function versionIn(path: string): Version | undefined {
  const [, year, revision] = /(?:^|[/\\])([0-9]{4})\.([1-9][0-9]{0,3})\.parquet$/.exec(path) ?? [];
  const dataYear = Number(year);
  if (!(dataYear >= minDataYear && dataYear <= maxDataYear)) return undefined;
  return { dataYear, revision: Number(revision) };
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

const digits = v.pipe(v.string(), v.regex(/^(0|[1-9][0-9]{0,9})$/), v.transform(Number));
const count = v.message(digits, "a whole number");
const dataYear = v.message(
  v.pipe(digits, v.minValue(minDataYear), v.maxValue(maxDataYear)),
  `a year from ${minDataYear} to ${maxDataYear}`,
);
const revision = v.message(
  v.pipe(digits, v.minValue(1), v.maxValue(maxRevision)),
  `a number from 1 to ${maxRevision}`,
);
const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits in lower case"));
export const releasedPattern = /^20[0-9]{2}-(0[1-9]|1[0-2])$/;

/**
 * Checks the month in which a release was published. Returns what the month must be, or undefined if `released` is
 * valid.
 *
 * @param now the present month as `YYYY-MM`; undefined if the month may be in the future
 */
export function releasedExpected(
  released: string,
  dataYear: number,
  now: string | undefined,
): string | undefined {
  if (!releasedPattern.test(released)) return "a month as YYYY-MM";
  if (released < String(dataYear)) return `no month before the data year ${dataYear}`;
  return now !== undefined && released > now ? `no month after the present one, ${now}` : undefined;
}

const wholeNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const totalsSchema = v.strictObject({
  checked: wholeNumber,
  agree: wholeNumber,
  differ: wholeNumber,
  worst: v.nullable(v.pipe(v.string(), v.maxLength(200))),
});

/**
 * The metadata in a snapshot's Parquet footer. All values are strings, and an empty string counts as absent. `import`
 * and `sample` write all entries, except that the source, its month, the totals and the codes may be unknown. If the
 * file's name has the version, another tool may leave out all entries. It must not write `schema_version` or
 * `file_sha256`.
 */
export const metadataSchema = v.partial(
  v.object({
    schema_version: v.message(v.pipe(digits, v.literal(schemaVersion)), String(schemaVersion)),
    /** SHA-256 of the file with zeros in place of this value; see `integrity.ts`. */
    file_sha256: sha256,
    data_year: dataYear,
    revision,
    title: v.string(),
    publisher: v.string(),
    source_url: v.pipe(v.string(), v.check(isSourceUrl, sourceUrlExpected)),
    released: v.string(),
    caveat: v.string(),
    rows: count,
    priced_rows: count,
    suppressed_rows: count,
    incomplete_rows: count,
    facilities: count,
    procedures: count,
    sha256,
    content_sha256: sha256,
    source_sha256: sha256,
    totals: v.message(
      v.pipe(v.string(), v.parseJson(), totalsSchema),
      "counts of totals that agree and differ, as JSON",
    ),
    /** JSON of ascending HCPCS codes, each as `[code, procedure, status, description]`. */
    hcpcs_codes: v.string(),
  }),
);
export type Metadata = v.InferOutput<typeof metadataSchema>;
