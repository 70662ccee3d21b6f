import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { DuckDBInstance, type DuckDBValue } from "@duckdb/node-api";
import * as v from "valibot";
import {
  attachImage,
  buildImage,
  type Counts,
  encodeSnapshot,
  type Image,
  type Snapshot,
  stateCodes,
  versionName,
} from "../../engine/index.ts";
import type { Versions } from "../../server/api/endpoint.ts";
import { ApiError, type ErrorType } from "../../server/api/errors.ts";
import { datasetsResponse, facilityResponse, proceduresResponse } from "../../server/api/responses.ts";
import { decodeTarget, resolve } from "../../server/api/routes.ts";
import { RequestContext } from "../../server/serving/context.ts";

/** What the endpoints beside the price list have to answer, computed in SQL from a snapshot's file, and whether they do. */

type FacilityAnswer = v.InferOutput<typeof facilityResponse>;
type Facility = Omit<FacilityAnswer["facility"], "ccn">;
type FacilityRow = FacilityAnswer["data"][number];
type Standing = FacilityRow["national"];
type ProcedureRow = v.InferOutput<typeof proceduresResponse>["data"][number];

interface EndpointAnswers {
  /** Every facility by CCN with its priced procedures by code; an empty list where none is priced. */
  facilities: Map<string, Facility & { data: FacilityRow[] }>;
  /** Every procedure with a priced row by code, under `national` and under each state that has one. */
  procedures: Map<string, ProcedureRow[]>;
  counts: Counts;
  statesWithPrices: string[];
  proceduresWithoutPrices: string[];
}

/** The median of cents is a whole or a half cent, which a double holds exactly: half up is half a cent more, cut. */
const prepare = `
  CREATE MACRO half_up(dividend, divisor) AS (2 * dividend + divisor) // (2 * divisor);
  CREATE TABLE priced AS
    SELECT ccn, state, procedure_code AS code, procedure_name AS name,
      submitted_charge_cents::BIGINT AS charge, medicare_allowed_cents::BIGINT AS allowed, services::BIGINT AS services,
      beneficiaries::BIGINT AS beneficiaries, medicare_payment_cents::BIGINT AS payment,
      outlier_services::BIGINT AS outlier_services, outlier_amount_cents::BIGINT AS outlier_amount
    FROM snapshot WHERE submitted_charge_cents > 0 AND medicare_allowed_cents > 0;
  CREATE TABLE scoped AS
    SELECT 'national' AS scope, * FROM priced UNION ALL SELECT state AS scope, * FROM priced;
  CREATE TABLE groups AS
    SELECT scope, code, min(name) AS name, count(*) AS n, min(charge) AS lowest, max(charge) AS highest,
      half_up(max(charge) * 100, min(charge))::BIGINT AS spread,
      floor(quantile_cont(charge::DOUBLE, 0.5) + 0.5)::BIGINT AS median
    FROM scoped GROUP BY scope, code;
  CREATE TABLE standings AS
    SELECT scope, ccn, code, rank, n, half_up(1000 * (rank - 1), n)::BIGINT AS permille, median
    FROM (SELECT *, rank() OVER (PARTITION BY scope, code ORDER BY charge) AS rank FROM scoped)
    JOIN groups USING (scope, code);`;

const facilities = `
  SELECT ccn, min(facility), min(city), min(state), min(street), min(zip), min(rural_urban_code),
    min(rural_urban_description)
  FROM snapshot GROUP BY ccn ORDER BY ccn`;

const facilityRows = `
  SELECT priced.ccn, priced.code, name, charge, allowed, services, beneficiaries, payment, outlier_services,
    outlier_amount,
    nation.rank, nation.n, nation.permille, nation.median,
    within.rank, within.n, within.permille, within.median
  FROM priced
  JOIN standings AS nation ON nation.scope = 'national' AND nation.ccn = priced.ccn AND nation.code = priced.code
  JOIN standings AS within ON within.scope = priced.state AND within.ccn = priced.ccn AND within.code = priced.code
  ORDER BY priced.ccn, priced.code`;

