import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { DuckDBInstance, type DuckDBValue } from "@duckdb/node-api";
import { blank, encodeSnapshot, partsOf, type Snapshot, versionName } from "../../engine/index.ts";
import type { PricesBody } from "./prices-schema.ts";

/** Hundredths as the number that their decimal text reads as, exactly what a JSON parser makes of it. */
function hundredths(value: bigint): number {
  return Number(`${value / 100n}.${String(value % 100n).padStart(2, "0")}`);
}

/** A quotient of natural numbers, rounded half up. */
function halfUp(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return 2n * (dividend % divisor) >= divisor ? quotient + 1n : quotient;
}

/** Linear interpolation between closest ranks (numpy's default), in cents, rounded half up. */
function percentile(sorted: bigint[], percent: bigint): bigint {
  const position = percent * BigInt(sorted.length - 1);
  const rank = Number(position / 100n);
  const fraction = position % 100n;
  if (fraction === 0n) return sorted[rank];
  return halfUp(sorted[rank] * (100n - fraction) + sorted[rank + 1] * fraction, 100n);
}

/** The middle value, or the mean of the two middle ones, rounded half up. */
function median(sorted: bigint[]): bigint {
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : halfUp(sorted[half - 1] + sorted[half], 2n);
}

/** Each charge as often as it was made; nothing where no row says how often, or all say never. */
function weighted(charges: bigint[], services: number[]) {
  const known = services.filter((count) => count !== blank);
  const weights = services.map((count) => BigInt(count === blank ? 0 : count));
  const total = weights.reduce((sum, weight) => sum + weight, 0n);
  if (total === 0n)
    return {
      services: known.length === 0 ? null : 0,
      weighted_median_charge: null,
      weighted_mean_charge: null,
    };
  const below = (most: bigint) =>
    charges.reduce((sum, charge, i) => sum + (charge <= most ? weights[i] : 0n), 0n);
  const median = charges.find((charge) => 2n * below(charge) >= total);
  assert.ok(median !== undefined);
  const sum = charges.reduce((part, charge, i) => part + charge * weights[i], 0n);
  return {
    services: Number(total),
    weighted_median_charge: hundredths(median),
    weighted_mean_charge: hundredths(halfUp(sum, total)),
  };
}

/**
 * The price list by the definitions alone: plain loops over the snapshot's rows, exact integers. O(rows) a call.
 *
 * @param state an upper-case code, or null for the nation
 * @returns undefined when no row is priced
 */
export function naivePrices(
  snapshot: Snapshot,
  code: string,
  state: string | null,
  limit: number,
): PricesBody | undefined {
  const { provenance } = snapshot;
  const { facilities, procedures, rows } = partsOf(snapshot.table);
  const procedure = procedures.code.indexOf(code);
  const matches: number[] = [];
  for (let row = 0; row < rows.procedure.length; row++) {
    if (rows.procedure[row] !== procedure) continue;
    if (!(rows.charge[row] > 0 && rows.allowed[row] > 0)) continue;
    if (state !== null && facilities.state[rows.facility[row]] !== state) continue;
    matches.push(row);
  }
  if (matches.length === 0) return undefined;
  matches.sort((a, b) => {
    if (rows.charge[a] !== rows.charge[b]) return rows.charge[a] - rows.charge[b];
    return facilities.ccn[rows.facility[a]] < facilities.ccn[rows.facility[b]] ? -1 : 1;
  });
  const charges = matches.map((row) => BigInt(rows.charge[row]));
  const allowed = matches.map((row) => BigInt(rows.allowed[row]));
  allowed.sort((a, b) => Number(a - b));
  const lowest = charges[0];
  const highest = charges[charges.length - 1];
  return {
    procedure: { code, name: procedures.name[procedure] },
    scope: { state: state ?? "national" },
    summary: {
      facilities: matches.length,
      median_charge: hundredths(median(charges)),
      min_charge: hundredths(lowest),
      max_charge: hundredths(highest),
      spread: hundredths(halfUp(highest * 100n, lowest)),
      p10_charge: hundredths(percentile(charges, 10n)),
      p25_charge: hundredths(percentile(charges, 25n)),
      p75_charge: hundredths(percentile(charges, 75n)),
      p90_charge: hundredths(percentile(charges, 90n)),
      median_allowed: hundredths(median(allowed)),
      ...weighted(
        charges,
        matches.map((row) => rows.services[row]),
      ),
    },
    data: matches.slice(0, limit).map((row) => ({
      facility: facilities.name[rows.facility[row]],
      city: facilities.city[rows.facility[row]],
      state: facilities.state[rows.facility[row]],
      ccn: facilities.ccn[rows.facility[row]],
      submitted_charge: hundredths(BigInt(rows.charge[row])),
      medicare_allowed: hundredths(BigInt(rows.allowed[row])),
    })),
    source: {
      data_year: provenance.dataYear,
      data_version: versionName(provenance),
      caveat: provenance.caveat,
    },
  };
}

