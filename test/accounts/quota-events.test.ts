import assert from "node:assert/strict";
import { test } from "node:test";
import { recordEvent } from "../../server/accounts/quota-events.ts";
import { monthName } from "../../server/shared/months.ts";
import { later, month, now, World } from "../support/quota-events.ts";
import { smallTables } from "../support/tables.ts";

/** Tests after how many requests an account is warned that its quota is nearly used up. */

for (const quota of [1, 2, 3, 7, 10, 19, 45])
  test(`a quota of ${quota} raises each event at the first request that reaches its threshold`, (t) => {
    const world = new World(t);
    world.account(quota);
    for (let used = 1; used <= quota; used++) {
      const expected = [80, 90, 100].filter((percent) => used === Math.ceil((quota * percent) / 100));
      assert.deepEqual(world.use(1), expected, `at ${used}`);
    }
    assert.deepEqual(world.use(5), []);
  });

test("a count that jumps over several thresholds raises all their events in order", (t) => {
  const world = new World(t);
  const { id } = world.account(100, "https://example.com/");
  assert.deepEqual(world.use(95), [80, 90]);
  assert.deepEqual(world.use(5), [100]);
  const events = world.store.events.list();
  for (const [i, threshold] of [80, 90, 100].entries()) {
    const { id: name, payload, ...event } = events[i];
    assert.match(name, /^evt_[0-9a-f]{32}$/);
    assert.deepEqual([event.account, event.threshold, event.state], [id, threshold, "pending"]);
    const quota = { limit: 100, used: threshold };
    assert.deepEqual(JSON.parse(payload), {
      type: threshold === 100 ? "quota.exhausted" : "quota.warning",
      timestamp: now.toISOString(),
      data: { account: "acme", plan: "enterprise", month: monthName(month), threshold, quota },
    });
  }
});

const usedOf = (world: World) =>
  world.store.events.list().map(({ threshold, quota, payload }) => {
    const { used } = JSON.parse(payload).data.quota;
    return [quota, threshold, used];
  });

test("an event has the count at its crossing, however many requests follow before it is made", (t) => {
  const world = new World(t);
  const account = world.account(7);
  world.use(7);
  assert.deepEqual(usedOf(world), [
    [7, 80, 6],
    [7, 90, 7],
    [7, 100, 7],
  ]);
  const set = (quota: number) => {
    world.operator.accounts.update({ ...account, quota });
    world.accounts.refresh();
  };
  set(10);
  for (let i = 0; i < 5; i++) world.limits.admit(0, month, 1e7 + i * 1e6);
  world.save();
  set(5);
  world.save();
  assert.deepEqual(usedOf(world).sort(byThreshold), [
    [5, 80, 10],
    [5, 90, 10],
    [5, 100, 10],
    [7, 80, 6],
    [7, 90, 7],
    [7, 100, 7],
    [10, 80, 8],
    [10, 90, 9],
    [10, 100, 10],
  ]);
});

const byThreshold = (a: number[], b: number[]) => a[0] - b[0] || a[1] - b[1];

test("events keep the order of their thresholds when the clock is set back between them", (t) => {
  const world = new World(t);
  const account = world.account(10);
  for (const [minute, threshold] of [80, 90, 100].entries())
    recordEvent(world.store, account, monthName(month), threshold, 10, later(-60_000 * minute));
  assert.deepEqual(
    world.store.events.list().map(({ threshold, created_at }) => [threshold, created_at]),
    [80, 90, 100].map((threshold) => [threshold, now.getTime()]),
  );
});

test("each account, threshold and month has one event, also after restarts", (t) => {
  const world = new World(t);
  world.account(10);
  assert.deepEqual(world.use(8), [80]);
  for (let i = 0; i < 3; i++) {
    const limits = smallTables().ceilings;
    world.start(now, limits);
    assert.equal(limits.used(0, month), 8);
    assert.deepEqual(world.save(), []);
  }
  world.start();
  assert.deepEqual(world.use(1), [90]);
  const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));
  assert.deepEqual(world.use(9, next), [80, 90]);
  world.limits.admit(0, month, 1e9);
  assert.deepEqual(world.save(next), [100], "the old month's last request was on its way");
  assert.equal(world.store.events.list().length, 5);
});

