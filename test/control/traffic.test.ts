import assert from "node:assert/strict";
import { test } from "node:test";
import { errors } from "../../server/api/errors.ts";
import { bucketBounds, ThreadTraffic, Traffic } from "../../server/shared/traffic.ts";
import { seededRandom } from "../support/random.ts";

/** Tests the counts of serving threads, and their sums in the control thread. */

class Thread {
  readonly #traffic: ThreadTraffic;
  nowMs = 1000;

  constructor(buffer: SharedArrayBuffer, seed = 1) {
    this.#traffic = new ThreadTraffic(buffer, () => this.nowMs, seededRandom(seed).next);
  }

  answer(route: number, status: number, bytes: number, tookMs: number): void {
    const begun = this.#traffic.begin();
    this.nowMs += tookMs;
    this.#traffic.answered(route, status, bytes, begun);
  }

  get refusals(): Pick<ThreadTraffic, "refused" | "unauthorized" | "sent"> {
    return this.#traffic;
  }
}

const total = (counts: number[]) => counts.reduce((sum, count) => sum + count, 0);

test("responses, bytes, refusals and unauthorized requests of all threads are added up", () => {
  const traffic = new Traffic(["unknown", "/a", "/b"], 2);
  const [first, second] = traffic.buffers.map((buffer) => new Thread(buffer));
  first.answer(1, 200, 100, 0);
  first.answer(1, 200, 50, 0);
  first.answer(2, 429, 7, 0);
  second.answer(1, 200, 1000, 0);
  second.answer(2, 599, 1, 0);
  second.refusals.sent(1, 200, 5000);
  first.refusals.refused("burst", 0);
  second.refusals.refused("burst", 0);
  second.refusals.refused("quota", 0);
  second.refusals.refused("clock", 0);
  for (const fault of ["missing", "malformed", "unknown", "inactive", "inactive"] as const)
    first.refusals.unauthorized(fault);
  const { answers, refused, unauthorized } = traffic.snapshot();
  assert.deepEqual(
    answers
      .filter(({ requests }) => requests > 0)
      .map(({ route, status, requests, bytes }) => [route, status, requests, bytes]),
    [
      ["/a", "200", 3, 6150],
      ["/b", "other", 1, 1],
      ["/b", "429", 1, 7],
    ],
  );
  assert.deepEqual(refused, { burst: 2, quota: 1, clock: 1, address: 0 });
  assert.deepEqual(unauthorized, { missing: 1, malformed: 1, unknown: 1, inactive: 2 });
});

test("a delayed response is timed once and doesn't change the timing of others", () => {
  const traffic = new Traffic(["/a", "/posts"], 1);
  const [buffer] = traffic.buffers;
  let nowMs = 0;
  const thread = new ThreadTraffic(buffer, () => nowMs, seededRandom(1).next);
  // After the first 1,000 answers in a second, one in 16 is timed, and counts 16 times.
  for (let i = 0; i < 1200; i++) thread.answered(0, 200, 1, thread.begin());
  const begun = thread.beginLater();
  for (let i = 0; i < 1200; i++) thread.answered(0, 200, 1, thread.begin());
  nowMs += 3000;
  thread.answeredLater(1, 200, 10, begun);
  const { answers } = traffic.snapshot();
  const later = answers.find(({ route, status }) => route === "/posts" && status === "200");
  assert.ok(later);
  assert.deepEqual([later.requests, later.bytes, later.seconds, total(later.buckets)], [1, 10, 3, 1]);
  const others = answers.find(({ route, status }) => route === "/a" && status === "200");
  assert.ok(others && total(others.buckets) > 2000, `${total(others?.buckets ?? [])} timed`);
});

test("a timed response that is delayed, and perhaps never sent, leaves the next one to be timed in its place", () => {
  const traffic = new Traffic(["/a"], 1);
  const thread = new ThreadTraffic(traffic.buffers[0], () => 0, seededRandom(1).next);
  thread.beginLater(thread.begin());
  for (let i = 0; i < 3; i++) thread.answered(0, 200, 1, thread.begin());
  const [{ requests, buckets }] = traffic.snapshot().answers;
  assert.deepEqual([requests, total(buckets)], [3, 3]);
});

