import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { importFile } from "../../datasets/cms/import.ts";
import { defaultSampleRows, defaultSampleSeed, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { decodeSnapshot, type Snapshot } from "../../engine/index.ts";
import { plainImport } from "../support/cms-files.ts";
import { compared, comparePrices } from "../support/compared-prices.ts";
import { compareDistributions, compareTrends } from "../support/distribution-oracle.ts";
import { compareEverything } from "../support/endpoint-oracle.ts";
import { randomSnapshot, sharedData, yearsOf } from "../support/fixtures.ts";
import { temporaryFolder } from "../support/server.ts";
import { sizeFrom, trialRandom } from "./trial.ts";

/** Every number of every answer on many snapshots, real and invented, against a naive oracle. */

const snapshots = sizeFrom("ORACLE_SNAPSHOTS", 100);

test(`every answer on ${snapshots} random snapshots is what the oracle computes`, (t) => {
  const random = trialRandom(t);
  let [distributions, years] = [0, 0];
  for (let i = 0; i < snapshots; i++) {
    const seed = random.int(2 ** 31);
    const snapshot = randomSnapshot(seed);
    t.diagnostic(`seed ${seed}`);
    comparePrices(snapshot, `seed ${seed}`);
    compareEverything(snapshot);
    distributions += compareDistributions(snapshot);
    years += compareTrends(yearsOf(snapshot, seed));
  }
  t.diagnostic(`${distributions} distributions and ${years} years of trends compared`);
});

function compareAll(t: TestContext, snapshot: Snapshot, subject: string): void {
  t.diagnostic(compared(comparePrices(snapshot, subject)));
  t.diagnostic(compareEverything(snapshot));
  t.diagnostic(`${compareDistributions(snapshot)} distributions compared`);
  t.diagnostic(`${compareTrends(yearsOf(snapshot, 1))} years of trends compared`);
}

test("every answer on the sample is what the oracle computes", (t) => {
  const sample = { dataYear: 2024, revision: 1, rows: defaultSampleRows, seed: defaultSampleSeed };
  const snapshot = syntheticSnapshot(sample);
  assert.equal(snapshot.counts.rows, defaultSampleRows);
  compareAll(t, snapshot, "the sample");
});

const excerpt = "prov_svc_dy23_subset.csv";
test("every answer on the real excerpt is what the oracle computes", async (t) => {
  const file = sharedData(excerpt);
  if (file === undefined) return t.skip(`${excerpt} is not beside the repository`);
  const { path } = await importFile(plainImport(file, temporaryFolder()), []);
  compareAll(t, decodeSnapshot(readFileSync(path), excerpt), excerpt);
});
