import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import type { Asked } from "../../../server/parts/postgres/permits.ts";
import { installation } from "../../../server/parts/postgres/schema.ts";
import { dayName, monthOf } from "../../../server/shared/months.ts";
import { newRow, type Row, takeFrom } from "../../support/permit-servers.ts";
import { seededRandom } from "../../support/random.ts";
import { rounds } from "../../support/rounds.ts";
import { newDatabase } from "../../support/virtual-database.ts";

/** Tests the SQL of the servers' database in PostgreSQL as WebAssembly. Its clock is real, so the rows' times are moved. */

const database = await newDatabase();
after(() => database.close());

async function rows<Found>(sql: string, values: readonly unknown[] = []): Promise<Found[]> {
  return (await database.query<Found>(sql, [...values])).rows;
}

interface Taken {
  account: number;
  granted: number;
  used: number;
  wait_ms: number;
  version: number | null;
  month: number;
}

const asking = (account: number, want: number, back = 0, backMonth = 0): Asked => ({
  ...{ account, want, back, backMonth },
});

const take = (asked: readonly Asked[], id: string | null = null) =>
  rows<Taken>("SELECT * FROM hcqs.take($1, $2, $3, $4, $5) ORDER BY account", [
    asked.map(({ account }) => account),
    asked.map(({ want }) => want),
    asked.map(({ back }) => back),
    asked.map(({ backMonth }) => backMonth),
    id,
  ]);

let version = 0;
let versionId: string | null = null;

const change = async (
  expected: number,
  expectedId: string | null,
  id: string,
  changes: readonly (readonly [name: string, content: unknown])[],
  counts: unknown = null,
) =>
  (
    await rows<{ change: number | null }>("SELECT hcqs.change($1, $2, $3, $4, $5, $6)", [
      ...[expected, expectedId, id, changes.map(([name]) => name)],
      changes.map(([, content]) => (content === null ? null : JSON.stringify(content))),
      counts,
    ])
  )[0].change;

/** Makes a change that must succeed. */
async function put(changes: readonly (readonly [string, unknown])[], counts: unknown = null): Promise<void> {
  const id = randomUUID();
  assert.equal(await change(version, versionId, id, changes, counts), version + 1);
  version++;
  versionId = id;
}

let accounts = 0;

async function newAccount(burst: number, quota: number, counts: unknown = null): Promise<number> {
  accounts++;
  await put([[`accounts:${accounts}`, { name: `account ${accounts}`, burst, quota }]], counts);
  return accounts;
}

interface Stored {
  rate: number;
  quota: number;
  month: number;
  used: number;
  used_before: number;
  level: number;
}

const storedOf = async (account: number) =>
  (
    await rows<Stored>(
      "SELECT rate, quota, month, used, used_before, level FROM hcqs.limits WHERE account = $1",
      [account],
    )
  )[0];

const set = (account: number, what: string) =>
  database.query(`UPDATE hcqs.limits SET ${what} WHERE account = $1`, [account]);

const nowMonth = () => monthOf(Date.now());
const endless = 1_000_000_000;

test("the installation runs twice, and makes the schema once", async () => {
  await database.transaction(async (transaction) => {
    await transaction.exec(installation);
  });
  assert.deepEqual(await rows("SELECT schema_version FROM hcqs.installed"), [{ schema_version: 1 }]);
});

test("a new account finds R + 1 tokens, and no more", async () => {
  const account = await newAccount(3, endless);
  const [first] = await take([asking(account, 10)]);
  assert.deepEqual([first.granted, first.used], [4, 4]);
  assert.ok(first.wait_ms > 0 && first.wait_ms <= 1000 / 3, `${first.wait_ms}`);
  assert.deepEqual([first.month, first.version], [nowMonth(), version]);
});

/** When an account's tokens were last counted, in seconds. */
/** When an account's level was set. Seconds as a float would be rounded, and PGlite's clock may stand still meanwhile. */
async function microsecondsOf(account: number): Promise<number> {
  const sql = "SELECT (extract(epoch FROM at) * 1000000)::text AS at FROM hcqs.limits WHERE account = $1";
  return Number((await database.query<{ at: string }>(sql, [account])).rows[0].at);
}

test("the bucket gets R tokens a second, and holds R + 1", async () => {
  const account = await newAccount(10, endless);
  for (const seconds of [0.25, 0.45, 1, 3600]) {
    await set(account, `level = 0, at = clock_timestamp() - interval '${seconds} s'`);
    const before = await microsecondsOf(account);
    const [{ granted }] = await take([asking(account, 50)]);
    const passed = ((await microsecondsOf(account)) - before) / 1e6;
    assert.ok(passed >= seconds, `${passed} s`);
    assert.equal(granted, Math.floor(Math.min(11, 10 * passed)));
  }
});

