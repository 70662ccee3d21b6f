import assert from "node:assert/strict";
import { test } from "node:test";
import { procedureFigures } from "../../../datasets/sample/calibration.ts";
import {
  bodyParts,
  codesBy,
  includedIn,
  plainOf,
  titleOf,
} from "../../../server/parts/portal/browser/procedures.ts";

test("each procedure group has a unique plain name, a description and a body part", () => {
  const codes = procedureFigures.map(({ code }) => code);
  const all = codes.map((code) => plainOf(code) ?? assert.fail(`${code} has no plain name`));
  assert.equal(new Set(all.map(({ name }) => name)).size, codes.length);
  for (const { name, includes, part } of all) {
    assert.ok(name.length <= 60 && includes.length > 10 && bodyParts.includes(part), name);
    // A name has to begin in lower case, because it is used within sentences.
    assert.match(name, /^([a-z]|ERCP)/);
  }
});

test("patients' words find procedure groups, and a group without a plain name shows its official one", () => {
  assert.deepEqual(codesBy("knee repl"), ["5115"]);
  assert.deepEqual(codesBy("cataract"), ["5491"]);
  assert.deepEqual(codesBy("a"), []);
  assert.deepEqual(includedIn("5113", "a torn meniscus"), ["torn meniscus"]);
  assert.deepEqual(includedIn("5115", "knee"), []);
  // Groups with "stent" in their name come first. Many other groups include stents.
  assert.deepEqual(codesBy("a stent").slice(0, 2), ["5193", "5194"]);
  assert.equal(titleOf({ code: "5491", name: "Level 1 Intraocular Procedures" }), "Cataract surgery");
  assert.equal(titleOf({ code: "5211", name: "Level 1" }), "Heart rhythm test");
  assert.equal(titleOf({ code: "0000", name: "Level 9 Nothing" }), "Level 9 Nothing");
});
