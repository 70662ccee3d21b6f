import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { AccountNames } from "../../server/accounts/names.ts";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { databaseFile } from "../../server/store/served.ts";
import { Store } from "../../server/store/store.ts";
import { run, succeed } from "../support/commands.ts";
import { PostgresServer } from "../support/postgres-server.ts";
import { temporaryFolder } from "../support/server.ts";
import { account, contentOf, modeOf } from "../support/state.ts";

/** Tests moving accounts from one state to another by export and import. */

/** Makes a state with accounts whose export has a value in nearly every column. */
async function fill(): Promise<string> {
  const folder = temporaryFolder();
  await succeed(
    folder,
    "keys create --account a --plan enterprise --burst 5 --quota 600 --webhook https://example.com/ --email ann@example.com",
    "keys create --account b~c --plan free --expires 2999-01-01 --label build",
    "keys rotate 1 --overlap 5",
    "keys rotate 2 --overlap 0",
    "accounts rotate-secret a --overlap 3",
    "keys create --account gone --plan free",
    "accounts delete gone --yes",
    "keys create --account nothing --plan startup",
    "accounts suspend nothing",
  );
  const store = Store.open(folder);
  store.usage.save("2026-12", [[1, 7]]);
  store.usage.save("2027-01", [
    [1, 599],
    [2, 3],
  ]);
  store.usage.saveDay("2027-01-30", [[1, 500]]);
  store.usage.saveDay("2027-01-31", [[1, 599]]);
  const data = { account: "a", plan: "enterprise", month: "2027-01", quota: { limit: 600, used: 500 } };
  const event = { account: 1, month: "2027-01", quota: 600, payload: JSON.stringify({ data }) };
  const created_at = Date.parse("2027-01-30T00:00:00.000Z");
  for (const [threshold, digit] of [
    [80, "a"],
    [90, "b"],
  ] as const)
    store.events.create({ ...event, id: `evt_${digit.repeat(32)}`, threshold, created_at }, [
      "webhook",
      "email",
    ]);
  const delivery = { id: `evt_${"a".repeat(32)}`, tries: 3, next_try_at: null, last_answer: "200" };
  store.events.updateDelivery({ ...delivery, channel: "webhook", state: "delivered" });
  const now = new Date(created_at);
  const signup = { mailbox: "bob@example.com", address: "192.0.2.1" };
  store.signups.create(signup, 2, now);
  const link = { token: Buffer.alloc(32, 5), name: "Cy", email: "cy@example.com" };
  store.signups.createLink({ ...signup, mailbox: "cy@example.com" }, link, now);
  store.keys.saveDay(1, "2027-01-31");
  store.versions.serve("2024.1", "a", "b", now);
  store.close();
  return folder;
}

const filled = await fill();
const exported = join(temporaryFolder(), "accounts");
await succeed(filled, `accounts export ${exported}`);

function accountsIn(folder: string) {
  const store = Store.open(folder);
  const content = contentOf(store);
  store.close();
  return content;
}

/** Returns the path of a copy of the export, changed by SQL. */
function changed(sql: string): string {
  const file = join(temporaryFolder(), "accounts");
  copyFileSync(exported, file);
  const database = new Database(file);
  database.unsafeMode();
  database.pragma("writable_schema = ON");
  database.pragma("foreign_keys = OFF");
  database.exec(sql);
  database.close();
  return file;
}

/** Imports a file that has to be refused. @returns the message after the file's name */
async function refusal(file: string, into = filled): Promise<string> {
  const before = accountsIn(into);
  const [{ code, stdout, stderr }] = await run(into, [`accounts import ${file}`]);
  assert.deepEqual([code, stdout, accountsIn(into)], [1, "", before], stderr);
  assert.ok(stderr.startsWith(`file ${file}: `), stderr);
  return stderr.trimEnd().slice(`file ${file}: `.length);
}

test("export and import move accounts with keys, use, events and mailboxes under the same ids", async () => {
  const to = temporaryFolder();
  const file = join(temporaryFolder(), "accounts");
  assert.deepEqual(await succeed(filled, `accounts export ${file}`), [`${file}\n`]);
  assert.equal(modeOf(file), "600");
  assert.deepEqual(readdirSync(dirname(file)), ["accounts"]);
  assert.deepEqual(await succeed(to, `accounts import ${file}`), ["entered 3 accounts\n"]);
  assert.deepEqual(accountsIn(to), accountsIn(filled));
  const lists = ["accounts list --json", "events list --json"];
  assert.deepEqual(await succeed(to, ...lists), await succeed(filled, ...lists));
  assert.deepEqual(readdirSync(dirname(file)), ["accounts"], "reading makes no files");
  const [key] = await succeed(to, "keys create --account nothing");
  assert.match(key, /^hcq_/);
});

