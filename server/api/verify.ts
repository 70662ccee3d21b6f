import { columnNames } from "../../datasets/cms/columns.ts";
import type { Provenance } from "../../engine/query.ts";

/** Says how anybody can check a data version against the publisher's own file, without this service. */

/** Returns null where there is no such file: for samples and other tools' snapshots. */
export function verifyOf({ sourceUrl, sourceSha256 }: Provenance) {
  if (sourceSha256 === null) return null;
  const file =
    sourceUrl === null ? null : decodeURIComponent(new URL(sourceUrl).pathname.split("/").at(-1) ?? "");
  return { file, source_url: sourceUrl, sha256: sourceSha256, sql: countsSql(file ?? "CMS.csv") };
}

/** Amounts become whole cents, rounded half up. A row is priced if both are above 0. */
function countsSql(file: string): string {
  const text = (column: keyof typeof columnNames) => `trim("${columnNames[column]}")`;
  const dollars = (column: "charge" | "allowed") =>
    `round(TRY_CAST(${text(column)} AS DECIMAL(18,10)), 2) AS ${column}`;
  const rows =
    `SELECT upper(${text("ccn")}) AS ccn, ${text("code")} AS apc, ${dollars("charge")}, ${dollars("allowed")} ` +
    `FROM read_csv('${file.replaceAll("'", "''")}', header = true, all_varchar = true)`;
  const counts = [
    "count(*) AS rows",
    "count(*) FILTER (charge > 0 AND allowed > 0) AS priced_rows",
    "count(*) FILTER (charge IS NULL AND allowed IS NULL) AS suppressed_rows",
    "count(DISTINCT ccn) AS facilities",
    "count(DISTINCT apc) AS procedures",
    "sum(charge) FILTER (charge > 0 AND allowed > 0) AS submitted_charge",
    "sum(allowed) FILTER (charge > 0 AND allowed > 0) AS medicare_allowed",
  ];
  return `SELECT ${counts.join(", ")} FROM (${rows})`;
}
