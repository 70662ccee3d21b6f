import assert from "node:assert/strict";
import { test } from "node:test";
import { burstExceeded, quotaExceeded } from "../../../server/accounts/limits.ts";
import { databaseAway, PermitTable } from "../../../server/accounts/permit-table.ts";
import { type Asked, Permits, type Taken } from "../../../server/parts/postgres/permits.ts";
import type { PermitAnswer } from "../../../server/shared/messages.ts";
import { monthOf } from "../../../server/shared/months.ts";
import { type Ceilings, randomTrial, World, type WorldOptions } from "../../support/permit-servers.ts";

/** Tests servers that share ceilings, in virtual time. */

const open = (ceilings: Ceilings, options: Partial<WorldOptions> = {}) =>
  new World({ seed: 1, servers: 1, delayMs: 0.3, accounts: [ceilings], ...options });

const endless = 1_000_000_000;

test("quota, rate and waits hold through drawn faults", async () => {
  for (let seed = 1; seed <= 10; seed++) assert.deepEqual(await randomTrial(seed), [], `seed ${seed}`);
});

for (const [rate, servers] of [
  [100, 1],
  [500, 1],
  [2000, 1],
  [500, 3],
])
  test(`an account of ${rate} that uses half of it on ${servers} servers hardly waits`, async () => {
    const world = open({ rate, quota: endless }, { servers });
    world.load(0, rate / 2, 6000);
    await world.time.runTo(1000);
    const before = world.outcomes.length;
    await world.time.runTo(6000);
    const later = world.outcomes.slice(before);
    const waited = later.filter(({ waitedMs }) => waitedMs > 0).length;
    assert.ok(waited <= later.length / 100, `${waited} of ${later.length}`);
    assert.ok(later.every(({ monthOrReason }) => monthOrReason >= 0));
  });

test("a rested account finds all of its rate at any one server at once", async () => {
  for (const delayMs of [0, 20, 100])
    for (const rate of [1, 8, 1000]) {
      const world = open({ rate, quota: endless }, { servers: 3, delayMs });
      const { time, servers } = world;
      // The first server has permits in advance, and the account rests then.
      world.load(0, rate / 2, 1000);
      await time.runTo(4000);
      const before = world.outcomes.length;
      for (let i = 0; i < rate; i++) servers[1].request(0);
      await time.runTo(5000);
      const granted = world.outcomes.slice(before).filter(({ monthOrReason }) => monthOrReason >= 0);
      assert.equal(granted.length, rate);
    }
});

test("all of the quota is used, and not one more, although requests fail and are aborted", async () => {
  const world = open({ rate: 200, quota: 700 }, { servers: 3, failing: 0.1, aborting: 0.1 });
  world.load(0, 400, 8000);
  await world.time.runTo(9000);
  assert.equal(world.admitted(0), 700);
  assert.equal(world.rows[0].used, 700);
  const reasons = new Set(world.outcomes.slice(-20).map(({ monthOrReason }) => monthOrReason));
  assert.deepEqual([...reasons], [quotaExceeded]);
});

test("clients that send their next request after an answer never wait for permits that are there", async () => {
  for (const delayMs of [0.3, 3, 20]) {
    const world = open({ rate: 400, quota: endless }, { seed: 3, delayMs });
    const ask = () => {
      if (world.time.nowMs < 3000) world.servers[0].request(0, () => world.time.after(0.5, ask));
    };
    for (let i = 0; i < 8; i++) ask();
    await world.time.runTo(4000);
    const longest = Math.max(...world.outcomes.map(({ waitedMs }) => waitedMs));
    assert.ok(longest < 5 * delayMs + 30, `${longest} ms`);
  }
});

