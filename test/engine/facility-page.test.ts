import assert from "node:assert/strict";
import { test } from "node:test";
import { facilitySorts } from "../../engine/answers/facility-list.ts";
import { attachImage, buildImage, facilityPage } from "../../engine/index.ts";
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
            const pageOf = (minCharge: number | undefined, offset: number, count: number) => {
              const filter = { procedure, status: "priced" as const, states, minCharge };
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
