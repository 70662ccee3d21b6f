import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { Store } from "../../server/store/store.ts";
import { temporaryFolder } from "../support/server.ts";

/** A state database of an older version is brought up to date when it is opened. */

/** Takes away what this version has more than the one before. */
const toFifth = `
  DROP TABLE leases;
  DROP TABLE replica;
  DROP TABLE directory;
  DROP TABLE directory_rows;
  PRAGMA user_version = 5;`;
const toFourth = `
  ${toFifth}
  DROP TABLE signups;
  DROP INDEX keys_account;
  ALTER TABLE accounts DROP COLUMN email;
  ALTER TABLE events ADD COLUMN state TEXT NOT NULL DEFAULT 'none';
  ALTER TABLE events ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE events ADD COLUMN next_try_at TEXT;
  ALTER TABLE events ADD COLUMN last_answer TEXT;
  UPDATE events SET state = d.state, tries = d.tries, next_try_at = d.next_try_at, last_answer = d.last_answer
    FROM deliveries AS d WHERE event = id;
  CREATE INDEX events_due ON events (next_try_at) WHERE state = 'pending';
  DROP TABLE deliveries;
  PRAGMA user_version = 4;`;
const toThird = `
  ${toFourth}
  DROP TABLE days;
  PRAGMA user_version = 3;`;
const toSecond = `
  ${toThird}
  ALTER TABLE keys DROP COLUMN replaced_by;
  PRAGMA user_version = 2;`;
const toFirst = `
  ${toSecond}
  ALTER TABLE accounts DROP COLUMN webhook_old_secret;
  ALTER TABLE accounts DROP COLUMN webhook_old_secret_until;
  DROP TABLE events;
  CREATE TABLE events (
    id TEXT PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL,
    threshold INTEGER NOT NULL,
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    state TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    next_try_at TEXT,
    last_answer TEXT,
    UNIQUE (account, month, threshold)
  ) STRICT;
  CREATE INDEX events_due ON events (next_try_at) WHERE state = 'pending';
  INSERT INTO events VALUES ('evt_1', 1, '2026-10', 80, '{"data":{"quota":{"limit":123}}}', '2026-10-20', 'none', 0, NULL, NULL);
  DROP TABLE versions;
  DROP TABLE obeyed;
  PRAGMA user_version = 1;`;

test("events of the version before and their deliveries are as they were, and accounts can get an e-mail address", () => {
  const folder = temporaryFolder();
  const first = Store.open(folder);
  const [secret, webhook] = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "https://example.com/"];
  const ceilings = { plan: "free", burst: 10, quota: 123 } as const;
  first.createAccount({ name: "a", ...ceilings, webhook, webhook_secret: secret }, new Date());
  const created_at = new Date().toISOString();
  const event = (threshold: number) => ({
    ...{ id: `evt_${threshold}`, account: 1, month: "2026-10", threshold },
    ...{ quota: 123, payload: "{}", created_at },
  });
  for (const threshold of [80, 90]) first.createEvent(event(threshold), ["webhook"]);
  const failed = { state: "failed", tries: 10, next_try_at: null, last_answer: "503" } as const;
  first.updateDelivery({ id: "evt_80", channel: "webhook", ...failed });
  first.createEvent(event(100), []);
  const before = [first.account("a"), first.events()];
  first.close();
  const database = new Database(path.join(folder, "state.sqlite"));
  database.exec(toFourth);
  database.close();
  const store = Store.open(folder);
  assert.deepEqual([store.account("a"), store.events()], before);
  assert.deepEqual(
    store.events().map(({ state, tries, channel }) => [state, tries, channel]),
    [
      ["failed", 10, "webhook"],
      ["pending", 0, "webhook"],
      ["none", 0, null],
    ],
  );
  assert.deepEqual(
    store.dueDeliveries("webhook", new Date(), [], 3, 10).map(({ id }) => id),
    ["evt_90"],
  );
  const account = store.account("a") ?? assert.fail();
  store.updateAccount({ ...account, email: "ann@example.com" });
  assert.equal(store.account("a")?.email, "ann@example.com");
  store.close();
});

test("counts of the version before go on, and days are counted from then on", () => {
  const folder = temporaryFolder();
  const first = Store.open(folder);
  const { id } = first.createAccount(
    { name: "a", plan: "free", burst: 10, quota: 123, webhook: null, webhook_secret: null },
    new Date(),
  );
  first.saveUsage("2026-10", [[id, 7]]);
  first.close();
  const database = new Database(path.join(folder, "state.sqlite"));
  database.exec(toThird);
  database.close();
  const store = Store.open(folder);
  assert.deepEqual([store.used(id, "2026-10"), store.daysOf("2026-10")], [7, new Map()]);
  for (const used of [8, 9]) store.saveDay("2026-10-31", [[id, used]]);
  store.saveDay("2026-11-01", [[id, 1]]);
  assert.deepEqual(store.daysOf("2026-10"), new Map([[id, [[31, 9]]]]));
  store.close();
});

test("accounts and keys of the second version are as they were, and can be rotated", () => {
  const folder = temporaryFolder();
  const first = Store.open(folder);
  const { id } = first.createAccount(
    { name: "a", plan: "free", burst: 10, quota: 123, webhook: null, webhook_secret: null },
    new Date(),
  );
  for (const byte of [1, 2]) first.createKey(id, Buffer.alloc(32, byte), "0000", null, new Date());
  const before = first.keys();
  first.close();
  const database = new Database(path.join(folder, "state.sqlite"));
  database.exec(toSecond);
  database.close();
  const store = Store.open(folder);
  assert.deepEqual(store.keys(), before);
  store.replaceKey(1, 2);
  assert.deepEqual([store.key(1)?.replaced_by, store.key(2)?.replaced_by], [2, null]);
  store.close();
});

test("accounts, keys and events of the first version are as they were, and no server has given its word on them", () => {
  const folder = temporaryFolder();
  const now = new Date();
  const first = Store.open(folder);
  const account = {
    name: "a",
    plan: "free",
    burst: 10,
    quota: 123,
    webhook: null,
    webhook_secret: null,
  } as const;
  const { id } = first.createAccount(account, now);
  first.createKey(id, Buffer.alloc(32, 1), "0000", null, now);
  const before = [first.account("a"), first.keys()];
  first.close();
  const database = new Database(path.join(folder, "state.sqlite"));
  database.exec(toFirst);
  database.close();

  const store = Store.open(folder);
  assert.deepEqual([store.account("a"), store.keys()], before);
  assert.deepEqual(
    store.events().map((event) => [event.id, event.quota]),
    [["evt_1", 123]],
  );
  assert.deepEqual(
    [store.obeyed(), store.latest()],
    [
      { accounts: 0, keys: 0 },
      { accounts: 1, keys: 1 },
    ],
  );
  store.obey(store.latest());
  assert.deepEqual(store.obeyed(), store.latest());
  store.close();
  Store.open(folder, { mayCreate: false }).close();
});
