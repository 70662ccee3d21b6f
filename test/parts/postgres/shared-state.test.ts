import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { pino } from "pino";
import { makeKey } from "../../../server/accounts/changes.ts";
import { quotaExceeded } from "../../../server/accounts/limits.ts";
import { databaseAway } from "../../../server/accounts/permit-table.ts";
import { Accounts } from "../../../server/accounts/sync.ts";
import type { PartContext, SharedCommand } from "../../../server/part.ts";
import { runShared } from "../../../server/parts/postgres/command.ts";
import { Database } from "../../../server/parts/postgres/connection.ts";
import { shareState } from "../../../server/parts/postgres/control.ts";
import type { PermitAnswer } from "../../../server/shared/messages.ts";
import { Metrics } from "../../../server/shared/metrics.ts";
import { dayName, monthName, monthOf } from "../../../server/shared/months.ts";
import { readSettings } from "../../../server/shared/settings.ts";
import { Store } from "../../../server/store/store.ts";
import { until } from "../../support/connection.ts";
import { commonDatabase } from "../../support/virtual-database.ts";
import { WireDatabase } from "../../support/wire-database.ts";

/** Tests servers and commands with a database that they connect to: PostgreSQL as WebAssembly. */

const database = await commonDatabase();
const wire = await WireDatabase.serve(database);
after(() => wire.close());

const sql = async <Row>(text: string) => (await database.query<Row>(text)).rows;

const emptied =
  "TRUNCATE hcqs.changes, hcqs.rows, hcqs.limits, hcqs.days, hcqs.turns; UPDATE hcqs.installed SET schema_version = 1";
/** Runs a test with an empty database that is there. A hook would run for the tests of other files, too. */
const testEmpty = (name: string, work: (t: TestContext) => Promise<void>) =>
  test(name, async (t) => {
    wire.refusal = () => undefined;
    wire.isAway = false;
    wire.isSilent = false;
    // However slow the machine is, no answer comes too late, unless a test lets the time pass.
    t.mock.timers.enable({ apis: ["setTimeout"] });
    await database.exec(emptied);
    await work(t);
  });

const open = (t: TestContext, urls: readonly string[], mayInstall = true) => {
  const opened = new Database(urls, () => mayInstall);
  t.after(() => opened.close());
  return opened;
};

testEmpty("a query without an answer fails after 2 s, and its connection isn't used again", async (t) => {
  const client = open(t, [wire.url]);
  await client.query("SELECT 1");
  const before = wire.connections;
  wire.isSilent = true;
  let isOver = false;
  const asked = assert.rejects(client.query("SELECT 2"), { message: "no answer" }).finally(() => {
    isOver = true;
  });
  t.mock.timers.tick(1999);
  await new Promise(setImmediate);
  assert.ok(!isOver);
  t.mock.timers.tick(1);
  await asked;
  wire.isSilent = false;
  assert.deepEqual(await client.query("SELECT 1 AS one"), [{ one: 1 }]);
  assert.equal(wire.connections, before + 1);
});

const closedPort = "postgres://u:geheim@127.0.0.1:1/d";

testEmpty("queries are answered together, and one that is refused leaves the connection", async (t) => {
  const client = open(t, [wire.url]);
  const before = wire.connections;
  const answers = await Promise.all([
    client.query("SELECT $1::int + 1 AS n", [3]),
    client.query("SELECT bogus").catch((error) => error.code),
    client.query("SHOW statement_timeout"),
    client.query("SHOW application_name"),
  ]);
  assert.deepEqual(answers.slice(0, 3), [[{ n: 4 }], "42703", [{ statement_timeout: "1s" }]]);
  assert.equal(wire.connections, before + 1);
});

testEmpty("a connection that ends is replaced by the next query, and hosts are tried in turn", async (t) => {
  const client = open(t, [closedPort, wire.url]);
  const before = wire.connections;
  const one = () => client.query("SELECT 1 AS one");
  assert.deepEqual(await one(), [{ one: 1 }]);
  assert.equal(wire.connections, before + 1);
  wire.cut();
  const answer = await until("a new connection", () => one().catch(() => false as const));
  assert.deepEqual(answer, [{ one: 1 }]);
  assert.equal(wire.connections, before + 2);
  client.close();
  await assert.rejects(client.query("SELECT 1"), /the connection is closed/);
});

