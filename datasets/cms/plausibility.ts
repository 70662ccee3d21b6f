import { blank, leastFacilities, shown, type TableParts } from "../../engine/index.ts";
import { snapshotIn } from "../revisions.ts";
import { isMissing } from "./hints.ts";
import { isReadTwice, readTwice } from "./names.ts";

/** Warns about figures and names that are possible but probably wrong. */

/** CMS suppresses the amounts of rows with at most this many services. */
export const maxSuppressedServices = 10;
/** If the median charge is at least this many times that of the previous snapshot, the amounts may be in another unit. */
const suspectedGrowth = 30;
const maxNamed = 3;

/** A release has some 117,000 rows, 3,100 facilities, and 49 states and the District of Columbia. */
export const leastRows = 90_000;
export const leastStates = 45;

export function suspectPart(rows: number, facilities: number, states: number): string[] {
  if (rows >= leastRows && facilities >= leastFacilities && states >= leastStates) return [];
  return [
    `the file has ${rows} rows, ${facilities} facilities and ${states} states, and a release some 117,000 rows, 3,100 ` +
      "facilities and 50 states (with the District of Columbia): the file may be a part of a release",
  ];
}

export function suspicionsAbout(table: TableParts): string[] {
  const { facilities, procedures, rows } = table;
  const { charge, allowed, services, beneficiaries } = rows;
  let [priced, above, few, more] = [0, 0, 0, 0];
  for (let row = 0; row < charge.length; row++) {
    if (services[row] !== blank && beneficiaries[row] > services[row]) more++;
    if (charge[row] <= 0 || allowed[row] <= 0) continue;
    priced++;
    if (allowed[row] > charge[row]) above++;
    if (services[row] !== blank && services[row] <= maxSuppressedServices) few++;
  }
  const { name, city, street, ruralUrbanDescription } = facilities;
  const texts = [...new Set([name, city, street, ruralUrbanDescription, procedures.name].flat())];
  const lettered = facilities.ccn.filter((text) => /[A-Z]/.test(text));
  return [
    ...(2 * above > priced
      ? [
          `${above} of ${priced} priced rows have an allowed amount above the charge; the columns may be swapped`,
        ]
      : []),
    ...(few > 0
      ? [
          `priced rows with ${maxSuppressedServices} services or fewer, which CMS suppresses: ${few}; the services may ` +
            "be of another column or file",
        ]
      : []),
    ...(more > 0 ? [`rows with more beneficiaries than services: ${more}; the columns may be swapped`] : []),
    ...(lettered.length > 0
      ? [
          `CCNs with letters: ${lettered.length}, such as ${lettered.slice(0, maxNamed).join(", ")}; an O or an I may ` +
            "stand for a digit",
        ]
      : []),
    ...suspectTexts("that look decoded twice", texts.filter(isReadTwice), readTwice),
    ...suspectTexts(
      "that begin with =, +, - or @",
      texts.filter((text) => /^[=+@-]/.test(text)),
      "a spreadsheet that opens export.csv may take them for formulas",
    ),
    ...suspectTexts(
      "that mark a missing value",
      texts.filter((text) => text !== "" && isMissing(text)),
      "an empty street or description is better",
    ),
  ];
}

function suspectTexts(kind: string, texts: readonly string[], why: string): string[] {
  const some = texts.slice(0, maxNamed).map(shown).join(", ");
  return texts.length === 0 ? [] : [`names or addresses ${kind}: ${texts.length}, such as ${some}; ${why}`];
}

/**
 * Returns a warning if the median charge has grown at least by the factor `suspectedGrowth`.
 *
 * @param before path of the previous snapshot, which is ignored if it can't be read
 */
export async function suspectGrowth(table: TableParts, before: string): Promise<string[]> {
  const now = medianCharge(table);
  const then = await medianIn(before);
  if (then === undefined || now < suspectedGrowth * then) return [];
  const dollars = (cents: number) => (cents / 100).toFixed(2);
  return [
    `the median charge is ${dollars(now)}, ${Math.round(now / then)} times the ${dollars(then)} of ${before}; the amounts ` +
      "may be in cents",
  ];
}

async function medianIn(path: string): Promise<number | undefined> {
  try {
    return medianCharge((await snapshotIn(path)).table);
  } catch {
    return undefined;
  }
}

function medianCharge(table: TableParts): number {
  const { charge, allowed } = table.rows;
  const priced = charge.filter((cents, row) => cents > 0 && allowed[row] > 0).sort();
  return priced[Math.floor(priced.length / 2)];
}
