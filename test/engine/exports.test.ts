import assert from "node:assert/strict";
import { test } from "node:test";
import { tableFromIPC } from "apache-arrow";
import { attachImage, buildImage, partsOf } from "../../engine/index.ts";
import {
  arrowBytes,
  arrowPieces,
  csvBytes,
  csvPieces,
  type ExportScope,
  rowsOfScope,
  textAt,
} from "../../engine/query.ts";
import { expectedRows } from "../support/exported-rows.ts";
import { randomSnapshot } from "../support/fixtures.ts";
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
    const states = [null, ...new Set(partsOf(snapshot.table).facilities.state)];
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

test("the dictionaries of an Arrow export contain only values of the exported rows", () => {
  for (let seed = 1; seed <= rounds(5); seed++) {
    const image = attachImage(buildImage(randomSnapshot(seed)));
    for (const state of [null, textAt(image.state, 0)])
      for (const procedure of [null, image.procedure[0]]) {
        const table = tableFromIPC(joined(arrowPieces(image, { procedure, state })));
        for (const name of ["ccn", "code"]) {
          const column = table.getChild(name) ?? assert.fail(name);
          const texts = [...(column.data[0].dictionary ?? [])];
          assert.deepEqual(texts, [...new Set(column)].sort(), `seed ${seed}`);
        }
      }
  }
});
