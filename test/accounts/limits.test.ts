import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { burstExceeded, Limits, monthUnknown, quotaExceeded } from "../../server/accounts/limits.ts";
import { monthName, monthOf, startOfMonth } from "../../server/shared/months.ts";
import { maxBurst, maxQuota } from "../../server/shared/plans.ts";
import type { Hammered, Hammering } from "../support/limits-worker.ts";
import { rounds } from "../support/rounds.ts";

/** Tests the two ceilings of an account, with clocks that the tests set. */

const month = monthOf(Date.UTC(2026, 0, 15));
const limits = new Limits();
const bursts = [1, 3, 7, 10, 50, 500, maxBurst];
let slots = 0;
function account(burst: number, quota = 1_000_000): number {
  const slot = slots++;
  limits.configure(slot, burst, quota);
  for (const counted of [month, month + 1]) limits.enter(slot, counted, 0);
  return slot;
}

/** Makes requests at the same moment until one is refused. */
function admittedAt(slot: number, steadyMs: number): number {
  let count = 0;
  while (limits.admit(slot, month, steadyMs) >= 0) count++;
  return count;
}

/** A token bucket by its definition. When the clock steps back, the time stands still. */
class NaiveBucket {
  readonly #burst: bigint;
  /** Missing tokens, in thousandths of a token. */
  #missing = 0n;
  #latest: bigint | undefined;

  constructor(burst: number) {
    this.#burst = BigInt(burst);
  }

