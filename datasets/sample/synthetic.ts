import {
  blank,
  byField,
  DataError,
  facilityFields,
  maxCents,
  maxSnapshotRows,
  measureFields,
  type Snapshot,
  sealSnapshot,
  syntheticCaveat,
  syntheticCcnPrefix,
  syntheticPublisher,
  type TableParts,
} from "../../engine/index.ts";
import { outpatientDeductibles, stayDeductibles } from "../deductibles.ts";
import { zipsByStart } from "../places.ts";
import { procedureFigures, ruralUrbanFigures, stateFigures } from "./calibration.ts";

/** CMS's file of 2023 has one row fewer. */
export const defaultSampleRows = 116_800;
export const defaultSampleSeed = 20_230_101;
export const maxSampleSeed = 2 ** 32 - 1;
const rowsPerFacility = defaultSampleRows / 3100;
const suppressedShare = 0.45;
/** The smallest number of services or beneficiaries that CMS publishes. */
const fewestShown = 11;
/**
 * Procedures with fewer national services are suppressed everywhere, because probably no hospital provides more than
 * ten.
 */
const fewestPricedServices = 100;

/** Unless noted otherwise, this and the spreads below are sigmas of log-normal distributions. */
const markupSpread = 0.45;
const chargeSpread = 0.22;
/** The hospitals' allowed amounts vary with local wages. */
const wageSpread = 0.08;
const allowedSpread = 0.09;
const demandSpread = 1.3;
const sizeSpread = 1.2;
/** Relative sigma of the share of the allowed amount that Medicare pays. The share's distribution is normal. */
const paymentSpread = 0.01;
/** Few hospitals have most of the outlier services. */
const outlierSpread = { services: 1.5, amount: 0.3 };
/** Spread of the share of a hospital's services that are repeated for the same patients. */
const repeatSpread = 0.3;
const yearlySpread = { charge: 0.05, allowed: 0.02, demand: 0.1 };
const baseYear = 2023;
/** Linear growth per year, as a share of the level of `baseYear`, so that amounts stay in range up to 2099. */
const yearlyGrowth = { charge: 0.05, allowed: 0.03 };

export interface SampleOptions {
  dataYear: number;
  revision: number;
  /** From 1 to `maxSnapshotRows`. */
  rows: number;
  /** A whole number from 0 to `maxSampleSeed`. */
  seed: number;
}

/**
 * Generates a synthetic snapshot, the same on every machine for equal options. With equal `rows` and `seed`, all years
 * have the same facilities, and nearly the same procedures at each facility, but different amounts.
 *
 * @throws DataError when `rows` is out of range
 */
export function syntheticSnapshot({ dataYear, revision, rows, seed }: SampleOptions): Snapshot {
  if (!Number.isInteger(rows) || rows < 1 || rows > maxSnapshotRows)
    throw new DataError("rows", String(rows), `a whole number from 1 to ${maxSnapshotRows}`);
  const lasting = randomSource(seed, 0);
  const hospitals = hospitalsFor(rows, lasting, randomSource(seed, addressStream));
  const parts = rowsFor(rows, hospitals, dataYear, lasting, {
    amounts: randomSource(seed, dataYear),
    use: randomSource(seed, useStream + dataYear),
  });
  return sealSnapshot(
    { facilities: hospitals.facilities, ...parts },
    {
      dataYear,
      revision,
      title: `Synthetic sample of Medicare outpatient hospital charges, ${dataYear}`,
      publisher: syntheticPublisher,
      sourceUrl: null,
      sourceSha256: null,
      released: null,
      caveat: syntheticCaveat,
    },
  );
}

/** Addresses have their own random stream, so that additional draws don't change the numbers of other streams. */
const addressStream = 1;
/** The random stream of a year's beneficiaries, payments and outliers has this number plus the year. */
const useStream = 10_000;

interface RandomSource {
  below(count: number): number;
  /** An approximately normal number (mean 0, variance 1) within ±3.47, so that amounts stay plausible. */
  bell(): number;
}

/** Chris Doty-Humphrey's sfc32. It uses only 32-bit integers, so the numbers are the same on every machine. */
function randomSource(seed: number, stream: number): RandomSource {
  let a = seed | 0;
  let b = stream | 0;
  let c = 0x9e3779b9 | 0;
  let counter = 1;
  const next = () => {
    const drawn = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + drawn) | 0;
    return drawn >>> 0;
  };
  for (let i = 0; i < 16; i++) next();
  const scale = Math.sqrt(3) / 65_536;
  return {
    below: (count) => Math.floor((next() / 2 ** 32) * count),
    // The sum of four uniform 16-bit numbers is close to normal, and needs only integer arithmetic.
    bell() {
      const x = next();
      const y = next();
      return ((x >>> 16) + (x & 0xffff) + (y >>> 16) + (y & 0xffff) - 131_070) * scale;
    },
  };
}

