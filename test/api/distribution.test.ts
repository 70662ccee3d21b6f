import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as v from "valibot";
import { citiesOf } from "../../engine/index.ts";
import { procedureResponse } from "../../server/api/responses.ts";
import { ask, assertRefused, imageOf, imageWith, refusal, versionsOf } from "../support/endpoint-oracle.ts";
import { changed, type ShortRow, snapshotOf } from "../support/fixtures.ts";

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

test("around a place, everything is over the facilities there, and without a price there the error says why", () => {
  const rows: ShortRow[] = [
    ["000001", "IL", "5072", 100, 50],
    ["000002", "IN", "5072", 300, 60],
    ["000003", "IN", "5072", 900, 70],
    ["000004", "IL", "5073", null, null],
  ];
  const texts = { zip: ["60601", "46320", "46201", "60601"] };
  const [latitude, longitude] = [
    Int32Array.of(39_770_000, 41_600_000, 41_880_000, 61_000_000),
    Int32Array.of(-86_100_000, -87_500_000, -87_620_000, -150_000_000),
  ];
  const city = ["Indianapolis, IN", "Hammond, IN", "Chicago, IL", "Anchorage, AK"];
  const zips = Int32Array.of(46201, 46320, 60601, 99501);
  const places = { name: "Four places", zip: zips, latitude, longitude };
  const cities = citiesOf(city, places);
  const served = versionsOf(
    imageWith(
      changed(snapshotOf(rows), ({ facilities }) => Object.assign(facilities, texts)),
      { ...places, cities },
    ),
  );
  const at = (query: string) =>
    v.parse(procedureResponse, ask(served, `/healthcare/procedures/5072?${query}`));
  const chicago = at("near=Chicago&within=30");
  assert.deepEqual(chicago.scope, { state: "national", near: "Chicago, IL", within: 30 });
  assert.deepEqual(chicago.rows, { priced: 2, suppressed: 0, incomplete: 0, unplaced: 0 });
  assert.deepEqual(
    [chicago.summary.min_charge, chicago.summary.max_charge, chicago.source.places],
    [100, 300, "Four places"],
  );
  assert.deepEqual(
    chicago.data.map(({ state, facilities }) => [state, facilities]),
    [
      ["IL", 1],
      ["IN", 1],
    ],
  );
  const inState = at("near=60601&state=in");
  assert.deepEqual(inState.scope, { state: "IN", near: "60601", within: 50 });
  assert.equal(inState.summary.facilities, 1);
  assert.deepEqual(at("state=IN").scope, { state: "IN" });
  for (const [target, message] of [
    [
      "5072?near=60601&state=AK",
      /^no prices for procedure "5072" within 50 miles of 60601 in AK in data ver/,
    ],
    ["5072?near=99501&within=1", /within 1 mile of 99501 .*: no hospital is within 1 mile of it, and .* AK/],
    ["5073?near=Chicago", /within 50 miles of Chicago, IL in data version .*: the only row is suppressed$/],
    ["9999?near=60601", /^there is no procedure "9999"/],
  ] as const) {
    const error = refusal(served, `/healthcare/procedures/${target}`);
    assert.equal(error.type, "not_found");
    assert.match(error.message, message);
  }
  for (const [query, param] of [
    ["within=20", "within"],
    ["near=Nowhere", "near"],
    ["near=60601&within=501", "within"],
  ])
    assert.equal(refusal(served, `/healthcare/procedures/5072?${query}`).param, param);
});