test("a clock that steps back adds no tokens and takes none away", async () => {
  const account = await newAccount(10, endless);
  await set(account, "level = 3, at = clock_timestamp() + interval '50 s'");
  const [taken] = await take([asking(account, 50)]);
  assert.equal(taken.granted, 3);
  const [again] = await take([asking(account, 50)]);
  assert.ok(again.granted <= 1);
});

test("never more than the quota is granted, also after the quota was lowered", async () => {
  const account = await newAccount(100, 7);
  assert.equal((await take([asking(account, 5)]))[0].granted, 5);
  const [rest] = await take([asking(account, 5)]);
  assert.deepEqual([rest.granted, rest.used], [2, 7]);
  await put([[`accounts:${account}`, { name: "x", burst: 100, quota: 3 }]]);
  const [none] = await take([asking(account, 5)]);
  assert.deepEqual([none.granted, none.used], [0, 7]);
});

test("a newer month begins at 0, and keeps the count of the month before", async () => {
  const account = await newAccount(100, 5);
  const month = nowMonth();
  await set(account, `used = 5, month = ${month - 1}, at = clock_timestamp() - interval '31 days'`);
  const [taken] = await take([asking(account, 2)]);
  assert.deepEqual([taken.granted, taken.used, taken.month], [2, 2, month]);
  const stored = await storedOf(account);
  assert.deepEqual([stored.month, stored.used, stored.used_before], [month, 2, 5]);
});

test("if a month lies between, nothing is kept of the month before", async () => {
  const account = await newAccount(100, 5);
  const month = nowMonth();
  await set(account, `used = 5, used_before = 4, month = ${month - 2}`);
  await take([asking(account, 2)]);
  const stored = await storedOf(account);
  assert.deepEqual([stored.month, stored.used, stored.used_before], [month, 2, 0]);
});

test("if the clock steps back into the month before, permits count in that month and within its quota", async () => {
  const account = await newAccount(100, 5);
  const month = nowMonth();
  await set(account, `used = 1, used_before = 3, month = ${month + 1}`);
  const [taken] = await take([asking(account, 9)]);
  assert.deepEqual([taken.granted, taken.used, taken.month], [2, 5, month]);
  const stored = await storedOf(account);
  assert.deepEqual([stored.month, stored.used, stored.used_before], [month + 1, 1, 5]);
});

test("unused permits go back to their month, and their tokens aren't put back", async () => {
  const account = await newAccount(10, endless);
  const month = nowMonth();
  // With `at` in the future, no tokens come with time.
  await set(account, `used = 50, used_before = 40, level = 5, at = clock_timestamp() + interval '99 s'`);
  await take([asking(account, 0, 7, month)]);
  assert.equal((await storedOf(account)).level, 5);
  await take([asking(account, 0, 6, month - 1)]);
  await take([asking(account, 0, 5, month - 2)]);
  await take([asking(account, 0, 4, 0)]);
  const stored = await storedOf(account);
  assert.deepEqual([stored.used, stored.used_before], [43, 34]);
  await take([asking(account, 0, 1000, month)]);
  assert.equal((await storedOf(account)).used, 0);
});

test("permits that go back make room in the quota for the same call", async () => {
  const account = await newAccount(10, 5);
  await take([asking(account, 5)]);
  const [taken] = await take([asking(account, 4, 3, nowMonth())]);
  assert.deepEqual([taken.granted, taken.used], [3, 5]);
});

test("what was admitted without permits counts once, also above the quota", async () => {
  const [one, other] = [await newAccount(10, 5), await newAccount(10, 5)];
  const month = nowMonth();
  const id = randomUUID();
  const report = [asking(one, 0, -8, month), asking(other, 0, -2, month - 1)];
  await take(report, id);
  await take(report, id);
  assert.equal((await storedOf(one)).used, 8);
  assert.equal((await storedOf(other)).used_before, 2);
  assert.equal((await take([asking(one, 1)]))[0].granted, 0);
  await take([asking(one, 0, -1, month)], randomUUID());
  assert.equal((await storedOf(one)).used, 9);
  await database.query("UPDATE hcqs.turns SET until = clock_timestamp() - interval '1 s' WHERE name = $1", [
    `count:${id}`,
  ]);
  await take([], randomUUID());
  assert.deepEqual(await rows("SELECT name FROM hcqs.turns WHERE name = $1", [`count:${id}`]), []);
});

