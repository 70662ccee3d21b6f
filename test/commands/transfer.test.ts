import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { exportAccounts } from "../../server/accounts/transfer.ts";
import { Store } from "../../server/store/store.ts";
import { run, succeed } from "../support/commands.ts";
import { keepingStripped, temporaryFolder } from "../support/server.ts";
import { modeOf } from "../support/state.ts";

/** Tests moving accounts from one state to another by export and import. */

/** Makes a state with accounts whose export has a value in nearly every field. */
async function fill(): Promise<string> {
  const folder = temporaryFolder();
  await succeed(
    folder,
    "keys create --account a --plan enterprise --burst 5 --quota 600 --webhook https://example.com/ --email ann@example.com",
    "keys create --account b~c --plan free --expires 2999-01-01",
    "keys rotate 1 --overlap 5",
    "keys rotate 2 --overlap 0",
    "accounts rotate-secret a --overlap 3",
    "keys create --account nothing --plan startup",
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
  store.signups.create({ mailbox: "bob@example.com", address: "192.0.2.1" }, 2, new Date(created_at));
  store.close();
  return folder;
}

const filled = await fill();
function filledState(): string {
  const folder = temporaryFolder();
  cpSync(filled, folder, { recursive: true });
  return folder;
}

const contentOf = (folder: string) => {
  const store = Store.open(folder);
  const content = exportAccounts(store);
  store.close();
  return content;
};

test("export and import move accounts with keys, use, events and addresses under the same ids", async () => {
  const [from, to] = [filledState(), temporaryFolder()];
  const file = join(temporaryFolder(), "accounts");
  const [said] = await succeed(from, `accounts export ${file}`);
  assert.equal(said, `${file}\n`);
  assert.equal(modeOf(file), "600");
  const lines = readFileSync(file, "utf8");
  assert.equal(lines, contentOf(from));
  const [entered, again] = await succeed(to, `accounts import ${file}`, `accounts import ${file}`);
  assert.equal(entered, "entered 3 accounts\n");
  assert.equal(again, "entered 0 accounts; 3 were there already, the same\n");
  assert.equal(contentOf(to), lines);
  const lists = ["keys list --json", "accounts list --json", "events list --json"];
  assert.deepEqual(await succeed(to, ...lists), await succeed(from, ...lists));
  const [key] = await succeed(to, "keys create --account nothing");
  assert.match(key, /^hcq_/);
});

test("export writes to stdout and import reads stdin if no file is named", async () => {
  const [from, to] = [filledState(), temporaryFolder()];
  const command = (stateDir: string, args: string[], input = "") => {
    const main = new URL("../../server/commands/accounts.ts", import.meta.url).pathname;
    return spawnSync(process.execPath, [...keepingStripped, main, ...args], {
      env: { ...process.env, STATE_DIR: stateDir },
      encoding: "utf8",
      input,
    });
  };
  const { stdout } = command(from, ["export"]);
  assert.equal(stdout, contentOf(from));
  assert.equal(command(to, ["import"], stdout).stdout, "entered 3 accounts\n");
  assert.equal(contentOf(to), stdout);
});

test("an import that is incomplete or conflicts with existing accounts is refused and changes nothing", async () => {
  const lines = contentOf(filledState()).split("\n");
  const [head, one, two, three] = lines;
  const changed = (line: string, changes: object) => JSON.stringify({ ...JSON.parse(line), ...changes });
  const [file, to] = [join(temporaryFolder(), "accounts"), temporaryFolder()];
  await succeed(to, "keys create --account b~c --plan free");
  const before = contentOf(to);
  const taken = JSON.parse(before.split("\n")[1]).keys[0].hash;
  const firstKeys: object[] = JSON.parse(one).keys.map((key: object) => ({ ...key, replaced_by: null }));
  const headOf = (accounts: number) => changed(head, { accounts });
  const other = { id: 7, name: "x", keys: [], events: [], mailboxes: [] };
  for (const [content, message] of [
    [[], "line 1: found no JSON, expected a line of JSON"],
    [["{"], "line 1: found no JSON, expected a line of JSON"],
    [['{"accounts":0}'], "line 1: format: found nothing, expected a value"],
    [[changed(head, { version: 2, accounts: 0 })], "line 1: version: found 2, expected 1"],
    [
      [headOf(5)],
      ": found 0 accounts, expected 5, as its first line says: export them again, or import the ones present with --skip-invalid",
    ],
    [
      [headOf(1), changed(one, { quota: -1 })],
      "line 2: account a: quota: found -1, expected a whole number from 1 to 2000000000",
    ],
    [
      [headOf(1), changed(one, { more: 1 })],
      "line 2: account a: more: found an unknown field, expected only fields that the command accounts export writes",
    ],
    [
      [headOf(2), changed(three, { id: 9 }), two],
      "line 3: account b c: found the account b c with other id of that id or name, expected none, or the same",
    ],
    [
      [headOf(1), one],
      "line 2: account a: found the account b c with other name of that id or name, expected none, or the same",
    ],
    [
      [headOf(1), changed(one, { ...other, keys: firstKeys.slice(0, 1) })],
      "line 2: account x: found key 1, which another account has, expected what no other has",
    ],
    [
      [headOf(1), changed(one, { ...other, keys: [{ ...firstKeys[1], id: 50, hash: taken }] })],
      "line 2: account x: found the hash of its key 50, which another account has, expected what no other has",
    ],
  ] as [string[], string | RegExp][]) {
    writeFileSync(file, content.map((line) => `${line}\n`).join(""));
    const [{ code, stdout, stderr }] = await run(to, [`accounts import ${file}`]);
    assert.deepEqual([code, stdout], [1, ""], stderr);
    if (typeof message === "string") assert.ok(stderr.endsWith(`${message}\n`), stderr);
    else assert.match(stderr, message);
    assert.ok(stderr.startsWith(`file ${file}`), stderr);
    assert.equal(contentOf(to), before);
  }
});

test("every invalid account is reported, and --skip-invalid imports the others", async () => {
  const [from, to] = [filledState(), temporaryFolder()];
  const lines = contentOf(from).trimEnd().split("\n");
  const [head, one, two, three] = lines;
  const [ofOne, ofTwo] = [one, two].map((line) => JSON.parse(line));
  ofOne.keys[0].expires_at = "9999-12-31T23:59:59-00:01";
  ofTwo.keys.push({ ...ofTwo.keys[0], id: 99, replaced_by: null });
  const [bad, twice] = [ofOne, ofTwo].map((record) => JSON.stringify(record));
  const file = join(temporaryFolder(), "accounts");
  const subject = `file ${file}, line`;
  writeFileSync(file, `${[head, bad, twice, three].join("\n")}\n`);
  const [refused, skipped, again] = await run(to, [
    `accounts import ${file}`,
    `accounts import --skip-invalid ${file}`,
    `accounts import ${file} --skip-invalid`,
  ]);
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  const named = refused.stderr.trimEnd().split("\n");
  assert.equal(named.length, 2);
  const time = '"9999-12-31T23:59:59-00:01"';
  const range = "a time that exists, from 1970-01-01 to 9999-12-31 in UTC";
  assert.equal(named[0], `${subject} 2: account a: keys.0.expires_at: found ${time}, expected ${range}`);
  assert.ok(named[1].startsWith(`${subject} 3: account b c: found UNIQUE constraint failed: `), named[1]);
  assert.deepEqual([skipped.code, skipped.stdout], [0, "entered 1 account; 2 refused\n"]);
  assert.ok(skipped.stderr.includes(refused.stderr), skipped.stderr);
  assert.equal(again.stdout, "entered 0 accounts; 1 were there already, the same; 2 refused\n");
  assert.equal(contentOf(to).split("\n")[1], three);
});

/** Changes an account's line of an export. */
type Change = (
  record: Record<string, unknown> & Record<"keys" | "events" | "usage" | "days", Part[]>,
) => void;
type Part = Record<string, unknown> & { deliveries: Record<string, unknown>[] };

const wholes = (min: number, max: number) => `a whole number from ${min} to ${max}`;
const aUrl = "a URL without spaces and control characters";
const aDay = "a day such as 2027-01-31";
const aMonth = "a month such as 2027-01";
const aSecret = "a webhook's signing secret";
const refusals: [change: Change, message: string][] = [
  // Ids have a maximum, because the next id is the largest id plus one.
  [(one) => (one.id = 2 ** 40 + 1), `id: found 1099511627777, expected ${wholes(1, 2 ** 40)}`],
  [
    (one) => (one.keys[0].id = 2 ** 53 - 1),
    `keys.0.id: found 9007199254740991, expected ${wholes(1, 2 ** 40)}`,
  ],
  // Tries have a maximum, because the server adds further tries to the number.
  [
    (one) => (one.events[0].deliveries[0].tries = 2_000_000_000),
    `events.0.deliveries.0.tries: found 2000000000, expected ${wholes(0, 10)}`,
  ],
  [
    (one) => Object.assign(one.events[1].deliveries[0], { tries: 10 }),
    `events.1.deliveries.0: found an object, expected fewer than 10 tries of a pending delivery`,
  ],
  [
    (one) => (one.events[1].deliveries[0].next_try_at = null),
    `events.1.deliveries.0: found an object, expected next_try_at in a pending delivery, and in no other`,
  ],
  [(one) => (one.burst = 0), `burst: found 0, expected ${wholes(1, 1_000_000)}`],
  [
    (one) => (one.webhook = "javascript:alert(1)"),
    'webhook: found "javascript:alert(1)", expected an https URL',
  ],
  [
    (one) => (one.webhook = "https://a.example/\n"),
    `webhook: found "https://a.example/\\n", expected ${aUrl}`,
  ],
  [
    (one) => (one.email = "ann@example.com\nBcc: bob@example.com"),
    'email: found "ann@example.com\\nBcc: bob@example.com", expected an e-mail address such as ann@example.com',
  ],
  [
    (one) => (one.webhook_secret = "x"),
    `webhook_secret: found another text of 1 characters, expected ${aSecret}`,
  ],
  [(one) => (one.webhook = null), "found an object, expected webhook and webhook_secret both, or neither"],
  [(one) => (one.usage[0].month = "2026-13"), `usage.0.month: found "2026-13", expected ${aMonth}`],
  [(one) => (one.usage[0].month = "2027-01"), "usage: found a list, expected each month once"],
  [(one) => (one.days[0].day = "2026-99-99"), `days.0.day: found "2026-99-99", expected ${aDay}`],
  [(one) => (one.days[0].day = "2027-01-31"), "days: found a list, expected each day once"],
  [(one) => (one.keys[1].id = one.keys[0].id), "keys: found a list, expected each id once"],
  [
    (one) => (one.keys[0].replaced_by = 77),
    "keys: found a list, expected replaced_by to name a later key of the same account",
  ],
  [
    (one) => (one.events[1].threshold = 80),
    "events: found a list, expected each month, threshold and quota once",
  ],
  [(one) => (one.events[0].threshold = 85), `events.0.threshold: found 85, expected one of 80, 90, 100`],
  [
    (one) => (one.events[0].payload = "no JSON"),
    `events.0.payload: found "no JSON", expected an event's payload, as JSON`,
  ],
  [
    (one) => (one.keys[0].hash = "secret"),
    "keys.0.hash: found another text of 6 characters, expected 64 hexadecimal digits in lower case",
  ],
  [(one) => delete one.plan, "plan: found nothing, expected a value"],
  [(one) => (one.keys = JSON.parse("1")), "keys: found 1, expected a list"],
];

test("an import rejects accounts with values that the service itself never creates", async () => {
  const [head, one] = contentOf(filledState()).split("\n");
  const [file, to] = [join(temporaryFolder(), "accounts"), temporaryFolder()];
  const lines = refusals.map(([change]) => {
    const record = JSON.parse(one);
    change(record);
    return JSON.stringify(record);
  });
  const first = JSON.stringify({ ...JSON.parse(head), accounts: lines.length });
  writeFileSync(file, [first, ...lines].join("\n"));
  const [{ code, stderr }] = await run(to, [`accounts import ${file}`]);
  assert.equal(code, 1);
  const expected = refusals.map(([, message], i) => `file ${file}, line ${i + 2}: account a: ${message}`);
  assert.deepEqual(stderr.trimEnd().split("\n"), expected);
});

test("a file with missing lines needs --skip-invalid, and blank lines at its end are ignored", async () => {
  const [from, to] = [filledState(), temporaryFolder()];
  const lines = contentOf(from).trimEnd().split("\n");
  const file = join(temporaryFolder(), "accounts");
  writeFileSync(file, `${lines.slice(0, 3).join("\r\n")}\r\n\n \n`);
  const [refused, skipped] = await run(to, [
    `accounts import ${file}`,
    `accounts import ${file} --skip-invalid`,
  ]);
  const miscount = `file ${file}: found 2 accounts, expected 3, as its first line says: export them again, or import the ones present with --skip-invalid\n`;
  assert.deepEqual([refused.code, refused.stdout, refused.stderr], [1, "", miscount]);
  assert.deepEqual([skipped.code, skipped.stdout], [0, "entered 2 accounts\n"]);
  assert.ok(skipped.stderr.includes(miscount), skipped.stderr);
  assert.equal(contentOf(to).split("\n").length, 4);
  writeFileSync(file, `${lines.join("\n")}\n\n\n`);
  assert.deepEqual(await succeed(to, `accounts import ${file}`), [
    "entered 1 account; 2 were there already, the same\n",
  ]);
});

test("an account with a webhook to this machine is imported", async () => {
  const [head, one] = contentOf(filledState()).split("\n");
  const [file, to] = [join(temporaryFolder(), "accounts"), temporaryFolder()];
  const changed = { ...JSON.parse(one), webhook: "http://127.0.0.1:8000/hook" };
  writeFileSync(
    file,
    `${JSON.stringify({ ...JSON.parse(head), accounts: 1 })}\n${JSON.stringify(changed)}\n`,
  );
  assert.deepEqual(await succeed(to, `accounts import ${file}`), ["entered 1 account\n"]);
});

test("an account that was deleted isn't imported again under its id", async () => {
  const folder = filledState();
  const file = join(temporaryFolder(), "accounts");
  await succeed(folder, `accounts export ${file}`, "accounts delete a --yes");
  const [{ code, stderr }, skipped] = await run(folder, [
    `accounts import ${file}`,
    `accounts import ${file} --skip-invalid`,
  ]);
  const refusal = `file ${file}, line 2: account a: found the id 1 of an account that was deleted, expected one that no account had\n`;
  assert.deepEqual([code, stderr], [1, refusal]);
  assert.deepEqual(
    [skipped.stdout, skipped.stderr],
    ["entered 0 accounts; 2 were there already, the same; 1 refused\n", refusal],
  );
});

test("export doesn't overwrite a file, and import refuses a missing file", async () => {
  const folder = filledState();
  const file = join(temporaryFolder(), "accounts");
  writeFileSync(file, "mine");
  const [out, into, more] = await run(folder, [
    `accounts export ${file}`,
    `accounts import ${file}s`,
    "accounts export a b",
  ]);
  assert.match(out.stderr, /^file .*: found file already exists, expected a name that is free/);
  assert.equal(readFileSync(file, "utf8"), "mine");
  assert.match(
    into.stderr,
    /^file .*: found no such file or directory, expected the output of accounts export/,
  );
  assert.equal(more.stderr, 'accounts export: found "b" after the file, expected nothing more\n');
});
