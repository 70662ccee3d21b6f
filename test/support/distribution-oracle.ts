import assert from "node:assert/strict";
import { blank, type Places, type Snapshot, stateCodes, versionName } from "../../engine/index.ts";
import { ask, assertRefused, imageOf, imageWith, sourceOf, versionsOf } from "./endpoint-oracle.ts";
import { coordinatesOf, milesBetween } from "./facility-oracle.ts";
import {
  bigints,
  halfUp,
  hundredths,
  median,
  naivePrices,
  percentile,
  plainText,
  pricedRows,
  summaryOf,
  withTitle,
} from "./oracle.ts";
import type { Random } from "./random.ts";

type Quotient = [dividend: bigint, divisor: bigint];
const ascending = ([a, b]: Quotient, [c, d]: Quotient) => (a * d < c * b ? -1 : a * d > c * b ? 1 : 0);

/** Interpolates exactly and rounds once, half up. The unit is 1/`parts`. */
function quotientPercentile(sorted: Quotient[], percent: number, parts: bigint): bigint {
  const position = percent * (sorted.length - 1);
  const [a, b] = sorted[Math.floor(position / 100)];
  const [c, d] = sorted[Math.ceil(position / 100)];
  const weight = BigInt(position % 100);
  return halfUp(parts * ((100n - weight) * a * d + weight * c * b), 100n * b * d);
}

/** The edges are logarithmic, rounded to cents, and distinct unless all charges are equal. */
function histogramOf(charges: number[], bars: number) {
  const [lowest, highest] = [charges[0], charges[charges.length - 1]];
  if (lowest === highest) return { edges: [lowest / 100, lowest / 100], counts: [charges.length] };
  const inner = Array.from({ length: bars - 1 }, (_, i) =>
    Math.round(lowest * (highest / lowest) ** ((i + 1) / bars)),
  );
  const edges = [...new Set([lowest, ...inner, highest])];
  const isIn = (charge: number, i: number) =>
    charge >= edges[i] && (charge < edges[i + 1] || (charge === highest && i === edges.length - 2));
  const counts = edges.slice(1).map((_, i) => charges.filter((charge) => isIn(charge, i)).length);
  return { edges: edges.map((edge) => edge / 100), counts };
}

type IsIn = (facility: number) => boolean;

function rowsIn(snapshot: Snapshot, code: string, state: string | null, isIn: IsIn) {
  const parts = snapshot.table;
  return pricedRows(parts, code, state).filter((row) => isIn(parts.rows.facility[row]));
}

function stateRow(snapshot: Snapshot, code: string, state: string, isIn: IsIn) {
  const found = rowsIn(snapshot, code, state, isIn);
  if (found.length === 0) return [];
  const {
    facilities,
    median_charge,
    p25_charge,
    p75_charge,
    min_charge,
    max_charge,
    spread,
    median_allowed,
  } = summaryOf(snapshot.table, found);
  const charges = { median_charge, p25_charge, p75_charge, min_charge, max_charge, spread };
  return [{ state, facilities, ...charges, median_allowed }];
}

/** The histogram depends on the number of bins, so it is left out. @param isIn whether a facility is in the place */
function depthOf(snapshot: Snapshot, code: string, state: string | null, isIn: IsIn = () => true) {
  const parts = snapshot.table;
  const { facilities, procedures, rows } = parts;
  const found = rowsIn(snapshot, code, state, isIn);
  if (found.length === 0) return undefined;
  const allowed = bigints(found.map((row) => rows.allowed[row]));
  const markups = found
    .map((row): Quotient => [BigInt(rows.charge[row]), BigInt(rows.allowed[row])])
    .sort(ascending);
  const of = [...rows.procedure.keys()].filter(
    (row) =>
      procedures.code[rows.procedure[row]] === code &&
      (state === null || facilities.state[rows.facility[row]] === state) &&
      isIn(rows.facility[row]),
  );
  const suppressed = of.filter((row) => rows.charge[row] === blank && rows.allowed[row] === blank).length;
  const allowedAt = (percent: bigint) => hundredths(percentile(allowed, percent));
  const markupAt = (percent: number) => hundredths(quotientPercentile(markups, percent, 100n));
  const name = procedures.name[procedures.code.indexOf(code)];
  return {
    procedure: { ...withTitle({ code, name }), words: plainText("words", code), includes: null },
    scope: { state: state ?? "national" },
    summary: summaryOf(parts, found),
    rows: { priced: found.length, suppressed, incomplete: of.length - found.length - suppressed },
    allowed: {
      ...{ min: allowedAt(0n), p10: allowedAt(10n), p25: allowedAt(25n), median: allowedAt(50n) },
      ...{ p75: allowedAt(75n), p90: allowedAt(90n), max: allowedAt(100n) },
    },
    markup: { p25: markupAt(25), median: markupAt(50), p75: markupAt(75) },
    data: (state === null ? stateCodes : [state]).flatMap((each) => stateRow(snapshot, code, each, isIn)),
    source: sourceOf(snapshot),
    charges: found.map((row) => rows.charge[row]),
  };
}

/** @returns the number of answers */
export function compareDistributions(snapshot: Snapshot): number {
  const versions = versionsOf(imageOf(snapshot));
  let compared = 0;
  for (const code of snapshot.table.procedures.code)
    for (const state of [null, ...stateCodes]) {
      const expected = depthOf(snapshot, code, state);
      for (const bins of [1, 2, 30, 100]) {
        const target = `/healthcare/procedures/${code}?bins=${bins}${state === null ? "" : `&state=${state}`}`;
        if (expected === undefined) {
          assertRefused(versions, target, "not_found");
          continue;
        }
        const { charges, ...depth } = expected;
        assert.deepEqual(ask(versions, target), { ...depth, histogram: histogramOf(charges, bins) }, target);
        compared++;
      }
    }
  return compared;
}

