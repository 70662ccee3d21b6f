import assert from "node:assert/strict";
import { test } from "node:test";
import { syntheticSnapshot } from "../../../datasets/sample/synthetic.ts";
import { namesCounty } from "../../../server/parts/portal/browser/states.ts";
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