test("unknown accounts have no row, and a call without accounts does nothing", async () => {
  const account = await newAccount(10, 5);
  const taken = await take([asking(account, 1), asking(999_999, 1)]);
  assert.deepEqual(
    taken.map((row) => row.account),
    [account],
  );
  assert.deepEqual(await take([asking(999_999, 1)]), []);
  assert.deepEqual(await take([]), []);
  assert.deepEqual(await take([], randomUUID()), []);
});

test("a UTC day's end is noted with the count of that day, for 62 days", async () => {
  const account = await newAccount(100, endless);
  const days = () =>
    rows<{ day: string; used: number }>(
      "SELECT day::text, used FROM hcqs.days WHERE account = $1 ORDER BY day",
      [account],
    );
  await take([asking(account, 5)]);
  assert.deepEqual(await days(), []);
  const [{ day }] = await rows<{ day: string }>("SELECT (now() AT TIME ZONE 'UTC')::date::text AS day");
  const before = (count: number) => dayName(Date.parse(day) - count * 86_400_000);
  const moved = async (count: number) => {
    const month = monthOf(Date.parse(before(count)));
    await set(account, `month = ${month}, at = timestamptz '${before(count)} 12:00+00'`);
  };
  await moved(1);
  await take([asking(account, 2)]);
  assert.deepEqual(await days(), [{ day: before(1), used: 5 }]);
  await take([asking(account, 2)]);
  assert.equal((await days()).length, 1);
  await database.query("INSERT INTO hcqs.days VALUES ($1, $2, 1), ($1, $3, 1)", [
    account,
    before(61),
    before(70),
  ]);
  await moved(3);
  await take([asking(account, 1)]);
  assert.deepEqual(
    (await days()).map((one) => one.day),
    [before(61), before(3), before(1)],
  );
});

test("a session's time zone changes neither days nor months", async () => {
  for (const zone of ["Pacific/Kiritimati", "Pacific/Pago_Pago"]) {
    await database.exec(`SET TIME ZONE '${zone}'`);
    const [found] = await rows<{ last: number; first: number }>(
      "SELECT hcqs.month_of('2026-01-31 23:59:59.9+00') AS last, hcqs.month_of('2026-02-01 00:00+00') AS first",
    );
    assert.deepEqual(found, { last: 2026 * 12, first: 2026 * 12 + 1 });
    const account = await newAccount(10, endless);
    await set(account, `used = 3, at = date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'`);
    await take([asking(account, 1)]);
    assert.deepEqual(await rows("SELECT * FROM hcqs.days WHERE account = $1", [account]), []);
  }
  await database.exec("SET TIME ZONE 'UTC'");
});

test("a call grants what the model of the tests grants, over drawn calls", async () => {
  const random = seededRandom(7);
  const month = nowMonth();
  const ids: number[] = [];
  for (let i = 0; i < 4; i++)
    ids.push(await newAccount(random.pick([1, 5, 40]), random.pick([10, 100, endless])));
  for (let i = 0; i < rounds(300); i++) {
    const asked = random
      .shuffled(ids)
      .slice(0, 1 + random.int(4))
      .map((account) =>
        asking(account, random.int(20), random.int(3) * random.int(6), month + random.int(4) - 2),
      );
    // Both get the same row, a little in the future, so that the database's clock adds nothing to the level.
    const models = new Map<number, Row>();
    for (const { account } of asked) {
      const { rate, quota } = await storedOf(account);
      const drawn = {
        ...newRow(rate, quota, Date.now()),
        month: month + random.int(4) - 2,
        ...{ used: random.int(15), usedBefore: random.int(15), level: random.next() * (rate + 1) },
        atMs: Date.now() + 60_000,
      };
      models.set(account, drawn);
      await set(
        account,
        `month = ${drawn.month}, used = ${drawn.used}, used_before = ${drawn.usedBefore}, level = ${drawn.level},
          at = clock_timestamp() + interval '60 s'`,
      );
    }
    const taken = await take(asked);
    for (const one of asked) {
      const model = models.get(one.account) ?? assert.fail();
      const expected = takeFrom(model, one, Date.now());
      const found = taken.find(({ account }) => account === one.account) ?? assert.fail();
      assert.deepEqual([found.granted, found.used], [expected.granted, expected.used], `call ${i}`);
      assert.ok(Math.abs(found.wait_ms - expected.waitMs) < 0.001);
      const stored = await storedOf(one.account);
      const { level, used_before, ...counts } = stored;
      assert.deepEqual(counts, {
        ...{ rate: model.rate, quota: model.quota, month: model.month, used: model.used },
      });
      assert.equal(used_before, model.usedBefore);
      assert.ok(Math.abs(level - model.level) < 0.001);
    }
  }
});

