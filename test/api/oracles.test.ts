import assert from "node:assert/strict";
import { test } from "node:test";
import { facilities } from "../../server/api/endpoints/facilities.ts";
import { comparePrices } from "../support/compared-prices.ts";
import {
  compareDistributions,
  compareDistributionsAround,
  compareTrends,
} from "../support/distribution-oracle.ts";
import { compareEverything } from "../support/endpoint-oracle.ts";
import {
  compareFacilityTrends,
  compareLists,
  randomPlaces,
  randomQuery,
} from "../support/facility-oracle.ts";
import { randomSnapshot, yearsOf } from "../support/fixtures.ts";
import { seededRandom } from "../support/random.ts";

const snapshots = Number(process.env.ORACLE_SNAPSHOTS || 3);
/** The default is fixed, so that only a change of the code can cause a failure. */
const trialSeed = Number(process.env.TRIAL_SEED || 1);
const lists = 100;

test("the lists that are compared with the oracle's draw every parameter", () => {
  const random = seededRandom(1);
  const snapshot = randomSnapshot(1);
  const places = randomPlaces(snapshot, random);
  const drawn = Array.from({ length: lists }, () => Object.keys(randomQuery(snapshot, places, random)));
  assert.deepEqual(new Set(drawn.flat()), new Set(Object.keys(facilities.parameters.entries)));
});

test(`every response over ${snapshots} random snapshots equals that of naive oracles`, (t) => {
  t.diagnostic(`TRIAL_SEED=${trialSeed}`);
  const random = seededRandom(trialSeed);
  const total = { distributions: 0, around: 0, years: 0, facilities: 0, facilityYears: 0 };
  for (let i = 0; i < snapshots; i++) {
    const seed = random.int(2 ** 31);
    const snapshot = randomSnapshot(seed);
    const years = yearsOf(snapshot, seed);
    t.diagnostic(`seed ${seed}`);
    comparePrices(snapshot, `seed ${seed}`);
    compareEverything(snapshot);
    total.distributions += compareDistributions(snapshot);
    total.around += compareDistributionsAround(snapshot, randomPlaces(snapshot, random), lists, random);
    total.years += compareTrends(years);
    total.facilities += compareLists(snapshot, randomPlaces(snapshot, random), lists, random);
    total.facilityYears += compareFacilityTrends(years);
  }
  t.diagnostic(`compared: ${JSON.stringify(total)}`);
  for (const [what, count] of Object.entries(total)) assert.ok(count > 10 * snapshots, `${what}: ${count}`);
});