test("a changed quota raises its own events, once per quota", (t) => {
  const world = new World(t);
  const account = world.account(100);
  assert.deepEqual(world.use(85), [80]);
  const set = (quota: number) => {
    world.operator.accounts.update({ ...account, quota });
    world.accounts.refresh();
    return world.save();
  };
  assert.deepEqual(set(1000), [], "85 of 1,000");
  assert.deepEqual(world.use(715), [80], "raised, it warns again");
  assert.deepEqual(world.use(100), [90]);
  assert.deepEqual(set(900), [80, 90, 100], "lowered, it brings all that it reaches");
  assert.deepEqual([set(1000), set(100), set(1000), set(900)], [[], [90, 100], [], []], "none comes twice");
  world.start();
  assert.deepEqual([world.save(), set(1000), world.use(100), set(900)], [[], [], [100], []], "after a start");
  assert.equal(world.store.events.list().length, 9);
  const of1000 = world.store.events.list().filter(({ quota }) => quota === 1000);
  assert.deepEqual(
    of1000.map(({ threshold, payload }) => [threshold, JSON.parse(payload).data.quota]),
    [80, 90, 100].map((threshold) => [threshold, { limit: 1000, used: threshold * 10 }]),
  );
});

test("a quota lowered in a new month raises no events for the month before", (t) => {
  const world = new World(t);
  const account = world.account(100);
  world.use(50);
  const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));
  assert.deepEqual(world.use(1, next), []);
  world.operator.accounts.update({ ...account, quota: 60 });
  world.accounts.refresh();
  assert.deepEqual(world.save(next), []);
  world.limits.admit(0, month, 1e9);
  assert.deepEqual(world.save(next), [], "nor when the old month's last request was on its way");
});

test("events of a quota that was used up come although the quota changes before the next save", (t) => {
  for (const [quota, expected] of [
    [1000, ["80 of 100", "90 of 100", "100 of 100"]],
    [101, ["80 of 100", "90 of 100", "100 of 100", "80 of 101", "90 of 101"]],
    [50, ["80 of 100", "90 of 100", "100 of 100", "80 of 50", "90 of 50", "100 of 50"]],
  ] as const) {
    const world = new World(t);
    const account = world.account(100);
    for (let i = 0; i < 100; i++) world.limits.admit(0, month, 1000 * (i + 1));
    world.operator.accounts.update({ ...account, quota });
    world.accounts.refresh();
    world.save();
    const events = world.store.events.list();
    const said = events.map(({ threshold, quota }) => `${threshold} of ${quota}`);
    assert.deepEqual(said.sort(), expected.toSorted());
    const crossings = events.filter((event) => event.quota === 100).map(({ payload }) => JSON.parse(payload));
    assert.deepEqual(
      crossings.map(({ data }) => data.quota.used),
      [80, 90, 100],
    );
    assert.deepEqual(world.save(), []);
  }
});

test("a failed save keeps the events of a quota before its change", (t) => {
  const world = new World(t);
  const account = world.account(100);
  for (let i = 0; i < 100; i++) world.limits.admit(0, month, 1000 * (i + 1));
  world.operator.accounts.update({ ...account, quota: 1000 });
  world.accounts.refresh();
  const save = t.mock.method(world.store.usage, "save", () => {
    throw new Error("disk full");
  });
  assert.throws(() => world.save(), /disk full/);
  save.mock.restore();
  assert.deepEqual(world.save(), [80, 90, 100]);
});

test("changed counts are written between saves, without days, and an event is saved at once", (t) => {
  const world = new World(t);
  const account = world.account(100);
  const admit = (count: number) => {
    for (let i = 0; i < count; i++) world.limits.admit(0, month, 1e6 + 1000 * ++admitted);
  };
  let admitted = 0;
  const written = () => world.operator.usage.of(account.id, monthName(month));
  admit(10);
  assert.deepEqual(world.accounts.writeCounts(now.getTime()), []);
  assert.deepEqual([written(), world.operator.usage.days(account.id)], [10, []]);
  const writes = t.mock.method(world.store, "soon");
  assert.deepEqual(world.accounts.writeCounts(now.getTime()), []);
  assert.equal(writes.mock.callCount(), 0, "nothing has changed");
  // A restart after the end of the process continues from what was written.
  world.start(now, smallTables().ceilings);
  assert.equal(world.accounts.tables.ceilings.used(0, month), 10);
  world.start();
  admit(70);
  const events = world.accounts.writeCounts(now.getTime());
  assert.deepEqual(
    events.map(({ threshold }) => threshold),
    [80],
  );
  assert.deepEqual(world.accounts.writeCounts(now.getTime()), []);
  admit(5);
  assert.deepEqual(world.accounts.writeCounts(now.getTime()), []);
  assert.deepEqual(world.save(), []);
  assert.deepEqual(
    world.operator.usage.days(account.id).map(({ used }) => used),
    [written()],
  );
});
