import { blank, DataError, shown, stateNames, type TableParts, type Totals } from "../../engine/index.ts";
import { plain } from "./columns.ts";
import { maxSuppressedServices } from "./plausibility.ts";
import { readRecords } from "./small-csv.ts";

/**
 * Compares a release with CMS's own totals, "Medicare Outpatient Hospitals - by Geography and Service". The totals
 * include hidden rows, which have blank figures or are missing in the release. So a total may exceed the release's
 * sum, but only by as much as hidden rows can hold.
 */

const columnNames = {
  level: "Rndrng_Prvdr_Geo_Lvl",
  place: "Rndrng_Prvdr_Geo_Desc",
  procedure: "APC_Cd",
  services: "CAPC_Srvcs",
  charge: "Avg_Tot_Sbmtd_Chrgs",
  allowed: "Avg_Mdcr_Alowd_Amt",
} as const;
/** A complete file also has rows of single HCPCS codes, which the totals of their procedure groups include. */
const codeColumnName = "HCPCS_Cd";
type Column = keyof typeof columnNames;
const columns = Object.keys(columnNames) as Column[];
const expected = `CMS's CSV file by Geography and Service, with the columns ${Object.values(columnNames).join(", ")}`;

const nation = "the nation";
/** A hidden row's mean amount may be at most this many times the nation's mean. */
const mostTimesMean = 10;
const maxNamed = 5;

/** CMS's number of services of a procedure group in a state or in the nation, and their mean amounts in cents. */
interface Total {
  /** A state's code, or `nation`. */
  place: string;
  procedure: string;
  services: number;
  charge: number;
  allowed: number;
}

const placeOf = new Map(Object.entries(stateNames).map(([code, name]) => [plain(name), code]));

/**
 * Reads the totals of procedure groups. Totals with blank figures are left out.
 *
 * @throws DataError when the file can't be read or is invalid
 */
export async function readTotals(file: string): Promise<Total[]> {
  const { records, kind } = await readRecords(file, expected);
  const names = (records[0]?.record ?? []).map(plain);
  const at = Object.fromEntries(columns.map((column) => [column, names.indexOf(plain(columnNames[column]))]));
  if (kind !== undefined || columns.some((column) => at[column] < 0))
    throw new DataError(file, kind ?? "a header without all of its columns", expected);
  const codeColumn = names.indexOf(plain(codeColumnName));
  const totals = new Map<string, Total>();
  for (const { record, line } of records.slice(1)) {
    if ((record[codeColumn] ?? "").trim() !== "") continue;
    const cell = (column: Column) => (record[at[column]] ?? "").trim();
    const refuse = (column: Column, wanted: string) =>
      new DataError(`${file} line ${line}, column ${columnNames[column]}`, shown(cell(column)), wanted);
    const number = (column: Column) => {
      const value = cell(column) === "" ? Number.NaN : Number(cell(column));
      if (cell(column) !== "" && !(value >= 0)) throw refuse(column, "a number, not below 0");
      return value;
    };
    const level = plain(cell("level"));
    if (level !== "national" && level !== "state") throw refuse("level", "National or State");
    const place = level === "national" ? nation : placeOf.get(plain(cell("place")));
    if (place === undefined) throw refuse("place", "a state's name");
    const procedure = cell("procedure").padStart(4, "0");
    if (!/^[0-9]{4}$/.test(procedure)) throw refuse("procedure", "four digits");
    const [services, charge, allowed] = [number("services"), number("charge"), number("allowed")];
    if (Number.isNaN(services + charge + allowed)) continue;
    const key = `${place} ${procedure}`;
    if (totals.has(key)) throw refuse("procedure", `each procedure group once in ${place}`);
    totals.set(key, { place, procedure, services, charge: 100 * charge, allowed: 100 * allowed });
  }
  if (totals.size === 0) throw new DataError(file, "a header and no totals", "at least one total");
  return [...totals.values()];
}

/**
 * What a release has of a procedure group in a place, in the rows that aren't hidden. Services are summed. Unlike in
 * `Total`, amounts aren't means: each row's mean in cents is multiplied by its services, and the products are summed.
 */
interface Held extends Omit<Total, "place" | "procedure"> {
  rows: number;
  /** Rows that lack services or an amount. */
  hidden: number;
}

/**
 * Compares a release with CMS's totals.
 *
 * @param file path of the totals' file, for messages
 * @returns what was found, and warnings
 * @throws DataError if the release has more services of a procedure group than CMS's total of the nation
 */
