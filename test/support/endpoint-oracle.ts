import assert from "node:assert/strict";
import * as v from "valibot";
import {
  attachImage,
  blank,
  buildImage,
  type Image,
  type Places,
  type Snapshot,
  stateCodes,
  versionName,
} from "../../engine/index.ts";
import { Context, type Versions } from "../../server/api/endpoint.ts";
import { ApiError, type ErrorType } from "../../server/api/errors.ts";
import { datasetsResponse, facilityResponse } from "../../server/api/responses.ts";
import { decodeTarget, resolve } from "../../server/api/routes.ts";
import { findVersion } from "../../server/api/years.ts";
import type { SnapshotFile } from "../../server/shared/messages.ts";
import { imageOf } from "./fixtures.ts";
import {
  bodyPart,
  halfUp,
  hundredths,
  isPriced,
  median,
  naivePrices,
  type PricesBody,
  plainText,
  pricedRows,
  withTitle,
} from "./oracle.ts";

const loadedAt = "2026-07-01T12:34:56.000Z";

export { imageOf };
export const imageWith = (snapshot: Snapshot, places: Places) =>
  attachImage(buildImage(snapshot, undefined, places));

/** @param images newest version first @param file the snapshot file that every version has */
export function versionsWith(file: SnapshotFile, ...images: Image[]): Versions {
  const names = images.map(({ description }) => versionName(description.provenance));
  return {
    images,
    byName: new Map(names.map((name, i) => [name, { image: images[i], loadedAt, file, previous: null }])),
  };
}

export const versionsOf = (...images: Image[]) =>
  versionsWith({ bytes: new Uint8Array(0), sha256: "", isChecked: true }, ...images);

/** @param url follows `/api/v1` */
export function ask(versions: Versions, url: string): unknown {
  const [urlPath, query = ""] = url.split("?");
  const target = decodeTarget(resolve(`/api/v1${urlPath}`));
  const usage = () => assert.fail("nobody asked for the usage");
  const context = new Context(versions, target.segment, Buffer.alloc(0), usage, () =>
    findVersion(versions, target.version),
  );
  const body = target.endpoint.answer(context, query);
  assert.ok(body instanceof Uint8Array);
  return JSON.parse(Buffer.from(body).toString("utf8"));
}

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

export const sourceOf = ({ provenance }: Snapshot) => ({
  data_year: provenance.dataYear,
  data_version: versionName(provenance),
  caveat: provenance.caveat,
});

/** Charges are in cents. */
export function standingIn(sorted: bigint[], charge: number) {
  const lower = sorted.filter((each) => each < charge).length;
  return {
    rank: lower + 1,
    facilities: sorted.length,
    percentile: Number(halfUp(BigInt(1000 * lower), BigInt(sorted.length))) / 10,
    median_charge: hundredths(median(sorted)),
  };
}

export const orNull = (count: number) => (count === blank ? null : count);
export const dollarsOrNull = (cents: number) => (cents === blank ? null : cents / 100);

function compareFacilities(versions: Versions, snapshot: Snapshot): number {
  const parts = snapshot.table;
  const { facilities, procedures, rows } = parts;
  const groups = new Map<string, bigint[]>();
  const chargesOf = (code: string, state: string | null) => {
    const key = `${code} ${state}`;
    const found = groups.get(key) ?? pricedRows(parts, code, state).map((row) => BigInt(rows.charge[row]));
    groups.set(key, found);
    return found;
  };
  let compared = 0;
  for (const [i, ccn] of facilities.ccn.entries()) {
    const target = `/healthcare/facilities/${ccn}`;
    const state = facilities.state[i];
    const data = [...rows.facility.keys()]
      .filter((row) => rows.facility[row] === i && isPriced(rows, row))
      .map((row) => {
        const code = procedures.code[rows.procedure[row]];
        return {
          ...withTitle({ code, name: procedures.name[rows.procedure[row]] }),
          submitted_charge: rows.charge[row] / 100,
          medicare_allowed: rows.allowed[row] / 100,
          markup: hundredths(halfUp(100n * BigInt(rows.charge[row]), BigInt(rows.allowed[row]))),
          services: orNull(rows.services[row]),
          beneficiaries: orNull(rows.beneficiaries[row]),
          medicare_payment: dollarsOrNull(rows.payment[row]),
          outlier_services: orNull(rows.outlierServices[row]),
          outlier_amount: dollarsOrNull(rows.outlierAmount[row]),
          national: standingIn(chargesOf(code, null), rows.charge[row]),
          within_state: standingIn(chargesOf(code, state), rows.charge[row]),
        };
      });
    const [kind, description] = [
      facilities.ruralUrbanCode[i] || null,
      facilities.ruralUrbanDescription[i] || null,
    ];
    assert.deepEqual(v.parse(facilityResponse, ask(versions, target)), {
      facility: {
        ...{ ccn, facility: facilities.name[i], city: facilities.city[i], state },
        ...{ street: facilities.street[i] || null, zip: facilities.zip[i] || null },
        rural_urban: kind === null && description === null ? null : { code: kind, description },
      },
      summary: { procedures: data.length },
      data,
      source: sourceOf(snapshot),
    });
    compared += data.length;
  }
  return compared;
}

