import assert from "node:assert/strict";
import { test } from "node:test";
import { arrange, byField, facilityFields, measureFields, sealSnapshot } from "../../engine/index.ts";
import { randomSnapshot } from "../support/fixtures.ts";
import { seededRandom } from "../support/random.ts";

test("content in any order is arranged into the same snapshot", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const snapshot = randomSnapshot(seed);
    const random = seededRandom(seed);
    const positions = (values: ArrayLike<unknown>) => random.shuffled(Array.from(values, (_, i) => i));
    const { facilities, procedures, rows } = snapshot;
    const [f, p, r] = [positions(facilities.ccn), positions(procedures.code), positions(rows.charge)];
    const { content, order } = arrange({
      provenance: snapshot.provenance,
      facilities: byField(facilityFields, (field) => f.map((i) => facilities[field][i])),
      procedures: { code: p.map((i) => procedures.code[i]), name: p.map((i) => procedures.name[i]) },
      rows: {
        ...byField(measureFields, (field) => Int32Array.from(r, (i) => rows[field][i])),
        facility: Int32Array.from(r, (i) => f.indexOf(rows.facility[i])),
        procedure: Int32Array.from(r, (i) => p.indexOf(rows.procedure[i])),
      },
    });
    assert.deepEqual(sealSnapshot(content), snapshot, `seed ${seed}`);
    assert.deepEqual(
      Array.from(order, (i) => r[i]),
      [...r.keys()],
      `seed ${seed}`,
    );
  }
});
