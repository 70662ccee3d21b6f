import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { importFile } from "../../../datasets/cms/import.ts";
import { csvPieces, type Image } from "../../../engine/query.ts";
import type {
  Dataset,
  DatasetsAnswer,
  Entry,
  FacilitiesAnswer,
  FacilityAnswer,
  ProcedureAnswer,
  Standing,
} from "../../../server/parts/portal/browser/answers.ts";
import {
  figuresSql,
  fileOf,
  hospitalSql,
  type Rows,
  ranksSql,
} from "../../../server/parts/portal/browser/check.ts";
import { isPriced, shareOf } from "../../../server/parts/portal/browser/words.ts";
import { folder, optionsFor } from "../../support/cms-files.ts";
import { dataPath } from "../../support/data.ts";
import { ask as askOf, imageWith, refusal, versionsOf } from "../../support/endpoint-oracle.ts";
import { readBack } from "../../support/fixtures.ts";
import { places } from "../../support/places.ts";
import { seededRandom } from "../../support/random.ts";
import { rowsBy } from "../../support/statements.ts";

/** Tests that the statements of "Check this number" give a page's figures, from CMS's file alone. */

const cents = (dollars: number) => Math.round(dollars * 100) / 100;

const { file, ...options } = optionsFor(readFileSync(dataPath("prov_svc_dy23_subset.csv")));
const name = "CMS's 2023.csv";
copyFileSync(file, path.join(folder, name));
const sourceUrl = `https://data.example/${encodeURIComponent(name)}`;
const { path: written } = await importFile({ ...options, file, sourceUrl }, []);
const snapshot = await readBack(readFileSync(written), written);
const image: Image = imageWith(snapshot, places);
const versions = versionsOf(image);
const ask = <Answer>(url: string) => askOf(versions, url) as Answer;
const [dataset] = ask<DatasetsAnswer>("/datasets").data;
writeFileSync(
  path.join(folder, fileOf({ ...dataset, verify: null }).name),
  Buffer.concat(
    Array.from(csvPieces(image, { procedure: null, state: null }), (piece) => Buffer.from(piece)),
  ),
);

/** All hospitals of a list, of all its pages, cheapest first. */
function hospitalsOf(code: string, place: string): Entry[] {
  const all: Entry[] = [];
  let url: string | null = `/healthcare/facilities?procedure=${code}&${place}&sort=charge`;
  while (url !== null) {
    const { data, next }: FacilitiesAnswer = ask(url);
    all.push(...data);
    url = next?.replace(/^\/api\/v1/, "") ?? null;
  }
  return all;
}

/** Draws lists as pages have them: of a procedure in the nation, in a state, or around a ZIP code. */
function* drawn(count: number): Generator<{ query: string; rows: Omit<Rows, "dataset"> }> {
  const random = seededRandom(20_261_129);
  const { facilities, procedures, rows } = snapshot.table;
  for (let left = count; left > 0; ) {
    const row = random.int(rows.facility.length);
    const [facility, code] = [rows.facility[row], procedures.code[rows.procedure[row]]];
    const [state, zip] = [facilities.state[facility], facilities.zip[facility]];
    const place = left % 3 === 0 ? "" : left % 3 === 1 ? `state=${state}` : `near=${zip}&within=100`;
    try {
      const ccns = place.startsWith("near") ? hospitalsOf(code, place).map(({ ccn }) => ccn) : null;
      ask(`/healthcare/procedures/${code}?${place}`);
      yield {
        query: `${code}?${place}`,
        rows: { code, state: place.startsWith("state") ? state : null, ccns },
      };
      left--;
    } catch {
      // A suppressed row may be the only one there, and a place may have no coordinates.
      refusal(versions, `/healthcare/procedures/${code}?${place}`);
    }
  }
}

for (const [what, of] of [
  ["CMS's file", dataset],
  ["an export", { ...dataset, verify: null }],
] satisfies [string, Dataset][])
  test(`statements over ${what} give the figures of lists in the nation, in states and around places`, async () => {
    for (const { query, rows } of drawn(21)) {
      const { summary, source } = ask<ProcedureAnswer>(`/healthcare/procedures/${query}`);
      const [found] = await rowsBy(figuresSql([{ ...rows, dataset: of }]));
      assert.deepEqual(
        [
          ...[found.year, found.hospitals, found.lowest_charge, found.quarter_charge_less],
          ...[found.median_charge, found.quarter_charge_more, found.highest_charge, found.median_allowed],
        ],
        [
          ...[source.data_year, summary.facilities, summary.min_charge, summary.p25_charge],
          ...[summary.median_charge, summary.p75_charge, summary.max_charge, summary.median_allowed],
        ],
        query,
      );
      assert.equal(found.you_pay_median, cents(shareOf(summary.median_allowed, source.data_year)), query);
    }
  });

test("a statement gives the amounts and ranks of compared hospitals, and what a patient pays at them", async () => {
  for (const { query, rows } of drawn(9)) {
    const [code, place] = query.split("?");
    const { source } = ask<ProcedureAnswer>(`/healthcare/procedures/${query}`);
    const priced = hospitalsOf(code, place).filter(isPriced);
    const chosen = [priced[0], priced[priced.length - 1]];
    const found = await rowsBy(
      ranksSql(
        { ...rows, dataset },
        chosen.map(({ ccn }) => ccn),
      ),
    );
    for (const { ccn, submitted_charge, medicare_allowed } of chosen)
      assert.deepEqual(
        found.find((row) => row.ccn === ccn),
        {
          ...{ ccn, charge: submitted_charge, allowed: medicare_allowed },
          you_pay: cents(shareOf(medicare_allowed, source.data_year)),
          rank: 1 + priced.filter((one) => one.submitted_charge < submitted_charge).length,
          hospitals: priced.length,
        },
        query,
      );
  }
});

test("a statement gives all procedures of a hospital, with ranks and medians", async () => {
  const random = seededRandom(7);
  for (let i = 0; i < 10; i++) {
    const ccn = random.pick(snapshot.table.facilities.ccn);
    const { data, source } = ask<FacilityAnswer>(`/healthcare/facilities/${ccn}`);
    const beside = (where: string, { rank, facilities, median_charge }: Standing) => ({
      [`${where}_rank`]: rank,
      [`${where}_hospitals`]: facilities,
      [`${where}_median`]: median_charge,
    });
    const expected = data
      .map(({ code, submitted_charge, medicare_allowed, national, within_state }) => ({
        ...{ apc: code, charge: submitted_charge, allowed: medicare_allowed },
        you_pay: cents(shareOf(medicare_allowed, source.data_year)),
        ...{ ...beside("national", national), ...beside("state", within_state) },
      }))
      .toSorted((a, b) => (a.apc < b.apc ? -1 : 1));
    assert.deepEqual(await rowsBy(hospitalSql(dataset, ccn)), expected, ccn);
  }
});

test("several years are one statement, each from its own file", async () => {
  const rows = { code: "5072", state: null, ccns: null };
  const other = { ...dataset, verify: null, data_year: 2022 };
  const found = await rowsBy(figuresSql([dataset, other].map((of) => ({ ...rows, dataset: of }))));
  assert.deepEqual(
    found.map(({ year }) => year),
    [2023, 2022],
  );
  assert.equal(found[0].median_charge, found[1].median_charge);
});
