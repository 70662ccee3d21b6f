import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { procedureFigures, ruralUrbanFigures, stateFigures } from "../../datasets/sample/calibration.ts";
import {
  defaultSampleRows,
  defaultSampleSeed,
  type SampleOptions,
  syntheticSnapshot,
} from "../../datasets/sample/synthetic.ts";
import {
  blank,
  buildImage,
  encodeSnapshot,
  maxCents,
  maxDataYear,
  minDataYear,
  zipPattern,
} from "../../engine/index.ts";
import { Store } from "../../server/store/store.ts";
import { readBack } from "../support/fixtures.ts";
import { realHospitals } from "../support/relevance.ts";
import { keepingStripped, temporaryFolder } from "../support/server.ts";

const defaults = { dataYear: 2023, revision: 1, rows: defaultSampleRows, seed: defaultSampleSeed };

type Sample = ReturnType<typeof makeSample>;

function makeSample(options: Partial<SampleOptions> = {}) {
  const snapshot = syntheticSnapshot({ ...defaults, ...options });
  return { ...snapshot, ...snapshot.table };
}

const samples = new Map<string, Sample>();

/** Each sample is made only once, so tests must not change it. */
function sample(options: Partial<SampleOptions> = {}): Sample {
  const wanted = JSON.stringify({ ...defaults, ...options });
  const made = samples.get(wanted) ?? makeSample(options);
  samples.set(wanted, made);
  return made;
}

const full = sample();
const otherSeeds = [0, 1, 2 ** 32 - 1];

function pricedRows({ rows, procedures }: Sample): number[][] {
  const priced: number[][] = procedures.code.map(() => []);
  rows.charge.forEach((charge, row) => {
    if (charge !== blank) priced[rows.procedure[row]].push(row);
  });
  return priced;
}

function meanOf(amounts: Int32Array, rows: number[]): number {
  return rows.reduce((sum, row) => sum + amounts[row], 0) / rows.length;
}

function byKey({ rows, facilities, procedures }: Sample, amounts: Int32Array): Map<string, number> {
  const keys = Array.from(
    amounts,
    (_, row) => `${facilities.ccn[rows.facility[row]]} ${procedures.code[rows.procedure[row]]}`,
  );
  return new Map(keys.map((key, row) => [key, amounts[row]]));
}

test("the full sample has the real file's counts with any seed", () => {
  for (const seed of [defaultSampleSeed, ...otherSeeds]) {
    const snapshot = sample({ seed });
    assert.deepEqual(
      snapshot.counts,
      {
        rows: 116_800,
        pricedRows: 64_240,
        suppressedRows: 52_560,
        incompleteRows: 0,
        facilities: 3100,
        procedures: 72,
      },
      `seed ${seed}`,
    );
    const priced = pricedRows(snapshot);
    const unpriced = snapshot.procedures.code.filter((_, p) => priced[p].length === 0);
    assert.deepEqual(unpriced, ["5244", "5494", "5495", "5496"], `seed ${seed}`);
    const states = new Set(snapshot.facilities.state);
    assert.equal(states.size, 50, `seed ${seed}`);
    assert.ok(states.has("DC") && !states.has("MD") && !states.has("PR"), `seed ${seed}`);
  }
});

test("the image of the full sample takes 40 MB at most", () => {
  const { byteLength } = buildImage(full);
  assert.ok(byteLength <= 40_000_000, `${byteLength} bytes`);
});

test("a seed gives the same content on every machine, and other options give other content", () => {
  const options = { rows: 1000, seed: 7 };
  const { sha256 } = sample(options);
  assert.equal(sha256, "138d07a4f77b895484bac6d79e952227648547fab2893016bb968640e6223e7d");
  for (const other of [{ seed: 1 }, { dataYear: 2024 }, { revision: 2 }, { rows: 999 }])
    assert.notEqual(sample({ ...options, ...other }).sha256, sha256, JSON.stringify(other));
});