export function compareTotals(
  table: TableParts,
  totals: readonly Total[],
  file: string,
): { found: Totals; warnings: string[] } {
  const { held, hospitals } = contentOf(table);
  const national = new Map(totals.filter(({ place }) => place === nation).map((one) => [one.procedure, one]));
  const all = [...national.values()];
  const ours = all.reduce((services, { procedure }) => services + held(nation, procedure).services, 0);
  const share = ours / all.reduce((services, one) => services + one.services, 0);
  // Without totals of the nation, the release's share is unknown, so the release counts as a part.
  const isPart = !(share >= 0.5);
  const faults = totals
    .flatMap((total) => {
      const { place, procedure } = total;
      const inPlace = held(place, procedure);
      const hidden = inPlace.hidden + hospitals(place) - inPlace.rows;
      const mean = isPart ? undefined : national.get(procedure);
      return faultOf(total, inPlace, mean && { services: maxSuppressedServices * hidden, mean }, file) ?? [];
    })
    .sort((a, b) => b.share - a.share)
    .map(({ text }) => text);
  const [differ, checked] = [faults.length, totals.length];
  const part = Number.isNaN(share) ? "an unknown part" : `${Math.round(100 * share)} %`;
  const named = faults.slice(0, maxNamed).join("; ") + (differ > maxNamed ? "; …" : "");
  return {
    found: { checked, agree: checked - differ, differ, worst: faults[0] ?? null },
    warnings: [
      ...(isPart
        ? [
            `the release has ${part} of the nation's services in ${file}, so only what is too much can be seen`,
          ]
        : []),
      ...(differ > 0 ? [`${differ} of ${checked} totals of ${file} contradict the release: ${named}`] : []),
    ],
  };
}

/** The most that a release's hidden and missing rows may hold. */
interface Unseen {
  services: number;
  /** The nation's total. Its means limit the means of these rows. */
  mean: Total;
}

/**
 * Returns how a total contradicts a release, with the difference as a share of CMS's figure; undefined if it doesn't.
 *
 * @param unseen undefined if anything may be missing
 * @throws DataError if the release has more services than the nation
 */
function faultOf(total: Total, held: Held, unseen: Unseen | undefined, file: string) {
  const { place, procedure, services } = total;
  const missing = services - held.services;
  if (missing < 0 && place === nation)
    throw new DataError(
      `${file}, APC ${procedure}`,
      `${services} services in the nation`,
      `at least the ${held.services} of the release; rows may be there twice, or the files are of different years`,
    );
  const fault = (ours: number, theirs: number, what: (figure: number) => string) => ({
    text: `${procedure} in ${place} has ${what(ours)}, CMS ${what(theirs)}`,
    share: Math.abs(ours - theirs) / Math.max(theirs, 1),
  });
  if (missing < 0 || (unseen !== undefined && missing > unseen.services))
    return fault(held.services, services, (count) => `${count} services`);
  // The release's means are rounded to cents.
  const rounding = services / 2 + 1;
  for (const amount of ["charge", "allowed"] as const) {
    const left = total[amount] * services - held[amount];
    const most = unseen === undefined ? Number.POSITIVE_INFINITY : mostTimesMean * unseen.mean[amount];
    const room = missing === 0 ? 0 : missing * most;
    if (left < -rounding || left > room + rounding)
      return fault(
        held[amount] / Math.max(held.services, 1),
        total[amount],
        (mean) => `a mean ${amount} of $${(mean / 100).toFixed(2)}`,
      );
  }
  return undefined;
}

function contentOf({ facilities, procedures, rows }: TableParts) {
  const sums = new Map<string, Held>();
  const held = (place: string, procedure: string) => {
    const key = `${place} ${procedure}`;
    const known = sums.get(key) ?? { rows: 0, hidden: 0, services: 0, charge: 0, allowed: 0 };
    sums.set(key, known);
    return known;
  };
  for (const [row, services] of rows.services.entries())
    for (const place of [nation, facilities.state[rows.facility[row]]]) {
      const sum = held(place, procedures.code[rows.procedure[row]]);
      const [charge, allowed] = [rows.charge[row], rows.allowed[row]];
      sum.rows++;
      if (services === blank || charge === blank || allowed === blank) {
        sum.hidden++;
        continue;
      }
      sum.services += services;
      sum.charge += services * charge;
      sum.allowed += services * allowed;
    }
  const counts = new Map([[nation, facilities.ccn.length]]);
  for (const state of facilities.state) counts.set(state, (counts.get(state) ?? 0) + 1);
  return { held, hospitals: (place: string) => counts.get(place) ?? 0 };
}