testEmpty(
  "a query that can't be answered for now ends its connection, and the next one makes another",
  async (t) => {
    const client = open(t, [wire.url]);
    await client.query("SELECT 1");
    const before = wire.connections;
    wire.refusal = (text) => (text.includes("SELECT 2") ? "57P01" : undefined);
    await assert.rejects(client.query("SELECT 2"), { name: "Error", message: "refused by the test" });
    await client.query("SELECT 1");
    assert.equal(wire.connections, before + 1);
  },
);

for (const [code, expected, isLasting] of [
  ["28P01", "a user and password that the database accepts", true],
  ["3D000", "the name of a database that exists", true],
  ["42501", "a user that may create the schema hcqs, or that owns it", true],
  ["53300", "a free connection: raise max_connections, two are needed for each server", false],
  ["57P03", "a database that has started", false],
  ["08006", "a database that answers: see that it runs and can be reached from here", false],
  ["XX000", "a database that answers: see that it runs and can be reached from here", true],
] as const)
  testEmpty(
    `a start that is refused with ${code} is told in words, and tried again after a pause`,
    async (t) => {
      let nowMs = 0;
      t.mock.method(performance, "now", () => nowMs);
      wire.refusal = (text) => (text.includes("user\0") ? code : undefined);
      const client = open(t, [closedPort, wire.url]);
      // A fault that a later try won't mend says more than a host that is away.
      const said = isLasting ? "DataError" : "Error";
      const fault = await client.query("SELECT 1").catch((error) => error);
      assert.equal(fault.name, said);
      assert.equal(
        fault.expected,
        isLasting ? expected : "a database that answers: see that it runs and can be reached from here",
      );
      const { connections } = wire;
      for (const [ms, tries] of [
        [249, 0],
        [250, 1],
        [749, 1],
        [750, 2],
        [1749, 2],
        [1750, 3],
        [2749, 3],
        [2750, 4],
      ]) {
        nowMs = ms;
        await assert.rejects(client.query("SELECT 1"), { message: fault.message });
        assert.equal(wire.connections - connections, tries, `${ms} ms`);
      }
      wire.refusal = () => undefined;
      nowMs = 3750;
      assert.deepEqual(await client.query("SELECT 1 AS one"), [{ one: 1 }]);
    },
  );

testEmpty(
  "without a mode, a server that refuses without TLS by its rules is tried again, and another fault isn't",
  async (t) => {
    for (const [code, mode, tries] of [
      ["28000", "prefer", 1],
      ["28P01", "allow", 1],
      ["28000", "allow", 1],
    ] as const) {
      wire.refusal = (text) => (text.includes("user\0") ? code : undefined);
      const { connections } = wire;
      await assert.rejects(open(t, [`${wire.url}?sslmode=${mode}`]).query("SELECT 1"));
      assert.equal(wire.connections - connections, tries, `${code} ${mode}`);
    }
    wire.refusal = () => undefined;
    await assert.rejects(
      open(t, [`${wire.url}?sslmode=require`]).query("SELECT 1"),
      /expected a connection with TLS as sslmode and sslrootcert in DATABASE_URL ask for it/,
    );
  },
);

for (const [what, change, undo, mayInstall, expected] of [
  [
    "another schema version",
    "UPDATE hcqs.installed SET schema_version = 7",
    "SELECT 1",
    true,
    /schema version 7\), expected schema version 1: stop/,
  ],
  [
    "a schema that is being restored",
    "UPDATE hcqs.installed SET schema_version = 0",
    "SELECT 1",
    true,
    /its schema hcqs isn't complete$/,
  ],
  [
    "a schema that lacks a table",
    "ALTER TABLE hcqs.days RENAME TO other",
    "ALTER TABLE hcqs.other RENAME TO days",
    true,
    /its schema hcqs isn't complete$/,
  ],
  [
    "a read-only database",
    "SET default_transaction_read_only = on",
    "SET default_transaction_read_only = off",
    true,
    /: it is read-only$/,
  ],
  [
    "a user without rights",
    "CREATE ROLE weak; GRANT USAGE ON SCHEMA hcqs TO weak; GRANT SELECT ON hcqs.installed TO weak; SET ROLE weak",
    "RESET ROLE; DROP OWNED BY weak; DROP ROLE weak",
    true,
    /the user may not change the tables\), expected SELECT, INSERT, UPDATE and DELETE on/,
  ],
  [
    "an empty database, for a server with a copy,",
    "ALTER SCHEMA hcqs RENAME TO other",
    "ALTER SCHEMA other RENAME TO hcqs",
    false,
    /it is empty, though this server has a copy of shared accounts\), expected the database of those accounts/,
  ],
] as const)
  testEmpty(`${what} can't be used`, async (t) => {
    await database.exec(change);
    try {
      await assert.rejects(
        open(t, [wire.url], mayInstall).query("SELECT 1"),
        ({ message }: Error) => expected.test(message) || assert.fail(message),
      );
    } finally {
      await database.exec(undo);
    }
  });

