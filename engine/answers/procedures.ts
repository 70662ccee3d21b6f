import { groupOf, type Image, type Summary, summaryOf, textAt } from "../image/image.ts";

/** A procedure group in a state or in the nation. Amounts are in cents; `spread` is max/min × 100. */
interface ProcedureSummary extends Summary {
  code: string;
  name: string;
}

/** Sort orders of the list of procedures. Ties are ordered by code. */
const orders = {
  code: () => 0,
  name: (a: ProcedureSummary, b: ProcedureSummary) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  spread: (a: ProcedureSummary, b: ProcedureSummary) => b.spread - a.spread,
  facilities: (a: ProcedureSummary, b: ProcedureSummary) => b.facilities - a.facilities,
  median_charge: (a: ProcedureSummary, b: ProcedureSummary) => b.median_charge - a.median_charge,
};
type ProcedureOrder = keyof typeof orders;
export const procedureOrders = Object.keys(orders) as ProcedureOrder[];

/** The procedures that have prices at `minFacilities` or more facilities in a state; null is the nation. */
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
    list.push({
      code: textAt(image.code, procedure),
      name: textAt(image.procedureName, procedure),
      ...summary,
    });
  }
  // The list is in order of code already. The sort is stable, so ties stay in order of code.
  return list.sort(orders[order]);
}