type Procedures = TableParts["procedures"];
type Rows = TableParts["rows"];

interface Hospitals {
  facilities: TableParts["facilities"];
  state: Uint8Array;
  size: Float64Array;
  offered: Uint8Array;
}

function hospitalsFor(rows: number, random: RandomSource, addresses: RandomSource): Hospitals {
  const count = Math.max(1, Math.round(rows / rowsPerFacility));
  const facilities: TableParts["facilities"] = byField(facilityFields, () => []);
  const zips = new Map<string, string>();
  const known = zipsByStart();
  const state = statesOf(count);
  const size = new Float64Array(count);
  const offered = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const city = cityIn(state[i], random);
    facilities.ccn.push(sampleCcn(i, count));
    facilities.name.push(`${facilityName(city, random)} (sample)`);
    facilities.city.push(city);
    const figures = stateFigures[state[i]];
    facilities.state.push(figures.state);
    facilities.street.push(
      `${1 + addresses.below(9999)} ${one(cityHeads, addresses)} ${one(ways, addresses)}`,
    );
    const place = `${city}, ${figures.state}`;
    const zip = zips.get(place) ?? one(known.get(figures.zip) ?? [""], addresses);
    zips.set(place, zip);
    facilities.zip.push(zip);
    const { code, description } = ruralUrbanOf(addresses.below(100) / 100);
    facilities.ruralUrbanCode.push(code);
    facilities.ruralUrbanDescription.push(description);
    size[i] = random.bell();
    // With a logistic curve, the smallest hospitals offer a handful of procedures, and the largest offer nearly all.
    const share = 1 / (1 + Math.exp(-0.1 - sizeSpread * size[i]));
    offered[i] = Math.max(1, Math.round(share * procedureFigures.length));
  }
  settle(offered, rows);
  return { facilities, state, size, offered };
}

/** Returns the RUCA code at a quantile of all hospitals. @param share at least 0, below 1 */
function ruralUrbanOf(share: number) {
  let reached = 0;
  for (const figures of ruralUrbanFigures) {
    reached += figures.share;
    if (share < reached) return figures;
  }
  return ruralUrbanFigures[0];
}

/**
 * Returns each facility's state as a position in `stateFigures`, ascending, in proportion to the real numbers of
 * hospitals.
 */
function statesOf(count: number): Uint8Array {
  const hospitals = stateFigures.reduce((sum, figures) => sum + figures.hospitals, 0);
  const states = new Uint8Array(count);
  let state = 0;
  let reached = stateFigures[0].hospitals;
  for (let i = 0; i < count; i++) {
    const place = ((i + 0.5) / count) * hospitals;
    while (place >= reached) reached += stateFigures[++state].hospitals;
    states[i] = state;
  }
  return states;
}

/** Adds or removes one procedure per facility, in turn, until there are exactly `rows` rows. */
function settle(offered: Uint8Array, rows: number): void {
  let missing = rows - offered.reduce((sum, procedures) => sum + procedures, 0);
  const step = Math.sign(missing);
  for (let i = 0; missing !== 0; i = (i + 1) % offered.length) {
    const procedures = offered[i] + step;
    if (procedures < 1 || procedures > procedureFigures.length) continue;
    offered[i] = procedures;
    missing -= step;
  }
}

/**
 * Returns a CCN that begins with 99, as no state's CCN does. A number follows, in base 36 if there are 10,000 or more
 * facilities.
 */
export function sampleCcn(i: number, count: number): string {
  const number = count < 10_000 ? String(i + 1) : i.toString(36).toUpperCase();
  return `${syntheticCcnPrefix}${number.padStart(4, "0")}`;
}