testEmpty("a database without the schema gets it", async (t) => {
  await database.exec("ALTER SCHEMA hcqs RENAME TO other");
  await open(t, [wire.url]).query("SELECT * FROM hcqs.turns");
  await database.exec("DROP SCHEMA hcqs CASCADE; ALTER SCHEMA other RENAME TO hcqs");
});

const none = { webhook: null, webhook_secret: null };
const now = new Date();
const month = monthOf(now.getTime());
const create = (store: Store, name: string, burst = 5, quota = 10) =>
  store.accounts.create({ name, plan: "own", burst, quota, ...none }, now);

const command = (run: SharedCommand["run"], readsDays = false) =>
  runShared([wire.url], { run, readsDays, now });

testEmpty(
  "a command's changes are in the database, and the next command finds them with their use",
  async () => {
    const first = await command((store) => ({ result: `${create(store, "acme").id}\n`, note: "made\n" }));
    assert.deepEqual(first, { result: "1\n", note: "made\nthe database had no accounts before\n" });
    const earlier = new Date(Date.UTC(2026, month - 1 - 12 * 2026, 28));
    await command((store) => {
      const { id } = create(store, "moved");
      for (const [at, used] of [
        [month - 2, 9],
        [month - 1, 7],
        [month, 4],
        [month + 2, 3],
      ])
        store.usage.save(monthName(at), [[id, used]]);
      store.usage.saveDay(dayName(earlier.getTime()), [[id, 7]]);
      return { result: "", entered: [id] };
    });
    const limits = await sql(
      "SELECT account, month, used, used_before, rate, quota FROM hcqs.limits ORDER BY account",
    );
    const [acme, moved] = limits as { account: number; month: number; used: number; used_before: number }[];
    assert.deepEqual([acme.account, acme.used, acme.used_before], [1, 0, 0]);
    assert.deepEqual([moved.account, moved.month, moved.used, moved.used_before], [2, month, 4, 7]);
    const seen: unknown[] = [];
    for (const readsDays of [false, true]) {
      const found = await command((store) => {
        const names = store.accounts.ids().map((id) => store.accounts.byId(id)?.name);
        seen.push(names, store.usage.months(2), store.usage.days(2));
        return { result: "listed\n" };
      }, readsDays);
      assert.deepEqual(found, { result: "listed\n" });
    }
    const months = [
      { month: monthName(month), used: 4 },
      { month: monthName(month - 1), used: 7 },
    ];
    const days = [{ day: dayName(earlier.getTime()), used: 7 }];
    assert.deepEqual(seen, [["acme", "moved"], months, [], ["acme", "moved"], months, days]);
  },
);

testEmpty("a command that fails says why, and what was done before", async () => {
  await assert.rejects(
    command((store) => {
      create(store, "first");
      return {
        result: "",
        rest: {
          state: "1 of 2 is made",
          run() {
            throw new Error("the second is wrong");
          },
        },
      };
    }),
    { message: "the second is wrong; 1 of 2 is made" },
  );
  assert.equal((await sql("SELECT * FROM hcqs.changes")).length, 1);
  const listed = () => command((store) => ({ result: String(store.accounts.ids()) }));
  for (const [code, expected] of [
    ["57014", "DATABASE_URL: found no answer within 1 s, expected a database whose schema hcqs isn't locked"],
    [
      "42501",
      "DATABASE_URL: found a database that refuses (refused by the test), expected a user and a schema hcqs that allow changes",
    ],
    [
      "57P01",
      "DATABASE_URL: found a database that can't be used (refused by the test), expected one that answers, and has the user, password and database in it",
    ],
  ]) {
    wire.refusal = (text) => (text.includes("FROM hcqs.limits") ? code : undefined);
    await assert.rejects(listed(), { message: expected });
  }
});

