import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { planNames } from "../../server/shared/plans.ts";
import { isoTime } from "../../server/shared/time.ts";
import { StateGuard } from "../../server/store/state-guard.ts";
import { Store } from "../../server/store/store.ts";
import { fieldsOf, keyStates, run, shownAccount, succeed } from "../support/commands.ts";
import { temporaryFolder } from "../support/server.ts";

// Runs the core without parts, because no part is needed for these tests.
process.env.SERVER_PARTS = "none";

/** Tests the operator's commands that make, change and list accounts. */

test("keys update changes and prints plan, burst and quota, and keeps values that aren't named", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free");
  const steps: [options: string, said: string, account: string[]][] = [
    [
      "--plan business",
      "plan from free to business, burst from 10 to 500, quota from 10000 to 50000000",
      ["business", "500", "50000000"],
    ],
    [
      "--plan enterprise --burst 7 --quota 9",
      "plan from business to enterprise, burst from 500 to 7, quota from 50000000 to 9",
      ["enterprise", "7", "9"],
    ],
    ["--quota 8", "quota from 9 to 8", ["enterprise", "7", "8"]],
    ["--burst 1000000", "burst from 7 to 1000000", ["enterprise", "1000000", "8"]],
    [
      "--plan developer",
      "plan from enterprise to developer, burst from 1000000 to 50, quota from 8 to 1000000",
      ["developer", "50", "1000000"],
    ],
  ];
  for (const [options, said, [plan, burst, quota]] of steps) {
    const [line] = await succeed(folder, `keys update --account a ${options}`);
    assert.equal(line, `changed account a: ${said}\n`);
    const shown = await shownAccount(folder);
    assert.deepEqual([shown.get("plan"), shown.get("burst"), shown.get("quota")], [plan, burst, quota]);
    assert.deepEqual(await succeed(folder, `keys update --account a ${options}`), [
      "account a is like that already\n",
    ]);
  }
});

