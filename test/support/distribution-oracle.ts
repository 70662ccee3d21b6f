import assert from "node:assert/strict";
import type { DuckDBValue } from "@duckdb/node-api";
import { partsOf, type Snapshot, stateCodes, versionName } from "../../engine/index.ts";
import { ask, assertRefused, imageOf, inDuckdb, versionsOf } from "./endpoint-oracle.ts";
import type { PricesBody } from "./oracle.ts";
import { groupKey, naivePrices } from "./oracle.ts";

/** How charges are distributed and how they went over the years, computed in SQL from snapshots' files. */

/** What SQL gives of snapshots' rows. */
const queried = (snapshots: Snapshot[], ...statements: string[]) =>
  inDuckdb(snapshots, async (read) => {
    await read(prepare);
    const results: DuckDBValue[][][] = [];
    for (const statement of statements) results.push(await read(statement));
    return results;
  });

/** Percentiles are interpolated in whole hundredths, because floating point can lose half a cent. */
const prepare = `
  CREATE MACRO half_up(dividend, divisor) AS
    CASE WHEN 2 * dividend + divisor >= 0 THEN (2 * dividend + divisor) // (2 * divisor)
      ELSE -((2 * divisor - 1 - 2 * dividend - divisor) // (2 * divisor)) END;
  CREATE MACRO weight(percent, rank, n) AS CASE rank
    WHEN (percent * (n - 1)) // 100 THEN 100 - (percent * (n - 1)) % 100
    WHEN (percent * (n - 1)) // 100 + 1 THEN (percent * (n - 1)) % 100
    ELSE 0 END;
  CREATE TABLE every AS
    SELECT file, procedure_code AS code, ccn, state, submitted_charge_cents::HUGEINT AS charge,
      medicare_allowed_cents::HUGEINT AS allowed FROM snapshot;
  CREATE TABLE scoped AS
    SELECT 'national' AS scope, * FROM every WHERE charge > 0 AND allowed > 0 UNION ALL
    SELECT state, * FROM every WHERE charge > 0 AND allowed > 0;`;

const percentile = (percent: number, value: string, rank: string) =>
  `half_up(sum(${value} * weight(${percent}, ${rank}, n)), 100)::BIGINT`;

/** The two quotients between which it lies are put on one denominator. */
function markupPercentile(percent: number) {
  const position = `(${percent} * (n - 1))`;
  const of = (amount: string, rank: string) => `max(${amount}) FILTER (markup_rank = ${rank})`;
  const [low, high] = [`${position} // 100`, `(${position} + 99) // 100`];
  const [a, b, c, d] = [of("charge", low), of("allowed", low), of("charge", high), of("allowed", high)];
  const weight = `(max(${position}) % 100)`;
  return `half_up(100 * ((100 - ${weight}) * ${a} * ${d} + ${weight} * ${c} * ${b}), 100 * ${b} * ${d})::BIGINT`;
}

const amounts = `
  SELECT scope, code, min(allowed)::BIGINT,
    ${[10, 25, 50, 75, 90].map((percent) => percentile(percent, "allowed", "allowed_rank")).join()},
    max(allowed)::BIGINT,
    ${[25, 50, 75].map(markupPercentile).join()}
  FROM (
    SELECT *, count(*) OVER (PARTITION BY scope, code) AS n,
      row_number() OVER (PARTITION BY scope, code ORDER BY allowed) - 1 AS allowed_rank,
      row_number() OVER (PARTITION BY scope, code ORDER BY charge / allowed::DOUBLE) - 1 AS markup_rank
    FROM scoped
  ) GROUP BY scope, code`;

/** The last one is of rows that are neither priced nor suppressed. */
const rowCounts = `
  SELECT scope, code, count(*) FILTER (charge > 0 AND allowed > 0),
    count(*) FILTER (charge IS NULL AND allowed IS NULL),
    count(*) FILTER ((charge IS NOT NULL OR allowed IS NOT NULL) AND NOT coalesce(charge > 0 AND allowed > 0, false))
  FROM (SELECT 'national' AS scope, * FROM every UNION ALL SELECT state, * FROM every) GROUP BY scope, code`;

