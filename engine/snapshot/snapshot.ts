import { createHash } from "node:crypto";
import {
  blank,
  byField,
  type Counts,
  type FacilityField,
  facilityFields,
  type MeasureField,
  measureFields,
  type ProcedureField,
  type Provenance,
  procedureFields,
  schemaVersion,
  snapshotColumns,
} from "./schema.ts";
import { identityOrder, stableOrder } from "./sort.ts";

/** Hospitals, one position each, ascending by CCN. Texts are empty where absent. */
export type Facilities = Record<FacilityField, string[]>;

/** Procedure groups, one position each, ascending by APC code. */
export type Procedures = Record<ProcedureField, string[]>;

/**
 * One row per facility and procedure that has one, ascending by both. Amounts are averages per service, in cents;
 * numbers are `blank` (−1) where absent.
 */
export type Rows = Record<"facility" | "procedure" | MeasureField, Int32Array>;

export interface SnapshotContent {
  provenance: Provenance;
  facilities: Facilities;
  procedures: Procedures;
  rows: Rows;
}

/** A verified snapshot: its content, what it counts to, and two checksums in hexadecimal. */
export interface Snapshot extends SnapshotContent {
  counts: Counts;
  /** Of content and provenance: what a version's number stands for. */
  sha256: string;
  /** Of the rows alone, with their facilities and procedures: the same whatever revision, release or caveat. */
  contentSha256: string;
}

/** `<data_year>.<revision>`, e.g. `2024.2`. */
export function versionName(provenance: Provenance): string {
  return `${provenance.dataYear}.${provenance.revision}`;
}

/**
 * Brings content into the order that snapshots have: facilities by CCN, procedures by code, rows by both.
 *
 * @returns the content and, for each row in its new place, its position in the content given
 */
export function arrange(content: SnapshotContent): { content: SnapshotContent; order: Uint32Array } {
  const { provenance, facilities, procedures, rows } = content;
  const facilityOrder = ascending(facilities.ccn);
  const procedureOrder = ascending(procedures.code);
  const facility = ranked(rows.facility, facilityOrder);
  const procedure = ranked(rows.procedure, procedureOrder);
  const byProcedure = stableOrder(procedure, identityOrder(procedure.length));
  const order = stableOrder(facility, byProcedure);
  return {
    content: {
      provenance,
      facilities: byField(facilityFields, (field) => facilityOrder.map((i) => facilities[field][i])),
      procedures: byField(procedureFields, (field) => procedureOrder.map((i) => procedures[field][i])),
      rows: {
        facility: taken(facility, order),
        procedure: taken(procedure, order),
        ...byField(measureFields, (field) => taken(rows[field], order)),
      },
    },
    order,
  };
}

/** The positions of `keys` in ascending order of code units. */
export function ascending(keys: string[]): number[] {
  return keys.map((_, i) => i).sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0));
}

/** Positions replaced by their rank in `order`. */
export function ranked(column: Int32Array, order: number[]): Int32Array {
  const rank = new Int32Array(order.length);
  order.forEach((position, i) => {
    rank[position] = i;
  });
  return taken(rank, column);
}

/** `column[position]` for each position. */
function taken(column: Int32Array, positions: Int32Array | Uint32Array): Int32Array {
  const values = new Int32Array(positions.length);
  for (let i = 0; i < positions.length; i++) values[i] = column[positions[i]];
  return values;
}

export function countRows({ facilities, procedures, rows }: SnapshotContent): Counts {
  let pricedRows = 0;
  let suppressedRows = 0;
  for (let row = 0; row < rows.charge.length; row++) {
    const charge = rows.charge[row];
    const allowed = rows.allowed[row];
    if (charge > 0 && allowed > 0) pricedRows++;
    else if (charge === blank && allowed === blank) suppressedRows++;
  }
  return {
    rows: rows.charge.length,
    pricedRows,
    suppressedRows,
    incompleteRows: rows.charge.length - pricedRows - suppressedRows,
    facilities: facilities.ccn.length,
    procedures: procedures.code.length,
  };
}

/**
 * SHA-256 over the canonical content, whatever the Parquet encoding: one line of JSON for schema and counts, one for the
 * provenance, one each for every facility and procedure, then the rows' columns as little-endian 32-bit integers, first
 * the positions of facilities and procedures.
 */
export function checksum(content: SnapshotContent, counts: Counts): string {
  const p = content.provenance;
  const provenance = [p.dataYear, p.revision, p.title, p.publisher, p.sourceUrl, p.released, p.caveat];
  // Only where there is one: files from before have the checksum without it.
  if (p.sourceSha256 !== null) provenance.push(p.sourceSha256);
  return sumUp("hcqs-snapshot", content, counts, provenance);
}

/** The same without the provenance. */
export function contentChecksum(content: SnapshotContent, counts: Counts): string {
  return sumUp("hcqs-content", content, counts, []);
}

function sumUp(
  what: string,
  { facilities, procedures, rows }: SnapshotContent,
  counts: Counts,
  provenance: unknown[],
): string {
  const hash = createHash("sha256");
  const line = (value: unknown) => hash.update(`${JSON.stringify(value)}\n`);
  line([what, schemaVersion, counts.rows, counts.facilities, counts.procedures]);
  if (provenance.length > 0) line(provenance);
  const texts = snapshotColumns.flatMap((column) =>
    column.part === "facilities" ? [facilities[column.field]] : [],
  );
  const measures = snapshotColumns.flatMap((column) => (column.part === "rows" ? [rows[column.field]] : []));
  for (let i = 0; i < counts.facilities; i++) line(texts.map((values) => values[i]));
  for (let i = 0; i < counts.procedures; i++) line([procedures.code[i], procedures.name[i]]);
  for (const column of [rows.facility, rows.procedure, ...measures]) hash.update(column);
  return hash.digest("hex");
}

/** Counts and sums up content that is known to be good, as the importer's or the sample's is. */
export function sealSnapshot(content: SnapshotContent): Snapshot {
  const counts = countRows(content);
  return {
    ...content,
    counts,
    sha256: checksum(content, counts),
    contentSha256: contentChecksum(content, counts),
  };
}