const procedures = `
  SELECT scope, code, name, n, median, lowest, highest, spread FROM groups ORDER BY scope, code`;

const counts = `
  SELECT count(*),
    count(*) FILTER (submitted_charge_cents > 0 AND medicare_allowed_cents > 0),
    count(*) FILTER (submitted_charge_cents IS NULL AND medicare_allowed_cents IS NULL),
    count(*) FILTER ((submitted_charge_cents IS NULL) <> (medicare_allowed_cents IS NULL)
      OR least(submitted_charge_cents, medicare_allowed_cents) <= 0),
    count(DISTINCT ccn), count(DISTINCT procedure_code)
  FROM snapshot`;

const statesWithPrices = "SELECT DISTINCT state FROM priced ORDER BY state";
const proceduresWithoutPrices = `
  SELECT DISTINCT procedure_code FROM snapshot WHERE procedure_code NOT IN (SELECT code FROM priced) ORDER BY 1`;

/** Calls a function that asks DuckDB about the rows of snapshots' files, `snapshot`, with the position of each as `file`. */
export async function inDuckdb<Result>(
  snapshots: Snapshot[],
  work: (read: (sql: string) => Promise<DuckDBValue[][]>) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(path.join(tmpdir(), "oracle-"));
  const instance = await DuckDBInstance.create(":memory:", { threads: "2" });
  const connection = await instance.connect();
  try {
    for (const [i, snapshot] of snapshots.entries()) {
      const file = path.join(folder, `${i}.parquet`);
      await writeFile(file, encodeSnapshot(snapshot));
      const into = i === 0 ? "CREATE TABLE snapshot AS" : "INSERT INTO snapshot";
      await connection.run(`${into} SELECT ${i} AS file, * FROM read_parquet($file)`, { file });
    }
    return await work(async (sql) => (await connection.runAndReadAll(sql)).getRows());
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(folder, { recursive: true });
  }
}

/** Computes each result set once. */
function duckdbAnswers(snapshot: Snapshot): Promise<EndpointAnswers> {
  return inDuckdb([snapshot], async (read) => {
    await read(prepare);
    const [counted] = await read(counts);
    const [rows, pricedRows, suppressedRows, incompleteRows, facilityCount, procedureCount] =
      counted.map(Number);
    return {
      facilities: facilitiesOf(await read(facilities), await read(facilityRows)),
      procedures: proceduresOf(await read(procedures)),
      counts: {
        rows,
        pricedRows,
        suppressedRows,
        incompleteRows,
        facilities: facilityCount,
        procedures: procedureCount,
      },
      statesWithPrices: (await read(statesWithPrices)).map(([state]) => text(state)),
      proceduresWithoutPrices: (await read(proceduresWithoutPrices)).map(([code]) => text(code)),
    };
  });
}

function facilitiesOf(found: DuckDBValue[][], rows: DuckDBValue[][]): EndpointAnswers["facilities"] {
  const answers: EndpointAnswers["facilities"] = new Map();
  const orNull = <Value>(value: DuckDBValue, read: (value: DuckDBValue) => Value) =>
    value === null ? null : read(value);
  for (const [ccn, facility, city, state, street, zip, kind, kindText] of found)
    answers.set(text(ccn), {
      facility: text(facility),
      city: text(city),
      state: text(state),
      street: orNull(street, text),
      zip: orNull(zip, text),
      rural_urban:
        kind === null && kindText === null
          ? null
          : { code: orNull(kind, text), description: orNull(kindText, text) },
      data: [],
    });
  for (const [ccn, code, name, charge, allowed, ...more] of rows) {
    const [services, beneficiaries, payment, outlierServices, outlierAmount, ...standings] = more;
    const answer = answers.get(text(ccn));
    assert.ok(answer);
    answer.data.push({
      code: text(code),
      name: text(name),
      submitted_charge: dollars(charge),
      medicare_allowed: dollars(allowed),
      services: orNull(services, Number),
      beneficiaries: orNull(beneficiaries, Number),
      medicare_payment: orNull(payment, dollars),
      outlier_services: orNull(outlierServices, Number),
      outlier_amount: orNull(outlierAmount, dollars),
      national: standingOf(standings.slice(0, 4)),
      state: standingOf(standings.slice(4)),
    });
  }
  return answers;
}

