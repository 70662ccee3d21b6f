import {
  byField,
  type FacilityField,
  facilityFields,
  type MeasureField,
  measureFields,
  type ProcedureField,
  procedureFields,
} from "./schema.ts";
import { identityOrder, stableOrder, taken } from "./sort.ts";

/**
 * The rows of a snapshot in memory. After `arrangeTable`, rows ascend by CCN and APC code, facilities by CCN, and
 * procedures by code.
 */
export interface TableParts {
  /** Texts of each facility. An absent text is empty. */
  facilities: Record<FacilityField, string[]>;
  procedures: Record<ProcedureField, string[]>;
  /** For each row the positions of its facility and procedure, and its numbers, which are `blank` where absent. */
  rows: Record<"facility" | "procedure" | MeasureField, Int32Array>;
}

/**
 * Sorts the parts of a table. Facilities and procedures without a row are left out. If the rows are in order already,
 * the arrays of amounts and counts are reused.
 *
 * @returns the table and, for each of its rows, the position of that row in the parts given
 */
export function arrangeTable({ facilities, procedures, rows }: TableParts): {
  table: TableParts;
  order: Uint32Array;
} {
  const facilityOrder = ascendingOf(rows.facility, facilities.ccn);
  const procedureOrder = ascendingOf(rows.procedure, procedures.code);
  const facility = ranked(rows.facility, facilityOrder);
  const procedure = ranked(rows.procedure, procedureOrder);
  const isSorted = isAscending(facility, procedure);
  const given = identityOrder(procedure.length);
  const order = isSorted ? given : stableOrder(facility, stableOrder(procedure, given));
  const inOrder = (column: Int32Array) => (isSorted ? column : taken(column, order));
  const table: TableParts = {
    facilities: byField(facilityFields, (field) => facilityOrder.map((i) => facilities[field][i])),
    procedures: byField(procedureFields, (field) => procedureOrder.map((i) => procedures[field][i])),
    rows: {
      ...byField(measureFields, (field) => inOrder(rows[field])),
      facility: inOrder(facility),
      procedure: inOrder(procedure),
    },
  };
  return { table, order };
}

function isAscending(facility: Int32Array, procedure: Int32Array): boolean {
  for (let row = 1; row < facility.length; row++) {
    const step = facility[row] - facility[row - 1];
    if (step < 0 || (step === 0 && procedure[row] < procedure[row - 1])) return false;
  }
  return true;
}

function ascendingOf(used: Int32Array, keys: string[]): number[] {
  const isUsed = new Uint8Array(keys.length);
  for (const position of used) isUsed[position] = 1;
  return ascending(keys).filter((position) => isUsed[position] === 1);
}

/** Returns the positions of `keys` in ascending order of the keys, by UTF-16 code units. */
export function ascending(keys: string[]): number[] {
  return keys.map((_, i) => i).sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0));
}

/** Returns the rank in `order` of each position in a column. */
export function ranked(column: Int32Array, order: number[]): Int32Array {
  const ranks = new Int32Array(1 + order.reduce((highest, position) => Math.max(highest, position), -1));
  order.forEach((position, rank) => {
    ranks[position] = rank;
  });
  return taken(ranks, column);
}
