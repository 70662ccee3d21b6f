import { amountsSql, unnamedFile } from "../../datasets/cms/statements.ts";
import {
  blank,
  type Provenance,
  requiredColumns,
  type SnapshotColumn,
  schemaVersion,
  snapshotColumns,
} from "../../engine/query.ts";

/** Tells clients how to check a data version against the publisher's file, without this service. */

/** Returns null if the snapshot doesn't name the checksum of a source file, as in samples. */
export function verifyOf({ sourceUrl, sourceSha256 }: Provenance) {
  if (sourceSha256 === null) return null;
  const file = sourceUrl === null ? null : fileIn(sourceUrl);
  return { file, source_url: sourceUrl, sha256: sourceSha256, sql: countsSql(file ?? unnamedFile) };
}

/**
 * Returns the decoded name of a URL's file; null if it has none. A name that doesn't decode to a file's name stays
 * encoded.
 */
function fileIn(url: string): string | null {
  const written = new URL(url).pathname.split("/").at(-1) ?? "";
  try {
    const name = decodeURIComponent(written);
    return (/[/\p{Cc}]/u.test(name) ? written : name) || null;
  } catch {
    return written;
  }
}

/** A row of CMS's file is priced if both amounts are above 0. */
function countsSql(file: string): string {
  const counts = [
    "count(*) AS rows",
    "count(*) FILTER (charge > 0 AND allowed > 0) AS priced_rows",
    "count(*) FILTER (charge IS NULL AND allowed IS NULL) AS suppressed_rows",
    "count(DISTINCT ccn) AS facilities",
    "count(DISTINCT apc) AS procedures",
    "sum(charge) FILTER (charge > 0 AND allowed > 0) AS submitted_charge",
    "sum(allowed) FILTER (charge > 0 AND allowed > 0) AS medicare_allowed",
  ];
  return `SELECT ${counts.join(", ")} FROM (${amountsSql(file)})`;
}

const namesOf = (part: SnapshotColumn["part"]) =>
  snapshotColumns.filter((column) => column.part === part).map(({ name }) => name);
const isOptional = ({ name }: SnapshotColumn) => !requiredColumns.has(name);
/** Optional columns. If the file lacks one, the statement reads it as null. */
const absentColumns = snapshotColumns
  .filter(isOptional)
  .map(({ name, part }) => `NULL::${part === "rows" ? "INTEGER" : "VARCHAR"} AS ${name}`);
/**
 * Returns SQL for a part's distinct lines of JSON. Their order is that of CCNs or codes, which all have the same length.
 */
function linesSql(part: "facilities" | "procedures"): string {
  const texts = namesOf(part).map((name) => (requiredColumns.has(name) ? name : `coalesce(${name}, '')`));
  const line = `json_array(${texts.join(", ")}) || chr(10)`;
  return `string_agg(DISTINCT ${line}, '' ORDER BY ${line})`;
}
const numbers = ["facility_number", "procedure_number", ...namesOf("rows")];
const contentHeader = ["'hcqs-content'", schemaVersion, "count(*)", "max(facility_number) + 1"];

/**
 * Returns a statement for DuckDB that gives a data version's `content_sha256` from its file of `/export.parquet`.
 * `checksums` in `engine/snapshot/snapshot.ts` says what goes into the checksum.
 */
export const contentSql = (version: string): string =>
  `WITH file AS (
  FROM read_parquet('opps-${version}.parquet') UNION ALL BY NAME SELECT ${absentColumns.join(", ")} WHERE false
), numbered AS (
  SELECT *, dense_rank() OVER (ORDER BY ccn) - 1 AS facility_number,
    dense_rank() OVER (ORDER BY procedure_code) - 1 AS procedure_number FROM file
), numbers AS (
  SELECT facility_number, procedure_number, unnest(range(${numbers.length})) AS i, unnest([${numbers.join(", ")}]) AS number FROM numbered
)
SELECT sha256(unhex(
  hex(json_array(${[...contentHeader, "max(procedure_number) + 1"].join(", ")}) || chr(10)
    || ${linesSql("facilities")}
    || ${linesSql("procedures")})
  || (SELECT string_agg(regexp_replace(printf('%08x', coalesce(number, ${blank}) & 4294967295), '(..)(..)(..)(..)', '\\4\\3\\2\\1'), '' ORDER BY i, facility_number, procedure_number) FROM numbers)
)) AS content_sha256 FROM numbered`;
