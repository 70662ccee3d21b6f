import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { UsageDays } from "../../server/accounts/days.ts";
import { monthOf, startOfMonth } from "../../server/shared/months.ts";
import { Store } from "../../server/store/store.ts";
import { OnClocks } from "../support/on-clocks.ts";
import { seededRandom } from "../support/random.ts";
import { rounds } from "../support/rounds.ts";

/** Tests the requests of an account by day, which `/usage` shows. */

const dayMs = 86_400_000;
const usageBody = v.object({
  quota: v.object({ used: v.number() }),
  days: v.array(v.object({ date: v.string(), used: v.number() })),
});

class World extends OnClocks {
  readonly #keys = ["a", "b"].map((name) => this.account(name, 1e6));

  /** Runs what the control thread does once a second. */
  override tick(): boolean {
    const came = super.tick();
    this.save();
    return came;
  }

  /** Requests the usage. This request counts, too. */
  days(account = 0) {
    const { status, body } = this.usage(this.#keys[account]);
    assert.equal(status, 200, body);
    const { quota, days } = v.parse(usageBody, JSON.parse(body));
    assert.equal(
      days.reduce((sum, { used }) => sum + used, 0),
      quota.used,
      "the days add up to what is used",
    );
    for (const { date, used } of days) assert.ok(used >= 0, `${date}: ${used}`);
    return days;
  }
}

test("usage lists each day of the month with its requests, over restarts and months", (t) => {
  const random = seededRandom(71);
  const world = new World(t, Date.UTC(2027, 11, 29, 12));
  const expected = [new Map<string, number>(), new Map<string, number>()];
  for (let step = 0; step < rounds(150); step++) {
    world.tick();
    const kind = random.int(10);
    if (kind === 0) world.wallMs += dayMs * random.int(3);
    if (kind === 1) world.wallMs += dayMs * random.int(40);
    if (kind === 2) world.restart();
    world.tick();
    const account = random.int(2);
    const today = new Date(world.wallMs).toISOString().slice(0, 10);
    expected[account].set(today, (expected[account].get(today) ?? 0) + 1);
    const first = startOfMonth(monthOf(world.wallMs));
    const dates = Array.from({ length: new Date(world.wallMs).getUTCDate() }, (_, i) =>
      new Date(first + i * dayMs).toISOString().slice(0, 10),
    );
    assert.deepEqual(
      world.days(account),
      dates.map((date) => ({ date, used: expected[account].get(date) ?? 0 })),
      `step ${step}`,
    );
  }
});

test("the days' requests add up to the month's use, despite clock changes and late saves", (t) => {
  const random = seededRandom(72);
  const world = new World(t, Date.UTC(2026, 1, 27));
  for (let step = 0; step < rounds(150); step++) {
    if (random.int(3) === 0) world.tick();
    if (random.int(5) === 0) world.wallMs += Math.round((random.next() - 0.45) * 3 * dayMs);
    if (random.int(40) === 0) world.restart();
    world.days(random.int(2));
  }
});

for (const [what, restart] of [
  ["", false],
  [", also after a restart", true],
] as const)
  test(`days keep their requests when the clock was in an earlier month meanwhile${what}`, (t) => {
    const world = new World(t, Date.UTC(2026, 10, 25, 12));
    for (let i = 0; i < 3; i++) world.days();
    world.tick();
    world.wallMs += dayMs;
    for (let i = 0; i < 2; i++) world.days();
    // These two are saved only after the jump.
    world.wallMs -= 30 * dayMs;
    world.tick();
    world.days();
    world.wallMs += 30 * dayMs;
    world.tick();
    if (restart) world.restart();
    assert.deepEqual(world.days().slice(-3), [
      { date: "2026-11-24", used: 0 },
      { date: "2026-11-25", used: 3 },
      { date: "2026-11-26", used: 3 },
    ]);
  });

test("requests saved before midnight count for yesterday right after midnight", (t) => {
  const world = new World(t, Date.UTC(2026, 1, 10, 23, 59, 59));
  for (let i = 0; i < 2; i++) world.days();
  world.tick();
  world.wallMs += 1000;
  assert.deepEqual(world.days().slice(-2), [
    { date: "2026-02-10", used: 2 },
    { date: "2026-02-11", used: 1 },
  ]);
});

test("a request that is uncounted after midnight leaves no day below zero", () => {
  const days = new UsageDays();
  days.enter(3, 24_300, [
    [1, 5],
    [3, 9],
  ]);
  assert.deepEqual(days.of(3, 24_300, 4, 8), [5, 0, 3, 0]);
  assert.deepEqual(days.of(3, 24_300, 5, 20), [5, 0, 4, 0, 11]);
  assert.deepEqual(days.of(3, 24_301, 2, 7), [0, 7]);
  assert.deepEqual(days.of(2, 24_300, 1, 0), [0]);
});

test("an account's daily counts are kept for two months, even if the clock was far ahead meanwhile", () => {
  const store = Store.inMemory();
  const now = new Date(0);
  const ids = ["a", "b"].map((name) => {
    const fields = { name, plan: "free", burst: 1, quota: 1, webhook: null, webhook_secret: null } as const;
    return store.accounts.create(fields, now).id;
  });
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const kept = (...months: string[]) =>
    months.map((month) => ids.map((id) => store.usage.daysOfMonth(month).get(id)?.length ?? 0));
  const end = Date.UTC(2028, 7, 31);
  for (let ms = end - 400 * dayMs; ms <= end; ms += dayMs) {
    store.usage.saveDay(dayOf(ms), [[ids[0], 1]]);
    if (ms === end - 399 * dayMs) store.usage.saveDay(dayOf(ms), [[ids[1], 1]]);
    if (ms === end - 2 * dayMs) store.usage.saveDay("2099-12-31", [[ids[0], 1]]);
  }
  assert.deepEqual(kept("2028-08", "2028-07", "2028-06", "2027-08", "2027-07"), [
    [31, 0],
    [30, 0],
    [0, 0],
    [0, 0],
    [0, 1],
  ]);
  store.close();
});
