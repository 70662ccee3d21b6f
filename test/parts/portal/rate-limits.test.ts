import assert from "node:assert/strict";
import { test } from "node:test";
import { Buckets } from "../../../server/parts/portal/rate-limits.ts";

test("a bucket refills steadily up to its capacity, and returns the wait for the next token", () => {
  const buckets = new Buckets(2, 0.1, 10);
  const take = (ms: number) => buckets.take("a", ms);
  assert.deepEqual([take(0), take(0), take(0), take(4000)], [0, 0, 10, 6]);
  assert.deepEqual([take(10_000), take(10_000)], [0, 10]);
  assert.deepEqual([take(1e9), take(1e9), take(1e9)], [0, 0, 10]);
  assert.deepEqual(
    [take(1e9 - 60_000), take(1e9 - 55_000)],
    [10, 5],
    "a clock that is set back fills nothing",
  );
  assert.equal(buckets.take("b", 0), 0);
});

test("the most recently used buckets are kept", () => {
  const buckets = new Buckets(1, 0.1, 2);
  assert.deepEqual(
    ["a", "b", "a", "c", "a", "b"].map((name) => buckets.take(name, 0)),
    [0, 0, 10, 0, 10, 0],
  );
});
