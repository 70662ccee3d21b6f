import assert from "node:assert/strict";
import { test } from "node:test";
import { procedureFigures } from "../../../datasets/sample/calibration.ts";
import { plainProcedure } from "../../../engine/query.ts";
import { includedIn, rowsBy } from "../../../server/parts/portal/browser/begun-words.ts";
import { titleOf } from "../../../server/parts/portal/browser/words.ts";

const figures = { facilities: 1, median_charge: 1, min_charge: 1, max_charge: 1, spread: 1 };
const rows = procedureFigures.map(({ code }) => {
  const { title = null, part = null, words = null } = plainProcedure(code) ?? {};
  return { code, name: `Level ${code}`, title, part, words, ...figures };
});
const codesBy = (text: string) => rowsBy(rows, text).map(({ code }) => code);
const rowOf = (code: string) => rows.find((row) => row.code === code) ?? assert.fail(code);

test("the beginnings of patients' words find procedure groups, those with a matching title first", () => {
  assert.deepEqual(codesBy("knee repl"), ["5115"]);
  assert.deepEqual(codesBy("cataract"), ["5491"]);
  assert.deepEqual(codesBy("a"), []);
  assert.deepEqual(includedIn(rowOf("5113"), "a torn meniscus"), ["torn meniscus"]);
  assert.deepEqual(includedIn(rowOf("5115"), "knee"), []);
  // Many other groups include stents.
  assert.deepEqual(codesBy("a stent").slice(0, 2), ["5193", "5194"]);
});

test("a group without a name in plain words is found by none, and shows its official name", () => {
  const group = { ...rowOf("5211"), title: null, part: null, words: null };
  assert.deepEqual(rowsBy([group], "heart"), []);
  assert.deepEqual(includedIn(group, "heart"), []);
  assert.equal(titleOf(group), "Level 5211");
  assert.equal(titleOf(rowOf("5211")), "Heart rhythm test");
});