test("keys create leaves an existing account unchanged and rejects other values for it", async () => {
  const folder = temporaryFolder();
  const same = [
    "keys create --account a --plan enterprise --burst 5 --quota 6 --webhook https://example.com/",
    "keys create --account a",
    "keys create --account a --plan enterprise",
    "keys create --account a --burst 5",
    "keys create --account a --plan enterprise --burst 5 --quota 6 --webhook https://example.com/",
  ];
  await succeed(folder, ...same);
  const before = await succeed(folder, "accounts list --json", "keys list");
  assert.equal(fieldsOf(before[1]).length, 1 + same.length);
  for (const [options, found] of [
    ["--plan free", "plan enterprise, burst 5, quota 6"],
    ["--burst 7", "burst 5"],
    ["--quota 7 --burst 5", "quota 6"],
    ["--webhook https://example.org/", "webhook https://example.com/"],
    ["--webhook none", "webhook https://example.com/"],
  ]) {
    const [{ code, stdout, stderr }] = await run(folder, [`keys create --account a ${options}`]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.equal(stderr, `account a exists with ${found}: keys create doesn't change it, keys update does\n`);
  }
  assert.deepEqual(await succeed(folder, "accounts list --json", "keys list"), before);
});

function secretIn(stderr: string): string {
  const [, secret] =
    /^webhook signing secret, shown this once: (whsec_[0-9A-Za-z+/]{32})\n$/m.exec(stderr) ?? [];
  assert.ok(secret !== undefined, stderr);
  assert.equal(Buffer.from(secret.slice(6), "base64").length, 24);
  assert.ok(new Webhook(secret));
  return secret;
}

test("a webhook's signing secret is shown once on stderr, and a new URL gets a new secret", async () => {
  const folder = temporaryFolder();
  const [one, other] = ["https://example.com/a", "https://93.184.216.34:8443/b?c=d"];
  const update = "keys update --account a --webhook";
  const [created, again, changed, none, back] = await run(folder, [
    `keys create --account a --plan free --webhook ${one}`,
    `${update} ${one}`,
    `${update} ${other}`,
    `${update} none`,
    `${update} ${other}`,
  ]);
  const secrets = [created, changed, back].map(({ stderr }) => secretIn(stderr));
  assert.equal(new Set(secrets).size, 3);
  assert.match(created.stdout, /^hcq_[0-9A-Za-z]{49}\n$/);
  assert.equal(changed.stdout, `changed account a: webhook from ${one} to ${other}\n`);
  for (const { stderr } of [again, none]) assert.equal(stderr, "");
  const shown = await shownAccount(folder);
  assert.equal(shown.get("webhook"), other);
  assert.ok(![...shown.values()].some((value) => secrets.includes(value)));
  const store = Store.open(folder);
  assert.equal(store.accounts.byName("a")?.webhook_secret, secrets[2]);
  store.close();
});

test("rotate-secret replaces a webhook's secret, and the old one stays valid during the overlap", async () => {
  const folder = temporaryFolder();
  const create = "keys create --account the~one --plan free --webhook https://example.com/";
  const rotate = "accounts rotate-secret the~one --overlap";
  const earliest = Date.now();
  const [created, first, second, atOnce] = await run(folder, [
    create,
    `${rotate} 24`,
    `${rotate} 1`,
    `${rotate} 0`,
  ]);
  const secrets = [created, first, second, atOnce].map(({ stderr }) => secretIn(stderr));
  assert.equal(new Set(secrets).size, 4);
  const [, until] =
    /^account the one has a new webhook signing secret; the old one also signs until (\S+)\n$/.exec(
      first.stdout,
    ) ?? assert.fail(first.stdout);
  const day = 86_400_000;
  assert.ok(Date.parse(until) >= earliest + day && Date.parse(until) <= Date.now() + day);
  assert.equal(atOnce.stdout, "account the one has a new webhook signing secret; the old one ends now\n");

  const stored = async (...commands: string[]) => {
    const said = await run(folder, commands);
    const store = Store.open(folder);
    const account = store.accounts.byName("the one");
    store.close();
    assert.ok(account !== undefined);
    return { said, account };
  };
  const { said, account } = await stored(`${rotate} 2`);
  assert.equal(account.webhook_secret, secretIn(said[0].stderr));
  assert.equal(account.webhook_old_secret, secrets[3]);
  assert.ok(said[0].stdout.includes(` until ${isoTime(account.webhook_old_secret_until ?? 0)}\n`));
  const { account: kept } = await stored("keys update --account the~one --plan startup");
  assert.equal(kept.webhook_old_secret, secrets[3], "another plan doesn't end the overlap");
  const { account: moved } = await stored("keys update --account the~one --webhook https://example.org/");
  assert.deepEqual([moved.webhook_old_secret, moved.webhook_old_secret_until], [null, null]);
});

test("WEBHOOK_ALLOW_LOOPBACK allows webhooks to this machine, also by plain http", async () => {
  const folder = temporaryFolder();
  const urls = ["http://127.0.0.1:8000/", "http://localhost/", "https://[::1]/"];
  const commands = urls.map((url) => `keys create --account ${url} --plan free --webhook ${url}`);
  const allowed = await run(folder, commands, { WEBHOOK_ALLOW_LOOPBACK: "true" });
  assert.deepEqual(
    allowed.map(({ code }) => code),
    [0, 0, 0],
  );
  const still = await run(folder, [`keys update --account ${urls[0]} --webhook http://10.0.0.1/`], {
    WEBHOOK_ALLOW_LOOPBACK: "true",
  });
  assert.equal(still[0].stderr, '--webhook is "http://10.0.0.1/", expected an https URL\n');
});

test("a new key of a suspended account comes with a warning and isn't counted as active", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free", "accounts suspend a");
  const commands = ["keys create --account a", "keys rotate 1 --overlap 5", "keys rotate 2 --overlap 0"];
  const said = "account a is suspended: its keys don't work until accounts resume a\n";
  for (const { code, stderr } of await run(folder, commands)) {
    assert.equal(code, 0, stderr);
    assert.ok(stderr.endsWith(`\n${said}`), stderr);
    assert.doesNotMatch(stderr, /works/);
  }
  const keysOf = async () => JSON.parse((await succeed(folder, "accounts list --json"))[0])[0].keys;
  assert.equal(await keysOf(), 0);
  const [, created] = await run(folder, ["accounts resume a", "keys create --account a"]);
  assert.doesNotMatch(created.stderr, /suspended/);
  assert.equal(await keysOf(), 4);
});

test("an account's e-mail address is set, changed and removed", async () => {
  const folder = temporaryFolder();
  const email = async () => (await shownAccount(folder)).get("email");
  await succeed(folder, "keys create --account a --plan free --email ann@example.com");
  assert.equal(await email(), "ann@example.com");
  const [changed] = await succeed(folder, "keys update --account a --email Ann.B+x@mail.example.org");
  assert.equal(changed, "changed account a: email from ann@example.com to Ann.B+x@mail.example.org\n");
  await succeed(folder, "keys update --account a --plan startup");
  assert.equal(await email(), "Ann.B+x@mail.example.org");
  const [removed] = await succeed(folder, "keys update --account a --email none");
  assert.equal(removed, "changed account a: email from Ann.B+x@mail.example.org to none\n");
});

