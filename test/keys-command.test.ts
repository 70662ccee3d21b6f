import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { Webhook } from "standardwebhooks";
import * as v from "valibot";
import { isWellFormed } from "../server/keys.ts";
import { monthName, monthOf } from "../server/limits.ts";
import { Store } from "../server/store.ts";
import { runKeys, temporaryFolder } from "./server.ts";

/** The operator's command for accounts and keys, on a database that no server uses. */

/** Runs the command's file again and again in one process, because a process for each run takes long. */
const runner = `
  let run = 0;
  process.on("message", async ({ args, env }) => {
    const result = { stdout: "", stderr: "", code: 0 };
    for (const name of ["stdout", "stderr"]) process[name].write = (text) => { result[name] += text; return true; };
    Object.assign(process.env, { WEBHOOK_ALLOW_LOOPBACK: "false", ...env });
    process.argv = ["node", "keys-command.ts", ...args];
    process.exitCode = 0;
    await import("${new URL("../server/keys-command.ts", import.meta.url)}?" + run++);
    result.code = process.exitCode;
    process.exitCode = 0;
    process.send(result);
  });`;
const child = spawn(process.execPath, ["--input-type=module", "--eval", runner], {
  stdio: ["ignore", "ignore", "inherit", "ipc"],
});
child.on("exit", (code) => {
  if (child.connected) assert.fail(`the commands' process ended with ${code}`);
});
after(() => child.disconnect());
const result = v.object({ stdout: v.string(), stderr: v.string(), code: v.number() });

/** Runs commands one after the other; ~ is a space within a word. */
async function run(stateDir: string, commands: readonly string[], env: Record<string, string> = {}) {
  const results: v.InferOutput<typeof result>[] = [];
  for (const command of commands) {
    const args = command === "" ? [] : command.split(" ").map((word) => word.replaceAll("~", " "));
    child.send({ args, env: { STATE_DIR: stateDir, ...env } });
    const [message]: unknown[] = await once(child, "message");
    results.push(v.parse(result, message));
  }
  return results;
}

/** Runs commands that have to succeed without a word on stderr. @returns what each says */
async function succeed(stateDir: string, ...commands: string[]): Promise<string[]> {
  return (await run(stateDir, commands)).map(({ stdout, stderr, code }, i) => {
    assert.deepEqual([code, stderr], [0, ""], commands[i]);
    return stdout;
  });
}

const fields = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
/** What `keys show` says, by its first column. */
async function shownKey(stateDir: string, id: string): Promise<Map<string, string>> {
  const [text] = await succeed(stateDir, `show ${id}`);
  return new Map(fields(text).map(([name, value]) => [name, value]));
}
/** The lines of `keys list` without the header. */
async function listed(stateDir: string): Promise<string[][]> {
  const [text] = await succeed(stateDir, "list");
  const [header, ...lines] = fields(text);
  assert.deepEqual(header, ["id", "account", "plan", "key", "state", "created", "expires"]);
  return lines;
}
const states = async (stateDir: string) => (await listed(stateDir)).map((line) => line[4]);

const stateDir = temporaryFolder();
const enterprise = "--plan enterprise --burst 1000 --quota 2000000000";
const made = await succeed(
  stateDir,
  "create --account A~&~B~hospitals --plan free",
  "create --account A~&~B~hospitals --expires 2037-01-01",
  `create --account large ${enterprise}`,
);
const keys = made.map((line) => line.trimEnd());
const month = monthName(monthOf(Date.now()));
const store = Store.open(stateDir);
store.saveUsage(month, [[2, 1234]]);
store.close();
const look = () => succeed(stateDir, "list", "show 1", "show 3");
const before = await look();

test("a key alone is what the command prints, and its exit code is 0", async () => {
  const { code, stdout, stderr } = await runKeys(
    temporaryFolder(),
    "create",
    "--account",
    "a",
    "--plan",
    "free",
  );
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /^hcq_[0-9A-Za-z]{49}\n$/);
  for (const key of [...keys, stdout.trimEnd()]) assert.ok(isWellFormed(key));
});

test("a refusal is one line on stderr, and the exit code is 1", async () => {
  const { code, stdout, stderr } = await runKeys(stateDir, "revoke", "999");
  assert.deepEqual([code, stdout], [1, ""]);
  assert.equal(stderr, "key 999: found none of that id, expected one of keys list\n");
});

