import assert from "node:assert/strict";
import { test } from "node:test";
import { identityOrder, stableOrder } from "../../engine/snapshot/sort.ts";
import { seededRandom } from "../support/random.ts";

/** @param columns the most important first */
function expectedOrder(columns: (Int32Array | Uint32Array)[], order: Iterable<number>): number[] {
  return [...order].sort((a, b) => {
    for (const column of columns) if (column[a] !== column[b]) return column[a] < column[b] ? -1 : 1;
    return 0;
  });
}

test("a subset of the positions is sorted without changing the given array", () => {
  const order = Uint32Array.of(4, 2, 0);
  assert.deepEqual([...stableOrder(Int32Array.of(30, 1, 20, 1, 10), order)], [4, 2, 0]);
  // With the three scales, the keys have one, two and three digits of the radix sort.
  for (const scale of [1, 2 ** 11, 2 ** 22]) {
    const keys = [10, 1, 20, 1, 30].map((key) => key * scale);
    assert.deepEqual([...stableOrder(Int32Array.from(keys), order)], [0, 2, 4]);
    assert.deepEqual([...order], [4, 2, 0]);
  }
});

test("sorting always returns a new array", () => {
  const order = identityOrder(3);
  for (const keys of [
    [0, 0, 0],
    [1, 2, 3],
    [3000, 2000, 1000],
    [2 ** 31, 1, 0],
  ])
    assert.notEqual(stableOrder(Uint32Array.from(keys), order), order);
});

test("random keys are sorted like by JavaScript's stable sort", () => {
  const limits = [1, 2, 10, 2047, 2048, 2049, 2 ** 22, 2 ** 31, 2 ** 32];
  for (let seed = 0; seed < 200; seed++) {
    const random = seededRandom(seed);
    const length = random.int(300);
    const limit = random.pick(limits);
    const keys = Uint32Array.from({ length }, () => random.int(limit));
    const order = Uint32Array.from(random.shuffled([...identityOrder(length)]));
    assert.deepEqual([...stableOrder(keys, order)], expectedOrder([keys], order), `seed ${seed}`);
  }
});
