import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { Store } from "../../server/store/store.ts";
import { temporaryFolder } from "../support/server.ts";

/** A state database of an older version is brought up to date when it is opened. */

/** Takes away what this version has more than the one before. */
const toSixth = `
  ALTER TABLE directory DROP COLUMN life;
  PRAGMA user_version = 6;`;
const toFifth = `
  ${toSixth}
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

/** Accounts, keys and usage as the first servers had them, with what stands for columns that came soon after. */
const firstTables = (ofAccounts: string) => `
  CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    plan TEXT NOT NULL,
    burst INTEGER NOT NULL,
    quota INTEGER NOT NULL,
    ${ofAccounts}
    created_at TEXT NOT NULL,
    changed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX accounts_changed ON accounts (changed);
  CREATE TABLE keys (
    id INTEGER PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (id),
    hash BLOB NOT NULL UNIQUE,
    last4 TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT,
    changed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX keys_changed ON keys (changed);
  CREATE TABLE usage (
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (account, month)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO accounts (id, name, plan, burst, quota, created_at, changed)
    VALUES (1, 'a', 'free', 10, 123, '2026-10-01', 1);
  INSERT INTO keys VALUES (1, 1, randomblob(32), '0000', '2026-10-01', NULL, NULL, 1);
  INSERT INTO usage VALUES (1, '2026-10', 7);`;
const firstEvents = (ofQuota: string) => `
  CREATE TABLE events (
    id TEXT PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL,
    threshold INTEGER NOT NULL,
    ${ofQuota}
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    state TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    next_try_at TEXT,
    last_answer TEXT,
    UNIQUE (account, month, threshold${ofQuota === "" ? "" : ", quota"})
  ) STRICT;
  CREATE INDEX events_due ON events (next_try_at) WHERE state = 'pending';
  INSERT INTO events (id, account, month, threshold, ${ofQuota === "" ? "" : "quota,"} payload, created_at, state)
    VALUES ('evt_1', 1, '2026-10', 80, ${ofQuota === "" ? "" : "123,"} '{"data":{"quota":{"limit":123}}}', '2026-10-20', 'none');`;
const firstVersions = `
  CREATE TABLE versions (
    version TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    first_served TEXT NOT NULL,
    retired TEXT
  ) STRICT;`;
const webhooks = "webhook TEXT, webhook_secret TEXT,";
const oldSecrets = "webhook_old_secret TEXT, webhook_old_secret_until TEXT,";
const second = firstTables(webhooks + oldSecrets) + firstEvents("quota INTEGER NOT NULL,");

/** A state folder with a database of that SQL and version, and its files as they are. */
function stateOf(sql: string, version: number) {
  const folder = temporaryFolder();
  const database = new Database(path.join(folder, "state.sqlite"));
  database.exec(sql);
  database.pragma("journal_mode = WAL");
  database.pragma(`user_version = ${version}`);
  database.close();
  const files = () => readdirSync(folder).map((name) => [name, readFileSync(path.join(folder, name))]);
  return { folder, files };
}

test("states as the first servers made them are taken over, with and without the table that came last", () => {
  for (const [sql, version] of [
    [firstTables(webhooks) + firstEvents(""), 1],
    [second + firstVersions, 2],
    [
      `${second}${firstVersions}CREATE TABLE obeyed (accounts INTEGER NOT NULL, keys INTEGER NOT NULL) STRICT;
      INSERT INTO obeyed VALUES (1, 1);`,
      2,
    ],
  ] as const) {
    const { folder } = stateOf(sql, version);
    const store = Store.open(folder);
    const seen = sql.includes("obeyed") ? 1 : 0;
    assert.deepEqual(
      [store.account("a")?.quota, store.keys().length, store.used(1, "2026-10"), store.events()[0].quota],
      [123, 1, 7, 123],
    );
    assert.deepEqual(store.obeyed(), { accounts: seen, keys: seen });
    store.obey(store.latest());
    store.close();
    Store.open(folder, { mayCreate: false }).close();
  }
});

test("a state that has less than its version says is refused, and left as it is", () => {
  for (const [sql, version, lack] of [
    [firstTables(webhooks), 1, "no such table: events"],
    [firstTables("") + firstEvents(""), 1, "without webhook, webhook_secret in the table accounts"],
    [second, 2, "without the table versions"],
    [second + firstVersions, 3, "without replaced_by in the table keys"],
    [second + firstVersions, 4, "without replaced_by in the table keys"],
    [second + firstVersions, 6, "no such table: directory"],
    [second + firstVersions, 7, "without email in the table accounts"],
  ] as const) {
    const { folder, files } = stateOf(sql, version);
    const before = files();
    for (let i = 0; i < 2; i++)
      assert.throws(
        () => Store.open(folder),
        (error: Error) => {
          assert.ok(
            error.message.includes(`found damage (schema version ${version}, ${lack})`),
            error.message,
          );
          return !error.message.includes("\n");
        },
      );
    assert.deepEqual(files(), before);
  }
});