const bars = [1, 2, 30, 100];
const histograms = `
  WITH ends AS (SELECT scope, code, min(charge) AS lowest, max(charge) AS highest FROM scoped GROUP BY ALL),
  edges AS (
    SELECT DISTINCT scope, code, bars, lowest, highest, CASE i WHEN 0 THEN lowest WHEN bars THEN highest
      ELSE round(lowest::DOUBLE * pow(highest::DOUBLE / lowest::DOUBLE, i / bars))::HUGEINT END AS edge
    FROM ends, unnest([${bars}]) AS b (bars), range(101) AS r (i) WHERE i <= bars),
  ranges AS (
    SELECT *, lead(edge) OVER (PARTITION BY scope, code, bars ORDER BY edge) AS upper FROM edges)
  SELECT ranges.scope, ranges.code, bars, edge::BIGINT, any_value(coalesce(upper, edge))::BIGINT,
    count(*) FILTER (charge >= edge AND (charge < upper OR (charge = upper AND upper = highest) OR upper IS NULL))
  FROM ranges JOIN scoped ON scoped.scope = ranges.scope AND scoped.code = ranges.code
  WHERE upper IS NOT NULL OR lowest = highest
  GROUP BY ranges.scope, ranges.code, bars, edge ORDER BY edge`;

const dollars = (cents: DuckDBValue) => {
  assert.ok(typeof cents === "bigint");
  return Number(cents) / 100;
};

/** Compares the depth of every procedure in the nation and in every state; returns how many. */
export async function compareDistributions(snapshot: Snapshot): Promise<number> {
  const versions = versionsOf(imageOf(snapshot));
  const [amountRows, histogramRows, countRows] = await queried([snapshot], amounts, histograms, rowCounts);
  const keyOf = (scope: DuckDBValue, code: DuckDBValue) => `${code} ${scope}`;
  const amountsOf = new Map(amountRows.map(([scope, code, ...rest]) => [keyOf(scope, code), rest]));
  const rowsOf = new Map(
    countRows.map(([scope, code, ...counts]) => [keyOf(scope, code), counts.map(Number)]),
  );
  const rangesOf = Map.groupBy(
    histogramRows,
    ([scope, code, bars]) => `${keyOf(scope, code)} ${Number(bars)}`,
  );
  let compared = 0;
  for (const code of partsOf(snapshot.table).procedures.code) {
    const lists = new Map(
      [null, ...stateCodes].map((state) => [state, naivePrices(snapshot, code, state, 0)]),
    );
    for (const state of [null, ...stateCodes])
      for (const bins of bars) {
        const target = `/healthcare/procedures/${code}?bins=${bins}${state === null ? "" : `&state=${state}`}`;
        const list = lists.get(state);
        const found = amountsOf.get(groupKey(code, state));
        if (list === undefined || found === undefined) {
          assertRefused(versions, target, "not_found");
          continue;
        }
        const [min, p10, p25, median, p75, p90, max, ...markup] = found.map(dollars);
        const [priced, suppressed, incomplete] = rowsOf.get(groupKey(code, state)) ?? [];
        const ranges = rangesOf.get(`${groupKey(code, state)} ${bins}`) ?? [];
        const expected = {
          procedure: list.procedure,
          scope: list.scope,
          summary: list.summary,
          rows: { priced, suppressed, incomplete },
          allowed: { min, p10, p25, median, p75, p90, max },
          markup: { p25: markup[0], median: markup[1], p75: markup[2] },
          histogram: {
            edges: [...ranges.map(([, , , edge]) => dollars(edge)), dollars(ranges.at(-1)?.[4] ?? null)],
            counts: ranges.map(([, , , , , count]) => Number(count)),
          },
          data: (state === null ? stateCodes : [state]).flatMap((each) => stateRow(each, lists.get(each))),
          source: list.source,
        };
        assert.deepEqual(ask(versions, target), expected, target);
        compared++;
      }
  }
  return compared;
}

function stateRow(state: string, list: PricesBody | undefined) {
  if (list === undefined) return [];
  const { facilities, median_charge, p25_charge, p75_charge, min_charge, max_charge, spread } = list.summary;
  const { median_allowed } = list.summary;
  const charges = { median_charge, p25_charge, p75_charge, min_charge, max_charge, spread };
  return [{ state, facilities, ...charges, median_allowed }];
}

const groups = `
  CREATE TABLE ranked AS
    SELECT *, count(*) OVER same AS n,
      row_number() OVER (PARTITION BY file, scope, code ORDER BY charge) - 1 AS charge_rank,
      row_number() OVER (PARTITION BY file, scope, code ORDER BY allowed) - 1 AS allowed_rank
    FROM scoped WINDOW same AS (PARTITION BY file, scope, code);
  CREATE TABLE years AS
    SELECT file, scope, code, count(*) AS n, min(charge)::BIGINT AS lowest, max(charge)::BIGINT AS highest,
      ${percentile(25, "charge", "charge_rank")} AS p25, ${percentile(50, "charge", "charge_rank")} AS median,
      ${percentile(75, "charge", "charge_rank")} AS p75, ${percentile(50, "allowed", "allowed_rank")} AS allowed
    FROM ranked GROUP BY file, scope, code`;