test("a sample of another year has the same facilities, most of their procedures, and higher amounts", () => {
  const next = sample({ dataYear: 2024 });
  assert.deepEqual(next.facilities, full.facilities);
  assert.deepEqual(next.procedures, full.procedures);
  assert.deepEqual(next.counts, full.counts);
  for (const [column, growth] of [
    ["charge", 1.05],
    ["allowed", 1.03],
    ["payment", 1.03],
  ] as const) {
    const later = byKey(next, next.rows[column]);
    let common = 0;
    const ratios: number[] = [];
    for (const [key, amount] of byKey(full, full.rows[column])) {
      const grown = later.get(key);
      if (grown === undefined) continue;
      common++;
      if (amount !== blank && grown !== blank) ratios.push(grown / amount);
    }
    const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
    assert.ok(common > 110_000 && common < 116_800, `${column}: ${common} rows in both years`);
    assert.ok(Math.abs(mean - growth) < 0.01, `${column}: grown by ${mean}`);
    assert.ok(ratios.some((ratio) => ratio < 1) && ratios.some((ratio) => ratio > growth));
  }
});

test("a sample has exactly the requested number of rows, with one for each facility and procedure", () => {
  for (const seed of [defaultSampleSeed, ...otherSeeds])
    for (const rows of [1, 2, 37, 56, 57, 72, 73, 100, 1000, 12_345]) {
      const snapshot = sample({ rows, seed });
      const hint = `rows ${rows}, seed ${seed}`;
      assert.equal(snapshot.counts.rows, rows, hint);
      assert.equal(new Set(snapshot.rows.facility).size, snapshot.counts.facilities, hint);
      assert.equal(new Set(snapshot.rows.procedure).size, snapshot.counts.procedures, hint);
      assert.ok(snapshot.counts.pricedRows > 0, hint);
      assert.equal(snapshot.counts.incompleteRows, 0, hint);
    }
});

test("samples with one row, CCNs with letters, or the first or last year can be encoded and decoded", async () => {
  for (const options of [
    { rows: 1 },
    { rows: 380_000 },
    { dataYear: minDataYear },
    { dataYear: maxDataYear },
  ]) {
    const snapshot = sample(options);
    // Decoding checks that all values are in order and in range.
    const read = await readBack(encodeSnapshot(snapshot));
    assert.equal(read.sha256, snapshot.sha256);
    // The sample cuts charges off at `maxCents`. No charge should be that high.
    assert.ok(snapshot.rows.charge.every((cents) => cents < maxCents));
  }
});

test("a sample's CCNs, names and provenance mark it as synthetic", () => {
  const { ccn, name } = full.facilities;
  assert.equal(ccn[0], "990001");
  assert.equal(ccn[3099], "993100");
  assert.ok(ccn.every((key) => key.startsWith("99")));
  assert.ok(name.every((text) => text.endsWith(" (sample)")));
  assert.deepEqual(full.provenance, {
    dataYear: 2023,
    revision: 1,
    title: "Synthetic sample of Medicare outpatient hospital charges, 2023",
    publisher: "Healthcare Charge Query Service (synthetic)",
    sourceUrl: null,
    sourceSha256: null,
    released: null,
    caveat:
      "This is a synthetic sample: facilities and amounts are invented, calibrated on published state averages of " +
      "CMS 2023. It says nothing about any real hospital and is not for decisions.",
  });
});

test("no facility has the name of a real hospital", () => {
  const plain = (name: string) => name.toLowerCase().replace(/[^\p{L}&]+/gu, " ");
  const real = new Set(realHospitals().map(({ name }) => plain(name)));
  assert.ok(real.size > 3000);
  for (const seed of [defaultSampleSeed, ...otherSeeds]) {
    const names = sample({ seed }).facilities.name.map((name) => name.slice(0, -" (sample)".length));
    assert.deepEqual(
      names.filter((name) => real.has(plain(name))),
      [],
      `seed ${seed}`,
    );
  }
});

test("the sample's averages are close to the published ones", () => {
  pricedRows(full).forEach((rows, p) => {
    if (rows.length < 500) return;
    const figures = procedureFigures[p];
    assert.equal(full.procedures.code[p], figures.code);
    const charge = meanOf(full.rows.charge, rows) / 100 / figures.charge;
    const allowed = meanOf(full.rows.allowed, rows) / 100 / figures.allowed;
    assert.ok(charge > 0.9 && charge < 1.15, `${figures.code}: charge ${charge} of the published one`);
    assert.ok(allowed > 0.95 && allowed < 1.05, `${figures.code}: allowed ${allowed} of the published one`);
  });
});