test("accounts list shows plan, limits, use of the month, active keys, webhook and e-mail address", async () => {
  const folder = temporaryFolder();
  const webhook = "https://example.com/";
  await succeed(
    folder,
    "keys create --account b --plan free",
    "keys create --account b",
    "keys create --account b",
    "keys revoke 2",
    `keys create --account a --plan enterprise --burst 5 --quota 600 --webhook ${webhook} --email ann@example.com`,
  );
  const month = monthOf(Date.now());
  const store = Store.open(folder);
  store.keys.expire(3, Date.now() - 1);
  store.usage.save(monthName(month - 1), [[1, 99]]);
  store.usage.save(monthName(month), [[2, 345]]);
  store.close();
  const [text, json] = await succeed(folder, "accounts list", "accounts list --json");
  const common = { month: monthName(month) };
  const accounts = [
    {
      account: "a",
      plan: "enterprise",
      burst: 5,
      quota: 600,
      ...common,
      used: 345,
      keys: 1,
      webhook,
      email: "ann@example.com",
      state: "active",
    },
    {
      account: "b",
      plan: "free",
      burst: 10,
      quota: 10_000,
      ...common,
      used: 0,
      keys: 1,
      webhook: null,
      email: null,
      state: "active",
    },
  ];
  assert.deepEqual(JSON.parse(json), accounts);
  assert.deepEqual(fieldsOf(text), [
    Object.keys(accounts[0]),
    ...accounts.map((account) => Object.values(account).map((value) => String(value ?? "-"))),
  ]);
});

test("empty lists print only the header, or an empty JSON array", async () => {
  const folder = temporaryFolder();
  Store.open(folder).close();
  for (const list of ["keys list", "accounts list", "events list"]) {
    const [text, json] = await succeed(folder, list, `${list} --json`);
    assert.equal(text.split("\n").length, 2);
    assert.deepEqual(JSON.parse(json), []);
  }
});

test("accounts export and import move accounts, also those beyond the first 500, and --after leaves out earlier ones", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a1 --plan free");
  const store = Store.open(folder);
  store.atomically(() => {
    const none = { webhook: null, webhook_secret: null };
    for (let i = 2; i <= 501; i++)
      store.accounts.create({ name: `a${i}`, plan: "free", burst: 10, quota: 10_000, ...none }, new Date());
  });
  store.close();
  const [file, other] = [`${folder}/moved.sqlite`, temporaryFolder()];
  assert.deepEqual(await succeed(folder, `accounts export ${file}`), [`${file}\n`]);
  const all = `accounts import ${file}`;
  const names = async () =>
    fieldsOf((await succeed(other, "accounts list"))[0])
      .slice(1)
      .map(([name]) => name);
  assert.deepEqual(await succeed(other, `${all} --after 500`), ["entered 1 account\n"]);
  assert.deepEqual(await names(), ["a501"]);
  const [taken, wrong, nothing, empty, more, option] = await run(other, [
    ...[all, `${all} --after x`, "accounts import", "accounts export ", `accounts export ${file} b~c d`],
    "accounts export --all",
  ]);
  assert.match(taken.stderr, /a501|501/);
  assert.equal(wrong.stderr, '--after is "x", expected a whole number from 0 to 9007199254740991\n');
  assert.equal(nothing.stderr, "accounts import needs a file of accounts export or state backup\n");
  assert.equal(empty.stderr, "accounts export needs a file to make, not an empty name\n");
  assert.equal(more.stderr, 'accounts export takes nothing after the file, but has "b c d"\n');
  assert.equal(option.stderr, "accounts export: unknown option '--all'; use a file to make\n");
  for (const { code } of [taken, wrong, nothing, empty, more, option]) assert.equal(code, 1);
  assert.deepEqual(await names(), ["a501"], "nothing is imported, or everything");
  assert.deepEqual(await succeed(other, "accounts delete a501 --yes"), [
    "deleted account a501, with 0 keys, 0 months of use, 0 events, 0 signups\n",
  ]);
  const third = temporaryFolder();
  assert.deepEqual(await succeed(third, all), ["entered 501 accounts\n"]);
  assert.deepEqual(
    (await succeed(third, "keys list --json")).map((text) => JSON.parse(text).length),
    [1],
  );
});

