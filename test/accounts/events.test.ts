import assert from "node:assert/strict";
import { test } from "node:test";
import { maxEvents, UsageEvents } from "../../server/accounts/events.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { Accounts } from "../../server/accounts/sync.ts";
import { Store } from "../../server/store/store.ts";
import { ask, serviceOf } from "../support/asking.ts";
import { imageOf, versionsOf } from "../support/endpoint-oracle.ts";
import { snapshotOf } from "../support/fixtures.ts";
import { account } from "../support/state.ts";

/** An account's quota events of the month, as `/usage` shows them. */

const versions = versionsOf(imageOf(snapshotOf([["000001", "CA", "5072", 1, 1]])));

test("warnings are shown when they are recorded, after a restart and until the month ends, to their account alone", () => {
  const store = Store.inMemory();
  let [wallMs, steadyMs] = [Date.UTC(2027, 11, 30, 12), 1e6];
  const start = () => {
    const accounts = new Accounts(store, wallMs);
    const clocks = { now: () => wallMs, steadyNow: () => steadyMs };
    return { accounts, service: serviceOf({ ...accounts.tables, versions, ...clocks }) };
  };
  const create = (name: string, quota: number) => {
    const { id } = store.accounts.create({ ...account, name, burst: 100, quota }, new Date(wallMs));
    const key = generateKey();
    store.keys.create(id, hashKey(key), "0000", null, new Date(wallMs));
    return key;
  };
  let parts = start();
  const usage = (key: string) => {
    steadyMs += 1000;
    const { status, body } = ask(parts.service, key, "/api/v1/usage", () => "");
    assert.equal(status, 200, body);
    parts.accounts.save(wallMs);
    parts.accounts.refresh();
    return JSON.parse(body).events;
  };
  const [key, other] = [create("later", 10), create("other", 100)];
  parts.accounts.refresh();
  for (let i = 0; i < 8; i++) assert.deepEqual(usage(key), []);
  const warning = (threshold: number) => ({
    type: "quota.warning",
    threshold,
    at: "2027-12-30T12:00:00.000Z",
  });
  assert.deepEqual(usage(key), [warning(80)]);
  assert.deepEqual(usage(other), []);
  parts = start();
  assert.deepEqual(usage(key), [warning(80), warning(90)]);
  wallMs = Date.UTC(2028, 0, 1);
  steadyMs += 1e6;
  parts.accounts.enterMonths(wallMs);
  assert.deepEqual(usage(key), []);
  store.close();
});

test("a slot keeps the newest events of its month, each once, by time and threshold", () => {
  const events = new UsageEvents();
  events.enter(1, 24_300);
  for (let i = 0; i < maxEvents + 3; i++)
    for (const _ of [1, 2]) events.put(1, { threshold: 90, created_at: 1000 + i });
  events.put(1, { threshold: 80, created_at: 1000 + maxEvents + 2 });
  const found = events.of(1, 24_300);
  assert.equal(found.length, maxEvents);
  assert.deepEqual(found.slice(-2), [
    { threshold: 80, created_at: 1000 + maxEvents + 2 },
    { threshold: 90, created_at: 1000 + maxEvents + 2 },
  ]);
  assert.deepEqual([events.of(1, 24_301), events.of(2, 24_300)], [[], []]);
});