test("a change needs the newest version and its id", async () => {
  await newAccount(1, 1);
  const content = { a: 1 };
  const tries: [number, string | null][] = [
    [version - 1, versionId],
    [version + 1, versionId],
    [version, randomUUID()],
    [version, null],
    [0, null],
  ];
  for (const [expected, id] of tries)
    assert.equal(await change(expected, id, randomUUID(), [["keys:1", content]]), null);
  assert.deepEqual(await rows("SELECT * FROM hcqs.rows WHERE name = 'keys:1'"), []);
  await put([["keys:1", content]]);
  assert.deepEqual(await rows("SELECT version, content FROM hcqs.rows WHERE name = 'keys:1'"), [
    { version, content: '{"a":1}' },
  ]);
});

test("a repeated change is made once, and returns its version also when others followed", async () => {
  const id = randomUUID();
  const [expected, expectedId] = [version, versionId];
  const repeat = () => change(expected, expectedId, id, [["keys:2", { a: 1 }]]);
  assert.equal(await repeat(), expected + 1);
  assert.equal(await repeat(), expected + 1);
  [version, versionId] = [expected + 1, id];
  await put([["keys:2", { a: 2 }]]);
  assert.equal(await repeat(), expected + 1);
  const [{ content }] = await rows<{ content: string }>(
    "SELECT content FROM hcqs.rows WHERE name = 'keys:2'",
  );
  assert.equal(content, '{"a":2}');
});

test("after a restore, a server that knows a lost version can't make a change", async () => {
  const [oldId, old] = [versionId, version];
  await put([["keys:3", { a: 1 }]]);
  const [lostId, lost] = [versionId, version];
  await database.query("DELETE FROM hcqs.changes WHERE version = $1", [lost]);
  assert.equal(await change(lost, lostId, randomUUID(), []), null);
  [version, versionId] = [old, oldId];
  await put([["keys:3", { a: 2 }]]);
  assert.equal(version, lost);
  assert.equal(await change(lost, lostId, randomUUID(), []), null);
});

test("a change sets ceilings at once, and keeps counts and tokens", async () => {
  const account = await newAccount(10, 100);
  await take([asking(account, 8)]);
  await put([[`accounts:${account}`, { name: "x", burst: 20, quota: 9 }]]);
  const stored = await storedOf(account);
  assert.deepEqual([stored.rate, stored.quota, stored.used], [20, 9, 8]);
  assert.ok(stored.level < 4);
  await put([[`keys:${account}`, { account }]]);
  assert.deepEqual(await storedOf(account), stored);
});

test("a deleted account loses its ceilings and days, whether its row is empty or only marked", async () => {
  for (const content of [null, { changed: 5 }]) {
    const account = await newAccount(10, 100);
    await database.query("INSERT INTO hcqs.days VALUES ($1, '2026-01-01', 5)", [account]);
    await put([[`accounts:${account}`, content]]);
    assert.equal(await storedOf(account), undefined);
    assert.deepEqual(await rows("SELECT * FROM hcqs.days WHERE account = $1", [account]), []);
    assert.deepEqual(await take([asking(account, 1)]), []);
  }
});

test("an imported account brings its counts and days", async () => {
  const month = nowMonth();
  const account = accounts + 1;
  await newAccount(10, 100, {
    months: [{ account, month: month - 1, used: 60, used_before: 5 }],
    days: [{ account, day: "2026-01-31", used: 60 }],
  });
  assert.deepEqual(await rows("SELECT day::text, used FROM hcqs.days WHERE account = $1", [account]), [
    { day: "2026-01-31", used: 60 },
  ]);
  const [taken] = await take([asking(account, 20)]);
  assert.deepEqual([taken.granted, taken.used], [11, 11]);
  assert.equal((await storedOf(account)).used_before, 60);
});

test("a turn has one holder, who may renew it, and another takes it when it is over", async () => {
  const turn = async (holder: string, seconds: number) =>
    (await rows<{ take_turn: boolean }>("SELECT hcqs.take_turn('deliver', $1, $2)", [holder, seconds]))[0]
      .take_turn;
  assert.equal(await turn("a", 60), true);
  assert.equal(await turn("b", 60), false);
  assert.equal(await turn("a", -1), true);
  assert.equal(await turn("b", 60), true);
  assert.equal(await turn("a", 60), false);
});
