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

/** Moving accounts from one state to another. */

/** Makes a state in which every column of an account says something. */
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

test("accounts go to another state with keys, use, events and addresses, under the same ids", async () => {
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
  const [key] = await succeed(to, "keys create --account nothing", "keys revoke 6");
  assert.match(key, /^hcq_/);
});

test("accounts are said on stdout and read from stdin where no file is named", async () => {
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

test("what contradicts what is there, or isn't whole, is refused with its line, and nothing is entered", async () => {
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
    [[headOf(5)], ": found 0 accounts, expected 5, as its first line says"],
    [
      [headOf(1), changed(one, { quota: -1 })],
      'line 2: quota: found "-1", expected a whole number from 1 to 2000000000',
    ],
    [
      [headOf(1), changed(one, { more: 1 })],
      'line 2: more: found "more", expected only fields that accounts export writes',
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
      "line 2: account x: found key 1, which another account has, expected keys that no other has",
    ],
    [
      [headOf(1), changed(one, { ...other, keys: [{ ...firstKeys[1], id: 50, hash: taken }] })],
      /line 2: account x: found UNIQUE constraint failed: keys\.hash, expected ids/,
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

const aUrl = "a URL without spaces and control characters";
/** Fields of an account, and what is said of them. */
const refusals: [changes: Record<string, unknown>, message: string][] = [
  // The largest id is limited because later ids continue from it.
  [{ id: 2 ** 40 + 1 }, 'id: found "1099511627777", expected a whole number from 1 to 1099511627776'],
  [{ burst: 0 }, 'burst: found "0", expected a whole number from 1 to 1000000'],
  [{ webhook: "javascript:alert(1)" }, 'webhook: found "javascript:alert(1)", expected an https URL'],
  [{ webhook: "https://a.example/\n" }, `webhook: found "https://a.example/\\n", expected ${aUrl}`],
  [
    { email: "ann@example.com\nBcc: bob@example.com" },
    'email: found "ann@example.com\\nBcc: bob@example.com", expected an e-mail address such as ann@example.com',
  ],
  [{ webhook_secret: "x" }, "webhook_secret: found another value, expected a webhook's signing secret"],
  [
    { usage: [{ month: "2026-13", used: 1 }] },
    'usage.0.month: found "2026-13", expected a month such as 2027-01',
  ],
  [
    { days: [{ day: "2026-99-99", used: 1 }] },
    'days.0.day: found "2026-99-99", expected a day such as 2027-01-31',
  ],
  [{ plan: undefined }, "plan: found nothing, expected a value"],
  [{ keys: 1 }, 'keys: found "1", expected a list'],
];

for (const [changes, message] of refusals)
  test(`an import refuses ${JSON.stringify(changes)}`, async () => {
    const [head, one] = contentOf(filledState()).split("\n");
    const [file, to] = [join(temporaryFolder(), "accounts"), temporaryFolder()];
    const first = JSON.stringify({ ...JSON.parse(head), accounts: 1 });
    writeFileSync(file, `${first}\n${JSON.stringify({ ...JSON.parse(one), ...changes })}\n`);
    const [{ code, stderr }] = await run(to, [`accounts import ${file}`]);
    assert.deepEqual([code, stderr], [1, `file ${file}, line 2: ${message}\n`]);
  });

test("lines that are missing are noticed, and blank lines at the end are none", async () => {
  const [from, to] = [filledState(), temporaryFolder()];
  const lines = contentOf(from).trimEnd().split("\n");
  const file = join(temporaryFolder(), "accounts");
  writeFileSync(file, `${lines.slice(0, 3).join("\r\n")}\r\n\n \n`);
  const [{ code, stdout, stderr }] = await run(to, [`accounts import ${file}`]);
  const miscount = `file ${file}: found 2 accounts, expected 3, as its first line says\n`;
  assert.deepEqual([code, stdout, stderr], [1, "", miscount]);
  writeFileSync(file, `${lines.join("\r\n")}\n\n\n`);
  assert.deepEqual(await succeed(to, `accounts import ${file}`), ["entered 3 accounts\n"]);
});

test("webhooks to this machine go along: a delivery looks whether it may go there", async () => {
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
  const [{ code, stderr }] = await run(folder, [`accounts import ${file}`]);
  const refusal = `file ${file}, line 2: account a: found the id of an account that was deleted, expected one that no account had\n`;
  assert.deepEqual([code, stderr], [1, refusal]);
});

test("a file that is there isn't written over, and one that isn't can't be read", async () => {
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
    /^file .*: found no such file or directory, expected what accounts export has written/,
  );
  assert.equal(more.stderr, 'accounts export: found "b" after the file, expected nothing more\n');
});
