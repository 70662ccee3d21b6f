import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as v from "valibot";
import { ask, assertRefused, imageOf, refusal, versionsOf } from "../support/endpoint-oracle.ts";
import { type ShortRow, snapshotOf } from "../support/fixtures.ts";

const histogram = v.object({
  histogram: v.object({ edges: v.array(v.number()), counts: v.array(v.number()) }),
});

const markup = v.object({
  markup: v.object({ p25: v.number(), median: v.number(), p75: v.number() }),
});

describe("histograms", () => {
  const of = (charges: number[], query = "") => {
    const rows = charges.map((charge, i): ShortRow => [`0000${10 + i}`, "CA", "5072", charge, 1]);
    const versions = versionsOf(imageOf(snapshotOf(rows)));
    return v.parse(histogram, ask(versions, `/healthcare/procedures/5072${query}`)).histogram;
  };

  test("bars have equal widths on a log scale and include their lower edge, the last one both edges", () => {
    assert.deepEqual(of([1, 9.99, 10, 100, 1000], "?bins=3"), {
      edges: [1, 10, 100, 1000],
      counts: [2, 1, 2],
    });
  });

  test("equal charges give one bar with equal edges", () => {
    for (const charges of [[7], [7, 7, 7]])
      assert.deepEqual(of(charges), { edges: [7, 7], counts: [charges.length] });
  });

  test("edges that round to the same cent are merged", () => {
    assert.deepEqual(of([0.01, 0.02, 0.02, 0.03]), { edges: [0.01, 0.02, 0.03], counts: [1, 3] });
  });

  test("a histogram has 30 bars by default, and otherwise as many as bins says", () => {
    assert.equal(of([1, 1000]).counts.length, 30);
    assert.equal(of([1, 1000], "?bins=1").counts.length, 1);
    assert.equal(of([1, 1000], "?bins=100").counts.length, 100);
  });
});

test("markup percentiles are computed from exact quotients and rounded once", () => {
  const markupOf = (...pairs: [charge: number, allowed: number][]) => {
    const rows = pairs.map(([charge, allowed], i): ShortRow => [`00000${i}`, "CA", "5072", charge, allowed]);
    const versions = versionsOf(imageOf(snapshotOf(rows)));
    return v.parse(markup, ask(versions, "/healthcare/procedures/5072")).markup;
  };
  assert.deepEqual(markupOf([11, 9]), { p25: 1.22, median: 1.22, p75: 1.22 });
  // The markups are 1.004 and 1.005. If they were rounded before the median, the median would be 1.01.
  assert.deepEqual(markupOf([10.04, 10], [10.05, 10]), { p25: 1, median: 1, p75: 1 });
});

test("a procedure without prices gets the same error as its price list", () => {
  const versions = versionsOf(
    imageOf(
      snapshotOf([
        ["000001", "CA", "5072", 10, 1],
        ["000001", "CA", "5073", null, null],
      ]),
    ),
  );
  for (const [code, state] of [
    ["5073", ""],
    ["5072", "state=MD"],
    ["9999", ""],
    ["__proto__", ""],
  ])
    assert.equal(
      refusal(versions, `/healthcare/procedures/${code}?${state}`).message,
      refusal(versions, `/healthcare/prices?procedure=${code}&${state}`).message,
    );
  for (const query of ["bins=0", "bins=101", "bins=x", "limit=5", "state=ZZ"])
    assertRefused(versions, `/healthcare/procedures/5072?${query}`, "invalid_parameter");
  assert.ok(ask(versions, "/healthcare/procedures/5072?state=ca"));
});
