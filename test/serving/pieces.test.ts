import assert from "node:assert/strict";
import { syncBuiltinESMExports } from "node:module";
import { test } from "node:test";
import vm from "node:vm";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { prepareSearch, search } from "../../engine/query.ts";
import { inPieces, pieceMs } from "../../server/serving/pieces.ts";
import { freeRetired, prepareVersions, versionsOf } from "../../server/serving/versions.ts";
import { imageOf, snapshotAs } from "../support/fixtures.ts";

/** Tests that long work leaves a serving thread free for requests in between. */

test("work ends a piece after its time, and others run between two pieces", async () => {
  let nowMs = 0;
  const done: string[] = [];
  const steps = (function* () {
    for (let i = 0; i < 4; i++) {
      nowMs += pieceMs / 2;
      done.push("step");
      yield;
    }
  })();
  const pieces: number[] = [];
  const onPiece = (ms: number) => {
    pieces.push(ms);
    setImmediate(() => done.push("request"));
  };
  await inPieces(steps, onPiece, () => nowMs);
  assert.deepEqual(pieces, [pieceMs, pieceMs, 0]);
  assert.deepEqual(done, ["step", "step", "request", "step", "step", "request"]);
});

test("an error of the work is thrown", async () => {
  const steps = (function* () {
    yield;
    assert.fail("a fault");
  })();
  await assert.rejects(
    inPieces(steps, () => {}),
    { message: "a fault" },
  );
});

test("a search finds the same in an image that was prepared in steps, and each step takes few facilities", () => {
  const snapshot = syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 20_000, seed: 1 });
  const [prepared, other] = [imageOf(snapshot), imageOf(snapshot)];
  const steps = Array.from(prepareSearch(prepared)).length;
  assert.ok(steps > prepared.stateOf.length / 10, `${steps} steps`);
  for (const text of ["surgical hospital", "medical centre", "990901", "amber creek"])
    assert.deepEqual(search(prepared, "facility", text, 0, 50), search(other, "facility", text, 0, 50));
  for (const text of ["knee", "excision biopsi"])
    assert.deepEqual(search(prepared, "procedure", text, 0, 50), search(other, "procedure", text, 0, 50));
});

const published = (...names: string[]) =>
  names.map((name, i) => ({
    image: imageOf(snapshotAs(name, [["010001", "AL", "5072", 100, 50]])).buffer,
    loadedAt: `load ${i}`,
    file: { bytes: new Uint8Array(0), sha256: name, isChecked: true },
    previous: null,
  }));

test("of published versions, those that are served already keep their images, and only new ones are prepared", async () => {
  const before = versionsOf(published("2024.1", "2023.1"));
  let pieces = 0;
  const onPiece = () => {
    pieces++;
  };
  const same = await prepareVersions(published("2024.1"), before, onPiece);
  assert.deepEqual([same.images, pieces], [[before.images[0]], 0]);
  const more = await prepareVersions(published("2024.2", "2023.1"), before, onPiece);
  assert.ok(pieces > 0);
  assert.deepEqual([...more.byName.keys()], ["2024.2", "2023.1"]);
  assert.equal(more.images[1], before.images[1]);
  assert.ok(!before.images.includes(more.images[0]));
  const { image, loadedAt, file } = more.byName.get("2023.1") ?? assert.fail();
  assert.deepEqual([image === before.images[1], loadedAt, file.sha256], [true, "load 1", "2023.1"]);
});

test("garbage is collected soon after any version has gone, and not after one has come", async (t) => {
  const { mock } = t.mock.method(vm, "measureMemory", async () => {});
  syncBuiltinESMExports();
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
  });
  const all = versionsOf(published("2024.1", "2023.1", "2022.1"));
  const some = (...places: number[]) => ({ ...all, images: places.map((i) => all.images[i]) });
  for (const [before, now, collections] of [
    [some(0), some(0), 0],
    [some(0), some(0, 1), 0],
    [some(0, 1), some(0), 1],
    [some(0, 1), some(1, 2), 1],
    [some(0, 1), some(2), 1],
  ] as const) {
    mock.resetCalls();
    freeRetired(before, now, (error) => assert.fail(String(error)));
    assert.equal(mock.callCount(), 0, "not at once");
    await new Promise(setImmediate);
    assert.equal(mock.callCount(), collections);
  }
});
