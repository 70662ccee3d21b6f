import Database from "better-sqlite3";
import { serveWithFastify } from "./fastify.ts";
import { loadSnapshot, percents, pricesAnswer, type Query, readSettings, tableRows } from "./rival.ts";

/** Fastify with better-sqlite3: prepared statements, and an index that covers each. */

const settings = readSettings();
const { snapshot, image } = loadSnapshot(settings.snapshotFile);
const db = new Database(":memory:");
db.exec(`CREATE TABLE prices (
  code TEXT, name TEXT, state TEXT, charge INTEGER, ccn TEXT, facility TEXT, city TEXT, allowed INTEGER)`);
const insert = db.prepare("INSERT INTO prices VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
db.transaction(() => {
  for (const row of tableRows(snapshot)) insert.run(...row);
})();
db.exec(`
  CREATE INDEX national_charge ON prices (code, charge, ccn);
  CREATE INDEX national_allowed ON prices (code, allowed);
  CREATE INDEX state_charge ON prices (code, state, charge, ccn);
  CREATE INDEX state_allowed ON prices (code, state, allowed);
  ANALYZE`);

interface Summary {
  name: string;
  facilities: number;
  minCharge: number;
  maxCharge: number;
  spread: number;
}
interface Row {
  facility: string;
  city: string;
  state: string;
  ccn: string;
  charge: number;
  allowed: number;
}

/*
 * A percentile reads its one or two rows off an index by OFFSET: nine times as fast here as window functions over the
 * group. Interpolated as the service does it: closest ranks, in whole numbers, half a cent up.
 */
function statementsFor(where: string) {
  const percentile = (column: string) =>
    db
      .prepare<object, number>(
        `SELECT (min(v) * 100 + (max(v) - min(v)) * CAST(@rest AS INTEGER) + 50) / 100
         FROM (SELECT ${column} AS v FROM prices WHERE ${where} ORDER BY ${column} LIMIT 2 OFFSET @rank)`,
      )
      .pluck();
  return {
    summary: db.prepare<object, Summary>(
      `SELECT facilities, minCharge, maxCharge, (200 * maxCharge + minCharge) / (2 * minCharge) AS spread,
         (SELECT name FROM prices WHERE ${where} LIMIT 1) AS name
       FROM (SELECT count(*) AS facilities, min(charge) AS minCharge, max(charge) AS maxCharge
             FROM prices WHERE ${where})`,
    ),
    charge: percentile("charge"),
    allowed: percentile("allowed"),
    rows: db.prepare<object, Row>(
      `SELECT facility, city, state, ccn, charge, allowed FROM prices
       WHERE ${where} ORDER BY charge, ccn LIMIT @limit`,
    ),
  };
}
const national = statementsFor("code = @procedure");
const ofState = statementsFor("code = @procedure AND state = @state");

function answer(query: Query): object | undefined {
  const { summary, charge, allowed, rows } = query.state === null ? national : ofState;
  const totals = summary.get(query);
  if (totals === undefined || totals.facilities === 0) return undefined;
  const hundredths = (percent: number) => (totals.facilities - 1) * percent;
  const at = (statement: typeof charge, percent: number) => {
    const rank = Math.floor(hundredths(percent) / 100);
    const value = statement.get({ ...query, rank, rest: hundredths(percent) % 100 });
    if (value === undefined) throw new Error(`no percentile ${percent} of ${totals.facilities} rows`);
    return value;
  };
  return pricesAnswer(image, query, {
    ...totals,
    charges: percents.map((percent) => at(charge, percent)),
    medianAllowed: at(allowed, 50),
    rows: rows.all(query),
  });
}

await serveWithFastify(settings.headers, answer);
