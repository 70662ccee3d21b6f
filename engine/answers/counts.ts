import { type ExportScope, sumOver } from "../exports/scope.ts";
import type { Image } from "../image/image.ts";
import { blank } from "../snapshot/schema.ts";
import { firstNotBefore } from "../sorted.ts";

/** A suppressed row has neither of the two amounts. */
export interface RowCounts {
  rows: number;
  suppressed: number;
}

export function rowsOfScope(image: Image, scope: ExportScope): RowCounts {
  const [rows, suppressed] = [image.groupRows, image.groupSuppressed].map((of) => sumOver(image, scope, of));
  return { rows, suppressed };
}

export function rowsOfFacility(image: Image, facility: number): RowCounts {
  const start = firstRow(image, facility);
  let row = start;
  let suppressed = 0;
  for (; image.facility[row] === facility; row++)
    if (image.charge[row] === blank && image.allowed[row] === blank) suppressed++;
  return { rows: row - start, suppressed };
}

/** Counts the facilities of a group that charge less than `cents`. O(log facilities). */
export function countBelow({ groupStart, order, charge }: Image, group: number, cents: number): number {
  // This loop is faster than a call of `firstNotBefore`. A facility's prices need two such searches per row.
  let low = groupStart[group];
  let high = groupStart[group + 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (charge[order[middle]] < cents) low = middle + 1;
    else high = middle;
  }
  return low - groupStart[group];
}

/** Returns the position of a facility's first row. A facility's rows are contiguous. */
export function firstRow({ facility: column }: Image, facility: number): number {
  return firstNotBefore(0, column.length, (row) => column[row] < facility);
}