/** A server whose calls the test answers. */
function openByHand() {
  let nowMs = 0;
  const table = new PermitTable();
  const month = 24_000;
  table.month = month;
  table.configure(0, 1000, endless);
  const calls: { asked: readonly Asked[]; grant: (granted: number) => Promise<void>; fail: () => void }[] =
    [];
  const answers: PermitAnswer[] = [];
  const metered: unknown[][] = [];
  const permits = new Permits({
    table,
    accountOf: () => 7,
    take(asked) {
      const { promise, resolve, reject } = Promise.withResolvers<Taken>();
      const grant = async (granted: number) => {
        resolve({ month, grants: [{ account: 7, granted, used: granted, waitMs: 1 }] });
        await new Promise(setImmediate);
      };
      calls.push({ asked, grant, fail: () => reject(new Error("no answer")) });
      return promise;
    },
    answer: (_, given) => answers.push(...given),
    now: () => nowMs,
    meter: {
      called: (accounts) => metered.push(["called", accounts]),
      expired: (count) => metered.push(["expired", count]),
      lost: (count) => metered.push(["lost", count]),
      waited: (requests, ms) => metered.push(["waited", requests, ms]),
    },
  });
  const wait = (count: number) => {
    table.wait(0, count);
    permits.wait(0, [{ slot: 0, count }]);
  };
  const tickAt = (ms: number) => {
    nowMs = ms;
    permits.tick();
  };
  return { table, calls, answers, metered, wait, tickAt, admit: () => table.admit(0, month, nowMs) };
}

test("after the oldest permits were used, the others stay usable until they expire themselves", async () => {
  const { table, calls, wait, tickAt, admit } = openByHand();
  wait(1);
  tickAt(300);
  wait(1);
  await calls[0].grant(3);
  await calls[1].grant(3);
  assert.equal(table.held(0), 4);
  assert.ok(admit() >= 0);
  tickAt(730);
  tickAt(760);
  assert.ok(admit() >= 0);
  tickAt(1035);
  assert.ok(admit() >= 0);
  tickAt(1045);
  assert.equal(table.held(0), 0);
});

test("permits that come while a request begins to wait are given to it", async () => {
  const { table, calls, answers, wait } = openByHand();
  wait(1);
  await calls[0].grant(4);
  answers.length = 0;
  wait(2);
  assert.deepEqual(answers, [{ slot: 0, count: 2, monthOrReason: 24_000 }]);
  assert.deepEqual([table.held(0), calls.length], [1, 1]);
});

test("calls, waits, and permits that expire or may be lost are counted", async () => {
  const { calls, metered, wait, tickAt, table } = openByHand();
  wait(2);
  tickAt(5);
  await calls[0].grant(5);
  assert.deepEqual(metered, [
    ["called", 1],
    ["waited", 2, 5],
  ]);
  metered.length = 0;
  tickAt(800);
  assert.deepEqual([metered[0], table.held(0)], [["expired", 3], 0]);
  metered.length = 0;
  wait(4);
  tickAt(900);
  const lost = calls.at(-1);
  const want = lost?.asked[0].want ?? 0;
  assert.ok(want >= 4);
  lost?.fail();
  await new Promise(setImmediate);
  assert.deepEqual(metered.at(-1), ["lost", want]);
});

test("each request is asked for by the next call, although permits were asked for in advance", async () => {
  const { calls, wait, tickAt } = openByHand();
  wait(1);
  for (let ms = 10; ms <= 100; ms += 10) {
    wait(50);
    tickAt(ms);
  }
  const asked = calls.reduce((sum, { asked: [{ want }] }) => sum + want, 0);
  await calls[0].grant(501);
  assert.ok(asked > 502);
  const before = calls.length;
  wait(1);
  tickAt(200);
  assert.equal(calls.length, before + 1);
});

test("of two answers, the later may be used first", async () => {
  const { calls, wait, tickAt, admit } = openByHand();
  wait(1);
  tickAt(50);
  wait(1);
  tickAt(100);
  assert.equal(calls.length, 2);
  await calls[1].grant(3);
  await calls[0].grant(3);
  for (let i = 0; i < 2; i++) assert.ok(admit() >= 0);
  tickAt(745);
  assert.ok(admit() >= 0);
  tickAt(800);
  assert.ok(admit() < 0);
});