/** Each listed year with the one listed before. */
const listed = `
  CREATE TABLE listed AS
    SELECT *, lag(file) OVER own AS file_before, lag(median) OVER own AS median_before,
      lag(allowed) OVER own AS allowed_before
    FROM years WINDOW own AS (PARTITION BY scope, code ORDER BY file)`;
const pairs = (amount: string) => `
  SELECT l.file, l.scope, l.code, now.${amount} AS now, before.${amount} AS before, count(*) OVER same AS n,
    row_number() OVER (PARTITION BY l.file, l.scope, l.code ORDER BY now.${amount} / before.${amount}::DOUBLE) - 1 AS rank
  FROM listed AS l
  JOIN scoped AS now ON now.file = l.file AND now.scope = l.scope AND now.code = l.code
  JOIN scoped AS before ON before.file = l.file_before AND before.scope = l.scope AND before.code = l.code
    AND before.ccn = now.ccn
  WINDOW same AS (PARTITION BY l.file, l.scope, l.code)`;
const medians = (amount: string) => `
  SELECT low.file, low.scope, low.code, low.n AS matched, half_up(
      1000 * (low.now * high.before + high.now * low.before - 2 * low.before * high.before),
      2 * low.before * high.before) AS change
  FROM (${pairs(amount)}) AS low JOIN (${pairs(amount)}) AS high
    ON high.file = low.file AND high.scope = low.scope AND high.code = low.code
  WHERE low.rank = (low.n - 1) // 2 AND high.rank = low.n // 2`;
const trends = `
  SELECT listed.scope, listed.code, listed.file, n::BIGINT, lowest, p25, median, p75, highest, listed.allowed,
    half_up(1000 * (median - median_before)::HUGEINT, median_before)::BIGINT,
    half_up(1000 * (listed.allowed - allowed_before)::HUGEINT, allowed_before)::BIGINT,
    charges.matched::BIGINT, charges.change::BIGINT, allowed.change::BIGINT
  FROM listed
  LEFT JOIN (${medians("charge")}) AS charges
    ON charges.file = listed.file AND charges.scope = listed.scope AND charges.code = listed.code
  LEFT JOIN (${medians("allowed")}) AS allowed
    ON allowed.file = listed.file AND allowed.scope = listed.scope AND allowed.code = listed.code
  ORDER BY listed.file`;

const tenths = (value: DuckDBValue) => {
  assert.ok(typeof value === "bigint");
  return Number(value) / 10;
};

/**
 * Compares the trend of every procedure in the nation and in every state; returns how many rows.
 *
 * @param years oldest first, one snapshot of each
 */
export async function compareTrends(years: Snapshot[]): Promise<number> {
  const versions = versionsOf(...years.map(imageOf).reverse());
  const results = await queried(years, groups, listed, trends);
  const found = Map.groupBy(results[2], ([scope, code]) => `${code} ${scope}`);
  let compared = 0;
  for (const code of new Set(years.flatMap(({ table }) => partsOf(table).procedures.code)))
    for (const state of [null, ...stateCodes]) {
      const target = `/healthcare/trends?procedure=${code}${state === null ? "" : `&state=${state}`}`;
      const rows = found.get(groupKey(code, state));
      if (rows === undefined) {
        assertRefused(versions, target, "not_found");
        continue;
      }
      const listedYears = rows.map(([, , file]) => years[Number(file)]);
      const { procedures } = partsOf(listedYears[listedYears.length - 1].table);
      const expected = {
        procedure: { code, name: procedures.name[procedures.code.indexOf(code)] },
        scope: { state: state ?? "national" },
        data: rows.map((row, i) => trendRow(code, row, listedYears[i])),
        source: {
          data_years: listedYears.map(({ provenance }) => provenance.dataYear),
          caveat: years[0].provenance.caveat,
        },
      };
      assert.deepEqual(ask(versions, target), expected, target);
      compared += rows.length;
    }
  return compared;
}

function trendRow(code: string, [, , , n, ...rest]: DuckDBValue[], { provenance, table }: Snapshot) {
  const { procedures } = partsOf(table);
  const [min_charge, p25_charge, median_charge, p75_charge, max_charge, median_allowed] = rest
    .slice(0, 6)
    .map(dollars);
  const [change, changeAllowed, matched, matchedCharge, matchedAllowed] = rest.slice(6);
  return {
    data_year: provenance.dataYear,
    data_version: versionName(provenance),
    name: procedures.name[procedures.code.indexOf(code)],
    facilities: Number(n),
    ...{ min_charge, p25_charge, median_charge, p75_charge, max_charge, median_allowed },
    change: change === null ? null : { median_charge: tenths(change), median_allowed: tenths(changeAllowed) },
    matched:
      matched === null
        ? null
        : {
            facilities: Number(matched),
            median_charge: tenths(matchedCharge),
            median_allowed: tenths(matchedAllowed),
          },
  };
}
