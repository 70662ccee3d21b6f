import { test } from "node:test";
import { stateNames } from "../../engine/index.ts";
import { imageOf } from "../support/fixtures.ts";
import { literalChecker, literalQueries } from "../support/literal.ts";
import { seededRandom } from "../support/random.ts";
import { realHospitals, snapshotOfHospitals } from "../support/relevance.ts";

/** Tests what searches for facilities promise, with every word, beginning, name, city and many pairs of CMS's directory. */

const seed = 20_260_401;

test("whatever literally has the words of a query is found, in the promised order, also within a state", () => {
  const hospitals = realHospitals();
  const check = literalChecker(imageOf(snapshotOfHospitals(hospitals)), hospitals);
  const { always, sampled } = literalQueries(hospitals, seed);
  const random = seededRandom(seed);
  const states = Object.keys(stateNames);
  for (const query of [...always, ...sampled])
    for (const state of [null, random.pick(states)]) check(query, state);
});