/** A server whose repeated work the test runs. */
async function begin(graceMs = 60_000) {
  const store = Store.inMemory();
  const works = new Map<string, () => void | Promise<void>>();
  const paces: [what: string, everyMs: number][] = [];
  const closers: (() => void | Promise<void>)[] = [];
  const lines: { msg: string; seconds?: number; accounts?: number }[] = [];
  const metrics = new Metrics();
  const settings = readSettings({});
  assert.ok(!Array.isArray(settings));
  const context: PartContext = {
    ...{ settings, metrics, store },
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    fault: () => undefined,
    withRoom: (work) => work(),
    repeat(what, everyMs, work) {
      works.set(what, work);
      paces.push([what, everyMs]);
    },
    atEnd: (close) => void closers.push(close),
    unlessStopping: (work) => work,
  };
  const shared = await shareState({ urls: [wire.url], graceMs }, context);
  const accounts = new Accounts(store, Date.now(), { ceilings: shared.permits });
  const answers: PermitAnswer[] = [];
  await shared.begin(accounts, (_, given) => answers.push(...given));
  return {
    ...{ store, shared, accounts, answers, lines, paces, metrics },
    said: () => lines.map(({ msg }) => msg),
    async run(what: string) {
      await (works.get(what) ?? assert.fail(`no work ${what}`))();
    },
    /** Asks for permits. @returns the answer */
    async ask(count: number): Promise<number[]> {
      answers.length = 0;
      shared.permits.wait(0, count);
      shared.wait(0, [{ slot: 0, count }]);
      const answered = () => answers.reduce((sum, each) => sum + each.count, 0) >= count;
      await until("an answer", async () => {
        await works.get("getting permits")?.();
        return answered();
      });
      return answers.flatMap((each) => Array(each.count).fill(each.monthOrReason));
    },
    async metric(name: string) {
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(await metrics.text())?.[1]);
    },
    async end() {
      for (const close of closers.toReversed()) await close();
    },
  };
}

const reading = "reading accounts and keys from the database";
const looking = "looking for the database";
const usedNow = async () => (await sql<{ used: number }>("SELECT used FROM hcqs.limits"))[0].used;

