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
