import { groupOf } from "../image/group-numbers.ts";
import { type Image, textAt } from "../image/image.ts";
import { type Summary, summaryOf } from "../image/statistics-fields.ts";
import { plainProcedure } from "../search/procedure-words.ts";

export function nameProcedure(image: Image, procedure: number) {
  const code = image.codes[procedure];
  return {
    code,
    name: textAt(image.procedureName, procedure),
    title: plainProcedure(code)?.title ?? null,
  };
}

/** Amounts are in cents, `spread` in hundredths. */
interface ProcedureSummary extends Summary {
  procedure: number;
  name: string;
}

/** Ties are ordered by code. */
const orders = {
  code: () => 0,
  name: (a: ProcedureSummary, b: ProcedureSummary) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  spread: (a: ProcedureSummary, b: ProcedureSummary) => b.spread - a.spread,
  facilities: (a: ProcedureSummary, b: ProcedureSummary) => b.facilities - a.facilities,
  median_charge: (a: ProcedureSummary, b: ProcedureSummary) => b.median_charge - a.median_charge,
};
type ProcedureOrder = keyof typeof orders;
export const procedureOrders = Object.keys(orders) as ProcedureOrder[];

/**
 * Lists the procedures with prices at `minFacilities` or more facilities in a state.
 *
 * @param state null for the nation
 */
export function listProcedures(
  image: Image,
  state: string | null,
  minFacilities: number,
  order: ProcedureOrder,
): ProcedureSummary[] {
  const list: ProcedureSummary[] = [];
  for (let procedure = 0; procedure < image.procedures; procedure++) {
    const summary = summaryOf(image, groupOf(image, procedure, state));
    if (summary.facilities < minFacilities) continue;
    list.push({ procedure, name: textAt(image.procedureName, procedure), ...summary });
  }
  // The list is in order of code, and the sort is stable.
  return list.sort(orders[order]);
}
