import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { keyState } from "../../../server/accounts/changes.ts";
import { Accounts } from "../../../server/accounts/sync.ts";
import { PortalHost } from "../../../server/parts/portal/host.ts";
import { plans } from "../../../server/shared/plans.ts";
import { Store } from "../../../server/store/store.ts";
import { closed } from "../../support/portal.ts";
import { later, silent } from "../../support/quota-events.ts";
import { temporaryFolder } from "../../support/server.ts";
import { smallTables } from "../../support/tables.ts";

/** The test sets the host's clock in hours. */
function hostOf(t: TestContext, start = 0, mayMakeAccount = true, store = Store.open(temporaryFolder())) {
  t.after(() => store.close());
  let at = 0;
  const hours = (count: number) => {
    at = count * 3_600_000;
  };
  hours(start);
  const accounts = new Accounts(store, later(at).getTime(), smallTables());
  const refresh = () => accounts.refresh();
  const host = new PortalHost({
    store,
    log: silent,
    settings: { ...closed, portalAccount: "explore", mayMakeAccount },
    mailer: undefined,
    keyCount: () => 0,
    fault: () => undefined,
    change: async (work) => store.atomically(work),
    takeEffect: async () => refresh(),
    now: () => later(at),
  });
  accounts.neverExpires = (key) => host.isCurrent(key);
  /** Whether each key works, as the serving threads see it. */
  const works = () => {
    refresh();
    const { keys } = accounts.tables;
    return store.keys.list().map(({ hash }) => keys.slotOf(keys.find(hash), later(at).getTime()) >= 0);
  };
  const states = () => store.keys.list().map((key) => keyState(key, later(at)));
  return { host, hours, states, works, store, refresh };
}

test("the pages' key is replaced daily, the old one works 2 more hours, and a stop revokes both", async (t) => {
  const { host, hours, states, store } = hostOf(t);
  await host.end();
  assert.deepEqual(states(), [], "what hasn't begun has no key");
  await host.begin("https://prices.example.com");
  hours(23.9);
  assert.equal(await host.renewKey(), false);
  const { plan, burst, quota } = store.accounts.byName("explore") ?? assert.fail();
  assert.deepEqual([plan, burst, quota], ["portal", 10 * plans.free.burst, 10 * plans.free.quota]);
  hours(24);
  assert.equal(await host.renewKey(), true);
  assert.deepEqual(states(), ["active", "active"]);
  hours(26);
  assert.deepEqual(states(), ["expired", "active"]);
  hours(48);
  assert.equal(await host.renewKey(), true);
  hours(49);
  assert.deepEqual(states(), ["expired", "active", "active"]);
  await host.end();
  assert.deepEqual(states(), ["expired", "revoked", "revoked"]);
});

test("the pages' key is replaced at once after the clock is set back, and again a day later", async (t) => {
  const { host, hours, states } = hostOf(t, 1000);
  await host.begin("https://prices.example.com");
  assert.equal(await host.renewKey(), false);
  hours(100);
  assert.equal(await host.renewKey(), true, "it would be replaced in 924 hours otherwise");
  assert.equal(await host.renewKey(), false);
  hours(124);
  assert.equal(await host.renewKey(), true);
  hours(126);
  // The first key keeps its expiry, which was set before the clock was changed.
  assert.deepEqual(states(), ["active", "expired", "active"]);
});

for (const jump of [1, 4, 30, 24 * 40, 24 * 4000, -24, -1000])
  test(`the pages' key works on after the clock jumps by ${jump} hours, and open pages' key for 2 more hours`, async (t) => {
    const { host, hours, works } = hostOf(t, 10);
    await host.begin("https://prices.example.com");
    const at = 10 + 23 + jump;
    hours(at);
    assert.deepEqual(works(), [true], "before the server notices the jump");
    assert.equal(await host.renewKey(), true);
    assert.deepEqual(works(), [true, true]);
    hours(at + 1.9);
    assert.equal(await host.renewKey(), false);
    assert.deepEqual(works(), [true, true]);
    hours(Math.max(at, 10 + 24) + 2);
    assert.equal(works()[0], false);
    await host.end();
    assert.deepEqual(works(), [false, false]);
  });

test("the pages' key of a server that was killed expires, and so does one that an operator expires", async (t) => {
  const { host, hours, works, store, refresh } = hostOf(t);
  await host.begin("https://prices.example.com");
  const restarted = new Accounts(store, later(0).getTime(), smallTables());
  const [{ id, hash }] = store.keys.list();
  const entry = restarted.tables.keys.find(hash);
  assert.ok(restarted.tables.keys.slotOf(entry, later(25 * 3_600_000).getTime()) >= 0);
  assert.ok(restarted.tables.keys.slotOf(entry, later(26 * 3_600_000).getTime()) < 0);
  store.keys.expire(id, later(3_600_000).getTime());
  refresh();
  hours(1);
  assert.deepEqual(works(), [false]);
});

test("a start on a full disk succeeds, and the pages' key is stored when there is room", async (t) => {
  const { host, states, store } = hostOf(t);
  const full = t.mock.method(store, "atomically", () => {
    throw new Database.SqliteError("database or disk is full", "SQLITE_FULL");
  });
  await host.begin("https://prices.example.com");
  await assert.rejects(host.renewKey(), /full/);
  full.mock.restore();
  assert.deepEqual(states(), []);
  assert.equal(await host.renewKey(), true);
  assert.deepEqual(states(), ["active"]);
});

test("the pages' account isn't created again after an operator deletes it", async (t) => {
  const store = Store.open(temporaryFolder());
  const { id } = store.accounts.create(
    { name: "explore", plan: "free", ...plans.free, webhook: null, webhook_secret: null },
    later(0),
  );
  const { host, hours } = hostOf(t, 0, false, store);
  await host.begin("https://prices.example.com");
  store.accounts.delete(id);
  hours(24);
  await assert.rejects(host.renewKey(), /^DataError: PORTAL_ACCOUNT: found explore, which isn't there/);
  assert.equal(store.accounts.byName("explore"), undefined);
});