test("when an answer is lost, its requests are refused in time, and permits aren't got for them afterwards", async () => {
  const world = open({ rate: 10, quota: endless }, { delayMs: 1, threads: 1 });
  const { time, servers, rows } = world;
  servers[0].next = "lost call";
  for (let i = 0; i < 8; i++) servers[0].request(0);
  await time.runTo(500);
  assert.deepEqual(
    world.outcomes.map(({ monthOrReason }) => monthOrReason),
    Array(8).fill(databaseAway),
  );
  // The connection ends after 2 s.
  await time.runTo(2050);
  assert.equal(rows[0].used, 0);
  for (let i = 0; i < 10; i++) servers[0].request(0);
  await time.runTo(2100);
  assert.equal(world.admitted(0), 10);
});

test("at most R + 1 requests of an account wait, and the others are refused at once", async () => {
  const world = open({ rate: 5, quota: endless }, { delayMs: 50 });
  for (let i = 0; i < 20; i++) world.servers[0].request(0);
  assert.deepEqual(
    world.outcomes.map(({ monthOrReason }) => monthOrReason),
    Array(14).fill(burstExceeded),
  );
  await world.time.runTo(1000);
  assert.equal(world.admitted(0), 6);
});

test("X-RateLimit-Remaining counts down one by one on a server that is alone with the account", async () => {
  const world = open({ rate: 1000, quota: 10_000 });
  const { time, servers, outcomes } = world;
  for (let i = 1; i <= 600; i++) {
    await time.runTo(3 * i);
    const before = outcomes.length;
    servers[0].request(0);
    await time.runTo(3 * i + 2.9);
    // A request that waits for longer is answered with the next one.
    if (outcomes.length === before + 1)
      assert.equal(outcomes[before].remaining, 10_000 - outcomes.length, `request ${i}`);
  }
  await time.runTo(5000);
  assert.equal(outcomes.length, 600);
  assert.equal(servers[0].table.remaining(0, servers[0].table.month), 9400);
});

test("at a month's end, the quota begins anew and no refusal stays", async () => {
  const end = Date.UTC(2026, 5, 1);
  const accounts = [100, 1000].map((rate) => ({ rate, quota: rate / 5 }));
  const world = new World({ seed: 1, accounts, servers: 2, delayMs: 5, wallMs: end - 1000 });
  // The other account's answers tell of the new month, while the first is refused.
  world.load(0, 100, 1900);
  world.load(1, 1000, 1900);
  world.change(1, 1000, endless);
  await world.time.runTo(6000);
  const [before, after] = [monthOf(end - 1), monthOf(end)];
  assert.deepEqual([world.admitted(0, before), world.admitted(0, after)], [20, 20]);
  const first = world.outcomes.find((one) => one.account === 0 && one.monthOrReason === after);
  assert.ok(first !== undefined && first.atMs < 1100, `${first?.atMs} ms`);
});

test("a raised quota is used at once, and a lowered one is kept", async () => {
  const world = open({ rate: 100, quota: 10 });
  world.load(0, 100, 3000);
  await world.time.runTo(500);
  assert.equal(world.admitted(0), 10);
  world.change(0, 100, 30);
  await world.time.runTo(1000);
  assert.equal(world.admitted(0), 30);
  world.change(0, 100, 20);
  await world.time.runTo(3500);
  assert.equal(world.admitted(0), 30);
});

for (const steadyMs of [2 ** 31 - 1000, 2 ** 32 - 1000])
  test(`the clock's words wrap at ${steadyMs + 1000} ms without harm`, async () => {
    const world = open({ rate: 50, quota: endless }, { steadyMs, servers: 2 });
    world.load(0, 100, 6000);
    await world.time.runTo(7000);
    assert.ok(world.admitted(0) > 0.97 * 50 * 6);
    assert.ok(world.excess(0, 50) <= 1.75 * 50 + 1);
    assert.ok(world.outcomes.every(({ monthOrReason }) => monthOrReason !== databaseAway));
  });

test("a killed server costs at most the permits of its last 0.75 s", async () => {
  const world = open({ rate: 200, quota: endless }, { servers: 2, delayMs: 5 });
  world.load(0, 300, 3000);
  await world.time.runTo(3000);
  const [{ used }] = world.rows;
  world.servers[0].kill();
  await world.time.runTo(9000);
  const lost = world.rows[0].used - world.admitted(0);
  assert.ok(lost <= world.lost[0] && world.lost[0] <= 0.75 * 200 + 202, `${lost} of ${used}`);
});
