import assert from "node:assert/strict";
import { test } from "node:test";
import { Alone } from "../../../server/parts/postgres/alone.ts";
import { Store } from "../../../server/store/store.ts";

/** Tests what a server grants while the database is away. */

const month = 2026 * 12 + 4;
const wallMs = Date.UTC(2026, 4, 10);

function open({ burst = 10, quota = 1000, used = 0 as number | null, store = Store.inMemory() } = {}) {
  const options = {
    store,
    ceilingsOf: (account: number) => (account === 1 ? { burst, quota } : undefined),
    usedOf: (_: number, of: number) => (used === null ? undefined : of === month ? used : 0),
  };
  const alone = new Alone(options, month, wallMs, 0);
  const take = (want: number, nowMs: number, of = month, back = 0, backMonth = month) =>
    alone.take([{ account: 1, want, back, backMonth }], of, nowMs).grants[0];
  const save = (nowMs: number, clockMs = wallMs + nowMs) => alone.save(clockMs, nowMs);
  return {
    alone,
    take,
    save,
    store,
    again: (laterMs: number) => new Alone(options, month, wallMs + laterMs, 0),
  };
}

const reported = (store: Store) => store.away.all().map(({ month, used }) => [month, [...used]] as const);

test("the bucket starts empty, gets R tokens a second and holds R", () => {
  const { take } = open();
  assert.equal(take(5, 0).granted, 0);
  assert.equal(take(5, 0).waitMs, 100);
  assert.equal(take(5, 250).granted, 2);
  assert.ok(Math.abs(take(0, 250).waitMs - 50) < 1e-6);
  assert.equal(take(50, 60_000).granted, 10);
  assert.equal(take(50, 60_000).granted, 0);
});

test("what was last known to be left of the quota is granted, and no more", () => {
  const { take } = open({ quota: 20, used: 14 });
  assert.deepEqual(take(4, 1000), { account: 1, granted: 4, used: 18, waitMs: 0 });
  assert.equal(take(4, 2000).granted, 2);
  assert.equal(take(4, 60_000).granted, 0);
  const { take: takeOver } = open({ quota: 20, used: 30 });
  assert.equal(takeOver(1, 1000).granted, 0);
});

test("requests of an account that is unknown, or whose count was never read, aren't counted", () => {
  assert.equal(open({ used: null }).take(1, 1000), undefined);
  const { alone } = open();
  assert.deepEqual(alone.take([{ account: 2, want: 1, back: 0, backMonth: 0 }], month, 1000).grants, []);
});

test("at a month's end the quota begins anew, and both months are reported", () => {
  const { take, save, store } = open({ quota: 20, used: 15 });
  assert.equal(take(9, 1000).granted, 5);
  assert.equal(take(9, 2000, month + 1).granted, 9);
  // Permits of the month before go back to it.
  take(0, 3000, month + 1, 2, month);
  save(3000);
  assert.deepEqual(reported(store), [
    [month, [[1, 3]]],
    [month + 1, [[1, 9]]],
  ]);
});

test("unused permits go back, also those that the database granted", () => {
  const { take, save, store } = open({ quota: 20, used: 20 });
  assert.equal(take(9, 1000, month, 6).granted, 6);
  take(0, 1500, month, 4);
  save(1500.5);
  assert.deepEqual(reported(store), [[month, [[1, -4]]]]);
  assert.equal(take(9, 3000).granted, 4);
});

test("a restart continues the absence: its beginning, its counts and its reports stay", () => {
  const first = open({ quota: 20, used: 5 });
  first.take(7, 1000);
  first.save(1000);
  first.take(1, 2000);
  first.save(2000);
  const { store } = first;
  const second = open({ quota: 20, used: 5, store });
  assert.equal(second.again(60_000).awayMs(500), 60_500);
  assert.equal(second.take(50, 1000).granted, 7);
  assert.equal(second.take(50, 5000).granted, 0);
  second.save(5000);
  assert.deepEqual(
    reported(store)
      .map(([, used]) => used)
      .sort(),
    [[[1, 7]], [[1, 8]]],
  );
  const [{ id }] = store.away.all();
  store.away.remove(id);
  assert.equal(store.away.all().length, 1);
});

test("an absence after all was reported is a new one", () => {
  const { take, save, store, again } = open();
  take(5, 1000);
  save(1000);
  for (const { id } of store.away.all()) store.away.remove(id);
  assert.equal(again(60_000).awayMs(0), 0);
});

test("a server that admits nothing alone keeps the beginning of the absence, too", () => {
  const { save, again } = open();
  save(1000);
  assert.equal(again(60_000).awayMs(0), 60_000);
});

test("a wall clock that is set makes the absence neither longer nor shorter", () => {
  const hour = 3_600_000;
  for (const step of [-hour, hour]) {
    const { alone, save, again } = open();
    save(1000);
    assert.equal(alone.awayMs(2000), 2000);
    save(2000, wallMs + step + 2000);
    assert.equal(again(step + 3000).awayMs(0), 3000);
  }
  const { save, again } = open();
  save(1000);
  assert.equal(again(-hour).awayMs(0), 0);
});
