import assert from "node:assert/strict";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { Accounts } from "../../server/accounts/sync.ts";
import { dayName, monthOf } from "../../server/shared/months.ts";
import { databaseFile } from "../../server/store/served.ts";
import { Store } from "../../server/store/store.ts";
import { temporaryFolder } from "../support/folders.ts";
import { contentOf, account as plain } from "../support/state.ts";
import { smallTables } from "../support/tables.ts";

/** Tests suspended, resumed and deleted accounts, and the days on which keys are used. */

const dayMs = 86_400_000;
const now = new Date("2027-01-31T12:00:00Z");

/** Account `a` has two keys, one of them revoked, and account `b` has one key. */
function world() {
  const folder = temporaryFolder();
  const [store, operator] = [Store.open(folder), Store.open(folder)];
  after(() => {
    store.close();
    operator.close();
  });
  const hashes = [0, 1, 2].map(() => hashKey(generateKey()));
  const [a, b] = ["a", "b"].map((name) => operator.accounts.create({ ...plain, name, quota: 100 }, now));
  for (const [i, hash] of hashes.entries())
    operator.keys.create(i < 2 ? a.id : b.id, hash, "0000", null, now);
  operator.keys.revoke(2, now);
  const [table, tables] = [new KeyTable(), smallTables()];
  const limits = tables.ceilings;
  const start = () => new Accounts(store, now.getTime(), { ...tables, keys: table });
  const accounts = start();
  const slots = (of = table, at = now.getTime()) =>
    hashes.map((hash) => {
      const entry = of.find(hash);
      return entry < 0 ? undefined : of.slotOf(entry, at);
    });
  return { folder, store, operator, table, limits, accounts, slots, hashes, ids: [a.id, b.id] };
}

test("keys of a suspended account don't work until it is resumed, and revoked keys stay revoked", () => {
  const { store, operator, accounts, slots, ids } = world();
  assert.deepEqual(slots(), [0, -1, 1]);
  operator.accounts.suspend(ids[0], now.getTime());
  accounts.refresh();
  assert.deepEqual(slots(), [-1, -1, 1]);
  operator.keys.expire(1, null);
  const late = hashKey(generateKey());
  operator.keys.create(ids[0], late, "0000", null, now);
  accounts.refresh();
  assert.deepEqual(slots(), [-1, -1, 1], "a change of a key doesn't revive it");
  const { keys } = new Accounts(store, now.getTime(), smallTables()).tables;
  assert.deepEqual(slots(keys), [-1, -1, 0], "nor does a start");
  operator.accounts.suspend(ids[0], null);
  accounts.refresh();
  assert.deepEqual(slots(), [0, -1, 1]);
});

test("a deleted account leaves only its id, and later counts for it are dropped", () => {
  const { folder, store, operator, limits, accounts, slots, ids } = world();
  operator.accounts.update({
    ...(operator.accounts.byId(ids[0]) ?? assert.fail()),
    webhook: "https://example.com/",
    quota: 2,
  });
  operator.signups.create({ mailbox: "ann@example.com", address: "192.0.2.1" }, ids[0], now);
  accounts.refresh();
  for (let i = 0; i < 2; i++) limits.admit(0, monthOf(now.getTime()), 2000 * (i + 1));
  assert.equal(accounts.save(now.getTime()).length, 3);
  operator.keys.saveDay(1, "2027-01-31");
  operator.accounts.update({ ...(operator.accounts.byId(ids[0]) ?? assert.fail()), quota: 100 });
  accounts.refresh();
  limits.admit(0, monthOf(now.getTime()), 9000);
  operator.accounts.delete(ids[0]);
  const before = operator.progress.latest();
  assert.deepEqual(accounts.save(now.getTime()), [], "before the server knows of it");
  accounts.refresh();
  limits.admit(0, monthOf(now.getTime()), 12_000);
  accounts.save(now.getTime());
  assert.deepEqual(slots(), [-1, -1, 1]);
  const database = new Database(databaseFile(folder), { readonly: true });
  const count = (sql: string) => Number(database.prepare(sql).pluck().get());
  for (const table of ["keys", "usage", "days", "events"])
    assert.equal(count(`SELECT count(*) FROM ${table} WHERE account = ${ids[0]}`), 0, table);
  for (const table of ["deliveries", "signups", "key_days"])
    assert.equal(count(`SELECT count(*) FROM ${table}`), 0, table);
  const row = database.prepare("SELECT * FROM accounts WHERE id = ?").get(ids[0]);
  database.close();
  const { id, changed: _, ...rest } = Object(row);
  assert.equal(id, ids[0]);
  assert.deepEqual(new Set(Object.values(rest)), new Set([null, "", 0]));
  assert.deepEqual(
    contentOf(store).map(({ name }) => name),
    ["b"],
  );

  const again = operator.accounts.create({ ...plain, name: "a" }, now);
  const key = hashKey(generateKey());
  assert.deepEqual([again.id, operator.keys.create(again.id, key, "0000", null, now)], [3, 4]);
  assert.ok(
    operator.progress.latest().keys > before.keys && operator.progress.latest().accounts > before.accounts,
  );
  accounts.refresh();
  assert.deepEqual(slots(), [-1, -1, 1]);
});