test("the pieces of other work are timed apart from responses", () => {
  const traffic = new Traffic(["/a"], 2);
  const [first, second] = traffic.buffers.map((buffer) => new ThreadTraffic(buffer));
  first.worked("file", 0.25);
  second.worked("file", 0.5);
  second.worked("publication", 2);
  const { answers, works } = traffic.snapshot();
  assert.deepEqual(
    Object.entries(works).map(([work, { buckets, seconds }]) => [work, total(buckets), seconds]),
    [
      ["file", 2, 0.00075],
      ["publication", 1, 0.002],
    ],
  );
  assert.equal(works.publication.buckets[bucketBounds.indexOf(2048 / 1e6)], 1);
  assert.deepEqual(
    answers.filter(({ requests }) => requests > 0),
    [],
  );
});

test("each route has a counter for each status that alerts name, which starts at zero", () => {
  const { answers } = new Traffic(["unknown", "/a"], 1).snapshot();
  assert.deepEqual(
    answers.map(({ route, status, requests }) => [route, status, requests]),
    [
      ["unknown", "500", 0],
      ["unknown", "503", 0],
      ["/a", "500", 0],
      ["/a", "503", 0],
    ],
  );
});

test("with few requests, each one is timed and counted in the right histogram bucket", () => {
  const traffic = new Traffic(["/a"], 1);
  const thread = new Thread(traffic.buffers[0]);
  const timesUs = [0, 0.5, 0.9, 1.1, 1.9, 3, 3.9, 4.1, 1023, 1025, 16_777_000, 16_778_000, 10 ** 9];
  for (const us of timesUs) {
    thread.nowMs += 1000;
    thread.answer(0, 200, 0, us / 1000);
  }
  const [{ buckets, seconds }] = traffic.snapshot().answers;
  const expected = new Array<number>(bucketBounds.length + 1).fill(0);
  for (const us of timesUs) {
    const place = bucketBounds.findIndex((bound) => us / 1e6 <= bound);
    expected[place < 0 ? bucketBounds.length : place]++;
  }
  assert.deepEqual(buckets, expected);
  assert.ok(Math.abs(seconds - total(timesUs) / 1e6) < 1e-6, `${seconds} s`);
});

test("a busy thread times a sample of requests that represents all of them", () => {
  const traffic = new Traffic(["/slow", "/fast"], 1);
  let readings = 0;
  let nowMs = 0;
  const clock = () => {
    readings++;
    return nowMs;
  };
  const thread = new ThreadTraffic(traffic.buffers[0], clock, seededRandom(7).next);
  const requests = 320_000;
  for (let i = 0; i < requests; i++) {
    const begun = thread.begin();
    const isSlow = i % 16 === 0;
    nowMs += isSlow ? 0.1 : 0.002;
    thread.answered(isSlow ? 0 : 1, 200, 0, begun);
  }
  assert.ok(readings < requests / 6, `${readings} readings`);
  for (const { route, status, requests: all, buckets } of traffic.snapshot().answers) {
    if (status !== "200") continue;
    const share = total(buckets) / all;
    assert.ok(Math.abs(share - 1) < 0.1, `${route}: ${share}`);
  }
});

test("every response status has its own counter", () => {
  const traffic = new Traffic(["/a"], 1);
  const thread = new Thread(traffic.buffers[0]);
  const statuses = new Set([
    200,
    206,
    304,
    ...Object.values(errors).map(({ status }) => Number.parseInt(status, 10)),
  ]);
  for (const status of statuses) thread.answer(0, status, 0, 0);
  const counted = traffic.snapshot().answers.map(({ status, requests }) => [status, requests]);
  assert.deepEqual(
    counted,
    [...statuses].sort((a, b) => a - b).map((status) => [String(status), 1]),
  );
});
