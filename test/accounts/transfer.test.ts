import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { addAccounts, checkFree, type MovedAccount, readAccounts } from "../../server/accounts/transfer.ts";
import { exportAccounts } from "../../server/store/backup.ts";
import { type MovedRow, type MovedTable, Store } from "../../server/store/store.ts";
import { temporaryFolder } from "../support/folders.ts";
import { contentOf } from "../support/state.ts";

/** Tests that accounts move from one state to another with all that they have. */

const at = Date.parse("2026-11-20T10:00:00Z");
const hash = (byte: number) => Buffer.alloc(32, byte);
const plain = {
  webhook: null,
  webhook_secret: null,
  webhook_old_secret: null,
  webhook_old_secret_until: null,
};

const acme: [MovedTable, MovedRow][] = [
  [
    "accounts",
    {
      ...{ id: 3, name: "acme", plan: "developer", burst: 50, quota: 100_000, suspended_at: at },
      ...{ webhook: "https://example.com/hook", webhook_secret: "whsec_new", email: "a@example.com" },
      ...{ webhook_old_secret: "whsec_old", webhook_old_secret_until: at + 1, created_at: at - 5 },
    },
  ],
  // A key refers to a later one, which has replaced it.
  [
    "keys",
    {
      ...{ id: 7, account: 3, hash: hash(7), last4: "aaaa", label: "first", created_at: at - 4 },
      ...{ expires_at: at + 2, revoked_at: null, replaced_by: 9 },
    },
  ],
  [
    "keys",
    {
      ...{ id: 9, account: 3, hash: hash(9), last4: "bbbb", label: null, created_at: at - 3 },
      ...{ expires_at: null, revoked_at: at, replaced_by: null },
    },
  ],
  ["usage", { account: 3, month: "2026-10", used: 5 }],
  ["usage", { account: 3, month: "2026-11", used: 80_000 }],
  ["days", { account: 3, day: "2026-11-19", used: 79_000 }],
  [
    "events",
    {
      ...{ id: "evt_1", account: 3, month: "2026-11", threshold: 80, quota: 100_000 },
      ...{ payload: '{"used":80000}', created_at: at },
    },
  ],
  [
    "deliveries",
    {
      ...{ event: "evt_1", channel: "email", state: "failed", tries: 9 },
      ...{ next_try_at: null, last_answer: "550" },
    },
  ],
  [
    "deliveries",
    {
      ...{ event: "evt_1", channel: "webhook", state: "pending", tries: 2 },
      ...{ next_try_at: at + 9, last_answer: "503" },
    },
  ],
  ["signups", { account: 3, mailbox: "a@example.com", created_at: at - 6 }],
];

const small: [MovedTable, MovedRow][] = [
  [
    "accounts",
    {
      ...{ id: 4, name: "small", plan: "free", burst: 10, quota: 10_000, ...plain },
      ...{ email: null, suspended_at: null, created_at: at },
    },
  ],
];

const moved = (id: number, name: string, rows: [MovedTable, MovedRow][]): MovedAccount => ({
  ...{ id, name },
  rows: rows.map(([table, row]) => ({ table, row })),
});
const accounts = [moved(3, "acme", acme), moved(4, "small", small)];

function storeWith(some: readonly MovedAccount[]): Store {
  const store = Store.inMemory();
  store.atomically(() => addAccounts(store, some, "a file"));
  return store;
}

test("an export has every row of every account, and so has the state that it is added to", (t) => {
  const store = storeWith(accounts);
  t.after(() => store.close());
  const exported = contentOf(store);
  assert.deepEqual(exported, accounts);
  const other = storeWith(exported);
  t.after(() => other.close());
  assert.deepEqual(contentOf(other), accounts);
});

