import assert from "node:assert/strict";
import { test } from "node:test";
import { AnswerCache } from "../../server/serving/answer-cache.ts";

/** Tests which answers a thread's cache keeps, and how many bytes. */

// An answer counts as one and a half times its bytes, so seven answers fill one of the two generations of 4 MiB.
const answer = { bodyBytes: 400_000 };
const perGeneration = 7;

/** Lists which of `count` answers stay in a cache. Each cache is asked once, because asking makes an answer young. */
function kept(count: number, begin = () => new AnswerCache<number, typeof answer>()): number[] {
  return Array.from({ length: count }, (_, key) => key).filter((key) => {
    const cache = begin();
    for (let i = 0; i < count; i++) cache.keep(i, answer);
    return cache.get(key) !== undefined;
  });
}

test("each generation of cached responses is kept until the next one is full", () => {
  const upTo = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
  for (let full = 1; full < 5; full++) {
    const end = (full + 1) * perGeneration;
    assert.deepEqual(kept(end - 1), upTo(end - 2 * perGeneration, end - 1));
    assert.deepEqual(kept(end), upTo(end - perGeneration, end));
  }
});

test("a response that is requested repeatedly stays in the cache", () => {
  const cache = new AnswerCache<number, typeof answer>();
  for (let i = 0; i < 10 * perGeneration; i++) {
    cache.keep(i, answer);
    assert.notEqual(cache.get(0), undefined, `after ${i} others`);
  }
});

test("a cleared cache has its full capacity again", () => {
  const cleared = () => {
    const cache = new AnswerCache<number, typeof answer>();
    for (let i = 0; i < perGeneration - 1; i++) cache.keep(-i, answer);
    cache.clear();
    return cache;
  };
  assert.deepEqual(kept(2 * perGeneration - 1, cleared), kept(2 * perGeneration - 1));
});
