import { blank, stateCodes } from "../snapshot/schema.ts";
import { identityOrder, stableOrder, taken } from "../snapshot/sort.ts";
import type { TableParts } from "../snapshot/table.ts";
import { ratioInHundredths } from "./statistics.ts";

export type Groups = Omit<ReturnType<typeof groupRows>, "priced">;

/**
 * Groups the rows by procedure, and by procedure and state. `order` has each group's priced rows by charge. Each field of
 * `orders` has them by another value. Ties are ordered by CCN, and absent values come last.
 *
 * @param stateOf the state of each facility, by `stateIndex`
 * @param nameOrder the rank of each facility's name
 * @param national number of national groups, one per procedure
 */
export function groupRows(
  rows: TableParts["rows"],
  stateOf: Uint8Array,
  nameOrder: Uint32Array,
  national: number,
) {
  const count = rows.charge.length;
  const priced = identityOrder(count).filter((row) => rows.charge[row] > 0 && rows.allowed[row] > 0);
  // Rows are in order of CCN, and the sort is stable.
  const byCharge = stableOrder(rows.charge, priced);

  const stateGroup = new Int32Array(count);
  for (let row = 0; row < count; row++)
    stateGroup[row] = rows.procedure[row] * stateCodes.length + stateOf[rows.facility[row]];

  const groups = national * (1 + stateCodes.length);
  const groupRows = new Uint32Array(groups);
  const groupSuppressed = new Uint32Array(groups);
  for (let row = 0; row < count; row++) {
    const isSuppressed = rows.charge[row] === blank && rows.allowed[row] === blank ? 1 : 0;
    groupRows[rows.procedure[row]]++;
    groupRows[national + stateGroup[row]]++;
    groupSuppressed[rows.procedure[row]] += isSuppressed;
    groupSuppressed[national + stateGroup[row]] += isSuppressed;
  }
  const groupStart = new Uint32Array(groups + 1);
  for (const row of priced) {
    groupStart[rows.procedure[row] + 1]++;
    groupStart[national + stateGroup[row] + 1]++;
  }
  for (let group = 1; group < groupStart.length; group++) groupStart[group] += groupStart[group - 1];

  const grouped = (sorted: Uint32Array<ArrayBuffer>) => {
    const order = new Uint32Array(2 * priced.length);
    const next = groupStart.slice();
    for (const row of sorted) {
      order[next[rows.procedure[row]]++] = row;
      order[next[national + stateGroup[row]]++] = row;
    }
    return order;
  };
  const order = grouped(byCharge);
  // A loop is many times faster than `Uint32Array.from`.
  const keys = (keyOf: (row: number) => number) => {
    const found = new Uint32Array(count);
    for (let row = 0; row < count; row++) found[row] = keyOf(row);
    return found;
  };
  const markupOf = (row: number) =>
    rows.allowed[row] > 0 ? ratioInHundredths(rows.charge[row], rows.allowed[row]) : 0;
  // A markup may need more than 32 bits, so rows are sorted by its lower half, then by its upper half.
  const byMarkup = stableOrder(
    keys((row) => markupOf(row) / 2 ** 32),
    stableOrder(
      keys((row) => markupOf(row) % 2 ** 32),
      priced,
    ),
  );
  const services = keys((row) => (rows.services[row] === blank ? 2 ** 32 - 1 : rows.services[row]));
  const names = keys((row) => nameOrder[rows.facility[row]]);
  const orders = {
    allowed: grouped(stableOrder(rows.allowed, priced)),
    markup: grouped(byMarkup),
    services: grouped(stableOrder(services, priced)),
    name: grouped(stableOrder(names, priced)),
  };

  const procedureRows = stableOrder(rows.procedure, identityOrder(count));
  const procedureStart = new Uint32Array(national + 1);
  for (let i = 0; i < national; i++) procedureStart[i + 1] = procedureStart[i] + groupRows[i];
  const procedureCharge = taken(rows.charge, procedureRows);
  const procedureAllowed = taken(rows.allowed, procedureRows);
  const procedures = { procedureRows, procedureStart, procedureCharge, procedureAllowed };
  return { priced, order, orders, groupStart, groupRows, groupSuppressed, ...procedures };
}
