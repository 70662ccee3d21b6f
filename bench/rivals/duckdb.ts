import { DuckDBInstance, type DuckDBPreparedStatement } from "@duckdb/node-api";
import { serveWithFastify } from "./fastify.ts";
import { loadSnapshot, percentiles, pricesAnswer, type Query, readSettings } from "./rival.ts";

/** Statements over a table of prices, stored in answer order, and a table of summaries. */

const settings = readSettings();
const { image } = await loadSnapshot(settings.snapshotFile);
const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
const connection = await instance.connect();
await connection.run(`CREATE TABLE prices AS
  SELECT procedure_code AS code, procedure_name AS name, state, submitted_charge_cents AS charge, ccn, facility, city,
    medicare_allowed_cents AS allowed, services
  FROM read_parquet('${settings.snapshotFile}') WHERE charge > 0 AND allowed > 0 ORDER BY code, charge, ccn`);

/** The weighted mean needs services, which every priced row of the sample has. */
function summariesBy(columns: string, state: string): string {
  // Exact values are multiples of 0.01 cents, so adding 0.000001 only corrects floating-point errors.
  const halfUp = (cents: string, name: string) => `floor(${cents} + 0.500001) / 100 AS ${name}`;
  const shares = Object.values(percentiles).map((percent) => percent / 100);
  const charges = Object.keys(percentiles).map((name, i) => halfUp(`charges[${i + 1}]`, name));
  return `SELECT code, ${state} AS state, name, facilities::INTEGER AS facilities, low / 100 AS min_charge,
      high / 100 AS max_charge, ((200 * high::BIGINT + low) // (2 * low)) / 100 AS spread, ${charges},
      ${halfUp("allowed", "median_allowed")}, total::INTEGER AS services, least / 100 AS weighted_median_charge,
      ((2 * weighted + total) // (2 * total))::BIGINT / 100 AS weighted_mean_charge,
      facilities::INTEGER AS weighted_facilities
    FROM (SELECT ${columns}, any_value(name) AS name, count(*) AS facilities, min(charge) AS low, max(charge) AS high,
            quantile_cont(charge::DOUBLE, [${shares}]) AS charges, quantile_cont(allowed::DOUBLE, 0.5) AS allowed,
            sum(services) AS total, sum(charge::BIGINT * services) AS weighted,
            min(charge) FILTER (2 * reached >= every) AS least
          FROM (SELECT *, sum(services) OVER (PARTITION BY ${columns} ORDER BY charge) AS reached,
                  sum(services) OVER (PARTITION BY ${columns}) AS every FROM prices)
          GROUP BY ${columns})`;
}
await connection.run(
  `CREATE TABLE summaries AS ${summariesBy("code", "'national'")} UNION ALL ${summariesBy("code, state", "state")}`,
);

const summaryOf = await connection.prepare(
  "SELECT * EXCLUDE (code, state) FROM summaries WHERE code = $procedure AND state = $state",
);
// An index made these queries slower.
const rowsWhere = (where: string) =>
  connection.prepare(
    `SELECT facility, city, state, ccn, charge / 100 AS submitted_charge, allowed / 100 AS medicare_allowed
     FROM prices WHERE ${where} ORDER BY charge, ccn LIMIT $limit`,
  );
const nationalRows = await rowsWhere("code = $procedure");
const stateRows = await rowsWhere("code = $procedure AND state = $state");

async function read(statement: DuckDBPreparedStatement, given: Record<string, string | number>) {
  statement.bind(given);
  return (await statement.runAndReadAll()).getRowObjects();
}

async function find(query: Query): Promise<object | undefined> {
  const { procedure, state, limit } = query;
  const [found] = await read(summaryOf, { procedure, state: state ?? "national" });
  if (found === undefined) return undefined;
  const { name, ...summary } = found;
  const rows =
    state === null
      ? await read(nationalRows, { procedure, limit })
      : await read(stateRows, { procedure, state, limit });
  return pricesAnswer(image, query, name, { ...summary, facilities: Number(summary.facilities) }, rows);
}

// A connection runs one query at a time, and more connections don't help on one core.
let last: Promise<unknown> = Promise.resolve();
function answer(query: Query): Promise<object | undefined> {
  const found = last.then(() => find(query));
  last = found.catch(() => {});
  return found;
}

await serveWithFastify(settings.headers, answer);
