import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { readPlaces, zipsByStart } from "../../datasets/places.ts";

/** Tests the places of ZIP codes. */

test("places come from the installed zipcodes package and lie in US states and territories", () => {
  const { version, license } = JSON.parse(
    readFileSync(path.resolve(import.meta.dirname, "../../node_modules/zipcodes/package.json"), "utf8"),
  );
  const { name, zip, latitude, longitude } = readPlaces();
  assert.equal(license, "BSD");
  assert.equal(name, `GeoNames postal codes (CC BY 4.0), as in npm's zipcodes ${version}`);
  assert.ok(zip.length > 41_000 && zip.every((code, i) => i === 0 || code > zip[i - 1]));
  const at = (code: number) => [latitude[zip.indexOf(code)] / 1e6, longitude[zip.indexOf(code)] / 1e6];
  assert.deepEqual(at(10001), [40.7484, -73.9967]);
  assert.deepEqual(at(96910), [13.47, 144.74]);
  // 09001 is a military address abroad. 10200 has a longitude with the wrong sign in the source table.
  const { cities } = readPlaces();
  const newYork = cities?.key.indexOf("newyork NY") ?? -1;
  const nearManhattan = [cities?.latitude, cities?.longitude].map(
    (axis) => Math.round(axis?.[newYork] ?? 0) / 1e6,
  );
  assert.deepEqual([cities?.name[newYork], nearManhattan.map(Math.round)], ["New York, NY", [41, -74]]);
  for (const absent of [9001, 10200]) assert.equal(zip.indexOf(absent), -1);
});

test("ZIP codes are grouped by their first two digits, with their leading zeros", () => {
  const zips = zipsByStart();
  assert.deepEqual(
    [...zips].flatMap(([start, some]) =>
      some.filter((zip) => !/^\d{5}$/.test(zip) || !zip.startsWith(start)),
    ),
    [],
  );
  assert.equal([...zips.values()].flat().length, readPlaces().zip.length);
  assert.ok(zips.get("02")?.includes("02115"));
});
