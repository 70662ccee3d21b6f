import assert from "node:assert/strict";
import { test } from "node:test";
import { attachImage, blank, buildImage, imageTable } from "../engine/index.ts";
import { randomSnapshot } from "./fixtures.ts";

test("the Arrow table over an image has the snapshot's rows, without a copy of its amounts", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const snapshot = randomSnapshot(seed);
    const { facilities, procedures, rows } = snapshot;
    const image = attachImage(buildImage(snapshot));
    const table = imageTable(image);
    const cents = (amount: number) => (amount === blank ? null : amount);
    const expected = Array.from(rows.charge, (charge, i) => ({
      ccn: facilities.ccn[rows.facility[i]],
      facility: facilities.name[rows.facility[i]],
      city: facilities.city[rows.facility[i]],
      state: facilities.state[rows.facility[i]],
      procedure_code: procedures.code[rows.procedure[i]],
      procedure_name: procedures.name[rows.procedure[i]],
      submitted_charge_cents: cents(charge),
      medicare_allowed_cents: cents(rows.allowed[i]),
    }));
    const found = table.toArray().map((row) => row.toJSON());
    assert.deepEqual(found, expected, `seed ${seed}`);
    assert.equal(table.getChild("submitted_charge_cents")?.data[0].values.buffer, image.buffer);
  }
});

test("a buffer that is no image is refused", () => {
  assert.throws(
    () => attachImage(new SharedArrayBuffer(8)),
    /^DataError: image: found 8 bytes, expected magic/,
  );
  assert.throws(() => attachImage(new SharedArrayBuffer(4096)), /^DataError: image: found magic 0, format 0/);
});
