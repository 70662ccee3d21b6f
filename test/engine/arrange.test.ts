import assert from "node:assert/strict";
import { test } from "node:test";
import {
  arrangeTable,
  byField,
  facilityFields,
  measureFields,
  procedureFields,
  sealSnapshot,
} from "../../engine/index.ts";
import { contentOf, randomSnapshot, testProvenance } from "../support/fixtures.ts";
import { seededRandom } from "../support/random.ts";

test("rows in any order give the same table, and facilities and procedures without rows are dropped", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const snapshot = randomSnapshot(seed);
    const random = seededRandom(seed);
    const positions = (values: ArrayLike<unknown>) => random.shuffled(Array.from(values, (_, i) => i));
    const { facilities, procedures, rows } = snapshot.table;
    const [f, p, r] = [positions(facilities.ccn), positions(procedures.code), positions(rows.charge)];
    const { table, order } = arrangeTable({
      facilities: byField(facilityFields, (field) => [...f.map((i) => facilities[field][i]), "unused"]),
      procedures: byField(procedureFields, (field) => ["none", ...p.map((i) => procedures[field][i])]),
      rows: {
        ...byField(measureFields, (field) => Int32Array.from(r, (i) => rows[field][i])),
        facility: Int32Array.from(r, (i) => f.indexOf(rows.facility[i])),
        procedure: Int32Array.from(r, (i) => 1 + p.indexOf(rows.procedure[i])),
      },
    });
    assert.deepEqual(contentOf(sealSnapshot(table, testProvenance)), contentOf(snapshot), `seed ${seed}`);
    assert.deepEqual(
      Array.from(order, (i) => r[i]),
      [...r.keys()],
      `seed ${seed}`,
    );
  }
});

test("a few rows in each order give the same table, in order", () => {
  const pairs = [
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
  ];
  const ordersOf = (positions: readonly number[]): number[][] =>
    positions.length < 2
      ? [[...positions]]
      : positions.flatMap((first) =>
          ordersOf(positions.filter((each) => each !== first)).map((rest) => [first, ...rest]),
        );
  for (const some of [
    [0, 3],
    [0, 1],
    [1, 2],
    [0, 1, 2],
    [0, 1, 2, 3],
  ])
    for (const given of ordersOf(some)) {
      const column = (of: (position: number) => number) => Int32Array.from(given, of);
      const { table, order } = arrangeTable({
        facilities: byField(facilityFields, () => ["a", "b"]),
        procedures: byField(procedureFields, () => ["1", "2"]),
        rows: {
          ...byField(measureFields, () => column((position) => 10 + position)),
          facility: column((position) => pairs[position][0]),
          procedure: column((position) => pairs[position][1]),
        },
      });
      assert.deepEqual(
        Array.from(order, (i) => given[i]),
        some,
      );
      assert.deepEqual(
        [...table.rows.charge],
        some.map((position) => 10 + position),
      );
      const found = some.map((_, row) => [
        table.facilities.ccn[table.rows.facility[row]],
        table.procedures.code[table.rows.procedure[row]],
      ]);
      assert.deepEqual(
        found,
        some.map((position) => ["ab"[pairs[position][0]], "12"[pairs[position][1]]]),
      );
    }
});