test("the list shows every key by id, account, plan and last four characters", async () => {
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

test("show tells a key's account, ceilings and use", async () => {
  const { created, ...shown } = Object.fromEntries(await shownKey(stateDir, "3"));
  assert.ok(!Number.isNaN(Date.parse(created)));
  assert.deepEqual(shown, {
    id: "3",
    key: `…${keys[2].slice(-4)}`,
    state: "active",
    expires: "never",
    revoked: "never",
    account: "large",
    plan: "enterprise",
    burst: "1000 requests per second",
    quota: "2000000000 requests per month",
    used: `1234 in ${month}`,
    webhook: "none",
  });
});

test("the database has no key, only its SHA-256, and nothing shows more than four characters", async () => {
  const files = readdirSync(stateDir).map((name) => readFileSync(path.join(stateDir, name)));
  const said = (await succeed(stateDir, "list", "show 1", "show 2", "show 3")).join("");
  const bytes = Buffer.concat([...files, Buffer.from(said)]);
  for (const key of keys) {
    assert.ok(bytes.includes(createHash("sha256").update(key).digest()));
    assert.ok(!bytes.includes(key.slice(4, 16)));
    assert.ok(!bytes.includes(key.slice(-5)));
  }
});

const expectedName = "1 to 64 ASCII characters, none at the ends a space";
const expectedBurst = "a whole number from 1 to 1000000";
const expectedQuota = "a whole number from 1 to 2000000000";
const expectedId = "one key id from keys list";
const expectedNone = "expected none for the plan free, which has its own";
const plans = "free, developer, startup, business, enterprise";
const expectedBoth = "both for the plan enterprise";
const expectedTime = "a time such as 2027-01-31T00:00:00Z";
const custom = "create --account new --plan enterprise";
const another = "create --account large --expires";
const hook = "update --account large --webhook";
const hospitals = "update --account A~&~B~hospitals";
/** Commands, and what is said of them: the whole line or a pattern. */
const refused: [command: string, message: string | RegExp][] = [
  ["", /^usage:\n {2}keys create --account NAME/],
  ["help", /^usage:\n {2}keys create --account NAME/],
  ["create", "--account: found nothing, expected a value"],
  ["create --account=", `--account: found "", expected ${expectedName}`],
  ["create --account ~x", `--account: found " x", expected ${expectedName}`],
  ["create --account x~", `--account: found "x ", expected ${expectedName}`],
  ["create --account é", `--account: found "é", expected ${expectedName}`],
  ["create --account a\tb", `--account: found "a\\tb", expected ${expectedName}`],
  [`create --account ${"x".repeat(65)}`, `--account: found "${"x".repeat(63)}…", expected ${expectedName}`],
  ["create --account new", "--plan: found nothing, expected a plan, because the account new is new"],
  ["create --account new --plan gold", `--plan: found "gold", expected one of ${plans}`],
  [custom, `--burst and --quota: found not both, expected ${expectedBoth}`],
  [`${custom} --burst 5`, `--burst and --quota: found not both, expected ${expectedBoth}`],
  [`${custom} --quota 5`, `--burst and --quota: found not both, expected ${expectedBoth}`],
  [
    `${hospitals} --plan enterprise --quota 5`,
    `--burst and --quota: found not both, expected ${expectedBoth}`,
  ],
  [`${custom} --burst 0 --quota 5`, `--burst: found "0", expected ${expectedBurst}`],
  [`${custom} --burst 1000001 --quota 5`, `--burst: found "1000001", expected ${expectedBurst}`],
  [`${custom} --burst 1e3 --quota 5`, `--burst: found "1e3", expected ${expectedBurst}`],
  [`${custom} --burst 5 --quota 0`, `--quota: found "0", expected ${expectedQuota}`],
  [`${custom} --burst 5 --quota 2000000001`, `--quota: found "2000000001", expected ${expectedQuota}`],
  [
    "create --account new --plan free --burst 5 --quota 5",
    `--burst or --quota: found a number, ${expectedNone}`,
  ],
  [`${hospitals} --quota 5`, `--burst or --quota: found a number, ${expectedNone}`],
  [`${another} 2020-01-01`, "--expires: found 2020-01-01T00:00:00.000Z, expected a time to come"],
  [`${another} tomorrow`, `--expires: found "tomorrow", expected ${expectedTime}`],
  [`${another} 2099-01-01T10:00`, `--expires: found "2099-01-01T10:00", expected ${expectedTime}`],
  [`${another} 2099-13-01`, '--expires: found "2099-13-01", expected a time that exists'],
  [`${another} 2099-02-30`, '--expires: found "2099-02-30", expected a time that exists'],
  [`${another} 2099-02-29T00:00Z`, '--expires: found "2099-02-29T00:00Z", expected a time that exists'],
  ["create --account large --colour red", /^keys: found Unknown option '--colour'/],
  ["create --account large more", /^keys: found Unexpected argument 'more'/],
  ["create --account large --plan", /^keys: found Option '--plan <value>' argument missing/],
  ["create large", /^keys: found Unexpected argument 'large'/],
  ["list all", 'keys list: found "all", expected nothing more'],
  ["show", `keys show: found nothing, expected ${expectedId}`],
  ["show x", `keys show: found "x", expected ${expectedId}`],
  ["show 999", "key 999: found none of that id, expected one of keys list"],
  ["revoke", `keys revoke: found nothing, expected ${expectedId}`],
  ["revoke 0", `keys revoke: found "0", expected ${expectedId}`],
  ["revoke 01", `keys revoke: found "01", expected ${expectedId}`],
  ["revoke 1 2", `keys revoke: found "1 2", expected ${expectedId}`],
  ["revoke 999", "key 999: found none of that id, expected one of keys list"],
  ["rotate", `keys rotate: found nothing, expected ${expectedId}`],
  ["rotate --overlap 1", `keys rotate: found "--overlap", expected ${expectedId}`],
  ["rotate 1", "--overlap: found nothing, expected a value"],
  ["rotate 1 --overlap x", '--overlap: found "x", expected a whole number from 0 to 8760'],
  ["rotate 1 --overlap 8761", '--overlap: found "8761", expected a whole number from 0 to 8760'],
  ["rotate 999 --overlap 1", "key 999: found none of that id, expected one of keys list"],
  ["update", "--account: found nothing, expected a value"],
  ["update --account none", "account none: found none of that name, expected one that exists"],
  ["update --account large --expires 2099-01-01", /^keys: found Unknown option '--expires'/],
  [`${hook}=`, '--webhook: found "", expected a URL'],
  [`${hook} example.com`, '--webhook: found "example.com", expected a URL'],
  [`${hook} https://a.example/${"x".repeat(2000)}`, /^--webhook: found "https:.*x…", expected a URL$/],
  [`${hook} http://example.com/`, '--webhook: found "http://example.com/", expected an https URL'],
  [`${hook} ftp://example.com/`, '--webhook: found "ftp://example.com/", expected an https URL'],
  [`${hook} http://localhost:80/`, '--webhook: found "http://localhost:80/", expected an https URL'],
  [
    `${hook} https://a:b@c.example/`,
    '--webhook: found "https://a:b@c.example/", expected a URL without a user name or password',
  ],
  ...[
    "10.0.0.1",
    "127.1",
    "0x7f.1",
    "2130706433",
    "0177.0.0.1",
    "169.254.169.254",
    "[::1]",
    "[::ffff:10.0.0.1]",
  ].map((host): [string, string] => [
    `${hook} https://${host}/`,
    `--webhook: found "https://${host}/", expected a public address`,
  ]),
];
for (const [given, message] of refused)
  test(`keys ${given.slice(0, 100)} is refused`, async () => {
    const [{ code, stdout, stderr }] = await run(stateDir, [given]);
    assert.equal(stdout, "");
    if (typeof message === "string") assert.equal(stderr, `${message}\n`);
    else assert.match(stderr.trimEnd(), message);
    assert.doesNotMatch(stderr, /\n\s+at /);
    assert.equal(code, 1);
  });

test("what was refused has changed nothing", async () => {
  assert.deepEqual(await look(), before);
});

test("revoking twice keeps the first time", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "create --account a --plan free", "revoke 1");
  const first = await shownKey(folder, "1");
  assert.equal(first.get("state"), "revoked");
  await succeed(folder, "revoke 1");
  assert.deepEqual(await shownKey(folder, "1"), first);
});

