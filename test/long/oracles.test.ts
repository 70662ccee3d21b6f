import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { importFile } from "../../datasets/cms/import.ts";
import { readPlaces } from "../../datasets/places.ts";
import { defaultSampleRows, defaultSampleSeed, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { decodeSnapshot, type Snapshot } from "../../engine/index.ts";
import { plainImport } from "../support/cms-files.ts";
import { compared, comparePrices } from "../support/compared-prices.ts";
import { compareDistributions, compareTrends } from "../support/distribution-oracle.ts";
import { compareEverything } from "../support/endpoint-oracle.ts";
import { compareFacilityTrends, compareLists, randomPlaces } from "../support/facility-oracle.ts";
import { randomSnapshot, sharedData, yearsOf } from "../support/fixtures.ts";
import { seededRandom } from "../support/random.ts";
import { temporaryFolder } from "../support/server.ts";
import { sizeFrom, trialRandom } from "./trial.ts";

/** Every number of every answer on many snapshots, real and invented, against naive oracles. */

const snapshots = sizeFrom("ORACLE_SNAPSHOTS", 100);
const sampleRows = sizeFrom("ORACLE_ROWS", defaultSampleRows);
/** Lists of facilities that are asked for, of each snapshot. */
const lists = 100;

test(`every answer on ${snapshots} random snapshots is what the oracles compute`, (t) => {
  const random = trialRandom(t);
  const total = { distributions: 0, years: 0, facilities: 0, facilityYears: 0 };
  for (let i = 0; i < snapshots; i++) {
    const seed = random.int(2 ** 31);
    const snapshot = randomSnapshot(seed);
    const years = yearsOf(snapshot, seed);
    t.diagnostic(`seed ${seed}`);
    comparePrices(snapshot, `seed ${seed}`);
    compareEverything(snapshot);
    total.distributions += compareDistributions(snapshot);
    total.years += compareTrends(years);
    total.facilities += compareLists(snapshot, randomPlaces(snapshot, random), lists, random);
    total.facilityYears += compareFacilityTrends(years);
  }
  t.diagnostic(`compared: ${JSON.stringify(total)}`);
  for (const [what, count] of Object.entries(total)) assert.ok(count > 20 * snapshots, `${what}: ${count}`);
});

function compareAll(t: TestContext, snapshot: Snapshot, subject: string): void {
  t.diagnostic(compared(comparePrices(snapshot, subject)));
  t.diagnostic(compareEverything(snapshot));
  t.diagnostic(`${compareDistributions(snapshot)} distributions compared`);
  t.diagnostic(`${compareTrends(yearsOf(snapshot, 1))} years of trends compared`);
}

test("every answer on the sample is what the oracles compute", (t) => {
  const sample = { dataYear: 2024, revision: 1, rows: sampleRows, seed: defaultSampleSeed };
  compareAll(t, syntheticSnapshot(sample), "the sample");
});

const excerpt = "prov_svc_dy23_subset.csv";
test("every answer on the real excerpt is what the oracles compute", async (t) => {
  const file = sharedData(excerpt);
  if (file === undefined) return t.skip(`${excerpt} is not beside the repository`);
  const { path } = await importFile(plainImport(file, temporaryFolder()), []);
  const snapshot = decodeSnapshot(readFileSync(path), excerpt);
  compareAll(t, snapshot, excerpt);
  // All of its ZIP codes have a place.
  t.diagnostic(`${compareLists(snapshot, readPlaces(), 40, seededRandom(23))} facilities compared`);
});
