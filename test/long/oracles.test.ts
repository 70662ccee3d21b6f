import assert from "node:assert/strict";
import { test } from "node:test";
import { syntheticContent } from "../../datasets/synthetic.ts";
import { sealSnapshot } from "../../engine/index.ts";
import { compared, comparePrices } from "../support/compared-prices.ts";
import { compareEverything } from "../support/endpoint-oracle.ts";
import { randomSnapshot } from "../support/fixtures.ts";
import { sizeFrom, trialRandom } from "./trial.ts";

/** Every answer on many snapshots, and on one of full size, against oracles of our own and DuckDB. */

const snapshots = sizeFrom("ORACLE_SNAPSHOTS", 100);
const full = { dataYear: 2024, revision: 1, rows: 116_800, seed: 7 };

test(`every answer on ${snapshots} random snapshots is what the oracles compute`, async (t) => {
  const random = trialRandom(t);
  for (let i = 0; i < snapshots; i++) {
    const seed = random.int(2 ** 31);
    await comparePrices(randomSnapshot(seed), `seed ${seed}`);
    await compareEverything(randomSnapshot(seed));
  }
});

test("every answer on the synthetic snapshot, at full size, is what the oracles compute", async (t) => {
  const snapshot = sealSnapshot(syntheticContent(full));
  assert.equal(snapshot.counts.rows, full.rows);
  t.diagnostic(compared(await comparePrices(snapshot, `synthetic, seed ${full.seed}`)));
  t.diagnostic(await compareEverything(snapshot));
});