function standingOf([rank, facilities, permille, median]: DuckDBValue[]): Standing {
  return {
    rank: Number(rank),
    facilities: Number(facilities),
    percentile: decimal(permille, 1),
    median_charge: dollars(median),
  };
}

function proceduresOf(rows: DuckDBValue[][]): EndpointAnswers["procedures"] {
  const answers: EndpointAnswers["procedures"] = new Map();
  for (const [scope, code, name, n, median, lowest, highest, spread] of rows) {
    const list = answers.get(text(scope)) ?? [];
    answers.set(text(scope), list);
    list.push({
      code: text(code),
      name: text(name),
      facilities: Number(n),
      median_charge: dollars(median),
      min_charge: dollars(lowest),
      max_charge: dollars(highest),
      spread: decimal(spread, 2),
    });
  }
  return answers;
}

function text(value: DuckDBValue): string {
  assert.ok(typeof value === "string");
  return value;
}

function dollars(cents: DuckDBValue): number {
  return decimal(cents, 2);
}

/** The number that the decimal text of a whole number of tenths or hundredths reads as. */
function decimal(value: DuckDBValue, places: number): number {
  assert.ok(typeof value === "bigint");
  const digits = String(value).padStart(places + 1, "0");
  return Number(`${digits.slice(0, -places)}.${digits.slice(-places)}`);
}

const loadedAt = "2026-07-01T12:34:56.000Z";

export const imageOf = (snapshot: Snapshot) => attachImage(buildImage(snapshot));

/** @param images newest version first */
export function versionsOf(...images: Image[]): Versions {
  const names = images.map(({ description }) => versionName(description.provenance));
  return {
    images,
    byName: new Map(names.map((name, i) => [name, images[i]])),
    loadedAt: new Map(names.map((name) => [name, loadedAt])),
    files: new Map(),
    hidden: [],
  };
}

/** The body of `GET /api/v1…`. */
export function ask(versions: Versions, url: string): unknown {
  const [urlPath, query = ""] = url.split("?");
  const target = decodeTarget(resolve(`/api/v1${urlPath}`));
  const usage = () => assert.fail("nobody asked for the usage");
  const context = new RequestContext(versions, target, Buffer.alloc(0), usage);
  const body = target.endpoint.answer(context, query);
  assert.ok(body instanceof Uint8Array);
  return JSON.parse(Buffer.from(body).toString("utf8"));
}

