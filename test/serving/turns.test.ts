import type { HttpResponse } from "uWebSockets.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Taker } from "../../server/serving/reply.ts";
import { madeBytesPerSecond, streamBody, Turns } from "../../server/serving/streaming.ts";

/** Tests how streams share a thread, on a clock that the test moves. */

const chunkBytes = 4096;
/** Bytes that an account may make beyond its rate: those of a few milliseconds, and a last chunk. */
const slackBytes = madeBytesPerSecond / 100 + chunkBytes;

/** Runs streams without end for a time, in which each turn takes `turnMs`. @returns chunks sent for each taker */
async function run(streams: [taker: Taker, count: number][], ms: number, turnMs: number, bytes = chunkBytes) {
  let nowMs = 1000;
  const endMs = nowMs + ms;
  let wake: (() => void) | undefined;
  const turns = new Turns(
    () => 0,
    (waitMs, callback) => {
      wake = () => {
        nowMs += waitMs;
        callback();
      };
      return () => {
        wake = undefined;
      };
    },
    () => nowMs,
  );
  const chunks = new Map<Taker, number>();
  const take = (taker: Taker) => {
    chunks.set(taker, (chunks.get(taker) ?? 0) + 1);
    turns.made(taker, bytes);
    nowMs += turnMs;
    if (nowMs < endMs) turns.wait(taker, () => take(taker));
  };
  for (const [taker, count] of streams) for (let i = 0; i < count; i++) turns.wait(taker, () => take(taker));
  while (nowMs < endMs) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = wake;
    wake = undefined;
    now?.();
  }
  return chunks;
}

for (const streams of [1, 2, 50])
  test(`${streams} streams of an account together make at most the bytes of an account`, async () => {
    const chunks = await run([[7, streams]], 1000, 0.01);
    const made = (chunks.get(7) ?? 0) * chunkBytes;
    assert.ok(made <= madeBytesPerSecond + slackBytes + streams * chunkBytes, `${made} bytes in a second`);
    assert.ok(made >= madeBytesPerSecond * 0.98, `${made} bytes in a second`);
    assert.equal(madeBytesPerSecond, 33_554_432);
  });

test("turns in which nothing is found count, too", async () => {
  const chunks = await run([[7, 1]], 1000, 0.001, 0);
  assert.ok((chunks.get(7) ?? 0) <= (madeBytesPerSecond + slackBytes) / 1024);
});

test("if a thread can't keep up, the accounts get equal shares, whatever the number of their streams", async () => {
  const chunks = await run(
    [
      [1, 40],
      [2, 1],
      [3, 5],
    ],
    1000,
    1,
  );
  const counts = [1, 2, 3].map((taker) => chunks.get(taker) ?? 0);
  assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, String(counts));
  assert.ok(counts[0] > 300, String(counts));
});

test("bodies in memory aren't bounded, and take turns with the accounts", async () => {
  const chunks = await run(
    [
      [1, 10],
      [undefined, 10],
    ],
    1000,
    0.02,
    2 ** 17,
  );
  const made = (taker: Taker) => (chunks.get(taker) ?? 0) * 2 ** 17;
  assert.ok(made(1) <= madeBytesPerSecond + madeBytesPerSecond / 100 + 10 * 2 ** 17);
  assert.ok(made(undefined) > 10 * madeBytesPerSecond);
});

test("an account that rested makes no more than before", async () => {
  let nowMs = 0;
  const turns = new Turns(
    () => 0,
    () => () => {},
    () => nowMs,
  );
  turns.made(1, 100);
  nowMs = 1e9;
  let made = 0;
  const take = () => {
    made += chunkBytes;
    turns.made(1, chunkBytes);
    turns.wait(1, take);
  };
  turns.wait(1, take);
  for (let i = 0; i < 1000; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(made <= slackBytes, `${made} bytes at once`);
});

test("a free account doesn't wait while another account has made its bytes for a long time", async () => {
  const timers = new Set<() => void>();
  const turns = new Turns(
    () => 0,
    (_, callback) => {
      timers.add(callback);
      return () => timers.delete(callback);
    },
    () => 0,
  );
  const taken: number[] = [];
  turns.made(1, madeBytesPerSecond);
  turns.wait(1, () => taken.push(1));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(timers.size, 1);
  turns.wait(2, () => taken.push(2));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(taken, [2]);
  assert.equal(timers.size, 1, "the first account still has its timer, and no other");
});

test("an account that has made its bytes isn't free until their time is over, and others are", () => {
  let nowMs = 1000;
  const turns = new Turns(
    () => 0,
    () => () => {},
    () => nowMs,
  );
  assert.ok(turns.isFree(1));
  turns.made(1, madeBytesPerSecond);
  assert.deepEqual([turns.isFree(1), turns.isFree(2), turns.isFree(undefined)], [false, true, true]);
  nowMs += 1000;
  assert.ok(turns.isFree(1));
});

/** A response that takes all bytes, and notes them. */
function openResponse() {
  const taken: number[] = [];
  const wait = { isOver: false, end: () => {} };
  const res = {
    tryEnd(chunk: Uint8Array, total: number) {
      taken.push(chunk.length);
      return [true, taken.reduce((sum, length) => sum + length) === total];
    },
    cork: (work: () => void) => work(),
    onWritable() {},
    close() {
      wait.isOver = true;
    },
  } as unknown as HttpResponse;
  return { res, taken, wait };
}

/** Makes some chunks, and then fails. */
function* broken(chunks: number): Generator<Uint8Array> {
  for (let i = 0; i < chunks; i++) yield new Uint8Array(100_000);
  throw new Error("no more data");
}

/** Ends before the length that was said. */
function* short(): Generator<Uint8Array> {
  yield new Uint8Array(100_000);
}

for (const [what, source] of [
  ["throws at its first chunk", broken(0)],
  ["throws at a later chunk", broken(3)],
  ["throws near the end", broken(9)],
  ["ends too early", short()],
] as const)
  test(`the connection is closed if a stream's source ${what}`, async () => {
    const { res, taken, wait } = openResponse();
    let nowMs = 1000;
    const turns = new Turns(
      () => 0,
      (waitMs, callback) => {
        nowMs += waitMs;
        setImmediate(callback);
        return () => {};
      },
      () => nowMs,
    );
    streamBody(
      res,
      { length: 1_000_000, source, taker: 1 },
      wait,
      turns,
      () => {},
      () => {},
      undefined,
    );
    for (let i = 0; i < 30 && !wait.isOver; i++) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(wait.isOver);
    assert.ok(taken.reduce((sum, length) => sum + length, 0) < 1_000_000);
  });
