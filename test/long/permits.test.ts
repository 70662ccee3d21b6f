import assert from "node:assert/strict";
import { test } from "node:test";
import { randomTrial, World } from "../support/permit-servers.ts";
import { sizeFrom } from "./trial.ts";

/** Tests servers that share ceilings, in virtual time: steady loads, and the quick trial with more seeds. */

const trials = sizeFrom("PERMIT_TRIALS", 400);

test(`quota, rate and waits hold through drawn faults in ${trials} trials`, async () => {
  for (let seed = 1001; seed < 1001 + trials; seed++)
    assert.deepEqual(await randomTrial(seed), [], `seed ${seed}`);
});

for (const [delayMs, servers, least] of [
  [0.3, 1, 0.97],
  [0.3, 3, 0.97],
  [20, 3, 0.97],
  [100, 3, 0.95],
])
  test(`a steady load of 2 R gets R, from ${servers} servers that are ${delayMs} ms away`, async () => {
    for (const rate of [8, 50, 500]) {
      const world = new World({ seed: 1, servers, delayMs, accounts: [{ rate, quota: 1_000_000_000 }] });
      const seconds = Math.max(3, 480 / rate);
      world.load(0, 2 * rate, 1000 * (seconds + 2));
      await world.time.runTo(2000);
      const before = world.admitted(0);
      await world.time.runTo(1000 * (seconds + 2));
      const share = (world.admitted(0) - before) / (rate * seconds);
      assert.ok(share >= least, `${share} of ${rate}`);
      assert.ok(world.excess(0, rate) <= 1.75 * rate + 1);
    }
  });
