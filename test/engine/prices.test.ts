import assert from "node:assert/strict";
import { test } from "node:test";
import { findGroup, maxCents, maxCount } from "../../engine/index.ts";
import { answer, everyRow, textOfBody } from "../support/compared-prices.ts";
import { imageOf, randomSnapshot, type ShortRow, snapshotOf } from "../support/fixtures.ts";
import type { PricesBody } from "../support/oracle.ts";
import { groupKey, naivePrices } from "../support/oracle.ts";
import { seededRandom } from "../support/random.ts";

function numbersIn(json: string): string[] {
  return json.replaceAll(/"(?:[^"\\]|\\.)*"/g, "").match(/-?[0-9][0-9.eE+-]*/g) ?? [];
}

const ccnOf = (i: number) => String(i + 1).padStart(6, "0");

/** The charges are those of hospitals 000001, 000002, … */
function listOf(charges: number[], allowed: number[] = charges): PricesBody {
  const rows = charges.map((charge, i): ShortRow => [ccnOf(i), "CA", "5072", charge, allowed[i]]);
  const body = answer(imageOf(snapshotOf(rows)), "5072", null);
  assert.ok(body);
  return body;
}

test("a limit of any size shortens the price list and changes nothing else", () => {
  for (let seed = 101; seed <= 140; seed++) {
    const snapshot = randomSnapshot(seed);
    const image = imageOf(snapshot);
    const random = seededRandom(seed);
    for (const code of snapshot.table.procedures.code) {
      const size = naivePrices(snapshot, code, null, everyRow)?.data.length ?? 0;
      for (const limit of [1, 2, 25, 50, size - 1, size, size + 1, 1 + random.int(50)]) {
        if (limit < 1) continue;
        const expected = naivePrices(snapshot, code, null, limit);
        assert.deepEqual(answer(image, code, null, limit), expected, `seed ${seed}, ${code}, limit ${limit}`);
      }
    }
  }
});

test("numbers are written without exponent, sign or a third decimal", () => {
  for (let seed = 201; seed <= 230; seed++) {
    const snapshot = randomSnapshot(seed);
    const image = imageOf(snapshot);
    for (const code of snapshot.table.procedures.code) {
      const group = findGroup(image, code, null);
      if (group === -1) continue;
      for (const number of numbersIn(textOfBody(image, group, everyRow)))
        assert.match(number, /^(0|[1-9][0-9]*)(\.[0-9]{1,2})?$/, `seed ${seed}, ${code}`);
    }
  }
});

test("equal charges are ordered by CCN as text", () => {
  const image = imageOf(
    snapshotOf([
      ["10000A", "CA", "5072", 10, 5],
      ["100000", "NV", "5072", 10, 5],
      ["010000", "CA", "5072", 10, 5],
      ["10000a", "CA", "5072", 10, 5],
      ["999999", "CA", "5072", 9.99, 5],
      ["000001", "CA", "5072", 10.01, 5],
    ]),
  );
  const ccns = (state: string | null) => answer(image, "5072", state)?.data.map((row) => row.ccn);
  assert.deepEqual(ccns(null), ["999999", "010000", "100000", "10000A", "10000a", "000001"]);
  assert.deepEqual(ccns("CA"), ["999999", "010000", "10000A", "10000a", "000001"]);
  assert.deepEqual(ccns("NV"), ["100000"]);
});

function weightedOf(...pairs: [charge: number, services: number][]) {
  const rows = pairs.map(
    ([charge, services], i): ShortRow => [ccnOf(i), "CA", "5072", charge, 1, undefined, { services }],
  );
  const { summary } = answer(imageOf(snapshotOf(rows)), "5072", "CA") ?? assert.fail("no list");
  return [summary.services, summary.weighted_median_charge, summary.weighted_mean_charge];
}

test("a weighted median is the least charge at which half of the services are reached", () => {
  assert.deepEqual(weightedOf([10, 7]), [7, 10, 10]);
  assert.deepEqual(weightedOf([10, 50], [20, 50]), [100, 10, 15], "exactly half is reached");
  assert.deepEqual(weightedOf([10, 49], [20, 50]), [99, 20, 15.05]);
  assert.deepEqual(weightedOf([10, 1], [20, 1], [30, 1]), [3, 20, 20]);
  assert.deepEqual(weightedOf([10, 1], [20, 1], [30, 1], [40, 1]), [4, 20, 25], "not the mean of two");
  assert.deepEqual(weightedOf([10, 1], [20, 30], [20, 30], [30, 90]), [151, 30, 25.89], "ties add up");
  assert.deepEqual(weightedOf([10, 1], [20, 30], [20, 30], [30, 61]), [122, 20, 24.92]);
});