/** The error that a request is answered with. */
export function refusal(versions: Versions, target: string): ApiError {
  try {
    ask(versions, target);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  return assert.fail(`${target} was answered`);
}

export function assertRefused(versions: Versions, target: string, type: ErrorType): void {
  assert.equal(refusal(versions, target).type, type, target);
}

const sourceOf = ({ provenance }: Snapshot) => ({
  data_year: provenance.dataYear,
  data_version: versionName(provenance),
  caveat: provenance.caveat,
});

function compareFacilities(versions: Versions, snapshot: Snapshot, answers: EndpointAnswers): number {
  let compared = 0;
  for (const [ccn, { data, ...described }] of answers.facilities) {
    const target = `/healthcare/facilities/${ccn}`;
    if (data.length === 0) {
      assertRefused(versions, target, "not_found");
      continue;
    }
    assert.deepEqual(v.parse(facilityResponse, ask(versions, target)), {
      facility: { ccn, ...described },
      summary: { procedures: data.length },
      data,
      source: sourceOf(snapshot),
    });
    compared += data.length;
  }
  assert.equal(compared, answers.counts.pricedRows);
  return compared;
}

const inText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const sorts: Record<string, (a: ProcedureRow, b: ProcedureRow) => number> = {
  code: () => 0,
  name: (a, b) => inText(a.name, b.name),
  spread: (a, b) => b.spread - a.spread,
  facilities: (a, b) => b.facilities - a.facilities,
  median_charge: (a, b) => b.median_charge - a.median_charge,
};

function compareProcedures(versions: Versions, snapshot: Snapshot, answers: EndpointAnswers): number {
  let compared = 0;
  for (const state of [null, ...stateCodes]) {
    const all = answers.procedures.get(state ?? "national") ?? [];
    assert.ok(all.length <= 100, "a page holds them all");
    const most = Math.max(0, ...all.map(({ facilities }) => facilities));
    for (const minFacilities of new Set([1, 2, 11, 50, 400, Math.max(1, most), most + 1])) {
      const left = all.filter(({ facilities }) => facilities >= minFacilities);
      for (const [sort, order] of Object.entries(sorts)) {
        const scope = state === null ? "" : `&state=${state.toLowerCase()}`;
        const target = `/healthcare/procedures?sort=${sort}&min_facilities=${minFacilities}&limit=100${scope}`;
        if (left.length === 0) {
          assertRefused(versions, target, "not_found");
          continue;
        }
        const expected = {
          scope: { state: state ?? "national" },
          summary: { procedures: left.length },
          data: left.toSorted((a, b) => order(a, b) || inText(a.code, b.code)),
          source: sourceOf(snapshot),
          next: null,
        };
        assert.deepEqual(v.parse(proceduresResponse, ask(versions, target)), expected, target);
        compared += left.length;
      }
    }
  }
  return compared;
}

function compareCatalog(versions: Versions, snapshot: Snapshot, answers: EndpointAnswers): void {
  const { provenance, sha256, contentSha256 } = snapshot;
  const [entry] = v.parse(datasetsResponse, ask(versions, "/datasets")).data;
  const { id, coverage, ...said } = entry;
  assert.notEqual(id, "");
  assert.deepEqual(said, {
    title: provenance.title,
    publisher: provenance.publisher,
    data_year: provenance.dataYear,
    data_version: versionName(provenance),
    status: "current",
    rows: answers.counts.rows,
    priced_rows: answers.counts.pricedRows,
    suppressed_rows: answers.counts.suppressedRows,
    incomplete_rows: answers.counts.incompleteRows,
    facilities: answers.counts.facilities,
    procedures: answers.counts.procedures,
    released: provenance.released,
    loaded_at: loadedAt,
    sha256,
    content_sha256: contentSha256,
    source_sha256: provenance.sourceSha256,
    source_url: provenance.sourceUrl,
    caveat: provenance.caveat,
  });
  assert.deepEqual(coverage.states, answers.statesWithPrices);
  const missing = stateCodes.filter((state) => !answers.statesWithPrices.includes(state));
  assert.deepEqual(
    coverage.missing_states.map(({ state }) => state),
    missing,
  );
  for (const { state, reason } of coverage.missing_states) assert.notEqual(reason, "", state);
  assert.deepEqual(coverage.procedures_without_prices, answers.proceduresWithoutPrices);
}

/** Compares every facility, every list of procedures and the catalog; returns how many. */
export async function compareEverything(snapshot: Snapshot): Promise<string> {
  const versions = versionsOf(imageOf(snapshot));
  const answers = await duckdbAnswers(snapshot);
  const standings = compareFacilities(versions, snapshot, answers);
  const procedures = compareProcedures(versions, snapshot, answers);
  compareCatalog(versions, snapshot, answers);
  return `${answers.facilities.size} facilities with ${standings} standings; ${procedures} procedures listed`;
}