test("counts below 11 are blank, and suppressed rows have no counts at all", () => {
  const { charge, allowed, services, beneficiaries, payment, outlierServices, outlierAmount } = full.rows;
  let unknown = { beneficiaries: 0, outliers: 0 };
  charge.forEach((cents, row) => {
    if (cents === blank) {
      for (const column of [services, beneficiaries, payment, outlierServices, outlierAmount])
        assert.equal(column[row], blank);
      return;
    }
    assert.ok(services[row] >= 11 && services[row] < 40_000, `${services[row]} services`);
    assert.ok(payment[row] > 0 && payment[row] <= 1.1 * allowed[row]);
    assert.ok(
      beneficiaries[row] === blank || (beneficiaries[row] >= 11 && beneficiaries[row] <= services[row]),
    );
    const count = outlierServices[row];
    assert.ok(count === blank || count === 0 || count >= 11, `${count} outliers`);
    assert.equal(outlierAmount[row] === blank, count === blank);
    assert.equal(outlierAmount[row] > 0, count > 0);
    unknown = {
      beneficiaries: unknown.beneficiaries + (beneficiaries[row] === blank ? 1 : 0),
      outliers: unknown.outliers + (count === blank ? 1 : 0),
    };
  });
  assert.ok(unknown.beneficiaries > 500 && unknown.beneficiaries < 10_000, `${unknown.beneficiaries}`);
  assert.ok(unknown.outliers > 5000 && unknown.outliers < 40_000, `${unknown.outliers}`);
});

test("every facility has an address with a ZIP code of its city and state", () => {
  const { city, state, street, zip, ruralUrbanCode, ruralUrbanDescription } = full.facilities;
  const zips = new Map<string, string>();
  zip.forEach((code, i) => {
    const place = `${city[i]}, ${state[i]}`;
    assert.equal(zips.get(place) ?? code, code, place);
    zips.set(place, code);
    assert.match(code, zipPattern);
    assert.ok(code.startsWith(stateFigures.find((figures) => figures.state === state[i])?.zip ?? "?"), place);
    assert.match(street[i], /^[1-9][0-9]{0,3} [A-Z][a-z]+ [A-Z][a-z]+$/);
  });
  for (const { code, description, share } of ruralUrbanFigures) {
    const there = ruralUrbanCode.flatMap((found, i) => (found === code ? [i] : []));
    assert.ok(Math.abs(there.length / 3100 - share) < 0.03, `${code}: ${there.length}`);
    assert.ok(there.every((i) => ruralUrbanDescription[i] === description));
  }
});

const folder = temporaryFolder();
Store.open(join(folder, "state")).close();

function command(...args: string[]) {
  const file = join(import.meta.dirname, "../../server/commands/sample.ts");
  const env = { ...process.env, STATE_DIR: join(folder, "state") };
  const { status, stdout, stderr } = spawnSync(process.execPath, [...keepingStripped, file, ...args], {
    encoding: "utf8",
    env,
  });
  return { status, stdout, stderr };
}

test("the command writes one revision after the other and prints only the path to stdout", async () => {
  const out = join(folder, "new", "snapshots");
  for (const revision of [1, 2]) {
    const path = join(out, `2024.${revision}.parquet`);
    assert.deepEqual(command("--out", out, "--year", "2024", "--rows", "1000", "--seed", "7"), {
      status: 0,
      stdout: `${path}\n`,
      stderr: `synthetic sample 2024.${revision}: 1000 rows: 550 priced, 450 suppressed; 27 facilities, 72 procedures, seed 7\n`,
    });
    const { sha256 } = await readBack(readFileSync(path), path);
    assert.equal(sha256, sample({ dataYear: 2024, revision, rows: 1000, seed: 7 }).sha256);
  }
  assert.deepEqual(readdirSync(out).sort(), ["2024.1.parquet", "2024.2.parquet"]);
});

test("an invalid command line gives a one-line error", () => {
  for (const [words, message] of [
    ["--year 2023", "sample needs --out"],
    ["--out OUT", "sample needs --year"],
    ["--out OUT --year 2015", '--year is "2015", expected a whole number from 2016 to 2099'],
    ["--out OUT --year 2023 --rows 0", '--rows is "0", expected a whole number from 1 to 50000000'],
    ["--out OUT --year 2023 --seed=-1", '--seed is "-1", expected a whole number from 0 to 4294967295'],
  ])
    assert.deepEqual(command(...words.split(" ")), { status: 1, stdout: "", stderr: `${message}\n` });
});
