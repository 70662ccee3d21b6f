import assert from "node:assert/strict";
import { mock, type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { keyState } from "../../../server/accounts/changes.ts";
import { hashKey } from "../../../server/accounts/keys.ts";
import { Accounts } from "../../../server/accounts/sync.ts";
import { checkAccount, startPortal } from "../../../server/parts/portal/control.ts";
import { PortalHost } from "../../../server/parts/portal/host.ts";
import { portalPart } from "../../../server/parts/portal/portal-part.ts";
import { type PortalSettings, portalSettings, settingTable } from "../../../server/parts/portal/settings.ts";
import { plans } from "../../../server/shared/plans.ts";
import { readSettings, readTable } from "../../../server/shared/settings.ts";
import { StateUnavailable } from "../../../server/shared/state-unavailable.ts";
import { Store } from "../../../server/store/store.ts";
import { closed, errorOf } from "../../support/portal.ts";
import { later, silent } from "../../support/quota-events.ts";
import { temporaryFolder } from "../../support/server.ts";
import { smallTables } from "../../support/tables.ts";

/** The test sets the host's clock in hours. */
function hostOf(
  t: TestContext,
  start = 0,
  mayMakeAccount = true,
  store = Store.open(temporaryFolder()),
  settings: Partial<PortalSettings> = {},
) {
  t.after(() => store.close());
  let at = 0;
  const hours = (count: number) => {
    at = count * 3_600_000;
  };
  hours(start);
  const accounts = new Accounts(store, later(at).getTime(), smallTables());
  const refresh = () => accounts.refresh();
  const host = new PortalHost({
    store,
    log: silent,
    settings: { ...closed, portalAccount: "explore", mayMakeAccount, ...settings },
    mailer: undefined,
    keyCount: () => 0,
    fault: () => undefined,
    change: async (work) => store.atomically(work),
    takeEffect: async () => refresh(),
    now: () => later(at),
  });
  accounts.neverExpires = (key) => host.isCurrent(key);
  /** Whether each key works, as the serving threads see it. */
  const works = () => {
    refresh();
    const { keys } = accounts.tables;
    return store.keys.list().map(({ hash }) => keys.slotOf(keys.find(hash), later(at).getTime()) >= 0);
  };
  const states = () => store.keys.list().map((key) => keyState(key, later(at)));
  return { host, hours, states, works, store, refresh };
}

test("the pages' key is replaced daily, the old one works 2 more hours, and a stop revokes both", async (t) => {
  const { host, hours, states, store } = hostOf(t);
  await host.end();
  assert.deepEqual(states(), [], "what hasn't begun has no key");
  await host.begin("https://prices.example.com");
  hours(23.9);
  assert.equal(await host.renewKey(), false);
  const { plan, burst, quota } = store.accounts.byName("explore") ?? assert.fail();
  assert.deepEqual([plan, burst, quota], ["portal", 10 * plans.free.burst, 10 * plans.free.quota]);
  hours(24);
  assert.equal(await host.renewKey(), true);
  assert.deepEqual(states(), ["active", "active"]);
  hours(26);
  assert.deepEqual(states(), ["expired", "active"]);
  hours(48);
  assert.equal(await host.renewKey(), true);
  hours(49);
  assert.deepEqual(states(), ["expired", "active", "active"]);
  await host.end();
  assert.deepEqual(states(), ["expired", "revoked", "revoked"]);
});

test("the pages' key is replaced at once after the clock is set back, and again a day later", async (t) => {
  const { host, hours, states } = hostOf(t, 1000);
  await host.begin("https://prices.example.com");
  assert.equal(await host.renewKey(), false);
  hours(100);
  assert.equal(await host.renewKey(), true, "it would be replaced in 924 hours otherwise");
  assert.equal(await host.renewKey(), false);
  hours(124);
  assert.equal(await host.renewKey(), true);
  hours(126);
  // The first key keeps its expiry, which was set before the clock was changed.
  assert.deepEqual(states(), ["active", "expired", "active"]);
});

for (const jump of [1, 4, 30, 24 * 40, 24 * 4000, -24, -1000])
  test(`the pages' key works on after the clock jumps by ${jump} hours, and open pages' key for 2 more hours`, async (t) => {
    const { host, hours, works } = hostOf(t, 10);
    await host.begin("https://prices.example.com");
    const at = 10 + 23 + jump;
    hours(at);
    assert.deepEqual(works(), [true], "before the server notices the jump");
    assert.equal(await host.renewKey(), true);
    assert.deepEqual(works(), [true, true]);
    hours(at + 1.9);
    assert.equal(await host.renewKey(), false);
    assert.deepEqual(works(), [true, true]);
    hours(Math.max(at, 10 + 24) + 2);
    assert.equal(works()[0], false);
    await host.end();
    assert.deepEqual(works(), [false, false]);
  });

test("the pages' key of a server that was killed expires, and so does one that an operator expires", async (t) => {
  const { host, hours, works, store, refresh } = hostOf(t);
  await host.begin("https://prices.example.com");
  const restarted = new Accounts(store, later(0).getTime(), smallTables());
  const [{ id, hash }] = store.keys.list();
  const entry = restarted.tables.keys.find(hash);
  assert.ok(restarted.tables.keys.slotOf(entry, later(25 * 3_600_000).getTime()) >= 0);
  assert.ok(restarted.tables.keys.slotOf(entry, later(26 * 3_600_000).getTime()) < 0);
  store.keys.expire(id, later(3_600_000).getTime());
  refresh();
  hours(1);
  assert.deepEqual(works(), [false]);
});

test("a start on a full disk succeeds, and the pages' key is stored when there is room", async (t) => {
  const { host, states, store } = hostOf(t);
  const full = t.mock.method(store, "atomically", () => {
    throw new Database.SqliteError("database or disk is full", "SQLITE_FULL");
  });
  await host.begin("https://prices.example.com");
  await assert.rejects(host.renewKey(), /full/);
  full.mock.restore();
  assert.deepEqual(states(), []);
  assert.equal(await host.renewKey(), true);
  assert.deepEqual(states(), ["active"]);
});

test("the pages' account isn't created again after an operator deletes it", async (t) => {
  const store = Store.open(temporaryFolder());
  const { id } = store.accounts.create(
    { name: "explore", plan: "free", ...plans.free, webhook: null, webhook_secret: null },
    later(0),
  );
  const { host, hours } = hostOf(t, 0, false, store);
  await host.begin("https://prices.example.com");
  store.accounts.delete(id);
  hours(24);
  await assert.rejects(host.renewKey(), /^DataError: PORTAL_ACCOUNT: found explore, which isn't there/);
  assert.equal(store.accounts.byName("explore"), undefined);
});

test("without its account a portal doesn't start, without one it has no key, and before its start it answers nothing", async (t) => {
  assert.throws(() => hostOf(t, 0, false), {
    message:
      "PORTAL_ACCOUNT: found explore, which isn't there, expected an account: make it with npm run keys",
  });
  const { host, states, hours } = hostOf(t, 0, true, undefined, { portalAccount: undefined });
  const request = {
    path: "/portal/keys",
    body: "{}",
    authorization: "",
    address: "192.0.2.1",
    requestId: "test-1",
  };
  const early = await host.act(request);
  assert.deepEqual(
    [early.status, errorOf(early).message, early.headers],
    [503, "the server is starting; try again", { "Retry-After": "1" }],
  );
  await host.begin("https://prices.example.com");
  assert.equal((await host.act(request)).status, 401);
  hours(24);
  assert.equal(await host.renewKey(), false);
  assert.deepEqual(states(), []);
  assert.equal(host.isCurrent({ hash: hashKey("x"), expires_at: 26 * 3_600_000 }), false);
  await host.end();
});

test("a start or a stop fails only by what waiting can't mend", async (t) => {
  for (const [error, isRefused] of [
    [new StateUnavailable("away"), false],
    [new Error("broken"), true],
  ] as const) {
    const { host, store } = hostOf(t);
    const broken = () =>
      t.mock.method(store, "atomically", () => {
        throw error;
      });
    const atStart = broken();
    const begun = host.begin("https://prices.example.com");
    if (isRefused) await assert.rejects(begun, error);
    else await begun;
    atStart.mock.restore();
    if (!isRefused) assert.equal(await host.renewKey(), true, "the key is stored later");
    if (isRefused) await host.begin("https://prices.example.com");
    const atEnd = broken();
    if (isRefused) await assert.rejects(host.end(), error);
    else await host.end();
    atEnd.mock.restore();
  }
});

test("the pages are those of the settings, each with its title, its script and who may frame it", (t) => {
  const shownBy = (settings: Partial<PortalSettings>) => {
    const { host } = hostOf(t, 0, true, undefined, settings);
    return host
      .files()
      .filter(({ head }) => head.includes("text/html"))
      .map((file) => {
        const html = String(Buffer.from(file.bodies.identity));
        const [, title] = /<title>(.*)<\/title>/.exec(html) ?? [];
        const [, script = "none"] = /<script type="module" src="\/portal\/(\w+)-/.exec(html) ?? [];
        const [, framedBy] = /frame-ancestors ([^\r\n]*)/.exec(file.head) ?? [];
        return [
          file.path,
          title.replace(/ ?–? ?What hospitals charge$/, ""),
          script,
          framedBy,
          file.template !== undefined,
        ].join(" | ");
      });
  };
  const pages = (has: boolean, key: string) => [
    `/ |  | explore | 'none' | ${has}`,
    `/facilities/* |  | facility | 'none' | ${has}`,
    "/data | The data | data | 'none' | false",
    "/reference | The API | reference | 'none' | false",
    `/signup | ${key} | signup | 'none' | false`,
    "/account | Your account | account | 'none' | false",
    "/* | No page | none | 'none' | false",
  ];
  assert.deepEqual(shownBy({ signup: "open" }), pages(true, "Get a key"));
  assert.deepEqual(shownBy({ signup: "off", portalAccount: undefined }), pages(false, "Keys"));
  const framed = shownBy({ signup: "email", embedOrigins: ["https://a.example", "https://b.example"] });
  assert.deepEqual(
    framed,
    pages(true, "Get a key").toSpliced(
      2,
      0,
      "/embed/* |  | explore | https://a.example https://b.example | true",
    ),
  );
  const settingsOf = (settings: Partial<PortalSettings>) => {
    const { host } = hostOf(t, 0, true, undefined, settings);
    const [page] = host.files().filter(({ path }) => path === "/signup");
    const [, text] = /id="settings">(.*?)<\/script>/.exec(String(Buffer.from(page.bodies.identity))) ?? [];
    const { key, states, ...rest } = JSON.parse(text ?? "");
    assert.match(states, /^\/portal\/states-[\w-]+\.svg$/);
    return { ...rest, hasKey: key !== null };
  };
  const { newcomers, ...rest } = settingsOf({ signup: "email", embedOrigins: ["*"] });
  assert.deepEqual([newcomers.burst, newcomers.quota, newcomers.linkHours], [10, 10_000, 24]);
  assert.deepEqual(rest, { signup: "email", minElapsedMs: 2000, mail: false, embeds: true, hasKey: true });
  assert.equal(settingsOf({ portalAccount: undefined }).hasKey, false);
  assert.equal(settingsOf({}).embeds, false);
});

test("the portal's defaults depend on the state's folder, and limits of addresses hold for the pages' keys alone", () => {
  const of = (environment: Record<string, string>) => {
    const [own, core] = [readTable(settingTable, environment), readSettings(environment)];
    assert.ok(!Array.isArray(own) && !Array.isArray(core));
    return { ...portalSettings(own, core), run: portalPart.configure(environment, core) };
  };
  const { run: trialRun, ...trial } = of({});
  assert.deepEqual(trial, {
    ...{ signup: "open", signupDaily: 200, webhookAllowLoopback: false, portalAccount: "explore" },
    ...{
      addressLimits: { perSecond: 10, perDay: 2000 },
      mayMakeAccount: true,
      publicUrl: undefined,
      embedOrigins: [],
    },
  });
  const { run, ...kept } = of({ STATE_DIR: "x" });
  assert.deepEqual(kept, { ...trial, signup: "off", portalAccount: undefined, mayMakeAccount: false });
  assert.deepEqual([run?.visitors, run?.writing], [undefined, undefined]);
  const named = of({
    STATE_DIR: "x",
    PORTAL_ACCOUNT: "a",
    SIGNUP: "open",
    SIGNUP_DAILY: "5",
    PUBLIC_URL: "https://p.example",
    EMBED_ORIGINS: "https://a.example",
    PORTAL_ADDRESS_RATE: "0",
  });
  const { portalAccount, mayMakeAccount, signup, signupDaily, publicUrl, embedOrigins } = named;
  assert.deepEqual(
    [portalAccount, mayMakeAccount, signup, signupDaily, publicUrl, embedOrigins],
    ["a", false, "open", 5, "https://p.example", ["https://a.example"]],
  );
  assert.equal(of({ PORTAL_ACCOUNT: "explore" }).mayMakeAccount, true);
  assert.equal(of({ PORTAL_ACCOUNT: "other" }).mayMakeAccount, false);
  assert.equal(of({ PORTAL: "off" }).run, undefined);
  for (const [environment, has] of [
    [{}, true],
    [{ PORTAL_ADDRESS_RATE: "0" }, true],
    [{ PORTAL_ADDRESS_DAILY: "0" }, true],
    [{ PORTAL_ADDRESS_RATE: "0", PORTAL_ADDRESS_DAILY: "0" }, false],
  ] as const)
    assert.equal(of(environment).run?.visitors !== undefined, has, JSON.stringify(environment));
  const { visitors, serving, writing } = trialRun ?? assert.fail();
  assert.match(String(serving), /\/portal\/serving\.ts$/);
  assert.match(String(writing), /\/portal\/writing\.ts$/);
  for (const [label, name, isTheirs] of [
    ["pages", "explore", true],
    ["mine", "explore", false],
    [null, "explore", false],
    ["pages", "other", false],
  ] as const)
    assert.equal(visitors?.isTheirs(Object({ label }), Object({ name })), isTheirs);
});

test("a running portal renews the pages' key, shows the new pages, and tells how much of its quota is used", async () => {
  const store = Store.open(temporaryFolder());
  store.accounts.create(
    { name: "explore", plan: "free", ...plans.free, webhook: null, webhook_secret: null },
    later(0),
  );
  const shown: unknown[] = [];
  let read = (): number => Number.NaN;
  let renew = async (): Promise<void> => {};
  let end = async (): Promise<void> => {};
  let [fault, quota, remaining]: [string | undefined, number, number] = [undefined, 200, 150];
  const names = new Map<number, string>();
  const core = Object({
    ...{
      store,
      log: silent,
      mailer: undefined,
      change: async (work: () => unknown) => store.atomically(work),
      takeEffect: async () => {},
    },
    ...{ fault: () => fault, showPages: async (files: unknown) => void shown.push(files) },
    accounts: {
      names: () => names,
      tables: {
        keys: { count: 0 },
        ceilings: {
          ceilings: () => ({ quota }),
          remaining: (slot: number) => (slot === 1 ? remaining : quota),
        },
      },
    },
    metrics: {
      gauge: (name: string, _help: string, value: () => number) => {
        assert.equal(name, "hcqs_pages_quota_used_ratio");
        read = value;
      },
    },
    atEnd(run: () => Promise<void>) {
      end = run;
    },
    repeat: (_: string, ms: number, run: () => Promise<void>) => {
      assert.equal(ms, 1000);
      renew = run;
    },
  });
  const running = await startPortal({ ...closed, portalAccount: "explore" }, core);
  await running.begin?.("http://127.0.0.1:8080");
  const states = () => store.keys.list().map((key) => key.revoked_at === null);
  await renew();
  assert.deepEqual([shown.length, states()], [0, [true]]);
  const day = Date.now() + 86_400_000;
  mock.timers.enable({ apis: ["Date"], now: day });
  try {
    fault = "it is gone";
    await renew();
    await end();
    assert.deepEqual([shown.length, states()], [0, [true]]);
    fault = undefined;
    await renew();
    assert.deepEqual([shown.length, states()], [1, [true, true]]);
  } finally {
    mock.reset();
  }
  assert.equal(read(), 0, "the account has no slot yet");
  names.set(0, "other").set(1, "explore");
  assert.equal(read(), 0.25);
  [quota, remaining] = [0, 0];
  assert.equal(read(), 1);
  quota = 200;
  names.set(2, "explore");
  assert.equal(read(), 0, "the account was deleted and made again");
  await end();
  assert.deepEqual(states(), [false, false]);
  store.close();
});

test("a state without the pages' account isn't created", () => {
  const check = (settings: Partial<PortalSettings>, isShared = false, folder = "/nowhere") =>
    checkAccount({ ...closed, ...settings }, isShared, folder);
  assert.throws(() => check({ portalAccount: "a" }), /PORTAL_ACCOUNT: found a, which isn't there/);
  check({});
  check({ portalAccount: "a" }, true);
  check({ portalAccount: "a", mayMakeAccount: true });
  const folder = temporaryFolder();
  Store.open(folder).close();
  check({ portalAccount: "a" }, false, folder);
});
