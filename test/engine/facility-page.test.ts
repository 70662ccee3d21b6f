import assert from "node:assert/strict";
import { test } from "node:test";
import { chargeFrom, chargeUpTo } from "../../engine/answers/facility-conditions.ts";
import { facilitySorts } from "../../engine/answers/facility-list.ts";
import {
  attachImage,
  buildImage,
  type FacilityFilter,
  facilityPage,
  listFacilities,
} from "../../engine/index.ts";
import { stateCodes } from "../../engine/snapshot/schema.ts";
import { randomSnapshot } from "../support/fixtures.ts";

/** Tests that a page of a prepared order has the same rows as a list that is sorted when it is asked for. */

const length = 7;

for (const seed of [1, 2, 3, 4])
  test(`every page of every sort equals the sorted list (seed ${seed})`, () => {
    const image = attachImage(buildImage(randomSnapshot(seed, { facilities: 60, procedures: 6, states: 2 })));
    let compared = 0;
    for (let procedure = 0; procedure < image.procedures; procedure++)
      for (const states of [undefined, ...stateCodes.map((code) => [code])])
        for (const sort of facilitySorts)
          for (const isDescending of [false, true]) {
            if (sort === "distance") continue;
            const pageOf = (least: number | undefined, offset: number, count: number) => {
              const conditions = least === undefined ? [] : [chargeFrom(least)];
              const filter = { procedure, status: "priced" as const, states, conditions };
              return facilityPage(image, filter, sort, isDescending, offset, count);
            };
            // A lowest charge of 0 leaves out nothing, but the list isn't prepared.
            const whole = pageOf(0, 0, 100_000);
            const found = pageOf(undefined, 0, 100_000);
            assert.equal(found.length, whole.length);
            assert.deepEqual([...found.items], [...whole.items]);
            if (whole.length > 0) assert.deepEqual(found.summary(), whole.summary());
            for (let offset = 0; offset < whole.length + 2; offset += length) {
              const page = pageOf(undefined, offset, length);
              assert.deepEqual([...page.items], [...whole.items.subarray(offset, offset + length)]);
              compared += page.items.length;
            }
          }
    assert.ok(compared > 100, `${compared} rows compared`);
  });

/** A value of each field, which leaves out all rows of a procedure. The type asks for a value of a new field. */
const fields: Required<Omit<FacilityFilter, "procedure" | "status">> = {
  states: ["GU", "PR"],
  near: { latitude: 0, longitude: 0, miles: 1 },
  conditions: [chargeFrom(2 ** 30)],
};
const lists = {
  "several conditions on prices": [chargeFrom(0), chargeUpTo(0), chargeFrom(0)],
  "several conditions on facilities": [{ facility: () => true }, { facility: () => false }],
  "a condition of each kind": [chargeFrom(0), { facility: () => false }],
};

for (const [name, value] of [
  ...Object.entries(fields).map(([field, value]) => [field, { [field]: value }] as const),
  ...Object.entries(lists).map(([list, conditions]) => [list, { conditions }] as const),
])
  test(`a page and its summary leave out the rows that don't meet ${name}`, () => {
    const image = attachImage(buildImage(randomSnapshot(1, { facilities: 60, procedures: 6, states: 2 })));
    const rows = (filter: FacilityFilter) => {
      const { length, summary } = facilityPage(image, filter, "charge", false, 0, 100);
      const statistics = Object.values(summary()).filter((value) => value > 0);
      return [length, statistics.length, listFacilities(image, filter, "charge").items.length];
    };
    for (const status of ["priced", "all"] as const) {
      assert.ok(rows({ procedure: 0, status }).every((count) => count > 0));
      assert.deepEqual(rows({ procedure: 0, status, ...value }), [0, 0, 0]);
    }
  });
