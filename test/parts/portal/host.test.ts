import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { keyState } from "../../../server/accounts/changes.ts";
import { PortalHost } from "../../../server/parts/portal/host.ts";
import { plans } from "../../../server/shared/plans.ts";
import { Store } from "../../../server/store/store.ts";
import { closed } from "../../support/portal.ts";
import { later, silent } from "../../support/quota-events.ts";
import { temporaryFolder } from "../../support/server.ts";

/** The test sets the host's clock in hours. */
function hostOf(t: TestContext, start = 0, mayMakeAccount = true, store = Store.open(temporaryFolder())) {
  t.after(() => store.close());
  let at = 0;
  const hours = (count: number) => {
    at = count * 3_600_000;
  };
  hours(start);
  const host = new PortalHost({
    store,
    log: silent,
    settings: { ...closed, portalAccount: "explore", mayMakeAccount },
    mailer: undefined,
    keyCount: () => 0,
    fault: () => undefined,
    change: async (work) => store.atomically(work),
    async takeEffect() {},
    now: () => later(at),
  });
  const states = () => store.keys.list().map((key) => keyState(key, later(at)));
  return { host, hours, states, store };
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

for (const jump of [1, 30, 24 * 40, 24 * 365, -24, -1000])
  test(`the pages' key works on after the clock jumps by ${jump} hours, and open pages' key for 2 more hours`, async (t) => {
    const { host, hours, states } = hostOf(t, 10);
    await host.begin("https://prices.example.com");
    const at = 10 + 23 + jump;
    hours(at);
    assert.deepEqual(states(), ["active"], "before the server notices the jump");
    assert.equal(await host.renewKey(), true);
    hours(at + 1.9);
    assert.equal(await host.renewKey(), false);
    assert.deepEqual(states(), ["active", "active"]);
    hours(Math.max(at, 10 + 24) + 2);
    assert.equal(states()[0], "expired");
    await host.end();
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