test("a backup is imported like an export, without what belongs to its server", async () => {
  const [to, file] = [temporaryFolder(), join(temporaryFolder(), "backup")];
  await succeed(filled, `state backup ${file}`);
  assert.deepEqual(await succeed(to, `accounts import ${file}`), ["entered 3 accounts\n"]);
  assert.deepEqual(accountsIn(to), accountsIn(filled));
  const store = Store.open(to);
  assert.equal(store.versions.byName("2024.1"), undefined);
  store.close();
});

test("an empty state is exported and imported", async () => {
  const [from, file] = [temporaryFolder(), join(temporaryFolder(), "accounts")];
  Store.open(from).close();
  await succeed(from, `accounts export ${file}`);
  assert.deepEqual(await succeed(temporaryFolder(), `accounts import ${file}`), ["entered 0 accounts\n"]);
});

test("other tools read an export, which has no deleted account, no client's address and no unused link", () => {
  const queries = [
    "PRAGMA integrity_check",
    "PRAGMA foreign_key_check",
    "SELECT id, name, plan, burst, quota FROM accounts ORDER BY id",
    "SELECT id, account, label FROM keys ORDER BY id",
    "SELECT * FROM usage ORDER BY account, month",
    "SELECT channel, state, count(*) FROM deliveries GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT account, mailbox, address, token FROM signups",
    "SELECT (SELECT count(*) FROM key_days) + (SELECT count(*) FROM versions) + (SELECT count(*) FROM directory)",
  ];
  const expected = [
    [["ok"]],
    [],
    [
      [1, "a", "enterprise", 5, 600],
      [2, "b c", "free", 10, 10_000],
      [4, "nothing", "startup", 200, 10_000_000],
    ],
    [
      [1, 1, null],
      [2, 2, "build"],
      [3, 1, null],
      [4, 2, "build"],
      [6, 4, null],
    ],
    [
      [1, "2026-12", 7],
      [1, "2027-01", 599],
      [2, "2027-01", 3],
    ],
    [
      ["email", "pending", 2],
      ["webhook", "delivered", 1],
      ["webhook", "pending", 1],
    ],
    [[2, "bob@example.com", null, null]],
    [[0]],
  ];
  const database = new Database(exported, { readonly: true });
  const found = queries.map((sql) => database.prepare<[], unknown[]>(sql).raw().all());
  database.close();
  assert.deepEqual(found, expected);
  const script =
    "import json, sqlite3, sys\nd = sqlite3.connect(sys.argv[1])\nprint(json.dumps([d.execute(q).fetchall() for q in json.loads(sys.argv[2])]))";
  const byPython = execFileSync("python3", ["-c", script, exported, JSON.stringify(queries)]);
  assert.deepEqual(JSON.parse(byPython.toString()), expected);
});

const fits = "expected the output of accounts export or state backup";
test("triggers and further tables of a file have no effect", async () => {
  const to = temporaryFolder();
  const file = changed(`CREATE TRIGGER t AFTER INSERT ON accounts BEGIN DELETE FROM keys; END;
    CREATE TABLE more (x); CREATE VIEW seen AS SELECT * FROM accounts; CREATE INDEX i ON accounts (burst)`);
  await succeed(to, `accounts import ${file}`);
  assert.deepEqual(accountsIn(to), accountsIn(filled));
  const database = new Database(databaseFile(to), { readonly: true });
  const names = database.prepare("SELECT name FROM sqlite_schema WHERE name IN ('t', 'more', 'seen', 'i')");
  assert.deepEqual(names.all(), []);
  database.close();
});

