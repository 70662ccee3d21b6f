import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { isWellFormed } from "../../server/accounts/keys.ts";
import { planNames, plans } from "../../server/shared/plans.ts";
import { Store } from "../../server/store/store.ts";
import { fieldsOf, keyStates, run, shownKey, succeed } from "../support/commands.ts";
import { documentAt } from "../support/readme.ts";
import { runKeys, temporaryFolder } from "../support/server.ts";

/** Tests the operator's command `keys` on a database that no server uses. */

const stateDir = temporaryFolder();
const enterprise = "--plan enterprise --burst 1000 --quota 2000000000";
const made = await run(stateDir, [
  "keys create --account A~&~B~hospitals --plan free",
  "keys create --account A~&~B~hospitals --expires 2037-01-01",
  `keys create --account large ${enterprise}`,
]);
const keys = made.map(({ stdout }) => stdout.trimEnd());

async function listed(folder: string): Promise<string[][]> {
  const [text] = await succeed(folder, "keys list");
  const [header, ...lines] = fieldsOf(text);
  const columns = ["id", "account", "plan", "key", "state", "created", "expires", "revoked", "label"];
  assert.deepEqual(header, [...columns, "last used"]);
  return lines;
}

test("keys create prints only the key on stdout and its report on stderr", async () => {
  const words = ["create", "--account", "a", "--plan", "free"];
  const folder = temporaryFolder();
  const { code, stdout, stderr } = await runKeys(folder, ...words);
  assert.equal(code, 0);
  assert.equal(
    stderr,
    `made a new state in STATE_DIR ${folder}\nmade account a (plan free, 10 requests per second, 10000 per month) and key 1\n`,
  );
  assert.match(stdout, /^hcq_[0-9A-Za-z]{49}\n$/);
  for (const key of [...keys, stdout.trimEnd()]) assert.ok(isWellFormed(key));
  assert.deepEqual(
    made.map((result) => result.stderr),
    [
      `made a new state in STATE_DIR ${stateDir}\nmade account A & B hospitals (plan free, 10 requests per second, 10000 per month) and key 1\n`,
      "made key 2, which expires at 2037-01-01T00:00:00.000Z, for account A & B hospitals (plan free, 10 requests per second, 10000 per month)\n",
      "made account large (plan enterprise, 1000 requests per second, 2000000000 per month) and key 3\n",
    ],
  );
});

test("no option is ignored: alone, each changes the account or key as asked, or is refused, whatever the plan", async () => {
  const folder = temporaryFolder();
  const given: Record<string, string> = {
    plan: "developer",
    burst: "7",
    quota: "77",
    webhook: "https://hooks.example.com/",
    email: "ann@example.com",
  };
  const numbers = (plan: string) => (plan === "enterprise" ? "--burst 5 --quota 55" : "");
  const account = async (name: string) => {
    const [text] = await succeed(folder, "accounts list --json");
    return JSON.parse(text).find((each: { account: string }) => each.account === name);
  };
  for (const plan of planNames)
    for (const [option, value] of Object.entries(given)) {
      const name = `${plan}-${option}`;
      await succeed(folder, `keys create --account ${name} --plan ${plan} ${numbers(plan)}`.trim());
      const before = await account(name);
      const isSame = String(before[option]) === value;
      // An existing account isn't changed by `create`.
      const [created] = await run(folder, [`keys create --account ${name} --${option} ${value}`]);
      assert.equal(created.code, isSame ? 0 : 1, `create ${name}: ${created.stderr}`);
      assert.deepEqual(await account(name), { ...before, keys: isSame ? 2 : 1 });
      const [updated] = await run(folder, [`keys update --account ${name} --${option} ${value}`]);
      const after = await account(name);
      const isAllowed = plan === "enterprise" || !["burst", "quota"].includes(option);
      assert.equal(updated.code, isAllowed ? 0 : 1, `update ${name}: ${updated.stderr}`);
      assert.equal(String(after[option]), isAllowed ? value : String(before[option]), name);
    }
  for (const [option, value] of [
    ["label", "build"],
    ["expires", "2037-01-01T00:00:00.000Z"],
  ]) {
    await succeed(folder, `keys create --account free-plan --${option} ${value}`);
    const [text] = await succeed(folder, "keys list --json");
    assert.equal(JSON.parse(text).at(-1)[option], value);
  }
});

