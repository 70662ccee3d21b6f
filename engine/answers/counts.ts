import { groupOf, type Image } from "../image/image.ts";
import { blank } from "../snapshot/schema.ts";

/** How many rows there are of any kind, and how many of them are suppressed. */
export interface RowCounts {
  rows: number;
  suppressed: number;
}

/** The rows of a procedure in the nation (state null) or in a state. */
export function rowsOfProcedure(image: Image, procedure: number, state: string | null): RowCounts {
  const group = groupOf(image, procedure, state);
  return { rows: image.groupRows[group], suppressed: image.groupSuppressed[group] };
}

/** All rows of the nation (state null) or of a state. O(procedures). */
export function rowsOfScope(image: Image, state: string | null): RowCounts {
  const sum = { rows: 0, suppressed: 0 };
  for (let procedure = 0; procedure < image.procedures; procedure++) {
    const counts = rowsOfProcedure(image, procedure, state);
    sum.rows += counts.rows;
    sum.suppressed += counts.suppressed;
  }
  return sum;
}

/** The rows of a facility. O(its rows + log rows). */
export function rowsOfFacility(image: Image, facility: number): RowCounts {
  const start = firstRow(image, facility);
  let row = start;
  let suppressed = 0;
  for (; image.facility[row] === facility; row++)
    if (image.charge[row] === blank && image.allowed[row] === blank) suppressed++;
  return { rows: row - start, suppressed };
}

/** Where the rows of a facility start, which lie together. */
export function firstRow({ facility: column }: Image, facility: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column[middle] < facility) low = middle + 1;
    else high = middle;
  }
  return low;
}