test("a damaged, cut or foreign file is refused in one sentence", async () => {
  const bytes = readFileSync(exported);
  const make = (content: Buffer | string) => {
    const file = join(temporaryFolder(), "accounts");
    writeFileSync(file, content);
    return file;
  };
  const oneLine = new RegExp(`^found damage \\([^\\n]+\\), ${fits}$`);
  for (let page = 1; page < bytes.length / 4096; page += 4) {
    const file = make(
      Buffer.concat([
        bytes.subarray(0, page * 4096),
        Buffer.alloc(4096, 0xa5),
        bytes.subarray((page + 1) * 4096),
      ]),
    );
    assert.match(await refusal(file), oneLine, `page ${page}`);
  }
  const cut = make(bytes);
  truncateSync(cut, 40_000);
  assert.match(await refusal(cut), oneLine);
  assert.equal(await refusal(make("")), `found an empty file, ${fits}`);
  for (const text of ['{"format":"accounts"}\n', bytes.subarray(1), "SQLite format 3"])
    assert.equal(await refusal(make(Buffer.from(text))), `found no SQLite database, ${fits}`);
});

test("an import of a wrong row adds nothing to an empty state", async () => {
  const empty = temporaryFolder();
  Store.open(empty).close();
  assert.equal(
    await refusal(changed("UPDATE deliveries SET tries = -1 WHERE state = 'delivered'"), empty),
    `table deliveries, event "evt_${"a".repeat(32)}", channel "webhook": tries: found -1, expected a whole number from 0 to 2147483647`,
  );
});

test("an import is refused if an id, a name, a key, an event or a mailbox is taken, and says by which account", async () => {
  const to = temporaryFolder();
  const moved = "PRAGMA defer_foreign_keys = ON; UPDATE accounts SET id = 11 WHERE id = 1;";
  const onlyAccount = (
    id: number,
  ) => `DELETE FROM deliveries; DELETE FROM events; DELETE FROM usage; DELETE FROM days;
    DELETE FROM signups WHERE account <> ${id}; DELETE FROM keys WHERE account <> ${id}; DELETE FROM accounts WHERE id <> ${id};`;
  const renamed = (id: number) =>
    `${onlyAccount(id)} UPDATE accounts SET id = 11, name = 'x'; UPDATE keys SET account = 11, replaced_by = NULL; UPDATE signups SET account = 11;`;
  await succeed(to, `accounts import ${exported}`);
  const free = "expected what no account has";
  for (const [sql, message] of [
    ["", `account a: found the id 1, which the account a has, ${free}`],
    [onlyAccount(4), `account nothing: found the id 4, which the account nothing has, ${free}`],
    [
      `${onlyAccount(4)} UPDATE accounts SET name = 'x'`,
      `account x: found the id 4, which the account nothing has, ${free}`,
    ],
    [
      `${renamed(4)} UPDATE accounts SET name = 'a'`,
      `account a: found the name a, which the account a has, ${free}`,
    ],
    [renamed(4), `account x: found the key id 6, which the account nothing has, ${free}`],
    [
      `${renamed(4)} UPDATE keys SET id = 60`,
      `account x: found the hash of its key 60, which the account nothing has, ${free}`,
    ],
    [
      `${renamed(2)} DELETE FROM keys`,
      `account x: found the mailbox bob@example.com, which the account b c has, ${free}`,
    ],
    [
      `${moved} DELETE FROM keys; DELETE FROM usage; DELETE FROM days; DELETE FROM signups; DELETE FROM accounts WHERE id <> 11;
        UPDATE accounts SET name = 'x'; UPDATE events SET account = 11`,
      `account x: found the event evt_${"a".repeat(32)}, which the account a has, ${free}`,
    ],
  ])
    assert.equal(await refusal(changed(sql), to), message);
  await succeed(to, "accounts delete nothing --yes");
  assert.equal(
    await refusal(changed(onlyAccount(4)), to),
    "account nothing: found the id 4 of an account that was deleted, expected one that no account had",
  );
});