test("each plan has the ceilings that server/README.md promises", () => {
  const rows = [...documentAt("server/README.md").matchAll(/^\| `(\w+)` \| ([\d,]+) \| ([\d,]+) \|$/gm)];
  const promised = rows.map(([, name, burst, quota]) => [
    name,
    ...[burst, quota].map((number) => Number(number.replaceAll(",", ""))),
  ]);
  const own = Object.entries(plans).filter(([, ceilings]) => ceilings !== undefined);
  assert.deepEqual(
    own.map(([name, ceilings]) => [name, ceilings?.burst, ceilings?.quota]),
    promised,
  );
});

test("keys list shows every key by id, account, plan and last four characters", async () => {
  const lines = await listed(stateDir);
  assert.deepEqual(
    lines.map(([id, account, plan, key, state, , expires]) => [id, account, plan, key, state, expires]),
    [
      ["1", "A & B hospitals", "free", `…${keys[0].slice(-4)}`, "active", "never"],
      ["2", "A & B hospitals", "free", `…${keys[1].slice(-4)}`, "active", "2037-01-01T00:00:00.000Z"],
      ["3", "large", "enterprise", `…${keys[2].slice(-4)}`, "active", "never"],
    ],
  );
  for (const [, , , , , created] of lines) assert.ok(Math.abs(Date.now() - Date.parse(created)) < 600_000);
});

test("keys list shows labels and days of last use, and a rotated key passes on its label", async () => {
  const folder = temporaryFolder();
  await succeed(
    folder,
    "keys create --account a --plan free --label build~server",
    "keys rotate 1 --overlap 1",
    "keys create --account a",
  );
  const store = Store.open(folder);
  for (const day of ["2026-12-31", "2027-01-01"]) store.keys.saveDay(1, day);
  store.keys.saveDay(99, "2027-01-01");
  store.close();
  assert.deepEqual(
    (await listed(folder)).map((line) => line.slice(8)),
    [
      ["build server", "2027-01-01"],
      ["build server", "-"],
      ["-", "-"],
    ],
  );
});

test("the database has only the SHA-256 of a key, and lists show at most its last four characters", async () => {
  const files = readdirSync(stateDir).map((name) => readFileSync(path.join(stateDir, name)));
  const said = (await succeed(stateDir, "keys list", "keys list --json")).join("");
  const bytes = Buffer.concat([...files, Buffer.from(said)]);
  for (const key of keys) {
    assert.ok(bytes.includes(createHash("sha256").update(key).digest()));
    assert.ok(!bytes.includes(key.slice(4, 16)));
    assert.ok(
      !bytes.includes(key.slice(-8)),
      "beside the last four there is the hash, any byte of which may be a letter",
    );
  }
});

test("keys revoke confirms the revocation, and a second revocation keeps the first time", async () => {
  const folder = temporaryFolder();
  const [, said] = await succeed(folder, "keys create --account a --plan free", "keys revoke 1");
  assert.equal(said, "revoked key 1 of account a\n");
  const first = await shownKey(folder, 1);
  assert.equal(first.get("state"), "revoked");
  const [again] = await succeed(folder, "keys revoke 1");
  assert.equal(again, `key 1 of account a was revoked at ${first.get("revoked")} already\n`);
  assert.deepEqual(await shownKey(folder, 1), first);
});

test("a rotated key expires after the overlap, and the new key has the old key's expiry", async () => {
  const folder = temporaryFolder();
  const expires = new Date(Date.now() + 90_000_000).toISOString();
  const earliest = Date.now();
  const results = await run(folder, [
    `keys create --account a --plan free --expires ${expires}`,
    "keys create --account a",
    "keys rotate 1 --overlap 24",
    "keys rotate 2 --overlap 0",
    "keys rotate 3 --overlap 8760",
  ]);
  const made = results.map(({ stdout }) => stdout);
  const latest = Date.now();
  assert.equal(new Set(made).size, 5);
  for (const line of made) assert.match(line, /^hcq_[0-9A-Za-z]{49}\n$/);
  const ends = (await listed(folder)).map((line) => line[6]);
  const day = 86_400_000;
  assert.ok(Date.parse(ends[0]) >= earliest + day && Date.parse(ends[0]) <= latest + day, ends[0]);
  assert.deepEqual(ends.slice(1), ["never", expires, "never", expires], "an overlap never prolongs a key");
  assert.deepEqual(
    results.slice(2).map(({ stderr }) => stderr),
    [
      `made key 3, which expires at ${expires}, for account a; key 1 ends at ${ends[0]}\n`,
      "made key 4, for account a; key 2 is revoked\n",
      `made key 5, which expires at ${expires}, for account a; key 3 ends at ${expires}\n`,
    ],
  );
  assert.deepEqual(await keyStates(folder), ["active", "revoked", "active", "active", "active"]);
});

