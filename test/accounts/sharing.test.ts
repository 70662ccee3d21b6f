import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";
import { UsageDays } from "../../server/accounts/days.ts";
import { Limits } from "../../server/accounts/limits.ts";
import { Accounts } from "../../server/accounts/sync.ts";
import type { Script, Told } from "../../server/parts/replicas/redis.ts";
import { Sharing } from "../../server/parts/replicas/sharing.ts";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { plans } from "../../server/shared/plans.ts";
import { Store } from "../../server/store/store.ts";
import { until } from "../support/connection.ts";
import { headLength, rowLength } from "../support/shares-ledger.ts";

/** What a server has of shared ceilings, on its disk. The system tests have a real Redis. */

/** Grants what is asked for. */
const send: Script = async (_shard, _months, values) => {
  const rows: Told[9] = [];
  for (let at = headLength; at < values.length; at += rowLength) {
    const [kind, used, , , granted, wanted] = values.slice(at + 4, at + 10);
    rows.push(kind === "read" ? [0, 0, 0, 0] : [+used, Math.max(+granted, +wanted), +used, 0]);
  }
  return ["ok", "run:1", 0, 1, 1, 1, 1, 1, [], rows];
};

for (const day of [5, 25])
  test(`what is leased on the ${day}th is on the disk with what was counted, and charged`, async () => {
    const wallMs = Date.UTC(2026, 0, day);
    const store = Store.inMemory();
    const { id } = store.accounts.create(
      { name: "a", plan: "developer", webhook: null, webhook_secret: null, ...plans.developer },
      new Date(wallMs),
    );
    const limits = new Limits(undefined, true);
    const accounts = new Accounts(store, wallMs, { limits });
    const nowMs = performance.now();
    const usedInAll = async () => [];
    const options = { send, usedInAll, isFreeWithoutRedis: false, nowMs };
    const sharing = new Sharing({ store, accounts, limits, ...options });
    let steps = 0;
    const step = () => sharing.step(nowMs + 100 * steps++, wallMs);
    await until("the first answers", () => {
      step();
      return sharing.isReady;
    });
    const month = monthOf(wallMs);
    const slot = accounts.slotOf(id);
    const leased = () => store.replica.leases(monthName(month)).get(id);
    assert.equal(leased(), undefined);
    for (let i = 0; i < 100 && leased() === undefined; i++) {
      limits.admit(slot, month, nowMs + 100 * steps);
      step();
      await immediate();
      accounts.save(wallMs, sharing);
    }
    const used = accounts.used(id, month);
    assert.ok(Number(leased()) > used, `${leased()} leased, ${used} used`);
    assert.equal(sharing.charged(), Number(leased()) - used);
    store.close();
  });

test("what other servers have counted is looked up in turn, and saved by its days", async () => {
  const wallMs = Date.UTC(2026, 0, 5);
  const month = monthOf(wallMs);
  const store = Store.inMemory();
  const ceilings = { plan: "developer", webhook: null, webhook_secret: null, ...plans.developer } as const;
  const ids = store.atomically(() =>
    Array.from(
      { length: 1500 },
      (_, i) => store.accounts.create({ name: `a${i}`, ...ceilings }, new Date(wallMs)).id,
    ),
  );
  const [limits, days] = [new Limits(undefined, true), new UsageDays()];
  const accounts = new Accounts(store, wallMs, { limits, days });
  const asked: number[][] = [];
  let [others, lookedUp] = [7, month];
  const sharing = new Sharing({
    ...{ store, accounts, limits, send, isFreeWithoutRedis: false, nowMs: 0 },
    usedInAll: async (some, name) => {
      assert.equal(name, monthName(lookedUp));
      asked.push([...some]);
      return some.map((account) => [account, others]);
    },
  });
  const remaining = (id: number) => limits.remaining(accounts.slotOf(id), month);
  for (let i = 0; i < 2; i++) await sharing.lookUp(month);
  assert.deepEqual(asked.flat(), ids);
  assert.ok(ids.every((id) => remaining(id) === plans.developer.quota - 7));
  accounts.save(wallMs, sharing);
  assert.deepEqual(store.usage.daysOfMonth("2026-01").get(ids[0]), [[5, 7]]);
  assert.deepEqual(days.of(accounts.slotOf(ids[0]), month, 6, 7), [0, 0, 0, 0, 7, 0]);
  // It may be less for a while, of a Redis that is told again what it has lost.
  for (others of [5, 9]) {
    for (let i = 0; i < 2; i++) await sharing.lookUp(month);
    assert.ok(ids.every((id) => remaining(id) === plans.developer.quota - others));
  }
  // What was counted here belongs to what is told of all.
  const slot = accounts.slotOf(ids[0]);
  limits.raise(slot, month, 4);
  for (let i = 0; i < 2; i++) await sharing.lookUp(month);
  assert.equal(remaining(ids[0]), plans.developer.quota - 9);
  accounts.save(wallMs, sharing);
  // After the month, and after a start, the day keeps what was known of it.
  accounts.enterMonths(Date.UTC(2026, 1, 20));
  lookedUp = month + 1;
  for (let i = 0; i < 2; i++) await sharing.lookUp(lookedUp);
  accounts.save(Date.UTC(2026, 1, 20), sharing);
  const again = new Limits(undefined, true);
  const started = new Accounts(store, wallMs, { limits: again });
  again.raise(started.slotOf(ids[0]), month, 1);
  started.save(wallMs, sharing);
  assert.deepEqual(store.usage.daysOfMonth("2026-01").get(ids[0]), [[5, 9]]);
  store.close();
});
