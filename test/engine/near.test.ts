import assert from "node:assert/strict";
import { test } from "node:test";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { extentOf, tenthsBetween } from "../../engine/image/places.ts";
import { type Image, listFacilities, maxMiles, pointAt } from "../../engine/query.ts";
import { imageWith } from "../support/endpoint-oracle.ts";
import { places } from "../support/places.ts";
import { seededRandom } from "../support/random.ts";

/** Compares lists around a place with the distance of every facility. */

const seed = 66;
const image = imageWith(syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 20_000, seed: 1 }), places);
/** Every seventh hospital's place isn't known. */
const gappy: Image = { ...image, placeOf: image.placeOf.map((place, i) => (i % 7 === 3 ? -1 : place)) };

function naive(
  { placeOf, placeLatitude, placeLongitude }: Image,
  latitude: number,
  longitude: number,
  miles: number,
) {
  const found: number[] = [];
  for (const [facility, place] of placeOf.entries())
    if (
      place >= 0 &&
      tenthsBetween(latitude, longitude, placeLatitude[place], placeLongitude[place]) <= 10 * miles
    )
      found.push(facility);
  return found;
}

test("a list around a place has every hospital within the distance, and counts those without a place", () => {
  const random = seededRandom(seed);
  for (const each of [image, gappy])
    for (let i = 0; i < 150; i++) {
      const { latitude, longitude } = pointAt(each, random.int(each.placeLatitude.length));
      const miles = 1 + random.int(i % 2 === 0 ? 60 : maxMiles);
      const near = { latitude, longitude, miles };
      const expected = naive(each, latitude, longitude, miles);
      const all = listFacilities(each, { status: "all", near }, "name");
      const what = `seed ${seed}, ${latitude} ${longitude}, ${miles} miles`;
      assert.deepEqual([...all.items], expected, what);
      assert.equal(all.unplaced, each.placeOf.filter((place) => place < 0).length, what);
      const procedure = random.int(each.procedures);
      const { items } = listFacilities(each, { status: "all", procedure, near }, "distance");
      const rows = [
        ...each.procedureRows.subarray(each.procedureStart[procedure], each.procedureStart[procedure + 1]),
      ];
      const inCircle = new Set(expected);
      assert.deepEqual(
        [...items],
        rows.filter((row) => inCircle.has(each.facility[row])),
        what,
      );
    }
});

test("no place within a distance is outside the bounds of its circle, also near a pole and where longitudes begin anew", () => {
  const random = seededRandom(seed);
  const degrees = 1e6;
  const pole = 90 * degrees;
  for (const [latitude, longitude] of [
    [41.9, -87.6],
    [71.3, -156.8],
    [84, 20],
    [-89.5, 20],
    [52, 179.5],
    [52, -179.5],
    [0, 0],
  ].map((pair) => pair.map((each) => each * degrees)))
    for (const miles of [1, 50, maxMiles]) {
      const { north, east } = extentOf({ latitude, longitude }, miles);
      for (let i = 0; i < 3000; i++) {
        const to = latitude + (random.next() - 0.5) * 20 * degrees;
        const there = [Math.max(-pole, Math.min(pole, to)), (random.next() - 0.5) * 360 * degrees];
        const isIn = tenthsBetween(latitude, longitude, there[0], there[1]) <= 10 * miles;
        const isOut = Math.abs(there[0] - latitude) > north || Math.abs(there[1] - longitude) > east;
        assert.ok(!(isIn && isOut), `${miles} miles from ${latitude} ${longitude} to ${there}`);
      }
    }
});
