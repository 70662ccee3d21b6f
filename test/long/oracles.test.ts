import { readFileSync } from "node:fs";
import { test } from "node:test";
import { importFile } from "../../datasets/cms/import.ts";
import { defaultSampleRows, defaultSampleSeed, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { plainImport } from "../support/cms-files.ts";
import { compared, comparePrices } from "../support/compared-prices.ts";
import { dataPath } from "../support/data.ts";
import { compareDistributions, compareTrends } from "../support/distribution-oracle.ts";
import { compareEverything } from "../support/endpoint-oracle.ts";
import { compareLists } from "../support/facility-oracle.ts";
import { readBack, yearsOf } from "../support/fixtures.ts";
import { temporaryFolder } from "../support/folders.ts";
import { places } from "../support/places.ts";
import { seededRandom } from "../support/random.ts";
import { sizeFrom } from "./trial.ts";

// Runs the quick tests on more snapshots, which differ each time, and on the sample and real rows.
process.env.ORACLE_SNAPSHOTS ||= "100";
process.env.TRIAL_SEED ||= String(1 + Math.floor(Math.random() * 1_000_000));
await import("../api/oracles.test.ts");

test("every response on the sample matches the oracles", (t) => {
  const sample = {
    dataYear: 2024,
    revision: 1,
    rows: sizeFrom("ORACLE_ROWS", defaultSampleRows),
    seed: defaultSampleSeed,
  };
  const snapshot = syntheticSnapshot(sample);
  t.diagnostic(compared(comparePrices(snapshot, "the sample")));
  t.diagnostic(compareEverything(snapshot));
  t.diagnostic(`${compareDistributions(snapshot)} distributions compared`);
  t.diagnostic(`${compareTrends(yearsOf(snapshot, 1))} years of trends compared`);
});

const excerpt = "prov_svc_dy23_subset.csv";
test("every response on the real excerpt matches the oracles", async (t) => {
  const { path } = await importFile(plainImport(dataPath(excerpt), temporaryFolder()), []);
  const snapshot = await readBack(readFileSync(path), excerpt);
  t.diagnostic(compared(comparePrices(snapshot, excerpt)));
  t.diagnostic(compareEverything(snapshot));
  t.diagnostic(`${compareDistributions(snapshot)} distributions compared`);
  // The sample's ZIP codes are real, so each has a place in the real list.
  t.diagnostic(`${compareLists(snapshot, places, 20, seededRandom(23))} facilities compared`);
});