testEmpty("servers share accounts, permits, counts, events and turns", async (t) => {
  const [one, other] = [await begin(), await begin()];
  assert.deepEqual(one.paces, [
    ["getting permits", 10],
    ["looking for the database", 100],
    ["saving what is admitted alone, and reporting it", 1000],
    ["reading accounts and keys from the database", 250],
    ["reading what all servers count", 10_000],
    ["recording events of all servers", 1000],
    ["taking turns to deliver events", 2000],
  ]);
  assert.ok(one.said().includes("the accounts are those of the database"));
  assert.deepEqual([one.shared.isUnread(), other.shared.delivers()], [false, false]);
  const account = await one.shared.change(() => {
    const made = one.store.accounts.create(
      { name: "acme", plan: "own", burst: 5, quota: 10, webhook: "https://a.example/", webhook_secret: "s" },
      now,
    );
    makeKey(one.store, made.id, null, now);
    return made;
  });
  assert.equal(other.store.accounts.byName("acme"), undefined);
  await other.run(reading);
  assert.equal(other.accounts.slotOf(account.id), 0);
  assert.equal(one.accounts.slotOf(account.id), 0);
  assert.equal(other.store.keys.ofAccount(account.id).length, 1);
  // The other server's event of the threshold is everyone's.
  await database.exec("UPDATE hcqs.limits SET used = 7");
  assert.deepEqual(await one.ask(1), [month]);
  await one.run("recording events of all servers");
  await other.run(reading);
  for (const { store } of [one, other])
    assert.deepEqual(
      store.events.list().map(({ threshold }) => threshold),
      [80],
    );
  await one.run("taking turns to deliver events");
  await other.run("taking turns to deliver events");
  assert.deepEqual([one.shared.delivers(), other.shared.delivers()], [true, false]);
  // A turn has 15 s, and a delivery needs up to 10 s of it.
  const real = performance.now.bind(performance);
  for (const [laterMs, delivers] of [
    [2000, true],
    [5001, false],
  ] as const) {
    const { mock } = t.mock.method(performance, "now", () => real() + laterMs);
    assert.equal(one.shared.delivers(), delivers);
    mock.restore();
  }
  const before = await usedNow();
  assert.ok(before >= 8);
  const yesterday = dayName(Date.now() - 86_400_000);
  await database.exec(`INSERT INTO hcqs.days VALUES (${account.id}, '${yesterday}', 3)`);
  await other.run("reading what all servers count");
  assert.equal(other.store.usage.of(account.id, monthName(month)), before);
  assert.deepEqual(other.store.usage.days(account.id), [{ day: yesterday, used: 3 }]);
  await one.end();
  // Unused permits go back.
  assert.equal(await usedNow(), 8);
  await database.exec("UPDATE hcqs.limits SET used = 10");
  assert.deepEqual(await other.ask(1), [quotaExceeded]);
  assert.equal(await other.metric("hcqs_permit_calls_total"), 1);
  assert.equal(await other.metric("hcqs_permit_rows_total"), 1);
  assert.equal(await other.metric("hcqs_permit_wait_seconds_count"), 1);
  const text = await other.metrics.text();
  assert.deepEqual(
    [...text.matchAll(/^# HELP (hcqs_(?:permit|database).*)$/gm)].map(([, help]) => help),
    [
      "hcqs_permit_calls_total Calls to the database for permits",
      "hcqs_permit_rows_total Accounts in these calls",
      "hcqs_permits_expired_total Permits that weren't used in their life, and went back",
      "hcqs_permits_lost_total Permits asked for by calls that failed. The database may count them as used",
      "hcqs_permit_wait_seconds Time that requests without a permit waited in this server's control thread",
      "hcqs_database_away_seconds Seconds since the shared database went away; 0 while it answers",
    ],
  );
  assert.deepEqual(
    [...text.matchAll(/^hcqs_permit_wait_seconds_bucket\{le="(.*?)"\}/gm)].map(([, bound]) => bound),
    ["0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.4", "+Inf"],
  );
  await other.end();
});

testEmpty(
  "while the database is away, a server goes on alone for a while, and reports what it has admitted",
  async (t) => {
    await command((store) => ({ result: "", entered: [create(store, "acme", 5, 100).id] }));
    const own = await begin();
    const real = performance.now.bind(performance);
    let laterMs = 0;
    t.mock.method(performance, "now", () => real() + laterMs);
    await own.run(looking);
    assert.deepEqual(await own.ask(1), [month]);
    assert.equal(await own.metric("hcqs_database_away_seconds"), 0);
    wire.isAway = true;
    wire.cut();
    /** Looks as often as a server does, so that the time counts as silence. */
    const pass = async (ms: number) => {
      for (let i = 0; i < ms; i += 400) {
        laterMs += 400;
        await own.run(looking);
      }
    };
    await pass(2400);
    assert.match(own.said().at(-1) ?? "", /^the database is away; for these seconds of DATABASE_GRACE/);
    assert.equal(own.lines.at(-1)?.seconds, 60);
    await pass(2000);
    const away = await own.metric("hcqs_database_away_seconds");
    assert.ok(away >= 2 && away < 4, String(away));
    const alone = await own.ask(3);
    assert.deepEqual(alone, [month, month, month]);
    await own.run("saving what is admitted alone, and reporting it");
    assert.ok(own.store.away.all().length > 0);
    const before = await usedNow();
    wire.isAway = false;
    await pass(1200);
    await until("the return", async () => {
      await own.run(looking);
      return own.said().includes("the database is back");
    });
    assert.equal(own.store.away.all().length, 0);
    assert.equal(await own.metric("hcqs_database_away_seconds"), 0);
    assert.ok((await usedNow()) >= before + 3);
    assert.equal(own.store.usage.of(1, monthName(month)), await usedNow());
    // The next absence is longer than the grace.
    wire.isAway = true;
    wire.cut();
    await pass(2800);
    laterMs += 60_000;
    await own.run(looking);
    assert.deepEqual(await own.ask(1), [databaseAway]);
    await own.end();
  },
);

testEmpty("a server that begins without the database knows no accounts, and says so", async (t) => {
  wire.isAway = true;
  const real = performance.now.bind(performance);
  let laterMs = 0;
  t.mock.method(performance, "now", () => {
    laterMs += 1000;
    return real() + laterMs;
  });
  const own = await begin();
  assert.ok(own.said().includes("the accounts can't be read from the database"));
  assert.equal(own.shared.isUnread(), true);
  wire.isAway = false;
  await own.run(reading);
  assert.equal(own.shared.isUnread(), false);
  await own.end();
});
