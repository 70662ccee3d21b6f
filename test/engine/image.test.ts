import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordBatchStreamWriter, type Table, tableFromIPC } from "apache-arrow";
import {
  attachImage,
  buildImage,
  DataError,
  imageFormatVersion,
  imageTable,
  SizeError,
} from "../../engine/index.ts";
import { randomSnapshot, rowsOf, snapshotOf } from "../support/fixtures.ts";

const jsonOf = (table: Table) => table.toArray().map((row) => row.toJSON());

test("the Arrow table over an image has the snapshot's rows, without a copy of its amounts", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const snapshot = randomSnapshot(seed);
    const image = attachImage(buildImage(snapshot));
    const table = imageTable(image);
    assert.deepEqual(jsonOf(table), rowsOf(snapshot), `seed ${seed}`);
    assert.equal(table.getChild("submitted_charge_cents")?.data[0].values.buffer, image.buffer);
  }
});

test("the Arrow table goes out as an IPC stream whose columns are the image's own memory", async () => {
  const snapshot = randomSnapshot(1, { facilities: 60, procedures: 6 });
  const image = attachImage(buildImage(snapshot));
  const table = imageTable(image);
  const chunks: Uint8Array[] = [];
  for await (const chunk of RecordBatchStreamWriter.writeAll(table)) chunks.push(chunk);
  const stream = Buffer.concat(chunks);
  assert.deepEqual(jsonOf(tableFromIPC(stream)), rowsOf(snapshot));
  const columns = ["facility", "procedure", "charge", "allowed", "services", "outlierAmount"] as const;
  for (const name of columns)
    assert.ok(
      chunks.some(
        ({ buffer, byteOffset }) => buffer === image.buffer && byteOffset === image[name].byteOffset,
      ),
      name,
    );
});

test("a buffer that is no image is refused", () => {
  assert.throws(
    () => attachImage(new SharedArrayBuffer(8)),
    /^DataError: image: found 8 bytes, expected magic/,
  );
  assert.throws(() => attachImage(new SharedArrayBuffer(4096)), /^DataError: image: found magic 0, format 0/);
});

test("an image of another format, or whose first bytes are others, is refused", () => {
  const [magic, format] = new Uint32Array(buildImage(randomSnapshot(1)), 0, 2);
  assert.equal(format, imageFormatVersion);
  for (const [word, found] of [
    [0, `magic ${magic + 1}, format ${format}`],
    [1, `magic ${magic}, format ${format + 1}`],
  ] as const) {
    const buffer = buildImage(randomSnapshot(1));
    new Uint32Array(buffer, 0, 2)[word]++;
    assert.throws(
      () => attachImage(buffer),
      new DataError("image", found, `magic ${magic}, format ${format}`),
    );
  }
});

test("an image as large as its limit is built, and one byte larger is refused before its memory is taken", () => {
  const snapshot = randomSnapshot(1);
  const { byteLength } = buildImage(snapshot);
  const limits = { image: byteLength, heap: 2 ** 30 };
  assert.equal(buildImage(snapshot, limits).byteLength, byteLength);
  assert.throws(
    () => buildImage(snapshot, { ...limits, image: byteLength - 1 }),
    new SizeError("image of 2024.3", `${byteLength} bytes`, `at most ${byteLength - 1}`),
  );
});

test("names that would take more of the heap than there is are refused before they do, whether they have words or not", () => {
  for (const letter of ["x", "-"]) {
    const snapshot = snapshotOf(
      Array.from({ length: 30 }, (_, i) => [`0100${10 + i}`, "AL", "5072", 2, 1, letter.repeat(400)]),
    );
    assert.throws(
      () => buildImage(snapshot, { image: 2 ** 30, heap: 100_000 }),
      /^DataError: texts of 2024\.3: found \d+ bytes or more, expected at most 100000$/,
    );
  }
});
