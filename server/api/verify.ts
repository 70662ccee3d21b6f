import { amountsSql, unnamedFile } from "../../datasets/cms/statements.ts";
import type { Provenance } from "../../engine/query.ts";

/** Says how anybody can check a data version against the publisher's own file, without this service. */

/** Returns null where there is no such file: for samples and other tools' snapshots. */
export function verifyOf({ sourceUrl, sourceSha256 }: Provenance) {
  if (sourceSha256 === null) return null;
  const file =
    sourceUrl === null ? null : decodeURIComponent(new URL(sourceUrl).pathname.split("/").at(-1) ?? "");
  return { file, source_url: sourceUrl, sha256: sourceSha256, sql: countsSql(file ?? unnamedFile) };
}

/** A row is priced if both amounts are above 0. */
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