test("accounts aren't added to a state that has an id, name, key, event or mailbox of theirs", (t) => {
  const store = storeWith(accounts);
  t.after(() => store.close());
  const [account, key, , , , , event] = acme;
  const other = (...rows: [MovedTable, MovedRow][]) => [moved(5, "other", rows)];
  const own: [MovedTable, MovedRow] = ["accounts", { ...account[1], id: 5, name: "other" }];
  for (const [added, taken] of [
    [[moved(4, "new", [])], "the id 4, which the account small has"],
    [[moved(5, "acme", [])], "the name acme, which the account acme has"],
    [
      other(own, ["keys", { ...key[1], account: 5, hash: hash(1) }]),
      "the key id 7, which the account acme has",
    ],
    [
      other(own, ["keys", { ...key[1], account: 5, id: 1 }]),
      "the hash of its key 1, which the account acme has",
    ],
    [other(own, ["events", { ...event[1], account: 5 }]), "the event evt_1, which the account acme has"],
    [
      other(own, ["signups", { account: 5, mailbox: "a@example.com", created_at: at }]),
      "the mailbox a@example.com, which the account acme has",
    ],
  ] as const)
    assert.throws(() => checkFree(store, added, "a file"), {
      message: `file a file: account ${added[0].name}: found ${taken}, expected what no account has`,
    });
  checkFree(store, other(own, ["events", { ...event[1], account: 5, id: "evt_2" }]), "a file");
  store.atomically(() => store.accounts.delete(4));
  assert.throws(() => checkFree(store, [moved(4, "new", [])], "a file"), {
    message:
      "file a file: account new: found the id 4 of an account that was deleted, expected one that no account had",
  });
});

const wholes = (least: number, most: number) => `a whole number from ${least} to ${most}`;
const fits = "expected the output of accounts export or state backup";
const ofAcme = 'table accounts, id 3, name "acme"';
const ofSmall = 'table accounts, id 4, name "small"';
const ofKey = "table keys, id 7, account 3";
const ofEvent = 'table events, id "evt_1", account 3';
const ofDelivery = 'table deliveries, event "evt_1", channel "email"';
const words = "1 to 64 letters, digits, hyphens and underscores";

/** SQL that makes a table anew, with columns that take any value. */
const loosened = (table: string) =>
  `CREATE TABLE loose AS SELECT * FROM ${table}; DROP TABLE ${table}; ALTER TABLE loose RENAME TO ${table};`;

