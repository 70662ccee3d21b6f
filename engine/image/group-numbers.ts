import { stateCodes } from "../snapshot/schema.ts";
import type { Image } from "./image.ts";

/** The numbers of groups: first one national group per procedure, then for each procedure one group per state. */

export const stateIndex: ReadonlyMap<string, number> = new Map(stateCodes.map((code, i) => [code, i]));

/** @param state a known code; null for the nation */
export function groupOf(image: Image, procedure: number, state: string | null): number {
  return state === null ? procedure : stateGroup(image, procedure, stateIndex.get(state) ?? 0);
}

/** @param state from `stateIndex` */
export function stateGroup(image: Image, procedure: number, state: number): number {
  return image.procedures + procedure * stateCodes.length + state;
}

/** Returns the number of priced rows in a group. */
export function groupSize({ groupStart }: Image, group: number): number {
  return groupStart[group + 1] - groupStart[group];
}

/**
 * Finds the group of an APC code in a state. Returns −1 if the code or the state is unknown, or the group has no priced
 * row.
 *
 * @param state null for the nation
 */
export function findGroup(image: Image, procedureCode: string, state: string | null): number {
  const procedure = image.procedureOf.get(procedureCode);
  if (procedure === undefined || (state !== null && !stateIndex.has(state))) return -1;
  const group = groupOf(image, procedure, state);
  return image.groupStart[group] === image.groupStart[group + 1] ? -1 : group;
}