test("a weighted mean is exact for the largest sums, and half a cent is rounded up", () => {
  assert.deepEqual(weightedOf([1, 1], [1.01, 1]), [2, 1, 1.01], "1.005");
  assert.deepEqual(weightedOf([1, 2], [1.01, 1]), [3, 1, 1], "1.0033");
  assert.deepEqual(weightedOf([1, 1], [1.01, 2]), [3, 1.01, 1.01], "1.0067");
  const [less, most] = [(maxCents - 1) / 100, maxCents / 100];
  assert.deepEqual(weightedOf([most, maxCount], [most, maxCount]), [2 * maxCount, most, most]);
  const [all, , mean] = weightedOf([less, maxCount], [most, maxCount - 1]);
  assert.deepEqual([all, mean], [2 * maxCount - 1, less], "a hair below half a cent");
  assert.deepEqual(weightedOf([less, maxCount], [most, maxCount])[2], most);
});

test("medians and percentiles round half a cent up and less than half down", () => {
  assert.equal(listOf([1, 1.01]).summary.median_charge, 1.01, "median 1.005");
  assert.equal(listOf([1, 1], [2.67, 2.68]).summary.median_allowed, 2.68, "median allowed 2.675");
  assert.equal(listOf([1, 1.05]).summary.p10_charge, 1.01, "p10 1.005");
  assert.equal(listOf([1, 1.05]).summary.p90_charge, 1.05, "p90 1.045");
  assert.equal(listOf([1, 1.01, 2]).summary.p25_charge, 1.01, "p25 1.005");
  assert.equal(listOf([1, 1.01, 2]).summary.p75_charge, 1.51, "p75 1.505");
  assert.equal(listOf([1, 1.04]).summary.p10_charge, 1, "p10 1.004");
  assert.equal(listOf([1, 1.01]).summary.p75_charge, 1.01, "p75 1.0075");
  assert.equal(listOf([1, 1.01]).summary.p25_charge, 1, "p25 1.0025");
  assert.equal(listOf([(maxCents - 1) / 100, maxCents / 100]).summary.median_charge, maxCents / 100);
});

test("the spread is the highest charge divided by the lowest, and half a hundredth is rounded up", () => {
  const spread = (lowest: number, highest: number) => listOf([lowest, highest]).summary.spread;
  assert.equal(spread(10, 10), 1);
  assert.equal(spread(2, 2.01), 1.01, "1.005");
  assert.equal(spread(200, 200.99), 1, "1.00495");
  assert.equal(spread(0.08, 0.09), 1.13, "1.125");
  assert.equal(spread(3, 10), 3.33);
  assert.equal(spread(3, 20), 6.67);
  assert.equal(spread(0.01, maxCents / 100), maxCents);
});

test("only rows with both amounts above zero are listed and counted", () => {
  const image = imageOf(
    snapshotOf([
      ["050001", "CA", "5072", null, null],
      ["050002", "CA", "5072", 50, null],
      ["050003", "CA", "5072", null, 60],
      ["050004", "CA", "5072", 0, 70],
      ["050005", "CA", "5072", 80, 0],
      ["050006", "CA", "5072", 90.1, 80.2],
      ["050007", "NV", "5072", null, null],
      ["050006", "CA", "5073", 1, null],
      ["050001", "CA", "5074", null, null],
    ]),
  );
  const body = answer(image, "5072", null);
  assert.deepEqual(
    body?.data.map((row) => [row.ccn, row.submitted_charge, row.medicare_allowed]),
    [["050006", 90.1, 80.2]],
  );
  assert.equal(body?.summary.facilities, 1);
  assert.deepEqual(answer(image, "5072", "CA")?.data, body?.data);
  for (const [code, state] of [
    ["5072", "NV"],
    ["5073", null],
    ["5073", "CA"],
    ["5074", null],
    ["5074", "CA"],
  ] as const)
    assert.equal(findGroup(image, code, state), -1, groupKey(code, state));
});

test("an unknown procedure or state has no price list", () => {
  const image = imageOf(snapshotOf([["050001", "CA", "5072", 1, 1]]));
  for (const code of ["5071", "0000", "507", "50722", " 5072", "", "__proto__", "constructor"])
    assert.equal(findGroup(image, code, null), -1, code);
  for (const state of ["NV", "WY", "AK", "ZZ", "", "ca", "CAL", "__proto__", "constructor", "national"])
    assert.equal(findGroup(image, "5072", state), -1, state);
  assert.notEqual(findGroup(image, "5072", "CA"), -1);
});
