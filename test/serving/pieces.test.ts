import assert from "node:assert/strict";
import { test } from "node:test";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { prepareSearch, search } from "../../engine/query.ts";
import { inPieces, pieceMs } from "../../server/serving/pieces.ts";
import { imageOf } from "../support/fixtures.ts";

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