export const inText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
export const procedureSorts: Record<string, (a: PricesBody, b: PricesBody) => number> = {
  code: () => 0,
  name: (a, b) => inText(a.procedure.name, b.procedure.name),
  spread: (a, b) => b.summary.spread - a.summary.spread,
  facilities: (a, b) => b.summary.facilities - a.summary.facilities,
  median_charge: (a, b) => b.summary.median_charge - a.summary.median_charge,
};

/** @param lists all price lists of the nation, or of a state */
export const procedureRows = (lists: PricesBody[], sort: string, minFacilities: number) =>
  lists
    .filter(({ summary }) => summary.facilities >= minFacilities)
    .sort((a, b) => procedureSorts[sort](a, b) || inText(a.procedure.code, b.procedure.code))
    .map(({ procedure, summary: { facilities, median_charge, min_charge, max_charge, spread } }) => {
      const plain = { part: bodyPart(procedure.code), words: plainText("words", procedure.code) };
      return { ...withTitle(procedure), ...plain, facilities, median_charge, min_charge, max_charge, spread };
    });

function compareProcedures(versions: Versions, snapshot: Snapshot): number {
  let compared = 0;
  const present = new Set(snapshot.table.facilities.state);
  const absent = stateCodes.find((state) => !present.has(state)) ?? null;
  for (const state of new Set([null, ...present, absent])) {
    const lists = snapshot.table.procedures.code.flatMap(
      (code) => naivePrices(snapshot, code, state, 0) ?? [],
    );
    const most = Math.max(0, ...lists.map(({ summary }) => summary.facilities));
    for (const minFacilities of new Set([1, 2, 11, 50, 400, Math.max(1, most), most + 1]))
      for (const sort of Object.keys(procedureSorts)) {
        const scope = state === null ? "" : `&state=${state.toLowerCase()}`;
        const target = `/healthcare/procedures?sort=${sort}&min_facilities=${minFacilities}&limit=100${scope}`;
        const data = procedureRows(lists, sort, minFacilities);
        if (data.length === 0) {
          assertRefused(versions, target, "not_found");
          continue;
        }
        const expected = {
          list: "procedures",
          scope: { state: state ?? "national" },
          summary: { procedures: data.length },
          ...{ data, source: sourceOf(snapshot), next: null },
        };
        assert.deepEqual(ask(versions, target), expected, target);
        compared += data.length;
      }
  }
  return compared;
}

function compareCatalog(versions: Versions, snapshot: Snapshot): void {
  const { provenance, sha256, contentSha256 } = snapshot;
  const { facilities, procedures, rows } = snapshot.table;
  const all = [...rows.facility.keys()];
  const priced = all.filter((row) => isPriced(rows, row));
  const suppressed = all.filter((row) => rows.charge[row] === blank && rows.allowed[row] === blank).length;
  const [{ id, coverage, verify, content_sql, ...said }] = v.parse(
    datasetsResponse,
    ask(versions, "/datasets"),
  ).data;
  assert.notEqual(id, "");
  assert.deepEqual(said, {
    title: provenance.title,
    publisher: provenance.publisher,
    data_year: provenance.dataYear,
    data_version: versionName(provenance),
    status: "current",
    rows: all.length,
    priced_rows: priced.length,
    suppressed_rows: suppressed,
    incomplete_rows: all.length - priced.length - suppressed,
    facilities: facilities.ccn.length,
    procedures: procedures.code.length,
    released: provenance.released,
    loaded_at: loadedAt,
    sha256,
    content_sha256: contentSha256,
    source_sha256: provenance.sourceSha256,
    source_url: provenance.sourceUrl,
    caveat: provenance.caveat,
    checksum: true,
    synthetic: snapshot.isSynthetic,
    previous: null,
    totals: provenance.totals ?? null,
  });
  assert.equal(verify?.sha256 ?? null, provenance.sourceSha256);
  assert.ok(content_sql.includes(`'opps-${versionName(provenance)}.parquet'`));
  const states = new Set(priced.map((row) => facilities.state[rows.facility[row]]));
  const codes = new Set(priced.map((row) => procedures.code[rows.procedure[row]]));
  assert.deepEqual(coverage.states, [...states].sort());
  assert.deepEqual(
    coverage.missing_states.map(({ state }) => state),
    stateCodes.filter((state) => !states.has(state)),
  );
  for (const { state, reason } of coverage.missing_states) assert.notEqual(reason, "", state);
  assert.deepEqual(
    coverage.procedures_without_prices,
    procedures.code.filter((code) => !codes.has(code)),
  );
}

export function compareEverything(snapshot: Snapshot): string {
  const versions = versionsOf(imageOf(snapshot));
  const standings = compareFacilities(versions, snapshot);
  const procedures = compareProcedures(versions, snapshot);
  compareCatalog(versions, snapshot);
  return `${standings} standings; ${procedures} procedures listed`;
}
