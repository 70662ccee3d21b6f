import { groupOf, stateIndex } from "../image/group-numbers.ts";
import type { Image } from "../image/image.ts";
import { blank } from "../snapshot/schema.ts";

export interface ExportScope {
  /** Position of the only procedure to export; null for all. */
  procedure: number | null;
  /** Code of the only state to export; null for all. */
  state: string | null;
}

export const rowStatuses = ["priced", "suppressed", "incomplete"] as const;
export type RowStatus = (typeof rowStatuses)[number];

/** Returns the position in `rowStatuses` of the status of a row with these amounts. */
export function statusOfRow(charge: number, allowed: number): number {
  if (charge > 0 && allowed > 0) return 0;
  return charge === blank && allowed === blank ? 1 : 2;
}

/** Adds up the values of a scope's groups. `of` has one value for each group. */
export function sumOver(image: Image, { procedure, state }: ExportScope, of: ArrayLike<number>): number {
  if (procedure !== null) return of[groupOf(image, procedure, state)];
  let sum = 0;
  for (let each = 0; each < image.procedures; each++) sum += of[groupOf(image, each, state)];
  return sum;
}

const maxScannedRows = 2 ** 12;

/** Finds the rows of a scope, ascending. */
export class ScopeRows {
  readonly #image: Image;
  readonly #scope: ExportScope;
  #next = 0;
  #facility = -1;
  #isInState = true;

  constructor(image: Image, scope: ExportScope) {
    this.#image = image;
    this.#scope = scope;
  }

  get isOver(): boolean {
    return this.#next >= this.#image.facility.length;
  }

  /**
   * Returns the next row of the scope, or −1 if none of the next `maxScannedRows` rows is in the scope. After −1, call
   * this method again unless `isOver`.
   */
  next(): number {
    const { facility, procedure } = this.#image;
    const end = Math.min(facility.length, this.#next + maxScannedRows);
    for (let row = this.#next; row < end; row++) {
      if (facility[row] !== this.#facility) this.#enter(facility[row]);
      if (!this.#isInState) continue;
      if (this.#scope.procedure !== null && procedure[row] !== this.#scope.procedure) continue;
      this.#next = row + 1;
      return row;
    }
    this.#next = end;
    return -1;
  }

  #enter(facility: number): void {
    this.#facility = facility;
    this.#isInState = isInState(this.#image, facility, this.#scope.state);
  }
}

function isInState({ stateOf }: Image, facility: number, state: string | null): boolean {
  return state === null || stateOf[facility] === stateIndex.get(state);
}

/**
 * Returns the positions of the facilities with a row in a scope, ascending. O(rows) for one procedure, else
 * O(facilities).
 */
export function facilitiesInScope(image: Image, { procedure, state }: ExportScope): Int32Array {
  const count = image.ccn.offsets.length - 1;
  const isIn = new Uint8Array(count);
  if (procedure === null) isIn.fill(1);
  else
    for (let row = 0; row < image.procedure.length; row++)
      if (image.procedure[row] === procedure) isIn[image.facility[row]] = 1;
  const found = new Int32Array(count);
  let length = 0;
  for (let facility = 0; facility < count; facility++)
    if (isIn[facility] === 1 && isInState(image, facility, state)) found[length++] = facility;
  return found.slice(0, length);
}

/** Returns the positions of the procedures with a row in a scope, ascending. O(procedures). */
export function proceduresInScope(image: Image, { procedure, state }: ExportScope): Int32Array {
  const all = Int32Array.from(image.codes.keys());
  return all.filter(
    (each) => (procedure === null || each === procedure) && image.groupRows[groupOf(image, each, state)] > 0,
  );
}