/** What an import refuses, by the SQL that makes it. Numbers are the first that are out of their range. */
const wrong: [sql: string, message: string][] = [
  ["ALTER TABLE keys RENAME TO k; CREATE VIEW keys AS SELECT * FROM k", `found no table keys, ${fits}`],
  [
    "DROP TABLE usage; CREATE VIRTUAL TABLE usage USING fts5(account, month, used)",
    `found no table usage, ${fits}`,
  ],
  ["DROP TABLE signups", `found no table signups, ${fits}`],
  ["ALTER TABLE accounts DROP COLUMN email", `found no column email in the table accounts, ${fits}`],
  [
    "ALTER TABLE accounts DROP COLUMN email; ALTER TABLE accounts ADD COLUMN email TEXT AS ('a@example.com')",
    `found no column email in the table accounts, ${fits}`,
  ],
  [
    "PRAGMA user_version = 2",
    "found schema version 2, expected schema version 1: import the file with the release that wrote it, or a later one",
  ],
  ["PRAGMA user_version = 0", `found a database without a schema of this service, ${fits}`],
  ["PRAGMA journal_mode = WAL", `found a database with a write-ahead log, as a server has it open, ${fits}`],
  ["UPDATE accounts SET burst = 0 WHERE id = 4", `${ofSmall}: burst: found 0, expected ${wholes(1, 1e6)}`],
  [
    "UPDATE accounts SET burst = 1000001 WHERE id = 3",
    `${ofAcme}: burst: found 1000001, expected ${wholes(1, 1e6)}`,
  ],
  [
    "UPDATE accounts SET quota = 2000000001 WHERE id = 3",
    `${ofAcme}: quota: found 2000000001, expected ${wholes(1, 2e9)}`,
  ],
  [
    "UPDATE accounts SET name = '' WHERE id = 4",
    'table accounts, id 4, name "": name: found "", expected 1 to 64 ASCII characters',
  ],
  [
    "UPDATE accounts SET name = 'a' || char(10) WHERE id = 4",
    'table accounts, id 4, name "a\\n": name: found "a\\n", expected 1 to 64 ASCII characters',
  ],
  [
    "UPDATE accounts SET plan = 'a b' WHERE id = 3",
    `${ofAcme}: plan: found "a b", expected 1 to 32 ASCII characters`,
  ],
  [
    "UPDATE accounts SET email = 'a' || char(10) WHERE id = 3",
    `${ofAcme}: email: found "a\\n", expected up to 10000 characters without control characters`,
  ],
  [
    "UPDATE accounts SET email = 'ann@example.com' || char(13, 10) || 'Bcc: x' WHERE id = 3",
    `${ofAcme}: email: found "ann@example.com\\r\\nBcc: x", expected up to 10000 characters without control characters`,
  ],
  [
    "UPDATE accounts SET webhook_secret = 'a' || char(0) WHERE id = 3",
    `${ofAcme}: webhook_secret: found another value, expected up to 10000 characters without control characters`,
  ],
  [
    "UPDATE accounts SET suspended_at = 9e15 WHERE id = 3",
    `${ofAcme}: suspended_at: found 9000000000000000, expected ${wholes(0, 253_402_300_799_999)}`,
  ],
  [
    "UPDATE accounts SET webhook_secret = 'a' || char(10) WHERE id = 3",
    `${ofAcme}: webhook_secret: found another value, expected up to 10000 characters without control characters`,
  ],
  [
    "UPDATE accounts SET created_at = -1 WHERE id = 3",
    `${ofAcme}: created_at: found -1, expected ${wholes(0, 253_402_300_799_999)}`,
  ],
  [
    "UPDATE accounts SET webhook_old_secret_until = 253402300800000 WHERE id = 3",
    `${ofAcme}: webhook_old_secret_until: found another value, expected ${wholes(0, 253_402_300_799_999)}`,
  ],
  [
    "UPDATE keys SET id = 1099511627777 WHERE id = 7",
    `table keys, id 1099511627777, account 3: id: found 1099511627777, expected ${wholes(1, 2 ** 40)}`,
  ],
  [
    "UPDATE keys SET id = 0, replaced_by = NULL WHERE id = 7",
    `table keys, id 0, account 3: id: found 0, expected ${wholes(1, 2 ** 40)}`,
  ],
  [
    "UPDATE keys SET hash = zeroblob(31) WHERE id = 7",
    `${ofKey}: hash: found another value, expected 32 bytes`,
  ],
  [
    "UPDATE keys SET account = 5 WHERE id = 7",
    "table keys, id 7, account 5: found a row of an account that the file lacks, expected none",
  ],
  [
    "UPDATE keys SET replaced_by = 8 WHERE id = 7",
    `${ofKey}: replaced_by: found 8, expected a key of the same account`,
  ],
  [
    "UPDATE keys SET account = 4 WHERE id = 9",
    `${ofKey}: replaced_by: found 9, expected a key of the same account`,
  ],
  [
    "UPDATE usage SET used = 2147483648 WHERE used = 5",
    `table usage, account 3, month "2026-10": used: found 2147483648, expected ${wholes(0, 2 ** 31 - 1)}`,
  ],
  [
    "UPDATE usage SET used = -1 WHERE used = 5",
    `table usage, account 3, month "2026-10": used: found -1, expected ${wholes(0, 2 ** 31 - 1)}`,
  ],
  [
    "UPDATE usage SET month = '2026-13' WHERE used = 5",
    'table usage, account 3, month "2026-13": month: found "2026-13", expected a month such as 2027-01',
  ],
  [
    "UPDATE days SET day = '2026-11-31'",
    'table days, account 3, day "2026-11-31": day: found "2026-11-31", expected a day such as 2027-01-31',
  ],
  ["UPDATE events SET threshold = 0", `${ofEvent}: threshold: found 0, expected ${wholes(1, 127)}`],
  ["UPDATE events SET threshold = 128", `${ofEvent}: threshold: found 128, expected ${wholes(1, 127)}`],
  ["UPDATE events SET payload = '{'", `${ofEvent}: payload: found "{", expected JSON`],
  [
    "UPDATE deliveries SET event = 'evt_2' WHERE channel = 'email'",
    'table deliveries, event "evt_2", channel "email": found a row of an event that the file lacks, expected none',
  ],
  [
    "UPDATE deliveries SET state = 'a:b' WHERE channel = 'email'",
    `${ofDelivery}: state: found "a:b", expected ${words}`,
  ],
  [
    "UPDATE deliveries SET channel = 'a:b' WHERE channel = 'email'",
    `table deliveries, event "evt_1", channel "a:b": channel: found "a:b", expected ${words}`,
  ],
  [
    "UPDATE deliveries SET tries = -1 WHERE channel = 'email'",
    `${ofDelivery}: tries: found -1, expected ${wholes(0, 2 ** 31 - 1)}`,
  ],
  [
    "INSERT INTO signups (created_at, mailbox, account) VALUES (1, 'a@example.com', 4)",
    'table signups, account 4, mailbox "a@example.com": found UNIQUE constraint failed: signups.mailbox, expected a row that fits the table',
  ],
  [
    `${loosened("accounts")} UPDATE accounts SET burst = 'x' WHERE id = 3`,
    `${ofAcme}: burst: found "x", expected ${wholes(1, 1e6)}`,
  ],
  [
    `${loosened("accounts")} UPDATE accounts SET burst = 1.5 WHERE id = 3`,
    `${ofAcme}: burst: found 1.5, expected ${wholes(1, 1e6)}`,
  ],
  [
    `${loosened("accounts")} UPDATE accounts SET plan = x'00ff' WHERE id = 3`,
    `${ofAcme}: plan: found a blob of 2 bytes, expected 1 to 32 ASCII characters`,
  ],
  [
    `${loosened("accounts")} UPDATE accounts SET plan = NULL WHERE id = 3`,
    `${ofAcme}: found NOT NULL constraint failed: accounts.plan, expected a row that fits the table`,
  ],
  [
    `${loosened("accounts")} UPDATE accounts SET name = 'acme' WHERE id = 4`,
    'table accounts, id 4, name "acme": found UNIQUE constraint failed: accounts.name, expected a row that fits the table',
  ],
  [
    `${loosened("accounts")} INSERT INTO accounts SELECT * FROM accounts WHERE id = 3; UPDATE accounts SET name = 'z' WHERE rowid = 1`,
    `${ofAcme}: found UNIQUE constraint failed: accounts.id, expected a row that fits the table`,
  ],
  [
    `${loosened("keys")} UPDATE keys SET id = NULL WHERE id = 7`,
    `table keys, id null, account 3: id: found null, expected ${wholes(1, 2 ** 40)}`,
  ],
  [
    `${loosened("keys")} INSERT INTO keys SELECT * FROM keys WHERE id = 9`,
    "table keys, id 9, account 3: found UNIQUE constraint failed: keys.id, expected a row that fits the table",
  ],
];

test("an import refuses what the server couldn't work with, and names the row and what it expects", (t) => {
  const store = storeWith(accounts);
  t.after(() => store.close());
  const folder = temporaryFolder();
  const good = path.join(folder, "good");
  exportAccounts(store, good);
  for (const [i, [sql, message]] of wrong.entries()) {
    const file = path.join(folder, `${i}`);
    copyFileSync(good, file);
    const database = new Database(file);
    // So that a table with triggers can be made anew.
    database.unsafeMode();
    database.exec(
      `PRAGMA writable_schema = ON; PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; ${/^INSERT/.test(sql) ? "DROP INDEX signups_account;" : ""} ${sql}`,
    );
    database.close();
    assert.throws(() => readAccounts(file), { name: "DataError", message: `file ${file}: ${message}` }, sql);
  }
});
