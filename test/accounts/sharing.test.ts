import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";
import { UsageDays } from "../../server/accounts/days.ts";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { Limits } from "../../server/accounts/limits.ts";
import { AccountNames } from "../../server/accounts/names.ts";
import { Sharing } from "../../server/accounts/sharing.ts";
import { Accounts } from "../../server/accounts/sync.ts";
import { headLength, rowLength, type Script, type Told } from "../../server/replicas/redis.ts";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { plans } from "../../server/shared/plans.ts";
import { Store } from "../../server/store/store.ts";
import { until } from "../support/connection.ts";
import { temporaryFolder } from "../support/folders.ts";

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
    const store = Store.open(temporaryFolder());
    const { id } = store.createAccount(
      { name: "a", plan: "developer", webhook: null, webhook_secret: null, ...plans.developer },
      new Date(wallMs),
    );
    const limits = new Limits(undefined, true);
    const accounts = new Accounts(store, new KeyTable(), limits, new AccountNames(), new UsageDays(), wallMs);
    const nowMs = performance.now();
    const sharing = new Sharing({ store, accounts, limits, send, isFreeWithoutRedis: false, nowMs });
    let steps = 0;
    const step = () => sharing.step(nowMs + 100 * steps++, wallMs);
    await until("the first answers", () => {
      step();
      return sharing.isReady;
    });
    const month = monthOf(wallMs);
    const slot = accounts.slotOf(id);
    const leased = () => store.leases(monthName(month)).get(id);
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