test("a key that was rotated before can't be rotated again", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free", "keys rotate 1 --overlap 24");
  const commands = ["keys rotate 1 --overlap 24", "keys rotate 2 --overlap 24", "keys rotate 1 --overlap 0"];
  const refusal = (by: number) =>
    `key 1: found a rotation before, which made key ${by}, expected one that wasn't rotated: rotate the newest\n`;
  const [first, second, third] = await run(folder, commands);
  assert.deepEqual([first.code, first.stdout, first.stderr], [1, "", refusal(2)]);
  assert.equal(second.code, 0);
  assert.deepEqual([third.code, third.stderr], [1, refusal(2)]);
  assert.equal((await shownKey(folder, 3)).get("expires"), "never");
});

test("a key that isn't active can't be rotated", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free", "keys create --account a", "keys revoke 1");
  const store = Store.open(folder);
  store.keys.expire(2, Date.now() - 1);
  store.close();
  assert.deepEqual(await keyStates(folder), ["revoked", "expired"]);
  const errors = await run(folder, ["keys rotate 1 --overlap 1", "keys rotate 2 --overlap 1"]);
  assert.deepEqual(
    errors.map(({ stderr }) => stderr),
    ["key 1: found revoked, expected an active one\n", "key 2: found expired, expected an active one\n"],
  );
});

test("a key's expiry can be changed or removed, and removal reactivates an expired key", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free --expires 2099-01-01");
  const expiry = async () => (await shownKey(folder, 1)).get("expires");
  assert.deepEqual(await succeed(folder, "keys expire 1 --at 2098-02-03T04:05Z"), [
    "key 1 of account a expires at 2098-02-03T04:05:00.000Z\n",
  ]);
  assert.equal(await expiry(), "2098-02-03T04:05:00.000Z");
  const store = Store.open(folder);
  store.keys.expire(1, Date.now() - 1);
  store.close();
  assert.deepEqual(await keyStates(folder), ["expired"]);
  assert.deepEqual(await succeed(folder, "keys expire 1 --at never"), ["key 1 of account a never expires\n"]);
  assert.equal(await expiry(), "never");
  assert.deepEqual(await keyStates(folder), ["active"]);
});

test("a key that expires now stops working at once, and can be revived", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free");
  const [said] = await succeed(folder, "keys expire 1 --at now");
  const expiry = (await shownKey(folder, 1)).get("expires");
  assert.equal(said, `key 1 of account a expired at ${expiry}\n`);
  assert.deepEqual(await keyStates(folder), ["expired"]);
  assert.match((await succeed(folder, "keys expire 1 --at now"))[0], /^key 1 of account a expired at /);
  await succeed(folder, "keys expire 1 --at never");
  assert.deepEqual(await keyStates(folder), ["active"]);
});

test("times may have any number of decimals, as Python writes them", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free");
  for (const [time, expected] of [
    ["2097-01-31T00:00:00.123456+00:00", "2097-01-31T00:00:00.123Z"],
    ["2097-01-31T00:00:00.1+05:30", "2097-01-30T18:30:00.100Z"],
    ["2097-01-31T00:00:00.123999999Z", "2097-01-31T00:00:00.123Z"],
    ["9999-12-31T23:59:59.9999999999999999999Z", "9999-12-31T23:59:59.999Z"],
  ]) {
    const [said] = await succeed(folder, `keys expire 1 --at ${time}`);
    assert.equal(said, `key 1 of account a expires at ${expected}\n`);
    const [{ stderr }] = await run(folder, [`keys create --account a --expires ${time}`]);
    assert.ok(stderr.includes(`, which expires at ${expected}, for account a`), stderr);
  }
});

test("a revoked key can't be given another expiry", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free", "keys revoke 1");
  const [{ code, stderr }] = await run(folder, ["keys expire 1 --at never"]);
  assert.deepEqual([code, stderr], [1, "key 1 is revoked, and an expiry doesn't make it work again\n"]);
  const [now] = await run(folder, ["keys expire 1 --at now"]);
  assert.deepEqual([now.code, now.stderr], [code, stderr]);
});
