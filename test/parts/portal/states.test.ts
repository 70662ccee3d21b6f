import assert from "node:assert/strict";
import { test } from "node:test";
import { syntheticSnapshot } from "../../../datasets/sample/synthetic.ts";
import { namesCounty, states } from "../../../server/parts/portal/browser/states.ts";
import { statesSvg } from "../../../server/parts/portal/states-svg.ts";
import { imageWith, refusal, versionsOf } from "../../support/endpoint-oracle.ts";
import { places } from "../../support/places.ts";

const versions = versionsOf(
  imageWith(syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 2000, seed: 1 }), places),
);

test("the pages recognise a county as the API does, with its state or without", () => {
  const names = ["Sangamon County", "Orleans Parish", "cook county", "Prince George's County"];
  const states = ["", ", IL", " illinois", ", New York", " west virginia", ", District of Columbia"];
  const places = [
    ...names.flatMap((name) => states.map((state) => name + state)),
    ...["IL Cook County", "New York Dutchess County", "Texas counties"],
    ...["County", "Parish, LA", "Narnia", "Cook County Hospital", "Countyline, IL", "Cook County, Narnia"],
  ];
  let counties = 0;
  for (const near of places) {
    const { message } = refusal(
      versions,
      `/healthcare/facilities?procedure=5072&near=${encodeURIComponent(near)}`,
    );
    assert.equal(namesCounty(near), message.includes("a county, which isn't known"), `${near}: ${message}`);
    if (namesCounty(near)) counties++;
  }
  assert.equal(counties, names.length * states.length + 3);
});

test("the states' outlines are closed rings in the drawing, and neighbours share their border", () => {
  const paths = [...statesSvg().matchAll(/<path id="(\w+)" d="([^"]*)"\/>/g)];
  assert.ok(
    statesSvg().startsWith('<svg xmlns="http://www.w3.org/2000/svg"><path ') &&
      statesSvg().endsWith("/></svg>"),
  );
  const points = new Map<string, Set<string>>();
  for (const [, id, d] of paths) {
    const own = new Set<string>();
    points.set(id, own);
    assert.ok(/^(M-?\d+ \d+l-?\d+ -?\d+( -?\d+ -?\d+)*z)+$/.test(d), id);
    for (const ring of d.split("z").filter(Boolean)) {
      const [[left, top], moves] = ring
        .slice(1)
        .split("l")
        .map((text) => text.split(" ").map(Number));
      let [x, y] = [left, top];
      for (let i = 0; i < moves.length; i += 2) {
        assert.ok(moves[i] !== 0 || moves[i + 1] !== 0, "no point is twice there");
        x += moves[i];
        y += moves[i + 1];
        // The westernmost islands of Alaska are beyond the drawing's edge.
        assert.ok(x >= (id === "AK" ? -60 : 0) && x <= 975 && y >= 0 && y <= 610, `${id}: ${x} ${y}`);
        own.add(`${x} ${y}`);
      }
      assert.deepEqual([x, y], [left, top], `a ring of ${id} is closed`);
    }
  }
  const isThere = Object.entries(states)
    .filter(([, { fips }]) => Number(fips) < 60)
    .map(([code]) => code);
  assert.deepEqual(
    [...points.keys()].filter((code) => Number(states[code].fips) < 60).toSorted(),
    isThere.toSorted(),
  );
  for (const [one, other, isBeside] of [
    ["CA", "NV", true],
    ["IL", "IN", true],
    ["MD", "DC", true],
    ["ME", "NH", true],
    ["CA", "NY", false],
    ["ME", "VT", false],
  ] as const) {
    const shared = [...(points.get(one) ?? [])].filter((point) => points.get(other)?.has(point)).length;
    assert.equal(shared > 2, isBeside, `${one} and ${other} share ${shared} points`);
  }
});
