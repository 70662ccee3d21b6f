import Database from "better-sqlite3";
import { partsOf } from "../../engine/index.ts";
import { serveWithFastify } from "./fastify.ts";
import { loadSnapshot, percentiles, pricesAnswer, type Query, readSettings } from "./rival.ts";

/**
 * Fastify with better-sqlite3: prepared statements over a table of prices with an index for each order, and a table of
 * summaries. With `caches`, answers are kept as well.
 */

const settings = readSettings();
const { snapshot, image } = loadSnapshot(settings.snapshotFile);
const db = new Database(":memory:");
db.exec(`CREATE TABLE rows (
  code TEXT, name TEXT, state TEXT, ccn TEXT, facility TEXT, city TEXT, charge INTEGER, allowed INTEGER,
  services INTEGER)`);
const insert = db.prepare("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
db.transaction(() => {
  const { facilities, procedures, rows } = partsOf(snapshot.table);
  for (const [row, at] of rows.facility.entries()) {
    const procedure = [procedures.code, procedures.name].map((column) => column[rows.procedure[row]]);
    const { state, ccn, name, city } = facilities;
    const facility = [state, ccn, name, city].map((column) => column[at]);
    insert.run(...procedure, ...facility, rows.charge[row], rows.allowed[row], rows.services[row]);
  }
})();
db.exec(`
  CREATE TABLE prices AS SELECT * FROM rows WHERE charge > 0 AND allowed > 0 ORDER BY code, charge, ccn;
  DROP TABLE rows;
  CREATE INDEX national_charge ON prices (code, charge, ccn, services);
  CREATE INDEX national_allowed ON prices (code, allowed);
  CREATE INDEX state_charge ON prices (code, state, charge, ccn, services);
  CREATE INDEX state_allowed ON prices (code, state, allowed);
  ANALYZE`);

/*
 * The summaries of all groups, made at the start. A percentile reads its one or two rows off an index by OFFSET, and is
 * interpolated as the service does it: closest ranks, in whole numbers, half a cent up.
 */
function summarizeBy(columns: string, state: string): void {
  const where = columns
    .split(", ")
    .map((column) => `prices.${column} = groups.${column}`)
    .join(" AND ");
  const at = (column: string, percent: number) => {
    const hundredths = `(facilities - 1) * ${percent}`;
    return `(SELECT (min(v) * 100 + (max(v) - min(v)) * (${hundredths} % 100) + 50) / 100 / 100.0
      FROM (SELECT ${column} AS v FROM prices WHERE ${where} ORDER BY ${column} LIMIT 2 OFFSET ${hundredths} / 100))`;
  };
  const charges = Object.entries(percentiles).map(([name, percent]) => `${at("charge", percent)} AS ${name}`);
  // Every priced row of the sample has services.
  const half = `(SELECT charge FROM (SELECT charge, sum(services) OVER (ORDER BY charge, ccn) AS reached
    FROM prices WHERE ${where}) WHERE 2 * reached >= total LIMIT 1)`;
  db.exec(`INSERT INTO summaries
    SELECT code, ${state}, name, facilities, low / 100.0, high / 100.0, (200 * high + low) / (2 * low) / 100.0, ${charges},
      ${at("allowed", 50)}, total, ${half} / 100.0, (2 * weighted + total) / (2 * total) / 100.0, facilities
    FROM (SELECT ${columns}, min(name) AS name, count(*) AS facilities, min(charge) AS low, max(charge) AS high,
            sum(services) AS total, sum(charge * services) AS weighted FROM prices GROUP BY ${columns}) AS groups`);
}
db.exec(`CREATE TABLE summaries (code TEXT, state TEXT, name TEXT, facilities, min_charge, max_charge, spread,
  ${Object.keys(percentiles)}, median_allowed, services, weighted_median_charge, weighted_mean_charge,
  weighted_facilities, PRIMARY KEY (code, state)) WITHOUT ROWID`);
summarizeBy("code", "'national'");
summarizeBy("code, state", "state");

type Summary = { code: string; state: string; name: string; facilities: number };
const summaryOf = db.prepare<[string, string], Summary>(
  "SELECT * FROM summaries WHERE code = ? AND state = ?",
);
const rowsWhere = (where: string) =>
  db.prepare<object, object>(
    `SELECT facility, city, state, ccn, charge / 100.0 AS submitted_charge, allowed / 100.0 AS medicare_allowed
     FROM prices WHERE ${where} ORDER BY charge, ccn LIMIT @limit`,
  );
const nationalRows = rowsWhere("code = @procedure");
const stateRows = rowsWhere("code = @procedure AND state = @state");

function answer(query: Query): object | undefined {
  const found = summaryOf.get(query.procedure, query.state ?? "national");
  if (found === undefined) return undefined;
  const { code, state, name, ...summary } = found;
  const rows = (query.state === null ? nationalRows : stateRows).all(query);
  return pricesAnswer(image, query, name, summary, rows);
}

await serveWithFastify(settings.headers, answer, settings.caches);