/**
 * Every priced row once under "national" and once under its state, with its rank (from 0) by charge and by allowed
 * amount. Integers throughout: DuckDB's quantile_cont interpolates decimals in floating point, which can lose half a
 * cent, so the interpolation is written out in hundredths of a cent and quantile_cont only confirms it.
 */
const prepare = `
  CREATE OR REPLACE MACRO half_up(dividend, divisor) AS (2 * dividend + divisor) // (2 * divisor);
  CREATE OR REPLACE MACRO weight(percent, rank, n) AS CASE rank
    WHEN (percent * (n - 1)) // 100 THEN 100 - (percent * (n - 1)) % 100
    WHEN (percent * (n - 1)) // 100 + 1 THEN (percent * (n - 1)) % 100
    ELSE 0 END;
  CREATE OR REPLACE TABLE priced AS
    SELECT procedure_code AS code, procedure_name AS name, facility, city, state, ccn,
      submitted_charge_cents::BIGINT AS charge, medicare_allowed_cents::BIGINT AS allowed, services::HUGEINT AS services
    FROM snapshot WHERE submitted_charge_cents > 0 AND medicare_allowed_cents > 0;
  CREATE OR REPLACE TABLE ranked AS
    SELECT *,
      row_number() OVER (PARTITION BY scope, code ORDER BY charge, ccn) - 1 AS rank,
      row_number() OVER (PARTITION BY scope, code ORDER BY allowed) - 1 AS allowed_rank,
      count(*) OVER (PARTITION BY scope, code) AS n,
      sum(services) OVER (PARTITION BY scope, code) AS total,
      sum(coalesce(services, 0)) OVER (PARTITION BY scope, code ORDER BY charge RANGE UNBOUNDED PRECEDING) AS reached
    FROM (SELECT 'national' AS scope, * FROM priced UNION ALL SELECT state, * FROM priced);
  CREATE OR REPLACE TABLE exact AS
    SELECT scope, code, min(name) AS name, count(*) AS facilities, min(charge) AS lowest, max(charge) AS highest,
      sum(charge * weight(10, rank, n)) AS p10, sum(charge * weight(25, rank, n)) AS p25,
      sum(charge * weight(50, rank, n)) AS p50, sum(charge * weight(75, rank, n)) AS p75,
      sum(charge * weight(90, rank, n)) AS p90, sum(allowed * weight(50, allowed_rank, n)) AS allowed_p50,
      any_value(total) AS services, min(charge) FILTER (total > 0 AND 2 * reached >= total) AS weighted_median,
      CASE WHEN any_value(total) > 0 THEN half_up(sum(charge * services), any_value(total)) END AS weighted_mean,
      quantile_cont(charge::DOUBLE, [0.1, 0.25, 0.5, 0.75, 0.9]) AS charge_quantiles,
      quantile_cont(allowed::DOUBLE, 0.5) AS allowed_median
    FROM ranked GROUP BY scope, code;`;

const disagreements = `
  SELECT count(*)::INTEGER FROM exact WHERE NOT (
    abs(charge_quantiles[1] - p10 / 100) < 0.001 AND abs(charge_quantiles[2] - p25 / 100) < 0.001
    AND abs(charge_quantiles[3] - p50 / 100) < 0.001 AND abs(charge_quantiles[4] - p75 / 100) < 0.001
    AND abs(charge_quantiles[5] - p90 / 100) < 0.001 AND abs(allowed_median - allowed_p50 / 100) < 0.001)`;

