import assert from "node:assert/strict";
import { test } from "node:test";
import {
  inSteps,
  merged,
  percentile,
  type Sample,
  samplesOf,
} from "../../../server/parts/console/browser/sample.ts";
import { History } from "../../../server/parts/console/history.ts";
import { ThreadTraffic, Traffic } from "../../../server/shared/traffic.ts";

const refusedBy = new Map<string, number>();
const refusedNow = () => new Map(refusedBy);
const now = () => ({ connections: 3, memory: 2 ** 20 });

test("a sample holds the rates per second since the previous sample", () => {
  const traffic = new Traffic(["/a", "/b"], 1);
  let nowMs = 0;
  const thread = new ThreadTraffic(traffic.buffers[0], () => nowMs);
  const answer = (route: number, status: number, ms: number) => {
    const begun = thread.begin();
    nowMs += ms;
    thread.answered(route, status, 100, begun);
  };
  answer(0, 200, 1);
  const history = new History(traffic, now, refusedNow, 0);
  for (let i = 0; i < 4; i++) answer(0, 200, 0.003);
  answer(1, 404, 0.003);
  thread.refused("quota", 0);
  thread.refused("burst", 7);
  thread.refused("address", 7);
  assert.deepEqual(
    [0, 1, 7].map((slot) => traffic.refusedOf(slot)),
    [1, 0, 2],
  );
  for (let i = 0; i < 12; i++) refusedBy.set(`account${i}`, 2 * i);
  thread.unauthorized("unknown");
  const sample = history.take(2000, 1_700_000_000_400);
  assert.deepEqual(
    { ...sample, p50: null, p90: null, p99: null },
    {
      at: 1_700_000_000,
      seconds: 2,
      requests: { "/a 200": 2, "/b 404": 0.5 },
      times: [[4, 5]],
      ...{ p50: null, p90: null, p99: null },
      refused: 1.5,
      overRate: 0.5,
      overQuota: 0.5,
      refusedBy: Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`account${11 - i}`, 11 - i])),
      unauthorized: 0.5,
      bytes: 250,
      connections: 3,
      memory: 2 ** 20,
    },
  );
  // 3 µs belong to the bucket from 2 to 4 µs.
  assert.ok(sample.p50 !== null && sample.p50 > 2 && sample.p50 <= 4, `${sample.p50}`);
  const quiet = history.take(3000, 1_700_000_001_400);
  assert.deepEqual([quiet.requests, quiet.p99, quiet.refused, quiet.refusedBy], [{}, null, 0, {}]);
});

test("the history keeps one sample a second for ten minutes, oldest first", () => {
  const history = new History(new Traffic(["/a"], 1), now, refusedNow, 0);
  for (let second = 1; second <= 605; second++) history.take(second * 1000, second * 1000);
  assert.equal(history.samples.length, 600);
  assert.deepEqual([history.samples[0].at, history.samples[599].at], [6, 605]);
});

test("a percentile lies within its bucket", () => {
  assert.equal(percentile([], 0.5), null);
  assert.equal(percentile([[4, 0]], 0.99), null);
  assert.equal(percentile([[2, 10]], 1), 2);
  assert.equal(percentile([[8, 1]], 0.5), 5.7);
  assert.equal(
    percentile(
      [
        [2, 10],
        [4, 10],
      ],
      0.5,
    ),
    2,
  );
  const within =
    percentile(
      [
        [2, 10],
        [4, 10],
      ],
      0.75,
    ) ?? 0;
  assert.ok(within > 2 && within < 4);
});

test("each minute is summarised in one sample with mean rates and the highest latencies", () => {
  const traffic = new Traffic(["/a"], 1);
  let nowMs = 0;
  const thread = new ThreadTraffic(traffic.buffers[0], () => nowMs);
  const history = new History(traffic, now, refusedNow, 0);
  for (let second = 1; second <= 60; second++) {
    if (second === 30) {
      const begun = thread.begin();
      nowMs += 1;
      for (let i = 0; i < 30; i++) thread.answered(0, 200, 100, begun);
    }
    history.take(second * 1000, second * 1000);
  }
  assert.equal(history.minutes.length, 1);
  const [{ at, requests, p99 }] = history.minutes;
  assert.deepEqual([at, requests], [60, { "/a 200": 0.5 }]);
  assert.equal(p99, history.samples[29].p99);
});

test("the percentiles of a longer time are of all its requests, not of its slowest second", () => {
  const history = new History(new Traffic(["/a"], 1), now, refusedNow, 0);
  const quiet = history.take(1000, 1000);
  const busy = { ...quiet, times: [[128, 990]] as [number, number][], p99: 127 };
  const slow = { ...quiet, times: [[262_144, 1]] as [number, number][], p99: 262_000 };
  const { p50, p99 } = merged([busy, slow, quiet]);
  assert.ok(p50 !== null && p99 !== null && p50 < 128 && p99 < 128, `${p50}, ${p99}`);
});

/** The history of a server in which an account is refused once in each of some seconds. */
function refusedIn(seconds: number, isRefused: (second: number) => boolean): History {
  const counts = new Map<string, number>();
  // A day has many seconds, and to sum up the counts of threads in each would take long.
  const none = { ...new Traffic(["/a"], 1).snapshot(), answers: [] };
  let { burst } = none.refused;
  const snapshot = () => ({ ...none, refused: { ...none.refused, burst } });
  const history = new History({ snapshot }, now, () => new Map(counts), 0);
  for (let second = 1; second <= seconds; second++) {
    if (isRefused(second)) {
      burst++;
      counts.set("acme", (counts.get("acme") ?? 0) + 1);
    }
    history.take(second * 1000, second * 1000);
  }
  return history;
}

test("a longer time has at least the refused requests of a shorter one, and each is counted", () => {
  const cases: [seconds: number, isRefused: (second: number) => boolean, last10: number][] = [
    [42, (second) => second === 42, 1],
    [119, (second) => second > 60, 59],
    [1799, (second) => second > 1700, 99],
    [3600, (second) => second % 300 === 0, 2],
    // A day before the last second begins at second 3600.
    [90_000, (second) => [3000, 3700, 89_990].includes(second), 1],
  ];
  for (const [seconds, isRefused, last10] of cases) {
    const { samples, minutes } = refusedIn(seconds, isRefused);
    const counts = [600, 3600, 86_400].map((span) => {
      const { refusedBy, seconds } = merged(samplesOf(span, samples, minutes));
      return Math.round((refusedBy.acme ?? 0) * seconds);
    });
    const happened = (span: number) =>
      Array.from({ length: Math.min(span, seconds) }, (_, i) => seconds - i).filter(isRefused).length;
    assert.deepEqual(counts, [last10, happened(3600), happened(86_400)], `${seconds} seconds`);
  }
});

test("a chart's steps are as long as asked, and the last one ends now", () => {
  const { samples, minutes } = refusedIn(605, () => false);
  const steps = inSteps(samplesOf(600, samples, minutes), 10);
  assert.deepEqual([steps.length, steps[1].seconds, steps.at(-1)?.seconds], [61, 10, 5]);
  const ends = (some: readonly Sample[]) => some.map(({ at }) => at);
  assert.deepEqual(ends(steps.slice(0, 2)).concat(ends(steps.slice(-2))), [10, 20, 600, 605]);
  assert.deepEqual(ends(inSteps(samplesOf(3600, samples, minutes), 60)).slice(-2), [600, 605]);
});