  fitting(steadyMs: number): number {
    const now = BigInt(Math.floor(steadyMs));
    if (this.#latest === undefined || now > this.#latest) {
      const left = this.#missing - (now - (this.#latest ?? now)) * this.#burst;
      this.#missing = left > 0n ? left : 0n;
      this.#latest = now;
    }
    return Number((1000n * this.#burst - this.#missing) / 1000n);
  }

  take(count: number): void {
    this.#missing += 1000n * BigInt(count);
  }

  waitMs(): number {
    const excess = this.#missing + 1000n - 1000n * this.#burst;
    return Number((excess + this.#burst - 1n) / this.#burst);
  }
}

test("a timestamp belongs to its UTC month, also in leap years", () => {
  const moments = fc.integer({ min: 0, max: Date.UTC(2401, 0) });
  const edges = [0, 4, 96, 100, 104, 400].flatMap((years) =>
    [Date.UTC(2000 + years, 2, 1), Date.UTC(2000 + years, 1, 29), Date.UTC(2000 + years, 0, 1)].flatMap(
      (ms) => [[ms - 1] as [number], [ms] as [number]],
    ),
  );
  const check = (ms: number) => {
    const found = monthOf(ms);
    assert.equal(monthName(found), new Date(ms).toISOString().slice(0, 7));
    assert.equal(startOfMonth(found), Date.parse(`${monthName(found)}-01T00:00:00Z`));
    assert.equal(monthOf(startOfMonth(found + 1)), found + 1);
    assert.equal(monthOf(startOfMonth(found + 1) - 1), found);
  };
  fc.assert(fc.property(moments, check), { examples: edges });
});

test("the largest quota of two billion is counted to its end, and the largest burst is a million", () => {
  assert.deepEqual([maxQuota, maxBurst], [2_000_000_000, 1_000_000]);
  const slot = account(10, maxQuota);
  limits.enter(slot, month, maxQuota - 2);
  const answers = [0, 0, 0].map(() => limits.admit(slot, month, 5000));
  assert.deepEqual(answers, [1, 0, quotaExceeded]);
});

test("a request in a month that isn't loaded is refused and uses neither burst nor quota", () => {
  const slot = account(2, 4);
  for (const asked of [month - 1, month + 2, month - 24, month + 120])
    for (let i = 0; i < 3; i++) {
      assert.equal(limits.admit(slot, asked, 5000), monthUnknown);
      limits.giveBack(slot, asked);
    }
  assert.deepEqual([limits.used(slot, month), limits.used(slot, month + 1)], [0, 0]);
  assert.equal(admittedAt(slot, 5000), 2);
});

test("a month that is loaded again continues with its previous count", () => {
  const slot = account(10, 4);
  for (let i = 0; i < 3; i++) limits.admit(slot, month, 5000);
  assert.deepEqual(limits.enter(slot, month + 2, 0), { month, used: 3 });
  assert.equal(limits.admit(slot, month, 5000), monthUnknown);
  assert.equal(limits.admit(slot, month + 2, 5000), 3);
  assert.deepEqual(limits.enter(slot, month, 3), { month: month + 2, used: 1 });
  assert.deepEqual([limits.admit(slot, month, 5000), limits.admit(slot, month, 5000)], [0, quotaExceeded]);
});

test("a request refused by the quota uses no burst, and one refused by the burst uses no quota", () => {
  const slow = account(1, 10);
  assert.deepEqual([admittedAt(slow, 5000), limits.remaining(slow, month)], [1, 9]);
  const poor = account(2, 1);
  limits.admit(poor, month, 5000);
  for (let i = 0; i < 5; i++) assert.equal(limits.admit(poor, month, 5000), quotaExceeded);
  limits.configure(poor, 2, 10);
  assert.equal(admittedAt(poor, 5000), 1);
});

test("a changed burst applies at once at any clock time", () => {
  for (const [before, after] of [
    [10, 50],
    [50, 10],
    [500, 501],
    [1, maxBurst],
  ])
    for (const now of [1, 10_000, 2 ** 31, 123_456_789, 2_000_000_123, 7_654_321_000]) {
      const slot = account(before);
      limits.admit(slot, month, now);
      limits.configure(slot, after, 1_000_000);
      const admitted = limits.admit(slot, month, now) >= 0;
      assert.ok(admitted, `from ${before} to ${after} at ${now} ms nothing is admitted`);
      assert.ok(1 + admittedAt(slot, now) <= after, `from ${before} to ${after} at ${now} ms`);
    }
});

/** Steps of the clock: zero, short, long, and close to the step at which 32-bit ticks wrap. */
const steps = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1, max: 3 }),
  fc.integer({ min: 0, max: 2500 }),
  fc.double({ min: 0, max: 50, noNaN: true }),
  fc.integer({ min: 0, max: 1_814_400_000 }),
  fc
    .tuple(
      fc.constantFrom(...bursts),
      fc.constantFrom(2 ** 31, 2 ** 32, 3 * 2 ** 31),
      fc.integer({ min: -2, max: 2 }),
    )
    .map(([burst, ticks, off]) => Math.max(0, Math.round(ticks / burst) + off)),
);
const starts = fc.oneof(
  fc.double({ min: 0, max: 1e6, noNaN: true }),
  fc
    .tuple(fc.constantFrom(2 ** 31, 2 ** 32, 2 ** 40), fc.integer({ min: -3000, max: 3000 }))
    .map(([base, off]) => base + off),
);
/** Large buckets have smaller trials, because emptying a large bucket takes long. */
const sizeOf = (burst: number) =>
  burst === maxBurst ? { numRuns: rounds(3), maxLength: 4 } : { numRuns: rounds(20), maxLength: 40 };
/** A wave is a step of the clock, and then a single request, or one request more than fit. */
const wavesOf = (burst: number) =>
  fc.array(fc.record({ step: steps, all: fc.boolean() }), { maxLength: sizeOf(burst).maxLength });

for (const burst of bursts)
  test(`a token bucket of ${burst} admits the same as exact arithmetic while the clock jumps ahead`, () => {
    const check = (start: number, waves: { step: number; all: boolean }[]) => {
      const slot = account(burst, maxQuota);
      const naive = new NaiveBucket(burst);
      let now = start;
      for (const { step, all } of waves) {
        now += step;
        const fitting = naive.fitting(now);
        const count = all ? fitting : Math.min(1, fitting);
        for (let i = 0; i < count; i++) assert.ok(limits.admit(slot, month, now) >= 0, `${i} of ${count}`);
        naive.take(count);
        if (count < fitting) continue;
        assert.equal(limits.admit(slot, month, now), burstExceeded);
        assert.equal(limits.burstWaitMs(slot, now), naive.waitMs());
      }
    };
    fc.assert(fc.property(starts, wavesOf(burst), check), { numRuns: sizeOf(burst).numRuns });
  });

/** Makes requests on a clock that also steps back. Passes to `check` what the bucket and the naive bucket return. */
function stepBack(burst: number, check: (admitted: boolean, fits: boolean, isBehind: boolean) => void): void {
  const back = fc.oneof(fc.constant(0), fc.constantFrom(1, 700, 1500, 5000, 86_400_000));
  const waves = fc.array(fc.record({ step: fc.integer({ min: 0, max: 3000 }), back, all: fc.boolean() }), {
    maxLength: sizeOf(burst).maxLength,
  });
  const property = fc.property(waves, (list) => {
    const slot = account(burst, maxQuota);
    const naive = new NaiveBucket(burst);
    let now = 1e9;
    let latest = now;
    for (const { step, back: behind, all } of list) {
      now += step - behind;
      latest = Math.max(latest, now);
      for (let more = true; more; ) {
        const fits = naive.fitting(now) > 0;
        const admitted = limits.admit(slot, month, now) >= 0;
        check(admitted, fits, now < latest);
        if (admitted) naive.take(1);
        more = all && admitted;
      }
    }
  });
  fc.assert(property, { numRuns: sizeOf(burst).numRuns });
}

for (const burst of bursts) {
  test(`an empty token bucket of ${burst} admits nothing when the clock steps back`, () => {
    for (const back of [1, 700, 1200, 1500, 1999, 2500, 86_400_000]) {
      const slot = account(burst, maxQuota);
      admittedAt(slot, 1e9 - 1);
      assert.equal(limits.admit(slot, month, 1e9 - 1 - back), burstExceeded, `${back} ms back`);
    }
  });
  if (burst === maxBurst) continue;

  test(`a token bucket of ${burst} gains nothing and keeps its tokens when the clock steps back`, () => {
    stepBack(burst, (admitted, fits, isBehind) => {
      if (admitted || !isBehind) assert.equal(admitted, fits);
    });
  });
}

test("monthly counts equal those of a naive limiter for random sequences of actions", () => {
  const action = fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant("ask" as const), late: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("giveBack" as const), late: fc.boolean() }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("pass" as const), months: fc.integer({ min: 1, max: 14 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("quota" as const), quota: fc.integer({ min: 1, max: 9 }) }),
    },
  );
  const property = fc.property(fc.array(action, { maxLength: 150 }), (actions) => {
    const slot = account(maxBurst, 5);
    const used = new Map<number, number>();
    let quota = 5;
    let latest = month + 1;
    for (const action of actions) {
      if (action.do === "pass") {
        latest += action.months;
        for (const served of [latest - 1, latest]) limits.enter(slot, served, used.get(served) ?? 0);
      } else if (action.do === "quota") {
        quota = action.quota;
        limits.configure(slot, maxBurst, quota);
      } else {
        const asked = action.late ? latest - 1 : latest;
        const before = used.get(asked) ?? 0;
        if (action.do === "ask") {
          const left = before < quota ? quota - before - 1 : quotaExceeded;
          assert.equal(limits.admit(slot, asked, 5000), left);
          if (left >= 0) used.set(asked, before + 1);
        } else {
          limits.giveBack(slot, asked);
          used.set(asked, Math.max(0, before - 1));
        }
        assert.equal(limits.used(slot, asked), used.get(asked) ?? 0);
      }
      for (const shown of [latest - 1, latest]) {
        const left = limits.remaining(slot, shown);
        assert.equal(left, Math.max(0, quota - (used.get(shown) ?? 0)));
        assert.ok(left >= 0 && left <= quota);
      }
    }
  });
  fc.assert(property, { numRuns: rounds(100) });
});