test("a rotated key ends with the overlap, and the new one when the old one would have", async () => {
  const folder = temporaryFolder();
  const expires = new Date(Date.now() + 90_000_000).toISOString();
  const earliest = Date.now();
  const made = await succeed(
    folder,
    `create --account a --plan free --expires ${expires}`,
    "create --account a",
    "rotate 1 --overlap 24",
    "rotate 2 --overlap 0",
    "rotate 3 --overlap 8760",
  );
  const latest = Date.now();
  assert.equal(new Set(made).size, 5);
  for (const line of made) assert.match(line, /^hcq_[0-9A-Za-z]{49}\n$/);
  const ends = (await listed(folder)).map((line) => line[6]);
  const day = 86_400_000;
  assert.ok(Date.parse(ends[0]) >= earliest + day && Date.parse(ends[0]) <= latest + day, ends[0]);
  assert.deepEqual(ends.slice(1), ["never", expires, "never", expires], "an overlap never prolongs a key");
  assert.deepEqual(await states(folder), ["active", "revoked", "active", "active", "active"]);
});

test("a key that isn't active can't be rotated", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "create --account a --plan free", "create --account a", "revoke 1");
  const store = Store.open(folder);
  store.expireKey(2, new Date(Date.now() - 1));
  store.close();
  assert.deepEqual(await states(folder), ["revoked", "expired"]);
  const errors = await run(folder, ["rotate 1 --overlap 1", "rotate 2 --overlap 1"]);
  assert.deepEqual(
    errors.map(({ stderr }) => stderr),
    ["key 1: found revoked, expected an active one\n", "key 2: found expired, expected an active one\n"],
  );
});

