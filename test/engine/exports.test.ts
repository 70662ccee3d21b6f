import assert from "node:assert/strict";
import { test } from "node:test";
import { DataType, tableFromIPC } from "apache-arrow";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { attachImage, buildImage } from "../../engine/index.ts";
import {
  arrowBytes,
  arrowPieces,
  csvBytes,
  csvPieces,
  type ExportScope,
  rowStatuses,
  rowsOfScope,
  textAt,
} from "../../engine/query.ts";
import { expectedRows } from "../support/exported-rows.ts";
import { randomSnapshot, type ShortRow, snapshotOf } from "../support/fixtures.ts";
import { rounds } from "../support/rounds.ts";

const maxPieceBytes = 16 * 2 ** 10;

function joined(pieces: Iterable<Uint8Array>): Buffer {
  const copies: Uint8Array[] = [];
  for (const piece of pieces) {
    assert.ok(piece.length <= maxPieceBytes);
    copies.push(piece.slice());
  }
  return Buffer.concat(copies);
}

const rowsOf = (stream: Uint8Array) =>
  tableFromIPC(stream)
    .toArray()
    .map((row) => row.toJSON());

test("CSV and Arrow exports of every state and procedure have the announced length and the expected rows", () => {
  for (let seed = 1; seed <= rounds(8); seed++) {
    const snapshot = randomSnapshot(seed);
    const image = attachImage(buildImage(snapshot));
    const all = expectedRows(snapshot);
    const states = [null, ...new Set(snapshot.table.facilities.state)];
    const procedures = [null, ...image.codes.keys()];
    for (const state of states)
      for (const procedure of procedures) {
        const scope: ExportScope = { procedure, state };
        const expected = all.filter(
          (row) =>
            (state === null || row.state === state) &&
            (procedure === null || row.code === image.codes[procedure]),
        );
        assert.equal(rowsOfScope(image, scope).rows, expected.length);
        const csv = joined(csvPieces(image, scope));
        assert.equal(csv.length, csvBytes(image, scope));
        assert.equal(csv.toString().split("\r\n").length, expected.length + 2);
        const arrow = joined(arrowPieces(image, scope));
        assert.equal(arrow.length, arrowBytes(image, scope));
        assert.deepEqual(rowsOf(arrow), expected, `seed ${seed}`);
      }
  }
});

test("a dictionary of an Arrow export has each text of the exported rows once, in every batch and scope", () => {
  const snapshots = Array.from({ length: rounds(5) }, (_, i) => randomSnapshot(i + 1));
  // This one has several batches, and facilities of equal states, cities, ZIP codes and names.
  snapshots.push(syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 3000, seed: 1 }));
  for (const [i, snapshot] of snapshots.entries()) {
    const image = attachImage(buildImage(snapshot));
    const [state, procedure] = [textAt(image.state, 0), image.procedure[0]];
    for (const scope of [
      { state: null, procedure: null },
      { state, procedure: null },
      { state: null, procedure },
      { state, procedure },
    ]) {
      const table = tableFromIPC(joined(arrowPieces(image, scope)));
      const coded = table.schema.fields.filter(({ type }) => DataType.isDictionary(type));
      assert.equal(coded.length, 12);
      for (const { name } of coded) {
        const column = table.getChild(name) ?? assert.fail(name);
        const values = [...column].filter((value) => value !== null);
        for (const batch of column.data) {
          const texts = [...(batch.dictionary ?? [])];
          // The status and the version have all of their texts, whatever the scope.
          const used = name === "status" ? rowStatuses : new Set(values);
          assert.deepEqual([...texts].sort(), [...used].sort(), `${name} of snapshot ${i}`);
        }
      }
    }
  }
});

test("exports of more facilities than a piece has room for have every row, and so has one row after thousands of others", () => {
  // 16 KiB have 4,096 offsets, and fewer of these names. So many rows are scanned at a time.
  const facilities = 4200;
  const rows = Array.from(
    { length: facilities },
    (_, i): ShortRow => [...([String(10_000 + i).padStart(6, "0"), "AL", "5072", 100 + i, 50] as const)],
  );
  const last = rows[facilities - 1][0];
  const snapshot = snapshotOf([...rows, [last, "AL", "5073", 7, 5]]);
  const image = attachImage(buildImage(snapshot));
  const all = expectedRows(snapshot);
  for (const procedure of [null, image.codes.indexOf("5073")]) {
    const scope = { procedure, state: null };
    const expected = all.filter(({ code }) => procedure === null || code === "5073");
    const table = tableFromIPC(joined(arrowPieces(image, scope)));
    for (const name of ["ccn", "facility", "submitted_charge"])
      assert.deepEqual(
        [...(table.getChild(name) ?? [])],
        expected.map((row) => row[name]),
      );
    const csv = joined(csvPieces(image, scope));
    assert.equal(csv.length, csvBytes(image, scope));
    const ccns = csv
      .toString()
      .trimEnd()
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(",")[2]);
    assert.deepEqual(
      ccns,
      expected.map(({ ccn }) => ccn),
    );
  }
});
