import assert from "node:assert/strict";
import { test } from "node:test";
import { randomTrial } from "../support/permit-servers.ts";
import { sizeFrom } from "./trial.ts";

/** Runs the quick trial of servers that share ceilings with more seeds. A failure names its seed. */

const trials = sizeFrom("PERMIT_TRIALS", 400);

test(`quota, rate and waits hold through drawn faults in ${trials} trials`, async () => {
  for (let seed = 1001; seed < 1001 + trials; seed++)
    assert.deepEqual(await randomTrial(seed), [], `seed ${seed}`);
});