const summaries = `
  SELECT scope, code, name, facilities::BIGINT, lowest::BIGINT, highest::BIGINT,
    half_up(highest * 100, lowest)::BIGINT, half_up(p50, 100)::BIGINT, half_up(p10, 100)::BIGINT,
    half_up(p25, 100)::BIGINT, half_up(p75, 100)::BIGINT, half_up(p90, 100)::BIGINT,
    half_up(allowed_p50, 100)::BIGINT, services::BIGINT, weighted_median::BIGINT, weighted_mean::BIGINT
  FROM exact`;

const orderedRows = `
  SELECT scope, code, facility, city, state, ccn, charge, allowed FROM ranked ORDER BY scope, code, rank`;

const metadata = `
  SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata($file)
  WHERE decode(key) IN ('data_year', 'revision', 'caveat')`;

/** The key of a price list in the map below; state is null for the nation. */
export function groupKey(code: string, state: string | null): string {
  return `${code} ${state ?? "national"}`;
}

/** Every price list of a snapshot with all its rows, by `groupKey`: computed in SQL, from the snapshot's file. */
export async function duckdbPrices(snapshot: Snapshot): Promise<Map<string, PricesBody>> {
  const folder = await mkdtemp(path.join(tmpdir(), "prices-oracle-"));
  const instance = await DuckDBInstance.create(":memory:", { threads: "2" });
  const connection = await instance.connect();
  const read = async (sql: string, values: Record<string, DuckDBValue> = {}) =>
    (await connection.runAndReadAll(sql, values)).getRows();
  try {
    const file = path.join(folder, "snapshot.parquet");
    await writeFile(file, encodeSnapshot(snapshot));
    await connection.run("CREATE TABLE snapshot AS SELECT * FROM read_parquet($file)", { file });
    await connection.run("ALTER TABLE snapshot ADD COLUMN IF NOT EXISTS services INTEGER");
    await connection.run(prepare);
    const [[disagreeing]] = await read(disagreements);
    assert.equal(disagreeing, 0, "the interpolation written out and quantile_cont differ");
    const pairs = await read(metadata, { file });
    const said = new Map(pairs.map(([key, value]) => [text(key), text(value)]));
    const source = {
      data_year: Number(said.get("data_year")),
      data_version: `${said.get("data_year")}.${said.get("revision")}`,
      caveat: said.get("caveat") ?? "",
    };
    return bodies(await read(summaries), await read(orderedRows), source);
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(folder, { recursive: true });
  }
}

function bodies(
  groups: DuckDBValue[][],
  rows: DuckDBValue[][],
  source: PricesBody["source"],
): Map<string, PricesBody> {
  const lists = new Map<string, PricesBody>();
  for (const [scope, code, name, facilities, ...amounts] of groups) {
    const [min, max, spread, p50, p10, p25, p75, p90, allowed] = amounts.slice(0, 9).map(dollars);
    const [services, weightedMedian, weightedMean] = amounts.slice(9);
    lists.set(`${text(code)} ${text(scope)}`, {
      procedure: { code: text(code), name: text(name) },
      scope: { state: text(scope) },
      summary: {
        facilities: Number(facilities),
        median_charge: p50,
        min_charge: min,
        max_charge: max,
        spread,
        p10_charge: p10,
        p25_charge: p25,
        p75_charge: p75,
        p90_charge: p90,
        median_allowed: allowed,
        services: services === null ? null : Number(services),
        weighted_median_charge: weightedMedian === null ? null : dollars(weightedMedian),
        weighted_mean_charge: weightedMean === null ? null : dollars(weightedMean),
      },
      data: [],
      source,
    });
  }
  for (const [scope, code, facility, city, state, ccn, charge, allowed] of rows) {
    const list = lists.get(`${text(code)} ${text(scope)}`);
    assert.ok(list);
    list.data.push({
      facility: text(facility),
      city: text(city),
      state: text(state),
      ccn: text(ccn),
      submitted_charge: dollars(charge),
      medicare_allowed: dollars(allowed),
    });
  }
  return lists;
}

function text(value: DuckDBValue): string {
  assert.ok(typeof value === "string");
  return value;
}

function dollars(value: DuckDBValue): number {
  assert.ok(typeof value === "bigint");
  return hundredths(value);
}
