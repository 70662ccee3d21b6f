import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { monthName, monthOf, startOfMonth } from "../../server/shared/months.ts";
import { OnClocks } from "../support/on-clocks.ts";
import { type Random, seededRandom } from "../support/random.ts";
import { rounds } from "../support/rounds.ts";

/** Tests that requests are counted in the right month, exactly once, when the wall clock jumps. */

const secondMs = 1000;
const dayMs = 86_400_000;
const yearMs = 365 * dayMs;
const january = Date.UTC(2026, 0, 20, 12);

class World extends OnClocks {
  readonly quota: number;
  readonly #key: string;

  constructor(t: TestContext, quota: number) {
    super(t, january);
    this.quota = quota;
    this.#key = this.account("acme", quota);
  }

  saved(month: number): number {
    return [...this.store.usage.ofMonth(monthName(month)).values()].reduce((sum, count) => sum + count, 0);
  }

  ask() {
    return this.usage(this.#key, 200);
  }

  admitted(requests: number): number {
    return Array.from({ length: requests }, () => this.ask()).filter(({ status }) => status === 200).length;
  }
}

test("after a clock jump, no new month is served until the old month's counts are saved", (t) => {
  const world = new World(t, 1000);
  const first = monthOf(january);
  world.admitted(2);
  world.wallMs += yearMs;
  const save = t.mock.method(world.store.usage, "save", () => {
    throw new Error("disk full");
  });
  assert.throws(() => world.tick(), /disk full/);
  assert.equal(world.admitted(2), 0);
  save.mock.restore();
  world.tick();
  assert.equal(world.admitted(2), 2);
  assert.equal(world.saved(first), 2);
});

test("after a clock jump of a year, requests get 429 for at most a second with the reason", (t) => {
  const world = new World(t, 100);
  world.admitted(10);
  world.wallMs -= yearMs;
  const { status, reset, retryAfter, body } = world.ask();
  assert.deepEqual([status, retryAfter, reset], [429, "1", world.wallMs / 1000 + 1]);
  assert.match(body, /this server's clock was set, .*; retry in 1 s"/);
  assert.equal(JSON.parse(body).error.ceiling, "burst");
  world.tick();
  assert.equal(world.ask().remaining, 99);
});

test("clock jumps of up to two weeks refuse no request at any time of a month", (t) => {
  const world = new World(t, 1_000_000);
  for (let day = 0; day < 62; day++)
    for (const step of [0, 14 * dayMs, -14 * dayMs]) {
      world.wallMs = january + day * dayMs;
      world.tick();
      world.wallMs += step;
      assert.equal(world.ask().status, 200, new Date(world.wallMs).toISOString());
    }
});

/** Draws a jump ahead or back of a second to ten years. Its logarithm is evenly distributed. */
function jump(random: Random): number {
  const length = Math.round(Math.exp((Math.log(10 * yearMs) * random.int(1000)) / 1000) + secondMs);
  return random.int(2) === 0 ? length : -length;
}

test("counts equal those of a naive model over restarts and clock jumps of up to ten years", (t) => {
  const seed = 20_260_801;
  const random = seededRandom(seed);
  for (let trial = 0; trial < rounds(4); trial++) {
    const world = new World(t, 20);
    let used = new Map<number, number>();
    let saved = new Map<number, number>();
    const visited = [world.wallMs];
    let isTicked = true;
    for (let step = 0; step < 120; step++) {
      const where = `seed ${seed}, trial ${trial}, step ${step}`;
      switch (random.int(6)) {
        case 0:
        case 1:
          // Sets the clock to an earlier time, or moves it by a random jump, but not before 1970.
          world.wallMs = random.int(2) === 0 ? random.pick(visited) : world.wallMs + jump(random);
          if (world.wallMs < 0) world.wallMs += 11 * yearMs;
          visited.push(world.wallMs);
          isTicked = false;
          break;
        case 2:
          // Counts are saved when another month begins.
          if (world.tick()) saved = new Map(used);
          isTicked = true;
          break;
        case 3:
          world.save();
          saved = new Map(used);
          break;
        case 4:
          if (random.int(3) > 0) break;
          if (random.int(2) === 0) world.save();
          else used = new Map(saved);
          saved = new Map(used);
          world.restart();
          isTicked = true;
          break;
        default:
          for (let i = random.int(12); i >= 0; i--) {
            const { status, remaining, reset } = world.ask();
            const month = monthOf(world.wallMs);
            const before = used.get(month) ?? 0;
            if (status === 200) {
              assert.equal(remaining, world.quota - before - 1, where);
              used.set(month, before + 1);
            } else if (isTicked) assert.equal(before, world.quota, where);
            const isUnknown = status === 429 && reset <= world.wallMs / 1000 + 2;
            if (!isUnknown) assert.equal(reset, startOfMonth(month + 1) / 1000, where);
            else if (isTicked) assert.ok(world.wallMs / 1000 + 2 >= startOfMonth(month + 1) / 1000, where);
          }
      }
      for (const count of used.values()) assert.ok(count <= world.quota, where);
    }
  }
});