/** Runs threads that make requests of an account until a refusal: by the rate at `endMs`, or by anything else. */
async function hammer(threads: number, slot: number, endMs: number): Promise<Hammered> {
  const clock = new SharedArrayBuffer(4);
  const workerData: Hammering = { limits: limits.buffer, slot, month, clock, endMs };
  const results = Array.from({ length: threads }, async (): Promise<Hammered> => {
    const worker = new Worker(new URL("../support/limits-worker.ts", import.meta.url), { workerData });
    const [result] = await once(worker, "message");
    return result;
  });
  const all = await Promise.all(results);
  return {
    left: all.flatMap(({ left }) => left).sort((a, b) => b - a),
    refused: all.reduce((sum, { refused }) => sum + refused, 0),
  };
}

const threads = 4;
test("concurrent threads on one account are admitted exactly the quota, and each request is counted once", async () => {
  const quota = 300_000;
  const slot = account(maxBurst, quota);
  const { left, refused } = await hammer(threads, slot, 0);
  assert.equal(left.length, quota);
  for (const [i, value] of left.entries())
    if (value !== quota - 1 - i) assert.fail(`${value} left comes twice`);
  assert.equal(refused, threads);
  assert.deepEqual([limits.used(slot, month), limits.remaining(slot, month)], [quota, 0]);
});

for (const [burst, endMs] of [
  [7, 30_000],
  [500, 20_000],
])
  test(`concurrent threads are admitted ${burst} requests a second after one initial burst`, async () => {
    const { left } = await hammer(threads, account(burst, maxQuota), endMs);
    assert.equal(left.length, burst + (burst * endMs) / 1000);
  });