test("a command line that can't be read is refused in words", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free --email ann@example.com");
  const value = "--account needs a value, as --account=VALUE";
  const aLabel = "expected 1 to 64 printable ASCII characters, without a space at the start or end";
  const all =
    "--account, --plan, --burst, --quota, --webhook, --email, --expires, --label, each with a value";
  const numbers = "plan enterprise needs --burst and --quota";
  const keysId = "needs a key's id, as keys list shows it";
  const [past, noTime] = [
    "2000-01-01T00:00:00.000Z, expected a time in the future",
    "expected a time such as",
  ];
  const hours = "expected a whole number from 0 to 8760";
  for (const [command, expected] of [
    ["keys create --account", value],
    ["keys create --account --plan free", value],
    ["keys create --account -x", `${value}, not "-x"`],
    ["keys create --account a --account b", "--account is given more than once"],
    ["keys create", "keys create needs --account"],
    ["keys create --account a --label ", `--label is "", ${aLabel}`],
    ["keys create --account a --label é", `--label is "é", ${aLabel}`],
    ["keys create --account a more", `keys create: unexpected argument 'more'; use ${all}`],
    ["keys create --account b", `account b is new, so it needs --plan: ${planNames.join(", ")}`],
    ["keys create --account b --plan x", `--plan is "x", expected one of ${planNames.join(", ")}`],
    ["keys create --account b --plan enterprise", numbers],
    ["keys create --account b --plan enterprise --burst 5", numbers],
    ["keys create --account b --plan enterprise --quota 5", numbers],
    [
      "keys create --account b --plan free --burst 5",
      "plan free has its own burst and quota: leave out --burst and --quota",
    ],
    [
      "keys create --account b --plan enterprise --burst 0 --quota 5",
      '--burst is "0", expected a whole number from 1 to 1000000',
    ],
    [
      "keys create --account b --plan enterprise --burst 5 --quota 2000000001",
      '--quota is "2000000001", expected a whole number from 1 to 2000000000',
    ],
    [
      "keys create --account b --plan free --email x",
      '--email is "x", expected an e-mail address such as ann@example.com, or none',
    ],
    ["keys create --account a --expires 2000-01-01", `--expires is ${past}`],
    ["keys create --account a --expires tomorrow", `--expires is "tomorrow", ${noTime} 2027-01-31T00:00:00Z`],
    ...["2027-02-30", "2027-02-01T24:00Z", "1969-12-31", "9999-12-31T23:59-01:00"].map((time) => [
      `keys create --account a --expires ${time}`,
      `--expires is "${time}", expected a time that exists, from 1970-01-01 to 9999-12-31 in UTC`,
    ]),
    [
      "keys update --account a",
      "keys update needs something to change: --plan, --burst, --quota, --webhook, --email",
    ],
    ["keys update --account b --plan free", "there is no account b: accounts list has all names"],
    ["keys revoke", `keys revoke ${keysId}`],
    ["keys revoke x", `keys revoke ${keysId}, not "x"`],
    ["keys revoke 1 2", 'keys revoke takes nothing after the id, but has "2"'],
    ["keys revoke 9", "there is no key 9: keys list has all ids"],
    ["keys expire", `keys expire ${keysId}`],
    ["keys expire 1", "keys expire needs --at"],
    [
      "keys expire 1 --at yesterday",
      `--at is "yesterday", ${noTime} 2027-01-31T00:00:00Z, up to 9999-12-31 in UTC, now or never`,
    ],
    ["keys expire 1 --at 2000-01-01", `--at is ${past}`],
    ["keys expire 1 --at now --by x", "keys expire: unknown option '--by'; use --at with a value"],
    ["keys rotate", `keys rotate ${keysId}`],
    ["keys rotate 1", "keys rotate needs --overlap"],
    ["keys rotate 1 --overlap x", `--overlap is "x", ${hours}`],
    ["keys rotate 1 --overlap 8761", `--overlap is "8761", ${hours}`],
    ["keys list x", 'keys list takes only --json, not "x"'],
    ["keys list --json x", 'keys list takes only --json, not "--json x"'],
    [
      "keys delete 1",
      'keys has no command "delete": use create, update, list, revoke, expire, rotate; --help explains them',
    ],
    ["accounts suspend", "accounts suspend needs an account's name"],
    ["accounts suspend -a", 'accounts suspend needs an account\'s name, not "-a"'],
    ["accounts suspend b", 'there is no account "b": accounts list has all names'],
    ["accounts suspend a b", 'accounts suspend takes nothing after the name, but has "b"'],
    ["accounts resume", "accounts resume needs an account's name"],
    ["accounts resume a b", 'accounts resume takes nothing after the name, but has "b"'],
    [
      "accounts delete a",
      "accounts delete a needs --yes. It deletes the account for good: 1 key, 0 months of use, 0 events, 0 signups, its e-mail address. To block it for a time, use accounts suspend.",
    ],
    ["accounts delete a --no", 'accounts delete takes --yes after the name, not "--no"'],
    ["accounts delete a --yes b", 'accounts delete takes nothing after --yes, but has "b"'],
    ["accounts rotate-secret", "accounts rotate-secret needs an account's name"],
    ["accounts rotate-secret a", "accounts rotate-secret needs --overlap"],
    ["accounts rotate-secret a --overlap 1", "account a has no webhook, so no secret to rotate"],
    ["events retry", "events retry needs an event's id, as events list shows it"],
    ["events retry x", 'there is no event "x": events list has all ids'],
    ["events retry x y", 'events retry takes nothing after the id, but has "y"'],
  ]) {
    const [{ code, stdout, stderr }] = await run(folder, [command]);
    assert.deepEqual([code, stdout, stderr], [1, "", `${expected}\n`], command);
  }
  const [keys] = await succeed(folder, "keys list --json");
  assert.equal(JSON.parse(keys).length, 1, "nothing was changed");
  const missing = join(temporaryFolder(), "state");
  for (const command of ["keys create --account b", "accounts list"]) await run(missing, [command]);
  assert.ok(!existsSync(missing), "and no state is made");
});