function rowsFor(
  count: number,
  { facilities, state, size, offered }: Hospitals,
  dataYear: number,
  lasting: RandomSource,
  { amounts: yearly, use }: { amounts: RandomSource; use: RandomSource },
): { procedures: Procedures; rows: Rows } {
  const rows: Rows = {
    facility: new Int32Array(count),
    procedure: new Int32Array(count),
    ...byField(measureFields, () => new Int32Array(count).fill(blank)),
  };
  const kinds = procedureFigures.length;
  const services = procedureFigures.map((figures) => Math.log(figures.services));
  const years = dataYear - baseYear;
  const chargeGrowth = 1 + yearlyGrowth.charge * years;
  const allowedGrowth = 1 + yearlyGrowth.allowed * years;

  /** Logarithm of each row's demand, from which its services follow; −Infinity for procedures too rare in the nation. */
  const volume = new Float32Array(count);
  /**
   * For each procedure, the row with the most volume, which is always priced; −1 if there is no row or the procedure is
   * too rare.
   */
  const busiest = new Int32Array(kinds).fill(-1);
  const demand = new Float64Array(kinds);
  const ascending = new Float64Array(kinds);
  const chargeNoise = new Float64Array(kinds);
  const allowedNoise = new Float64Array(kinds);
  let row = 0;
  for (let facility = 0; facility < facilities.ccn.length; facility++) {
    const { chargeFactor, allowedFactor } = stateFigures[state[facility]];
    const markup = chargeGrowth * chargeFactor * logNormal(lasting.bell(), markupSpread);
    const wage = allowedGrowth * allowedFactor * logNormal(lasting.bell(), wageSpread);
    // Numbers are drawn even for procedures that the facility doesn't offer, so that other years draw the same numbers.
    for (let p = 0; p < kinds; p++) {
      demand[p] = services[p] + lasting.bell() * demandSpread + yearly.bell() * yearlySpread.demand;
      chargeNoise[p] = lasting.bell();
      allowedNoise[p] = lasting.bell();
    }
    ascending.set(demand);
    ascending.sort();
    const least = ascending[kinds - offered[facility]];
    const end = row + offered[facility];
    for (let p = 0; p < kinds && row < end; p++) {
      if (demand[p] < least) continue;
      const figures = procedureFigures[p];
      const charge = logNormal(chargeNoise[p], chargeSpread) * logNormal(yearly.bell(), yearlySpread.charge);
      const allowed =
        logNormal(allowedNoise[p], allowedSpread) * logNormal(yearly.bell(), yearlySpread.allowed);
      rows.facility[row] = facility;
      rows.procedure[row] = p;
      rows.charge[row] = cents(figures.charge * markup * charge);
      rows.allowed[row] = cents(figures.allowed * wage * allowed);
      volume[row] = -Infinity;
      if (figures.services >= fewestPricedServices) {
        volume[row] = demand[p] + sizeSpread * size[facility];
        if (busiest[p] < 0 || volume[row] > volume[busiest[p]]) busiest[p] = row;
      }
      row++;
    }
  }
  const preferred = volume.slice();
  for (const busiestRow of busiest) if (busiestRow >= 0) preferred[busiestRow] = Infinity;
  const least = suppress(rows, preferred);
  measureUse(rows, volume, least, { growth: allowedGrowth, dataYear }, use);
  return { procedures: usedProcedures(rows), rows };
}

function logNormal(bell: number, sigma: number): number {
  return Math.exp(sigma * bell - (sigma * sigma) / 2);
}

function cents(dollars: number): number {
  return Math.min(maxCents, Math.max(1, Math.round(dollars * 100)));
}

/**
 * Blanks both amounts of the rows with the least volume, as CMS does for ten services or fewer.
 *
 * @returns the least volume with which rows keep their amounts
 */
function suppress(rows: Rows, volume: Float32Array): number {
  const least = volume.slice().sort()[Math.round(volume.length * suppressedShare)];
  for (let row = 0; row < volume.length; row++) {
    if (volume[row] >= least) continue;
    rows.charge[row] = blank;
    rows.allowed[row] = blank;
  }
  return least;
}

/**
 * Fills in services, beneficiaries, payments and outliers of the rows with amounts. A procedure's services grow with
 * volume, and add up to about its number in the nation, scaled to the number of rows. The row with the least volume gets
 * the fewest services that CMS publishes.
 */
function measureUse(
  rows: Rows,
  volume: Float32Array,
  least: number,
  { growth, dataYear }: { growth: number; dataYear: number },
  random: RandomSource,
): void {
  const mostOfPatient = patientsMost(dataYear);
  const excessOf = (row: number) => Math.max(0, Math.exp(volume[row] - least) - 1);
  const excess = new Float64Array(procedureFigures.length);
  const missing = procedureFigures.map(({ services }) => (services * volume.length) / defaultSampleRows);
  for (let row = 0; row < volume.length; row++) {
    if (rows.charge[row] === blank) continue;
    excess[rows.procedure[row]] += excessOf(row);
    missing[rows.procedure[row]] -= fewestShown;
  }
  for (let row = 0; row < volume.length; row++) {
    if (rows.charge[row] === blank) continue;
    const p = rows.procedure[row];
    const figures = procedureFigures[p];
    const more = excess[p] > 0 ? (Math.max(0, missing[p]) * excessOf(row)) / excess[p] : 0;
    const services = fewestShown + Math.round(more);
    const repeats = (1 - figures.beneficiaryShare) * logNormal(random.bell(), repeatSpread);
    const beneficiaries = Math.round(services * Math.max(0, 1 - repeats));
    const outliers = Math.round(
      services * figures.outlierShare * logNormal(random.bell(), outlierSpread.services),
    );
    const outlierAmount = figures.outlierAmount * growth * logNormal(random.bell(), outlierSpread.amount);
    rows.services[row] = services;
    if (beneficiaries >= fewestShown) rows.beneficiaries[row] = beneficiaries;
    const payment = rows.allowed[row] * figures.paymentShare * (1 + random.bell() * paymentSpread);
    rows.payment[row] = Math.round(Math.max(payment, rows.allowed[row] - mostOfPatient));
    if (outliers > 0 && outliers < fewestShown) continue;
    rows.outlierServices[row] = outliers;
    rows.outlierAmount[row] = outliers === 0 ? 0 : cents(outlierAmount);
  }
}