test("an account's plan and numbers change, and what isn't named stays", async () => {
  const folder = temporaryFolder();
  const steps: [command: string, account: string[]][] = [
    ["create --account a --plan free", ["free", "10", "10000"]],
    ["create --account a --plan startup", ["startup", "200", "10000000"]],
    ["update --account a --plan business", ["business", "500", "50000000"]],
    ["update --account a --plan enterprise --burst 7 --quota 9", ["enterprise", "7", "9"]],
    ["update --account a --quota 8", ["enterprise", "7", "8"]],
    ["update --account a --burst 1000000", ["enterprise", "1000000", "8"]],
    ["update --account a", ["enterprise", "1000000", "8"]],
    ["update --account a --plan developer", ["developer", "50", "1000000"]],
  ];
  const said = await succeed(folder, ...steps.flatMap(([command]) => [command, "show 1"]));
  for (const [i, [command, [plan, burst, quota]]] of steps.entries()) {
    const shown = new Map(fields(said[2 * i + 1]).map(([name, value]) => [name, value]));
    assert.deepEqual(
      [shown.get("plan"), shown.get("burst"), shown.get("quota")],
      [plan, `${burst} requests per second`, `${quota} requests per month`],
      command,
    );
  }
});

test("a webhook's signing secret is shown once, on stderr, and a new address gets a new one", async () => {
  const folder = temporaryFolder();
  const [one, other] = ["https://example.com/a", "https://93.184.216.34:8443/b?c=d"];
  const update = "update --account a --webhook";
  const [created, again, changed, none, back] = await run(folder, [
    `create --account a --plan free --webhook ${one}`,
    `${update} ${one}`,
    `${update} ${other}`,
    `${update} none`,
    `${update} ${other}`,
  ]);
  const secrets = [created, changed, back].map(({ stderr, code }) => {
    assert.equal(code, 0);
    const [, secret] =
      /^webhook signing secret, shown this once: (whsec_[0-9A-Za-z+/]{32})\n$/.exec(stderr) ?? [];
    assert.ok(secret !== undefined, stderr);
    assert.equal(Buffer.from(secret.slice(6), "base64").length, 24);
    assert.ok(new Webhook(secret));
    return secret;
  });
  assert.equal(new Set(secrets).size, 3);
  assert.match(created.stdout, /^hcq_[0-9A-Za-z]{49}\n$/);
  for (const { stdout, stderr } of [again, none]) assert.deepEqual([stdout, stderr], ["", ""]);
  const shown = await shownKey(folder, "1");
  assert.equal(shown.get("webhook"), other);
  assert.ok(![...shown.values()].some((value) => secrets.includes(value)));
  const store = Store.open(folder);
  assert.equal(store.account("a")?.webhook_secret, secrets[2]);
  store.close();
});

test("a webhook may go to this machine, by plain http too, where the setting allows it", async () => {
  const folder = temporaryFolder();
  const urls = ["http://127.0.0.1:8000/", "http://localhost/", "https://[::1]/"];
  const commands = urls.map((url) => `create --account ${url} --plan free --webhook ${url}`);
  const allowed = await run(folder, commands, { WEBHOOK_ALLOW_LOOPBACK: "true" });
  assert.deepEqual(
    allowed.map(({ code }) => code),
    [0, 0, 0],
  );
  const still = await run(folder, [`update --account ${urls[0]} --webhook http://10.0.0.1/`], {
    WEBHOOK_ALLOW_LOOPBACK: "true",
  });
  assert.equal(still[0].stderr, '--webhook: found "http://10.0.0.1/", expected an https URL\n');
});

test("a damaged database is left as it is, with a word on how to restore it", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "create --account a --plan free");
  const file = path.join(folder, "state.sqlite");
  const damaged = readFileSync(file).fill(0xa5, 0, 100);
  writeFileSync(file, damaged);
  for (const command of ["list", "create --account b --plan free"]) {
    const [{ code, stdout, stderr }] = await run(folder, [command]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.equal(
      stderr,
      `state database ${file}: found damage (file is not a database), expected a sound database: put a backup in its place, or move it away together with its -wal and -shm files to start anew\n`,
    );
    assert.deepEqual(readFileSync(file), damaged);
    assert.deepEqual(readdirSync(folder), ["state.sqlite"]);
  }
});