test("an account is suspended and resumed once, and its keys are shown as suspended unless they are worse", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free", "keys create --account a", "keys revoke 2");
  const [first, again] = await succeed(folder, "accounts suspend a", "accounts suspend a");
  assert.equal(first, "suspended account a: its keys don't work until accounts resume\n");
  assert.match(again, /^account a was suspended at 20\d\d-\S+Z already\n$/);
  assert.deepEqual(await keyStates(folder), ["suspended", "revoked"]);
  assert.equal((await shownAccount(folder)).get("state"), "suspended");
  assert.deepEqual(await succeed(folder, "accounts resume a", "accounts resume a"), [
    "resumed account a: its keys work again, as far as they did before\n",
    "account a isn't suspended\n",
  ]);
  assert.deepEqual(await keyStates(folder), ["active", "revoked"]);
  const store = Store.open(folder);
  for (const month of ["2026-01", "2026-02"]) store.usage.save(month, [[1, 5]]);
  store.close();
  assert.deepEqual(await succeed(folder, "accounts delete a --yes", "accounts list --json"), [
    "deleted account a, with 2 keys, 2 months of use, 0 events, 0 signups\n",
    "[]\n",
  ]);
});

test("a command refuses a copy of shared accounts, and one that a running server hasn't applied says so", async (t) => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free");
  const guard = new StateGuard(folder);
  t.after(() => guard.close());
  const store = Store.open(folder);
  t.after(() => store.close());
  guard.watch();
  // The server has applied the change of the account, and not that of its key.
  const { accounts, keys } = store.progress.latest();
  store.progress.saveApplied({ accounts: accounts + 9, keys });
  const [doubted, read] = await run(folder, ["keys revoke 1", "keys list"]);
  assert.deepEqual(
    [doubted.code, doubted.stdout, doubted.stderr],
    [
      ...[0, "revoked key 1 of account a\n"],
      "this is stored, but the running server hasn't applied it within 3 s; it will as soon as it can\n",
    ],
  );
  assert.equal(read.stderr, "", "a command that changes nothing doesn't wait");
  store.progress.saveApplied({ accounts: accounts + 9, keys: keys + 9 });
  const [applied] = await run(folder, ["keys revoke 1", "accounts suspend a"]);
  assert.deepEqual([applied.code, applied.stderr], [0, ""]);

  store.directory.take([], { version: 1, id: "00000000-0000-4000-8000-000000000000" });
  const [refused] = await run(folder, ["keys list"]);
  assert.deepEqual(
    [refused.code, refused.stderr],
    [
      1,
      `STATE_DIR ${folder}: found a copy of accounts that servers share through PostgreSQL, but no DATABASE_URL, expected the DATABASE_URL of those servers; or for a server on its own an empty STATE_DIR, into which accounts export and accounts import move the accounts\n`,
    ],
  );
});

test("a change of accounts alone, or of keys alone, makes the state one that was saved now, and a list doesn't", async () => {
  const folder = temporaryFolder();
  await succeed(folder, "keys create --account a --plan free");
  for (const [command, isChange] of [
    ["keys list", false],
    ["keys revoke 1", true],
    ["keys update --account a --plan developer", true],
    ["accounts list", false],
  ] as const) {
    const store = Store.open(folder);
    store.progress.noteSaved(new Date(1000));
    store.close();
    await succeed(folder, command);
    const after = Store.open(folder);
    assert.equal((after.progress.savedAt() ?? 0) > 1000, isChange, command);
    after.close();
  }
});
