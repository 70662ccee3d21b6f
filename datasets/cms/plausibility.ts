import { readFileSync } from "node:fs";
import { blank, decodeSnapshot, partsOf, type SnapshotTable } from "../../engine/index.ts";

/** Warns about figures that are possible but probably wrong. */

/** CMS suppresses the amounts of rows with at most this many services. */
const maxSuppressedServices = 10;
/** If a median charge grew by this factor since the previous snapshot, its amounts may be in another unit. */
const suspectedGrowth = 30;
const maxNamed = 3;

/** Returns a warning for each kind of suspect figure; none if all figures are plausible. */
export function suspicionsAbout(table: SnapshotTable): string[] {
  const { facilities, rows } = partsOf(table);
  const { charge, allowed, services, beneficiaries } = rows;
  let [priced, above, few, more] = [0, 0, 0, 0];
  for (let row = 0; row < charge.length; row++) {
    if (services[row] !== blank && beneficiaries[row] > services[row]) more++;
    if (charge[row] <= 0 || allowed[row] <= 0) continue;
    priced++;
    if (allowed[row] > charge[row]) above++;
    if (services[row] !== blank && services[row] <= maxSuppressedServices) few++;
  }
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
  ];
}

/**
 * Returns a warning if the median charge has grown at least thirtyfold.
 *
 * @param before path of the previous snapshot, which is ignored if it can't be read
 */
export function suspectGrowth(table: SnapshotTable, before: string): string[] {
  const now = medianCharge(table);
  const then = medianIn(before);
  if (then === undefined || now < suspectedGrowth * then) return [];
  const dollars = (cents: number) => (cents / 100).toFixed(2);
  return [
    `the median charge is ${dollars(now)}, ${Math.round(now / then)} times the ${dollars(then)} of ${before}; the amounts ` +
      "may be in cents",
  ];
}

function medianIn(path: string): number | undefined {
  try {
    return medianCharge(decodeSnapshot(readFileSync(path), path).table);
  } catch {
    return undefined;
  }
}

function medianCharge(table: SnapshotTable): number {
  const { charge, allowed } = partsOf(table).rows;
  const priced = charge.filter((cents, row) => cents > 0 && allowed[row] > 0).sort();
  return priced[Math.floor(priced.length / 2)];
}
