import assert from "node:assert/strict";
import { test } from "node:test";
import { byField, changesBetween, measureFields, type Snapshot } from "../../engine/index.ts";
import {
  arranged,
  changed,
  imageOf,
  randomSnapshot,
  rowsOf,
  type ShortRow,
  snapshotOf,
} from "../support/fixtures.ts";
import { type Random, seededRandom } from "../support/random.ts";
import { rounds } from "../support/rounds.ts";

/** Compares the JSON of rows of the same facility and procedure. */
function naive(before: Snapshot, after: Snapshot) {
  const byKey = (snapshot: Snapshot) =>
    new Map(rowsOf(snapshot).map((row) => [`${row.ccn} ${row.procedure_code}`, JSON.stringify(row)]));
  const [old, now] = [byKey(before), byKey(after)];
  const kept = [...now.keys()].filter((key) => old.has(key));
  return {
    rows_added: now.size - kept.length,
    rows_removed: old.size - kept.length,
    rows_changed: kept.filter((key) => now.get(key) !== old.get(key)).length,
  };
}

/** The first row always stays. */
function thinned({ table, provenance }: Snapshot, random: Random): Snapshot {
  const { rows, ...texts } = table;
  const isKept = rows.facility.map((_, row) => (row === 0 || random.int(4) > 0 ? 1 : 0));
  const kept = byField(["facility", "procedure", ...measureFields] as const, (field) =>
    rows[field].filter((_, row) => isKept[row] === 1),
  );
  return arranged(provenance, { ...texts, rows: kept });
}

test("the counts of row changes equal a naive comparison for random snapshots and their variants", () => {
  for (let seed = 900; seed < 900 + rounds(12); seed++) {
    const random = seededRandom(seed);
    const before = thinned(randomSnapshot(seed), random);
    const after = changed(before, ({ facilities, procedures, rows }) => {
      const pick = (length: number) => random.int(length);
      if (random.int(2) === 0) facilities.zip[pick(facilities.zip.length)] = "00501";
      if (random.int(3) === 0) procedures.name[pick(procedures.name.length)] = "Another name";
      for (let left = random.int(4); left > 0; left--) rows.services[pick(rows.services.length)] = 7;
    });
    for (const [one, other] of [
      [before, thinned(after, random)],
      [before, after],
      [after, before],
      [before, randomSnapshot(seed + 1)],
      [before, before],
    ])
      assert.deepEqual(changesBetween(imageOf(one), imageOf(other)), naive(one, other), `seed ${seed}`);
  }
});

test("added, removed and changed rows are counted at both ends of the table", () => {
  const row = (ccn: string, code: string, charge = 100): ShortRow => [ccn, "AL", code, charge, 50];
  const before = snapshotOf([row("010001", "5071"), row("010001", "5072"), row("010003", "5072")]);
  const after = snapshotOf([
    row("010001", "5072", 101),
    row("010002", "5072"),
    row("010003", "5072"),
    row("010004", "5073"),
  ]);
  const changes = { rows_added: 2, rows_removed: 1, rows_changed: 1 };
  assert.deepEqual(changesBetween(imageOf(before), imageOf(after)), changes);
  assert.deepEqual(naive(before, after), changes);
});
