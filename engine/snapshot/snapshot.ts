import { createHash } from "node:crypto";
import {
  blank,
  type Counts,
  type HcpcsCode,
  type Provenance,
  type StatedProvenance,
  schemaVersion,
  snapshotColumns,
  standardCaveat,
  syntheticCaveat,
  syntheticCcnPrefix,
  syntheticPublisher,
  versionName,
} from "./schema.ts";
import type { TableParts } from "./table.ts";

export interface Snapshot {
  table: TableParts;
  provenance: Provenance;
  counts: Counts;
  /** Whether the rows are invented: the publisher is that of `sample`, or every CCN begins with 99. */
  isSynthetic: boolean;
  /** HCPCS codes of the procedure groups, ascending; null if unknown. */
  codes: readonly HcpcsCode[] | null;
  /**
   * SHA-256 of rows, codes, and provenance without `totals`, in hexadecimal. It identifies the content of a data
   * version.
   */
  sha256: string;
  /** SHA-256 of the rows alone, in hexadecimal. */
  contentSha256: string;
}

/**
 * Makes a snapshot with counts and checksums. O(rows). Defaults replace a title, publisher or caveat that is null. The
 * defaults take no part in the checksum.
 *
 * @param codes ascending; null if unknown
 */
export function sealSnapshot(
  table: TableParts,
  stated: StatedProvenance,
  codes: readonly HcpcsCode[] | null = null,
): Snapshot {
  const counts = countRows(table);
  const isSynthetic =
    stated.publisher === syntheticPublisher ||
    table.facilities.ccn.every((ccn) => ccn.startsWith(syntheticCcnPrefix));
  const provenance = {
    ...stated,
    title: stated.title ?? `OPPS charges ${versionName(stated)}`,
    publisher: stated.publisher ?? "unknown",
    caveat:
      stated.caveat ?? (isSynthetic ? syntheticCaveat : standardCaveat(stated.dataYear, counts.facilities)),
  };
  return { table, provenance, counts, isSynthetic, codes, ...checksums(table, stated, counts, codes) };
}

function countRows(table: TableParts): Counts {
  const { facilities, procedures, rows } = table;
  let pricedRows = 0;
  let suppressedRows = 0;
  for (let row = 0; row < rows.charge.length; row++) {
    const charge = rows.charge[row];
    const allowed = rows.allowed[row];
    if (charge > 0 && allowed > 0) pricedRows++;
    else if (charge === blank && allowed === blank) suppressedRows++;
  }
  return {
    rows: table.rows.facility.length,
    pricedRows,
    suppressedRows,
    incompleteRows: table.rows.facility.length - pricedRows - suppressedRows,
    facilities: facilities.ccn.length,
    procedures: procedures.code.length,
  };
}

/**
 * Computes the checksums of the whole snapshot and of its rows. Their input is lines of JSON and columns of
 * little-endian 32-bit integers, so they don't depend on Parquet.
 */
function checksums(
  table: TableParts,
  provenance: StatedProvenance,
  counts: Counts,
  codes: Snapshot["codes"],
) {
  const { facilities, procedures, rows } = table;
  const [whole, content] = [createHash("sha256"), createHash("sha256")];
  const line = (value: unknown) => `${JSON.stringify(value)}\n`;
  const first = [schemaVersion, counts.rows, counts.facilities, counts.procedures];
  whole.update(line(["hcqs-snapshot", ...first]) + line(provenanceValues(provenance, codes)));
  content.update(line(["hcqs-content", ...first]));
  const both = (data: string | Int32Array) => {
    whole.update(data);
    content.update(data);
  };
  const linesOf = (texts: string[][], count: number) => {
    for (let i = 0; i < count; i++) both(line(texts.map((values) => values[i])));
  };
  const facilityTexts = snapshotColumns.flatMap((column) =>
    column.part === "facilities" ? [facilities[column.field]] : [],
  );
  linesOf(facilityTexts, counts.facilities);
  linesOf([procedures.code, procedures.name], counts.procedures);
  both(rows.facility);
  both(rows.procedure);
  for (const column of snapshotColumns) if (column.part === "rows") both(rows[column.field]);
  return { sha256: whole.digest("hex"), contentSha256: content.digest("hex") };
}

function provenanceValues(provenance: StatedProvenance, codes: Snapshot["codes"]): unknown[] {
  const { dataYear, revision, title, publisher, sourceUrl, released, caveat, sourceSha256 } = provenance;
  const values = [dataYear, revision, title, publisher, sourceUrl, released, caveat];
  return [
    ...values,
    ...(sourceSha256 === null ? [] : [sourceSha256]),
    ...(codes === null ? [] : [codes.map(codeValues)]),
  ];
}

export function codeValues({ code, procedure, status, description }: HcpcsCode): string[] {
  return [code, procedure, status, description];
}
