import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { forget, serversOf } from "../../server/parts/replicas/records.ts";
import { monthKey, sharesIn } from "../../server/parts/replicas/redis.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";

/** Tests single calls of `shares.lua`, among them late and lost calls. */

let redis: RedisServer;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());
let ms = 0;
let run = 0;
beforeEach(async () => {
  await redis.client.flushall();
  ms = 1e12;
  run++;
  quota = 1000;
});

const months = ["2026-01", "2026-02"];
let quota = 1000;

interface Answer {
  gone?: true;
  life: string;
  isLearning: boolean;
  members: number;
  part: number;
  read: number;
  flags: string[];
  rows: { active?: true; share?: number; months: Record<string, MonthAnswer> }[];
}
interface MonthAnswer {
  granted: number;
  total: number;
  tight?: true;
  copy?: string;
}

class Caller {
  readonly said = { seq: 0, answered: 0, life: "", read: 0, part: 0, knew: 0 };
  months = months;
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  async call(rows: object[] = [], more: object = {}): Promise<Answer> {
    this.said.seq++;
    const answer = await sharesIn(redis.client)<Answer>(this.months, {
      ...{ op: "tick", server: this.#name, taken: "0", check: true, hasMore: false, isLeaving: false },
      ...{ elapsed: 1e6, ms, run: `run${run}`, ...this.said, rows, ...more },
    });
    const { life, read, part } = answer;
    const known = { life, read, part, answered: this.said.seq };
    Object.assign(this.said, answer.gone ? { life: "", read: 0, part: 0 } : known);
    return answer;
  }

  async report(used: number, granted: number, wanted = 0, more: object = {}): Promise<MonthAnswer> {
    const month = { quota, base: 0, used, granted, wanted, fresh: true, ...more };
    const { rows } = await this.call([{ id: 1, burst: 10, months: { [months[0]]: month } }]);
    return rows[0].months[months[0]];
  }

  async demand(demand: number, share: number) {
    const { rows } = await this.call([{ id: 1, burst: 10, months: {}, demand, share }]);
    return rows[0];
  }
}

/** Makes servers that have their parts. Redis' learning period is over. */
async function callers(...names: string[]): Promise<Caller[]> {
  const all = names.map((name) => new Caller(name));
  for (let i = 0; i < 4; i++) {
    for (const caller of all) await caller.call();
    ms += 1000;
  }
  return all;
}

const record = async () => JSON.parse((await redis.client.hget(monthKey(months[0]), "1")) ?? "{}");
const lose = async (...keys: string[]) => {
  await (keys.length > 0 ? redis.client.del(keys) : redis.client.flushall());
};

test("an idle server's heartbeat writes one field in Redis", async () => {
  const [a] = await callers("a", "b");
  await a.report(5, 20, 20);
  const changes = async () =>
    Number(/rdb_changes_since_last_save:(\d+)/.exec(await redis.client.info("persistence"))?.[1]);
  const before = await changes();
  ms += 1000;
  await a.call();
  assert.equal((await changes()) - before, 1);
  await a.report(5, 20);
  assert.equal((await changes()) - before, 2, "a report without news writes no record");
});

test("a silent server is gone a minute after its last call, even if Redis' clock is changed", async () => {
  for (const by of [600_000, -600_000]) {
    const [a] = await callers("a", "b");
    ms += by;
    assert.equal((await a.call([], { elapsed: 100 })).members, 2);
    for (const [seconds, members] of [
      [50, 2],
      [12, 1],
    ]) {
      ms += seconds * 1000;
      assert.equal((await a.call([], { elapsed: seconds * 1000 })).members, members);
    }
    await redis.client.flushall();
  }
});

test("after a Redis outage of over a minute, a server that hasn't called yet isn't gone", async () => {
  const [a] = await callers("a", "b");
  run++;
  ms += 100_000;
  assert.equal((await a.call()).members, 2);
});

test("a forgotten server is listed again when it calls", async () => {
  const [a, b] = await callers("a", "b");
  ms += 61_000;
  await a.call();
  await forget(redis.client, "b", months);
  const listed = async () => (await serversOf(redis.client)).map(({ id }) => id).sort();
  assert.deepEqual(await listed(), ["a"]);
  for (let i = 0; i < 2; i++) await b.call();
  assert.deepEqual(await listed(), ["a", "b"]);
});

test("a forgotten server that comes back gets no part of its old lease that others hold now", async () => {
  const [a, b] = await callers("a", "b");
  const { granted } = await b.report(0, 0, 600);
  ms += 61_000;
  await a.call();
  await forget(redis.client, "b", months);
  for (let i = 0, held = 0; i < 20; i++) held = (await a.report(0, held, 1000)).granted;
  const held = (await record()).servers.a.granted;
  assert.ok(granted > 200 && held > quota - granted, `${granted} and ${held}`);
  assert.ok((await b.call()).gone);
  await b.call([], { hasMore: true });
  b.said.life = "";
  const late = await b.report(10, granted);
  assert.ok(late.granted + held <= quota, `${late.granted} and ${held}`);
});

test("setting Redis' clock back while no server runs starts no recovery at the next start", async () => {
  const [a] = await callers("a");
  await a.call([], { isLeaving: true });
  ms -= 600_000;
  assert.equal((await new Caller("b").call()).isLearning, false);
});

test("a joining server gets its part of the rate after the others confirm smaller parts", async () => {
  const [a] = await callers("a");
  const b = new Caller("b");
  await b.call();
  assert.deepEqual((await b.call()).part, 0);
  assert.deepEqual((await a.call()).part, 0.5);
  assert.deepEqual((await b.call()).part, 0, "a hasn't said so");
  await a.call([], { hasMore: true });
  assert.deepEqual((await b.call()).part, 0, "a hasn't reported all");
  await a.call();
  assert.deepEqual((await b.call()).part, 0.5);
  await b.call([], { isLeaving: true });
  assert.deepEqual((await a.call()).part, 1);
});

test("a call that arrives long after its server has left changes nothing", async () => {
  const [a, b] = await callers("a", "b");
  await a.report(5, 20, 20);
  const late = { ...a.said };
  await a.call([], { isLeaving: true });
  for (const seconds of [5, 6, 300]) {
    ms += seconds * 1000;
    const { life } = await b.call();
    a.said.seq = late.seq;
    const answer = await a.call([], late);
    assert.ok(answer.gone || "stale" in answer, `${seconds} s`);
    const after = await b.call();
    assert.deepEqual([after.life === life, after.members], [true, 1]);
  }
});

test("a leaving server's count is added once, even if its call repeats or it was declared gone", async () => {
  const [a, b] = await callers("a", "b");
  await a.report(20, 20);
  const month = { quota, base: 0, used: 30, granted: 30, wanted: 0, fresh: false };
  const rows = [{ id: 1, burst: 10, months: { [months[0]]: month } }];
  for (let i = 0; i < 2; i++) await a.call(rows, { isLeaving: true, life: b.said.life });
  const { left, servers } = await record();
  assert.deepEqual([left, servers], [{ a: 30 }, {}]);
  // Redis restarts with its data. Then a call arrives again that the server had sent before it left.
  run++;
  ms += 9000;
  await b.call();
  await a.call(rows);
  assert.deepEqual((await record()).servers, {});
  await b.report(5, 5);
  const c = new Caller("c");
  ms += 61_000;
  for (let i = 0; i < 2; i++) assert.equal((await c.call()).members, 1);
  assert.ok((await b.call()).gone, "it has to join again");
  await b.call(rows, { isLeaving: true, life: c.said.life });
  assert.deepEqual((await record()).left, { a: 30, b: 30 });
});

test("after Redis loses its data, a silent server's part of the rate stays unused", async () => {
  const [a, b] = await callers("a", "b", "c");
  const all = [a, b, new Caller("d")];
  for (const caller of [a, b]) caller.said.knew = 3;
  await lose();
  for (let i = 0; i < 8; i++) {
    for (const caller of all) await caller.call();
    ms += 1000;
    all[2].said.knew = 3;
  }
  const sum = all.reduce((total, { said }) => total + said.part, 0);
  assert.ok(sum > 0.6 && sum < 0.67, `${sum}`);
});

test("servers report again after each restore of Redis from a backup, even if its clock is set back", async () => {
  const [a] = await callers("a");
  await a.report(5, 20, 20);
  const meta = await redis.client.hget("hc:{0}:servers", "meta");
  const lives = [];
  for (let i = 0; i < 2; i++) {
    run++;
    ms -= 100_000;
    await redis.client.hset("hc:{0}:servers", { meta: meta ?? "" });
    lives.push((await a.call()).life);
  }
  assert.notEqual(lives[0], lives[1]);
});

for (const isKnown of [true, false])
  test(`servers report again after a backup ${isKnown ? "" : "from before a server's start "}is put back into a Redis that goes on running`, async () => {
    const [a] = await callers("a");
    const b = new Caller("b");
    if (isKnown) await b.call();
    await a.report(5, 20, 20);
    const saved = await redis.client.hgetall("hc:{0}:servers");
    let { life } = await b.call();
    for (const [time, passedMs] of [
      ["first", 5000],
      ["second, with the clock set back", -100_000],
    ] as const) {
      await a.report(100, 100, 0);
      ms += passedMs;
      await redis.client.del("hc:{0}:servers");
      await redis.client.hset("hc:{0}:servers", saved);
      const answer = await b.call();
      assert.deepEqual([answer.life === life, answer.isLearning], [false, true], `${time} time`);
      life = answer.life;
      ms += 10;
      assert.equal((await a.call()).life, life, `${time} time`);
    }
  });

test("a lost record is restored from the newest copy, and reports since the loss take precedence", async () => {
  const [a, b] = await callers("a", "b");
  const old = await a.report(10, 50, 0);
  const { copy } = await a.report(20, 50, 50);
  await b.report(1, 20, 20);
  await lose();
  await b.call();
  await a.report(30, 50);
  await b.report(2, 20, 0, { copy });
  assert.equal((await record()).servers.a.used, 30);
  await a.report(30, 50, 0, { copy: old.copy });
  const { servers, n } = await record();
  assert.deepEqual([servers.a.used, servers.b.used, n], [30, 2, JSON.parse(copy ?? "").n]);
  ms += 2500;
  assert.equal((await b.report(2, 20)).total, 32);
  // The script uses a server's copy of a record only while Redis learns what it lost. So this copy is ignored.
  await b.report(2, 20, 0, { copy: JSON.stringify({ ...JSON.parse(copy ?? ""), n: 99, left: { z: 500 } }) });
  assert.deepEqual((await record()).left, {});
});

test("after a loss, Redis learns until all known servers have called, but not a new one in place of them", async () => {
  const [a, b] = await callers("a", "b");
  a.said.knew = 2;
  await lose();
  const asked = async (more: readonly Caller[]) => {
    for (const caller of more) await caller.call();
    ms += 100;
    return (await a.call()).isLearning;
  };
  assert.equal(await asked([a]), true);
  ms += 2500;
  const added = new Caller("c");
  assert.equal(await asked([added, added]), true);
  b.said.knew = 2;
  assert.equal(await asked([b]), true);
  ms += 100;
  assert.equal(await asked([b]), false);
  // When a server leaves, Redis doesn't begin to learn again.
  await b.call([], { isLeaving: true });
  assert.equal(await asked([]), false);
});

test("after a restart of Redis, a server gets the part of a server that leaves", async () => {
  const [a, b] = await callers("a", "b");
  run++;
  for (const caller of [a, b, a, b]) {
    caller.said.knew = 2;
    await caller.call();
  }
  ms += 2500;
  await b.call([], { isLeaving: true });
  await a.call();
  assert.equal((await a.call()).part, 1);
  // A minute after the restart, nothing is left of server b.
  ms += 60_000;
  for (let i = 0; i < 2; i++) await a.call();
  assert.doesNotMatch((await redis.client.hget("hc:{0}:servers", "meta")) ?? "", /"b"/);
});

test("a loss that a new server finds is learned from the servers that were known before", async () => {
  const [a, b] = await callers("a", "b");
  const { copy } = await a.report(10, 50);
  for (const caller of [a, b]) caller.said.knew = 2;
  await lose();
  const added = new Caller("c");
  await added.call();
  ms += 2500;
  await added.call();
  assert.equal((await added.call()).isLearning, false);
  assert.equal((await a.call()).isLearning, true);
  await a.report(10, 50, 0, { copy });
  assert.equal((await record()).servers.a.used, 10);
  for (const caller of [b, b]) await caller.call();
  assert.equal((await a.call()).isLearning, false);
});

for (const op of ["servers", "keep"])
  test(`a loss that the call ${op} finds is learned from the first call of a server on`, async () => {
    const [a] = await callers("a", "b");
    const { copy } = await a.report(10, 50);
    a.said.knew = 2;
    await lose();
    const rows = [{ id: 1, burst: 7, quota: 700 }];
    await sharesIn(redis.client)(months, { op, ms, run: `run${run}`, check: true, rows });
    ms += 3000;
    assert.equal((await a.call()).isLearning, true);
    await a.report(10, 50, 0, { copy });
    assert.equal((await record()).servers.a.used, 10);
  });

test("ceilings reported since a loss aren't lowered by an older copy of the record", async () => {
  const [a, b] = await callers("a", "b");
  const { copy } = await a.report(10, 50);
  await lose();
  const month = { quota: 2000, base: 0, used: 1, granted: 1, wanted: 0, fresh: false };
  await b.call([{ id: 1, burst: 70, months: { [months[0]]: month } }]);
  await a.report(10, 50, 0, { copy });
  const { burst, quota } = await record();
  assert.deepEqual([burst, quota], [70, 2000]);
});

test("counts of a server's earlier processes are added once to a record that lacks them", async () => {
  await callers("a.1");
  await lose();
  run++;
  const start = async (name: string, base: number) => {
    const caller = new Caller(name);
    const { total } = await caller.report(0, 0, 0, { base });
    // The same `base` is reported again and must not be added twice.
    assert.equal((await caller.report(0, 0, 0, { base })).total, total);
    return total;
  };
  assert.equal(await start("a.2", 300), 300);
  assert.equal(await start("b.2", 290), 590);
  ms += 3_600_000;
  assert.equal(await start("c.2", 10), 600);
  assert.equal(await start("b.3", 290), 600);
  assert.equal(await start("b.4", 295), 605);
});

test("counts that killed processes didn't report are added once, first to the leases of these processes", async () => {
  for (const name of ["a.1", "a.2"]) {
    const [caller] = await callers(name);
    await caller.report(100, 150);
  }
  const [next] = await callers("a.3");
  for (const base of [200, 200, 230, 230, 360, 360])
    assert.equal((await next.report(0, 0, 0, { base })).total, base);
  const { left, servers } = await record();
  const leases = ["a.1", "a.2"].map((name) => [servers[name].used, servers[name].granted]);
  assert.deepEqual(
    [left, leases],
    [
      { a: 60 },
      [
        [150, 150],
        [150, 150],
      ],
    ],
  );
});

for (const isCopyFirst of [true, false])
  test(`counts that an older backup lacks stay if a newer copy comes ${isCopyFirst ? "before" : "after"} them`, async () => {
    const [a, b] = await callers("a.1", "b.1");
    await a.report(300, 300);
    const saved = await redis.client.hgetall("hc:{0}:servers");
    const savedRecord = await record();
    const [next] = await callers("a.2");
    await next.report(100, 110, 0, { base: 300 });
    const { copy } = await b.report(2, 2);
    await lose();
    run++;
    await redis.client.hset("hc:{0}:servers", saved);
    await redis.client.hset(monthKey(months[0]), "1", JSON.stringify(savedRecord));
    const [last, later] = ["a.3", "a.4"].map((name) => new Caller(name));
    const reports = [
      () => b.report(2, 2, 0, { copy }),
      async () => {
        await last.report(5, 9, 0, { base: 450 });
        await later.report(10, 90, 0, { base: 457 });
      },
    ];
    for (const report of isCopyFirst ? reports : reports.reverse()) await report();
    ms += 7000;
    for (let i = 0; i < 2; i++) await b.call();
    assert.equal((await b.report(2, 2)).total, 469);
    assert.equal((await later.report(10, 90, 0, { base: 457 })).total, 469);
  });

test("the highest rate that a server has reported determines the credits", async () => {
  const [a, b] = await callers("a", "b");
  const month = { quota, base: 0, used: 0, granted: 0, wanted: 0, fresh: false };
  for (const burst of [10, 400]) await a.call([{ id: 1, burst, months: { [months[0]]: month } }]);
  for (let i = 0, held = 0; i < 20; i++) held = (await b.report(0, held, 1000)).granted;
  // At the rate 400, server a has a credit of a quarter of its half of the quota. Redis grants server b only the rest.
  assert.ok((await record()).servers.b.granted <= quota - quota / 8);
});

test("after a loss, a server has its part while its report takes several calls", async () => {
  const [a] = await callers("a", "b");
  a.said.knew = 2;
  await lose();
  await a.call([], { hasMore: true });
  const { servers } = JSON.parse((await redis.client.hget("hc:{0}:servers", "meta")) ?? "");
  assert.equal(servers.a.part, 0.5);
});

for (const granted of [110, 200])
  for (const isCopyFirst of [true, false]) {
    const when = isCopyFirst ? "after" : "before";
    test(`counts that a copy with a lease of ${granted} lacks are added by a restarted server's report ${when} the copy`, async () => {
      const [a, b] = await callers("a.1", "b.1");
      await a.report(100, granted);
      const { copy } = await b.report(10, 10);
      const month = { quota, base: 0, used: 150, granted: 150, wanted: 0, fresh: false };
      await a.call([{ id: 1, burst: 10, months: { [months[0]]: month } }], { isLeaving: true });
      assert.deepEqual((await record()).left, { a: 150 });
      await lose();
      run++;
      const next = new Caller("a.2");
      if (!isCopyFirst) await next.report(0, 0, 0, { base: 150 });
      await b.report(10, 10, 0, { copy });
      if (isCopyFirst) await next.report(0, 0, 0, { base: 150 });
      const { left, servers } = await record();
      const used = Math.min(150, granted);
      assert.deepEqual(
        [left.a ?? 0, servers["a.1"].used, servers["a.1"].granted],
        [150 - used, used, granted],
      );
      ms += 6000;
      await b.call();
      assert.equal((await b.report(10, 10)).total, 160);
    });
  }

test("no lease is granted during recovery, and one reported too late is kept only if quota is left", async () => {
  const [a, b] = await callers("a", "b");
  const { granted } = await a.report(0, 0, 600);
  assert.ok(granted >= 200, String(granted));
  await lose();
  assert.ok((await b.call()).isLearning);
  assert.equal((await b.report(0, 0, 400)).granted, 0);
  ms += 2500;
  await b.call();
  for (let i = 0; i < 20; i++) await b.report(0, (await record()).servers.b.granted, 1000);
  const held = (await record()).servers.b.granted;
  assert.ok(held > 900, String(held));
  const late = await a.report(50, granted);
  assert.equal(late.granted, Math.max(50, quota - held));
  // When the quota becomes smaller, a server keeps its grant until it reports a smaller grant.
  quota = 300;
  assert.equal((await b.report(0, held)).granted, held);
});

test("a nearly used-up month is flagged for new servers even after its flag was lost", async () => {
  const [a] = await callers("a", "b");
  const { tight, copy } = await a.report(995, 995);
  assert.ok(tight);
  const flags = async (name: string) => (await new Caller(name).call()).flags;
  assert.deepEqual(await flags("c"), ["1@2026-01"]);
  await lose("hc:{0}:flags");
  await a.call();
  await a.report(995, 995);
  assert.deepEqual(await flags("d"), ["1@2026-01"]);
  await lose();
  await a.call();
  await a.report(995, 995, 0, { copy });
  assert.deepEqual(await flags("e"), ["1@2026-01"]);
});

test("a record is written when only its flag changes", async () => {
  const [a] = await callers("a");
  assert.equal((await a.report(979, 979)).tight, undefined);
  await callers("a", "b");
  a.said.seq += 10;
  await a.report(979, 979);
  assert.notEqual((await record()).tight, undefined);
});

test("a record is written when only its total changes, because a server with the rest of the quota is gone", async () => {
  const [a, b] = await callers("a", "b");
  await a.report(100, 100);
  for (let held = 0; held < quota - 100; await a.call()) held = (await b.report(0, held, quota)).granted;
  await a.report(100, 100);
  assert.equal((await record()).total, 100);
  ms += 61_000;
  await a.report(100, 100);
  assert.equal((await record()).total, quota);
});

test("new servers get no flags of a month that isn't tight any more, and of an account that is at rest again", async () => {
  const [a] = await callers("a");
  assert.ok((await a.report(995, 995)).tight);
  await a.demand(10, 0);
  const flags = async (name: string) => (await new Caller(name).call()).flags;
  assert.deepEqual(await flags("b"), ["1@2026-01", "1"]);
  quota = 9000;
  assert.equal((await a.report(995, 995)).tight, undefined);
  await a.demand(0, 0);
  // An empty list comes from Lua as an object.
  assert.deepEqual(await flags("c"), {});
});

test("flags of a month are removed when the month is over", async () => {
  const [a] = await callers("a");
  const next = { [months[1]]: { quota, base: 0, used: 995, granted: 995, wanted: 0, fresh: false } };
  assert.ok((await a.report(995, 995)).tight);
  await a.call([{ id: 1, burst: 10, months: next, demand: 10, share: 0 }]);
  const flags = () => redis.client.zrange("hc:{0}:flags", "0", "-1");
  assert.deepEqual(await flags(), ["1@2026-01", "1", "1@2026-02"]);
  a.months = ["2026-02", "2026-03"];
  await a.call([{ id: 1, burst: 10, months: next }]);
  assert.deepEqual(await flags(), ["1@2026-01", "1", "1@2026-02"]);
  const later = { [a.months[1]]: { ...next[months[1]], used: 1, granted: 1 } };
  const { isLearning } = await a.call([{ id: 1, burst: 10, months: later }]);
  assert.deepEqual(await flags(), ["1", "1@2026-02"]);
  ms += 1000;
  assert.deepEqual([isLearning, (await a.call()).isLearning], [false, false]);
});

test("a gone server's credit counts only in the months that it has called with", async () => {
  const [a] = await callers("a");
  const gone = new Caller("b");
  gone.months = ["2025-12", "2026-01"];
  for (let i = 0; i < 3; i++) {
    await gone.call();
    await a.call();
    ms += 1000;
  }
  ms += 61_000;
  const month = { quota, base: 0, used: 0, granted: 0, wanted: 5000, fresh: false };
  const granted = async (name: string) => {
    const row = (more: object) => ({ id: 1, burst: 400, months: { [name]: { ...month, ...more } } });
    for (let held = 0; ; ) {
      const { rows } = await a.call([row({ granted: held })]);
      const next = rows[0].months[name].granted;
      if (next === held) return held;
      held = next;
    }
  };
  // The part of the gone server was 1/2. Its credit, a quarter of that part of the quota, stays charged.
  assert.ok((await granted("2026-01")) <= quota - quota / 8);
  assert.equal(await granted("2026-02"), quota);
});

test("each key that Redis drops starts one recovery, and month keys expire", async () => {
  const [a] = await callers("a", "b");
  await a.report(0, 0, 100);
  assert.ok((await redis.client.pttl(monthKey(months[0]))) > 90 * 86_400_000);
  for (const key of [monthKey(months[0]), "hc:{0}:servers"]) {
    await lose(key);
    assert.ok((await a.call()).isLearning, key);
    ms += 1500;
    await a.call();
    ms += 600;
    assert.ok(!(await a.call()).isLearning, `${key} is missed once`);
    ms += 2500;
    await a.call();
    await a.report(0, 100, 150);
  }
});

test("an account is inactive when no server has a share, or 5 s after its last demand, and regains its shares after a loss", async () => {
  const [a, b] = await callers("a", "b");
  await b.demand(1, 0);
  for (const [seconds, demand, share, isActive] of [
    [4, 10, 0, true],
    [4.9, 0, 5, true],
    [0.2, 0, 5, undefined],
    [0.1, 0, 0, undefined],
    [0.1, 1, 0, true],
    [0.1, 0, 1, true],
    [0.1, 0, 0, undefined],
  ] as const) {
    ms += seconds * 1000;
    assert.equal((await a.demand(demand, share)).active, isActive, `${seconds} s, ${demand}, ${share}`);
  }
  await b.demand(1, 0);
  ms += 3000;
  assert.equal((await a.demand(0, 0)).active, true, "another server's share");
  ms += 600;
  assert.equal((await a.demand(0, 0)).active, undefined, "after its end");
  await lose();
  await b.call();
  assert.deepEqual(await a.demand(10, 5), { months: {} });
  ms += 2500;
  await b.call();
  await a.call();
  assert.equal((await a.demand(10, 0)).share, 5);
});

test("servers share the rate in proportion to their demand when it exceeds the rate", async () => {
  const all = await callers("a", "b", "c");
  const demands = [10, 2, 8];
  let shares: (number | undefined)[] = [0, 0, 0];
  for (let i = 0; i < 5; i++) {
    const told: (number | undefined)[] = [];
    for (const [j, caller] of all.entries())
      told.push((await caller.demand(demands[j], shares[j] ?? 0)).share);
    shares = told;
    for (const caller of all) await caller.call();
  }
  assert.deepEqual(
    shares.map((share) => Math.round(10 * (share ?? 0))),
    [50, 10, 40],
  );
});

test("a server's share stays reserved for it until it has read the account's flag", async () => {
  const [a, b] = await callers("a", "b");
  const first = await a.demand(10, 0);
  assert.deepEqual([first.active, first.share], [true, 5], "b may use its part");
  const { read, flags } = await b.call([], { hasMore: true });
  assert.deepEqual(flags, ["1"]);
  assert.equal((await a.demand(10, 5)).share, 5);
  Object.assign(b.said, { read });
  await b.call();
  assert.equal((await a.demand(10, 5)).share, 10);
  // An idle server gives up its share at once. A silent server's share is free when it expires.
  assert.equal((await b.demand(10, 0)).share, 0);
  ms += 1000;
  assert.equal((await a.demand(10, 5)).share, 5);
  assert.equal((await b.demand(10, 0)).share, 5);
  ms += 3400;
  assert.equal((await a.demand(10, 5)).share, 5);
  ms += 200;
  assert.equal((await a.demand(10, 5)).share, 5, "what it holds of its part");
});