/** The most that a patient pays for a procedure, in cents: both deductibles, of the nearest year that is known. */
function patientsMost(dataYear: number): number {
  const years = Object.keys(stayDeductibles).map(Number);
  const year = Math.max(years[0], Math.min(dataYear, years[years.length - 1]));
  return 100 * (stayDeductibles[year] + outpatientDeductibles[year]);
}

/**
 * Returns the procedures that have rows, and renumbers the rows' procedures in place. Small samples have procedures
 * without rows.
 */
function usedProcedures(rows: Rows): Procedures {
  const used = new Set(rows.procedure);
  const position = new Int32Array(procedureFigures.length);
  const procedures: Procedures = { code: [], name: [] };
  procedureFigures.forEach(({ code, name }, p) => {
    if (!used.has(p)) return;
    position[p] = procedures.code.push(code) - 1;
    procedures.name.push(name);
  });
  for (let row = 0; row < rows.procedure.length; row++) rows.procedure[row] = position[rows.procedure[row]];
  return procedures;
}

const cityHeads = words(
  "Cedar Maple Alder Juniper Willow Hazel Larch Sumac Heron Falcon Otter Badger Copper Granite Flint Amber Marble " +
    "Harvest Lantern Beacon Meadow Prairie Summit Harbor Quarry Orchard Thistle Clover Saddle Timber",
);
const cityTails = words(
  "Falls Springs Grove Ridge Hollow Crossing Landing Mills Valley Heights Bluffs Point Creek Terrace Bend Junction",
);
const ways = words("Street Avenue Boulevard Drive Lane Parkway Road Way");
const saints = words(
  "Aldric Brannoc Cuthwin Dympna Emeric Frideswide Gwinear Hélène Ismelda Kentigern Ludmila Médard Noyala Odile " +
    "Piran Roísín Senán Thérésia Ursmar Vedast Wendreda Zoë",
);
const founders = words(
  "Abernethy Bellweather Castañeda Delacroix Everhart Fitzalan Grünwald Halloway Ibáñez Jessop Kowalczyk Larkspur " +
    "Moncrieff Nørgaard O'Dwyer Pemberly Quillfeather Rosenthal Sørensen Tremayne Underhill Vasquez Winterbourne",
);
const commonNames = words(
  "Evenlight Gracewell Hopewater Kindlehall Merrowdale Newhaven~Fields Silverbrook Trueheart",
);
const institutions = words(
  "Regional~Medical~Center Community~Hospital Memorial~Hospital Medical~Center General~Hospital Hospital~&~Clinics " +
    "Health~System Surgical~Hospital Heart~Hospital Women's~&~Children's~Hospital",
);

function words(text: string): string[] {
  return text.split(" ").map((word) => word.replaceAll("~", " "));
}

function one(list: readonly string[], random: RandomSource): string {
  return list[random.below(list.length)];
}

/** Cities that are early in a state's order are drawn more often. */
function cityIn(state: number, random: RandomSource): string {
  const cities = cityHeads.length * cityTails.length;
  const city = (Math.min(random.below(cities), random.below(cities)) + state * 37) % cities;
  return `${cityHeads[city % cityHeads.length]} ${cityTails[Math.floor(city / cityHeads.length)]}`;
}

function facilityName(city: string, random: RandomSource): string {
  const institution = one(institutions, random);
  const kind = random.below(10);
  if (kind < 5) return `${city} ${institution}`;
  if (kind < 7) return `St. ${one(saints, random)}'s ${institution}`;
  if (kind < 9) return `${one(founders, random)} & ${one(founders, random)} ${institution}`;
  return `${one(commonNames, random)} ${institution}`;
}