test("what plans and rules allow today doesn't refuse what an earlier release has stored", async () => {
  const to = temporaryFolder();
  const file = changed(`UPDATE accounts SET plan = 'gold', burst = 7, quota = 70 WHERE id = 1;
    UPDATE accounts SET webhook = 'http://127.0.0.1:8000/hook', email = 'ann@localhost', webhook_secret = 'old' WHERE id = 2;
    UPDATE accounts SET quota = 5, name = ' d ' WHERE id = 4;
    UPDATE keys SET label = ' b ', last4 = 'x';
    UPDATE events SET threshold = 50, payload = '[]' WHERE threshold = 80;
    UPDATE deliveries SET tries = 99, state = 'dropped', last_answer = '${"é".repeat(300)}';
    INSERT INTO days SELECT 2, '20' || y || '-01-01', 1 FROM (WITH RECURSIVE n (y) AS (SELECT 10 UNION ALL SELECT y + 1 FROM n WHERE y < 99) SELECT y FROM n)`);
  await succeed(to, `accounts import ${file}`);
  const again = join(temporaryFolder(), "accounts");
  await succeed(to, `accounts export ${again}`, "keys update --account a --email none");
  const [list] = await succeed(to, "accounts list");
  assert.match(list, /^a\tgold\t7\t70\t/m);
  const content = (path: string) => {
    const database = new Database(path, { readonly: true });
    const rows = ["accounts", "keys", "days", "events", "deliveries"].map((table) =>
      database
        .prepare<[], Record<string, unknown>>(`SELECT * FROM ${table}`)
        .all()
        .map(({ changed: _, ...row }) => row),
    );
    database.close();
    return rows;
  };
  assert.deepEqual(content(again), content(file));
  const names = new AccountNames();
  names.put(3, "a", "gold");
  names.put(4, "x".repeat(64), "p".repeat(32));
  assert.deepEqual(
    [3, 4].map((slot) => names.get(slot)),
    [
      { name: "a", plan: "gold" },
      { name: "x".repeat(64), plan: "p".repeat(32) },
    ],
  );
});

test("export doesn't overwrite a file, and import refuses a missing file", async () => {
  const file = join(temporaryFolder(), "accounts");
  writeFileSync(file, "mine");
  const [out, into, more, later] = await run(filled, [
    `accounts export ${file}`,
    `accounts import ${file}s`,
    "accounts export a b",
    `accounts import ${exported} --after x`,
  ]);
  assert.match(out.stderr, /^can't write .*: file already exists/);
  assert.equal(readFileSync(file, "utf8"), "mine");
  assert.equal(into.stderr, `file ${file}s: found no such file or directory, ${fits}\n`);
  assert.equal(more.stderr, 'accounts export takes nothing after the file, but has "b"\n');
  assert.match(later.stderr, /^--after is "x", expected a whole number from 0 to /);
});

test("with DATABASE_URL, accounts go into the database 500 at a time, and come from it", async () => {
  const database = await PostgresServer.start();
  const env = { DATABASE_URL: database.url };
  const [many, folder, to] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  await succeed(many, `accounts import ${exported}`);
  // The database counts two months. Later ones were counted by a clock that was ahead.
  const state = new Database(join(many, "state.sqlite"));
  state.exec("DELETE FROM usage");
  state.close();
  const store = Store.open(many);
  store.atomically(() => {
    const present = monthOf(Date.now());
    store.usage.save(monthName(present - 1), [[1, 7]]);
    store.usage.save(monthName(present), [
      [1, 599],
      [2, 3],
    ]);
    for (let i = 0; i < 1100; i++) store.accounts.create({ ...account, name: `n${i}` }, new Date(0));
  });
  store.close();
  const [file, back] = ["many", "back"].map((name) => join(temporaryFolder(), name));
  await succeed(many, `accounts export ${file}`);
  // Makes the database and refuses the second change after it.
  await run(folder, ["accounts list"], env);
  await database.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON hcqs.changes FOR EACH ROW WHEN (NEW.version = 2) EXECUTE FUNCTION refuse()`);
  const [partly] = await run(folder, [`accounts import ${file}`], env);
  assert.deepEqual(
    [partly.code, partly.stdout, partly.stderr],
    [
      1,
      "",
      "DATABASE_URL: found a database that refuses (no), expected a user and a schema hcqs that allow changes; 500 of 1103 accounts are imported; import the others with --after 501\n",
    ],
  );
  await database.query("DROP TRIGGER refuse ON hcqs.changes");
  const [entered, again, exportedAgain] = await run(
    folder,
    [`accounts import ${file} --after 501`, `accounts import ${file}`, `accounts export ${back}`],
    env,
  );
  assert.equal(entered.stdout, "entered 603 accounts\n", entered.stderr);
  const taken = "account a: found the id 1, which the account a has, expected what no account has";
  assert.deepEqual([again.code, again.stderr], [1, `file ${file}: ${taken}\n`]);
  assert.equal(exportedAgain.stdout, `${back}\n`, exportedAgain.stderr);
  assert.deepEqual(readdirSync(folder), [], "no state of this machine is made");
  await succeed(to, `accounts import ${back}`);
  assert.deepEqual(accountsIn(to), accountsIn(many));
});