test("after the newest key is deleted, the next key gets a new id and reaches the running server", () => {
  const { operator, accounts, table, ids } = world();
  operator.accounts.delete(ids[1]);
  accounts.refresh();
  const hash = hashKey(generateKey());
  assert.equal(operator.keys.create(ids[0], hash, "0000", null, now), 4);
  accounts.refresh();
  assert.ok(table.find(hash) >= 0, "a running server sees it");
});

test("the day of a key's last use is saved once a day and for working keys only", () => {
  const { store, accounts, slots } = world();
  const days = () => store.keys.list().map(({ last_used }) => last_used);
  const at = (day: number) => now.getTime() + day * dayMs;
  slots();
  assert.deepEqual(days(), [null, null, null]);
  accounts.save(at(0));
  assert.deepEqual(days(), ["2027-01-31", null, "2027-01-31"]);
  const written = store.changes();
  slots();
  accounts.save(at(0));
  assert.equal(store.changes(), written, "nothing is written while the day is the same");
  slots(undefined, at(1));
  accounts.save(at(1));
  assert.deepEqual(days(), ["2027-02-01", null, "2027-02-01"]);
  slots(undefined, at(0));
  accounts.save(at(0));
  assert.deepEqual(
    days(),
    ["2027-01-31", null, "2027-01-31"],
    "by the server's clock, whichever way it is set",
  );
});

test("a last-used day that can't be saved is saved later", (t) => {
  const { store, accounts, slots } = world();
  slots();
  const failing = t.mock.method(store.keys, "saveDay", () => {
    throw new Error("disk full");
  });
  assert.throws(() => accounts.save(now.getTime()), /disk full/);
  failing.mock.restore();
  accounts.save(now.getTime());
  assert.equal(store.keys.list()[0].last_used, "2027-01-31");
});

test("a key's use in one thread is saved by another", () => {
  const { table, hashes, accounts, store } = world();
  const serving = new KeyTable(table.buffer);
  assert.equal(serving.slotOf(serving.find(hashes[2]), now.getTime()), 1);
  accounts.save(now.getTime());
  assert.equal(store.keys.list()[2].last_used, dayName(now.getTime()));
});

test("a change is told to be applied once it is durable, and once", () => {
  const { store, operator, accounts, ids } = world();
  let made = 0;
  const makeLasting = () => {
    assert.ok(store.progress.applied().accounts < operator.progress.latest().accounts);
    if (++made === 1) throw new Error("the disk is full");
  };
  operator.accounts.suspend(ids[0], now.getTime());
  accounts.refresh();
  assert.throws(() => accounts.saveApplied(makeLasting), { message: "the disk is full" });
  for (let i = 0; i < 2; i++) accounts.saveApplied(makeLasting);
  assert.equal(made, 2);
  assert.deepEqual(store.progress.applied(), operator.progress.latest());
  accounts.refresh();
  accounts.saveApplied(makeLasting);
  assert.equal(made, 2, "nothing has changed");
});
