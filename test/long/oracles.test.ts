import { test } from "node:test";
import { defaultSampleRows, defaultSampleSeed, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { compared, comparePrices } from "../support/compared-prices.ts";
import { compareDistributions, compareTrends } from "../support/distribution-oracle.ts";
import { compareEverything } from "../support/endpoint-oracle.ts";
import { yearsOf } from "../support/fixtures.ts";

// Runs the quick tests on more snapshots, different ones each time, and on the sample.
process.env.ORACLE_SNAPSHOTS ||= "100";
process.env.TRIAL_SEED ||= String(1 + Math.floor(Math.random() * 1_000_000));
await import("../api/oracles.test.ts");

test("every answer on the sample is what the oracles compute", (t) => {
  const sample = { dataYear: 2024, revision: 1, rows: defaultSampleRows, seed: defaultSampleSeed };
  const snapshot = syntheticSnapshot(sample);
  t.diagnostic(compared(comparePrices(snapshot, "the sample")));
  t.diagnostic(compareEverything(snapshot));
  t.diagnostic(`${compareDistributions(snapshot)} distributions compared`);
  t.diagnostic(`${compareTrends(yearsOf(snapshot, 1))} years of trends compared`);
});
