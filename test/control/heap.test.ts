import assert from "node:assert/strict";
import { syncBuiltinESMExports } from "node:module";
import { type TestContext, test } from "node:test";
import v8 from "node:v8";
import { collectGarbageSoon, watchHeap } from "../../server/shared/runtime.ts";
import { until } from "../support/connection.ts";

/**
 * Tests that a thread ends with a reason when most of its heap is used, before V8 ends the process without one, and that it
 * frees memory beside other work.
 */

const limit = 1000 * 2 ** 20;

/** Each reading of the heap in use gives the next percentage, and in the end the last percentage again. */
function look(t: TestContext, ...percents: number[]): void {
  const heap = v8.getHeapStatistics();
  let at = 0;
  t.mock.method(v8, "getHeapStatistics", () => ({
    ...heap,
    heap_size_limit: limit,
    used_heap_size: (percents[Math.min(at++, percents.length - 1)] / 100) * limit,
  }));
  t.mock.timers.enable();
  syncBuiltinESMExports();
  try {
    watchHeap();
    t.mock.timers.tick(1000);
  } finally {
    t.mock.reset();
    syncBuiltinESMExports();
  }
}

const reason = { message: "out of memory: 80 % of a heap of 1000 MB are used" };

test("a thread that uses more than 80 % of its heap ends with a reason", (t) => {
  assert.throws(() => look(t, 80.1), reason);
  assert.throws(() => look(t, 50, 60, 99), reason);
});

test("a thread that uses less heap, or less after garbage collection, keeps running", (t) => {
  look(t, 79.9);
  look(t, 99, 70);
});

test("what nobody holds any more is freed soon, and nothing is printed", async (t) => {
  const warned = t.mock.method(process, "emitWarning", () => {});
  let isFreed = false;
  const registry = new FinalizationRegistry(() => {
    isFreed = true;
  });
  // In a function of its own, because a suspended function would hold the object.
  (() => registry.register({}, undefined))();
  collectGarbageSoon();
  await until("a collection of the whole heap", () => isFreed);
  assert.equal(warned.mock.callCount(), 0);
});