/** @returns the number of answers */
export function compareDistributionsAround(
  snapshot: Snapshot,
  places: Places,
  queries: number,
  random: Random,
): number {
  const versions = versionsOf(imageWith(snapshot, places));
  const { facilities, procedures, rows } = snapshot.table;
  let compared = 0;
  if (places.zip.length === 0) return compared;
  for (let i = 0; i < queries; i++) {
    const code = random.pick(procedures.code);
    const state = random.int(3) === 0 ? random.pick(facilities.state) : null;
    const near = String(random.pick([...places.zip])).padStart(5, "0");
    const given = random.int(2) === 0 ? undefined : 1 + random.int(random.pick([3, 80, 500]));
    const within = given ?? 50;
    const center = coordinatesOf(places, near) ?? assert.fail(near);
    const spots = facilities.zip.map((zip) => coordinatesOf(places, zip));
    const isIn = (facility: number) => {
      const there = spots[facility];
      return there !== undefined && Math.round(10 * milesBetween(center, there)) / 10 <= within;
    };
    const unplaced = [...rows.facility].filter(
      (facility, row) =>
        procedures.code[rows.procedure[row]] === code &&
        spots[facility] === undefined &&
        (state === null || facilities.state[facility] === state),
    ).length;
    const expected = depthOf(snapshot, code, state, isIn);
    const bins = random.pick([1, 7, 30]);
    const asked = [
      `near=${near}&bins=${bins}`,
      given && `within=${given}`,
      state && `state=${state.toLowerCase()}`,
    ];
    const target = `/healthcare/procedures/${code}?${asked.filter(Boolean).join("&")}`;
    if (expected === undefined) {
      assertRefused(versions, target, "not_found");
      continue;
    }
    const { charges, ...depth } = expected;
    assert.deepEqual(
      ask(versions, target),
      {
        ...depth,
        scope: { ...depth.scope, near, within },
        rows: { ...depth.rows, unplaced },
        histogram: histogramOf(charges, bins),
        source: { ...depth.source, places: places.name },
      },
      target,
    );
    compared++;
  }
  return compared;
}

function amountsOf(snapshot: Snapshot, code: string, state: string | null) {
  const parts = snapshot.table;
  return new Map(
    pricedRows(parts, code, state).map((row) => [
      parts.facilities.ccn[parts.rows.facility[row]],
      { charge: BigInt(parts.rows.charge[row]), allowed: BigInt(parts.rows.allowed[row]) },
    ]),
  );
}
type Amounts = ReturnType<typeof amountsOf>;

const percents = (tenths: bigint) => Number(tenths) / 10;

/** The changes since the previous year that has prices; null for the first such year. */
function comparison(now: Amounts, before: Amounts | undefined) {
  if (before === undefined) return { change: null, matched: null };
  const changeOf = (amount: "charge" | "allowed") => {
    const [then, since] = [before, now].map((of) =>
      median(Array.from(of.values(), (each) => each[amount]).sort((a, b) => Number(a - b))),
    );
    return percents(halfUp(1000n * (since - then), then));
  };
  const both = [...now.keys()].filter((ccn) => before.has(ccn));
  const matchedOf = (amount: "charge" | "allowed") => {
    const amountIn = (of: Amounts, ccn: string) => of.get(ccn)?.[amount] ?? assert.fail(ccn);
    const changes = both
      .map((ccn): Quotient => {
        const then = amountIn(before, ccn);
        return [amountIn(now, ccn) - then, then];
      })
      .sort(ascending);
    return percents(quotientPercentile(changes, 50, 1000n));
  };
  return {
    change: { median_charge: changeOf("charge"), median_allowed: changeOf("allowed") },
    matched:
      both.length === 0
        ? null
        : {
            facilities: both.length,
            median_charge: matchedOf("charge"),
            median_allowed: matchedOf("allowed"),
          },
  };
}

/** @param years a snapshot of each year, oldest first @returns the number of rows */
export function compareTrends(years: Snapshot[]): number {
  const versions = versionsOf(...years.map(imageOf).reverse());
  let compared = 0;
  for (const code of new Set(years.flatMap(({ table }) => table.procedures.code)))
    for (const state of [null, ...stateCodes]) {
      const target = `/healthcare/trends?procedure=${code}${state === null ? "" : `&state=${state}`}`;
      const listed = years.flatMap((snapshot) => {
        const list = naivePrices(snapshot, code, state, 0);
        return list === undefined ? [] : [{ snapshot, list, amounts: amountsOf(snapshot, code, state) }];
      });
      if (listed.length === 0) {
        assertRefused(versions, target, "not_found");
        continue;
      }
      const data = listed.map(({ snapshot, list: { procedure, summary }, amounts }, i) => {
        const { facilities, min_charge, p25_charge, median_charge, p75_charge, max_charge, median_allowed } =
          summary;
        return {
          data_year: snapshot.provenance.dataYear,
          data_version: versionName(snapshot.provenance),
          name: procedure.name,
          facilities,
          ...{ min_charge, p25_charge, median_charge, p75_charge, max_charge, median_allowed },
          ...comparison(amounts, listed[i - 1]?.amounts),
        };
      });
      const expected = {
        procedure: withTitle(listed[listed.length - 1].list.procedure),
        scope: { state: state ?? "national" },
        data,
        source: {
          data_years: data.map(({ data_year }) => data_year),
          data_versions: data.map(({ data_version }) => data_version),
          caveat: years[0].provenance.caveat,
        },
      };
      assert.deepEqual(ask(versions, target), expected, target);
      compared += data.length;
    }
  return compared;
}
