import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { forget, serversBehind, serversOf } from "../../server/parts/replicas/records.ts";
import { type ScriptClient, sharesIn } from "../../server/parts/replicas/redis.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";
import { type Ceilings, Simulation } from "../support/shares-simulation.ts";

/** Tests servers that share ceilings through the script in a real Redis. Time and network are simulated. */

let redis: RedisServer;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());
beforeEach(async () => {
  await redis.client.flushall();
});

async function servers(count: number, ...accounts: Ceilings[]) {
  const simulation = new Simulation({ seed: 1, client: redis.client, accounts });
  for (let i = 0; i < count; i++) simulation.add();
  await simulation.run(6000);
  assert.ok(simulation.servers.every(({ shares }) => shares.isReady));
  return simulation;
}

type Server = Simulation["servers"][number];

/**
 * Plans requests at equal intervals from now on.
 * @param serverOf chooses the server of the i-th request at the time of the request; by default all servers in turn
 */
function load(
  simulation: Simulation,
  requests: number,
  everyMs: number,
  serverOf: (i: number) => Server = (i) => simulation.servers[i % simulation.servers.length],
  account = 0,
): void {
  for (let i = 0; i < requests; i++)
    simulation.at(simulation.nowMs + i * everyMs, () => void simulation.request(serverOf(i), account));
}

/** Sends a hundred requests at the same moment to each running server. @returns the numbers of admitted requests */
const admittedAtOnce = (simulation: Simulation) =>
  simulation.servers
    .filter(({ isUp }) => isUp)
    .map((server) => Array.from({ length: 100 }, () => simulation.request(server, 0)).filter(Boolean).length);

/** Makes requests until `count` were admitted. @param only the index of a server; by default all servers in turn */
async function useUp(simulation: Simulation, count: number, only?: number): Promise<void> {
  for (let i = 0; simulation.tally(0).admitted < count; i++) {
    simulation.request(simulation.servers[only ?? i % simulation.servers.length], 0);
    await simulation.run(simulation.nowMs + 50);
  }
}

/** Stops all servers in an orderly way. Then Redis loses the key `lostKey`, or everything. */
async function stopAll(simulation: Simulation, lostKey?: string): Promise<void> {
  for (const server of simulation.servers) simulation.leave(server);
  await simulation.run(simulation.nowMs + 1000);
  await (lostKey === undefined ? simulation.restartRedis("empty") : simulation.dropKey(lostKey));
}

const months = ["2026-01", "2026-02"];

test("the script is sent to Redis once, and ignores a repeated call", async () => {
  await redis.client.script("FLUSH");
  const script = sharesIn(redis.client);
  const call = {
    op: "tick",
    server: "a.1",
    answered: 0,
    life: "",
    read: 0,
    part: 0,
    knew: 0,
    elapsed: 0,
    rows: [],
  };
  const { life } = await script<{ life: string }>(months, { ...call, seq: 1 });
  await redis.client.config("RESETSTAT");
  assert.equal((await script<{ life: string }>(months, { ...call, seq: 2, life })).life, life);
  assert.doesNotMatch(await redis.client.info("commandstats"), /cmdstat_(info|eval):/);
  assert.deepEqual(await script(months, { ...call, seq: 2, life }), { stale: true });
});

test("each server can use its part of an idle account's rate at once, and all within 3 s", async () => {
  const simulation = await servers(3, { burst: 60, quota: 100_000 });
  assert.deepEqual(admittedAtOnce(simulation), [20, 20, 20]);
  await simulation.run(simulation.nowMs + 10_000);
  load(simulation, 1200, 5, () => simulation.servers[0]);
  await simulation.run(simulation.nowMs + 3000);
  const before = simulation.tally(0).admitted;
  await simulation.run(simulation.nowMs + 2000);
  assert.ok(simulation.tally(0).admitted - before >= 118);
  await simulation.run(simulation.nowMs + 12_000);
  assert.deepEqual(admittedAtOnce(simulation), [20, 20, 20]);
  assert.equal(simulation.overRate, 0);
});

test("bursts within a server's part of the rate get no refusals after pauses of two seconds and more", async () => {
  for (const pauseMs of [2000, 3000, 5000]) {
    await redis.client.flushall();
    const simulation = await servers(2, { burst: 50, quota: 100_000 });
    for (let burst = 0; burst < 10; burst++) {
      load(simulation, 20, 4, () => simulation.servers[0]);
      await simulation.run(simulation.nowMs + pauseMs);
    }
    assert.equal(simulation.tally(0).admitted, 200, `${pauseMs} ms`);
  }
});

test("an account becomes inactive again after the only server that used it dies", async () => {
  const simulation = await servers(3, { burst: 60, quota: 100_000 });
  load(simulation, 400, 10, () => simulation.servers[2]);
  await simulation.run(simulation.nowMs + 4000);
  simulation.kill(simulation.servers[2]);
  await simulation.run(simulation.nowMs + 90_000);
  assert.deepEqual(admittedAtOnce(simulation), [30, 30]);
});

for (const count of [2, 3, 4])
  test(`a client that rotates among ${count} servers and waits after refusals gets all of a small quota`, async () => {
    const quotas = [1, 2, 3, 5, 10, 20];
    const simulation = await servers(count, ...quotas.map((quota) => ({ burst: 10, quota })));
    const ask = (account: number, turn: number) => {
      const isAdmitted = simulation.request(simulation.servers[turn % count], account);
      simulation.at(simulation.nowMs + (isAdmitted ? 20 : 1020), () => ask(account, turn + 1));
    };
    for (const account of quotas.keys()) ask(account, 0);
    await simulation.run(simulation.nowMs + 90_000);
    assert.deepEqual(
      quotas.map((_, account) => simulation.tally(account).admitted),
      quotas,
    );
  });

test("after a quota is lowered, old leases don't exceed it, even while servers are cut off", async () => {
  for (const cutMs of [0, 3000]) {
    await redis.client.flushall();
    const ceilings = { burst: 30, quota: 1000 };
    const simulation = await servers(3, ceilings);
    load(simulation, 30, 20);
    await simulation.run(simulation.nowMs + 590);
    ceilings.quota = 42;
    for (const { shares } of simulation.servers) shares.enter(0);
    for (const server of simulation.servers) server.isCut = cutMs > 0;
    admittedAtOnce(simulation);
    await simulation.run(simulation.nowMs + cutMs);
    for (const server of simulation.servers) server.isCut = false;
    load(simulation, 300, 30);
    await simulation.run(simulation.nowMs + 12_000);
    assert.equal(simulation.tally(0).admitted, 42);
    ceilings.quota = 200;
    for (const { shares } of simulation.servers) shares.enter(0);
    load(simulation, 300, 30);
    await simulation.run(simulation.nowMs + 12_000);
    assert.equal(simulation.tally(0).admitted, 200, "a higher one is used up");
  }
});

test("a server reads all records again if one of its first reads fails", async () => {
  const simulation = await servers(2, ...Array.from({ length: 1200 }, () => ({ burst: 60, quota: 240 })));
  await useUp(simulation, 240, 1);
  await stopAll(simulation, "hc:{0}:flags");
  const [first] = simulation.servers;
  first.failingReads = 1;
  simulation.start(first);
  await simulation.run(simulation.nowMs + 8000);
  assert.deepEqual([first.shares.isReady, admittedAtOnce(simulation)], [true, [0]]);
});

for (const count of [1, 3])
  test(`${count === 1 ? "a server" : "servers"} killed again and again with unreported requests don't exceed the quota`, async () => {
    const simulation = await servers(count, { burst: 300, quota: 360 });
    for (let round = 0; round < 8; round++) {
      for (const server of simulation.servers) server.isCut = true;
      admittedAtOnce(simulation);
      for (const server of simulation.servers) simulation.kill(server);
      for (const server of simulation.servers) {
        server.isCut = false;
        server.saved.clear();
        simulation.start(server);
      }
      await simulation.run(simulation.nowMs + 8000);
    }
    load(simulation, 200, 50);
    await simulation.run(simulation.nowMs + 20_000);
    assert.equal(simulation.overQuota, 0);
  });

test("servers admit all of many small quotas, more than a call takes", async () => {
  const accounts = Array.from({ length: 300 }, () => ({ burst: 20, quota: 12 }));
  const simulation = await servers(2, ...accounts);
  const ask = (account: number, turn: number) => {
    simulation.request(simulation.servers[turn % 2], account);
    if (simulation.tally(account).admitted < 12)
      simulation.at(simulation.nowMs + 1000 + 500 * simulation.random.next(), () => ask(account, turn + 1));
  };
  for (const account of accounts.keys()) ask(account, account);
  await simulation.run(simulation.nowMs + 40_000);
  assert.deepEqual(
    accounts.map((_, account) => simulation.tally(account).admitted),
    accounts.map(() => 12),
  );
});

for (const lowered of [
  { burst: 10, quota: 1200 },
  { burst: 300, quota: 700 },
])
  test(`unreported requests of killed servers count by the ceilings before ${JSON.stringify(lowered)}`, async () => {
    const simulation = await servers(1, { burst: 300, quota: 1200 });
    const [server] = simulation.servers;
    for (let round = 0; round < 2; round++) {
      server.isCut = true;
      for (let i = 0; i < 300; i++) simulation.request(server, 0);
      simulation.kill(server);
      Object.assign(server, { isCut: false, saved: new Map() });
      if (round === 1) {
        await simulation.change(0, lowered);
        // A server reads the ceilings before it reports for the first time.
        server.ceilings[0] = lowered;
      }
      await simulation.run(simulation.nowMs + 2000);
      simulation.start(server);
      await simulation.run(simulation.nowMs + 3000);
    }
    assert.equal(simulation.tally(0).admitted, 600);
    load(simulation, 900, 90);
    await simulation.run(simulation.nowMs + 82_000);
    assert.equal(simulation.tally(0).admitted, lowered.quota);
  });

test("after ceilings are lowered, at most a request on each server is refused, and a server killed later costs little of the quota", async () => {
  const simulation = await servers(2, { burst: 2000, quota: 5_000_000 });
  await useUp(simulation, 20);
  await simulation.change(0, { burst: 10, quota: 1000 });
  await simulation.run(simulation.nowMs + 70_000);
  load(simulation, 12, 7000);
  await simulation.run(simulation.nowMs + 86_000);
  // The first request on each server may be refused. The report of this removes the flag that the change has set.
  assert.ok(simulation.tally(0).admitted >= 30, String(simulation.tally(0).admitted));
  const [a, b] = simulation.servers;
  simulation.kill(b);
  await simulation.run(simulation.nowMs + 65_000);
  load(simulation, 1500, 90, () => a);
  await simulation.run(simulation.nowMs + 140_000);
  assert.ok(simulation.tally(0).admitted >= 990, String(simulation.tally(0).admitted));
});

for (const isRunning of [true, false])
  test(`a rate that is raised while servers ${isRunning ? "run" : "are stopped"} gives no credit beyond the quota`, async () => {
    const ceilings = { burst: 10, quota: 360 };
    const simulation = await servers(3, ceilings);
    // The server with all counts starts last. So the servers before it report nothing when they start.
    await useUp(simulation, 310, isRunning ? undefined : 2);
    await simulation.run(simulation.nowMs + 8000);
    if (!isRunning) {
      for (const server of simulation.servers) simulation.leave(server);
      await simulation.run(simulation.nowMs + 1000);
    }
    ceilings.burst = 300;
    for (const server of simulation.servers)
      if (isRunning) server.shares.enter(0);
      else if (server !== simulation.servers[2]) simulation.start(server);
    await simulation.run(simulation.nowMs + (isRunning ? 1500 : 4000));
    admittedAtOnce(simulation);
    if (!isRunning) simulation.start(simulation.servers[2]);
    load(simulation, 200, 50);
    await simulation.run(simulation.nowMs + 20_000);
    assert.equal(simulation.tally(0).admitted, 360);
  });

test("servers that are added have no credit of a quota that is nearly used up", async () => {
  for (const left of [1, 2, 3, 5, 8]) {
    await redis.client.flushall();
    const simulation = await servers(1, { burst: 1, quota: 100 });
    await useUp(simulation, 100 - left);
    await simulation.run(simulation.nowMs + 20_000);
    for (let i = 0; i < 5; i++) simulation.add();
    await simulation.run(simulation.nowMs + 8000);
    admittedAtOnce(simulation);
    load(simulation, 200, 100);
    await simulation.run(simulation.nowMs + 25_000);
    assert.equal(simulation.tally(0).admitted, 100, `${left} left`);
  }
});

test("an idle account gets no refusals after its quota is lowered but not nearly used up", async () => {
  const ceilings = { burst: 30, quota: 1000 };
  const simulation = await servers(3, ceilings);
  ceilings.quota = 900;
  for (const { shares } of simulation.servers) shares.enter(0);
  await simulation.run(simulation.nowMs + 1200);
  load(simulation, 3, 10);
  await simulation.run(simulation.nowMs + 1000);
  assert.deepEqual(simulation.tally(0), { admitted: 3, refused: 0, early: 0 });
});

test("a leaving server returns its lease, keeps its count, and leaves its part of the rate to others", async () => {
  const simulation = await servers(3, { burst: 60, quota: 100_000 });
  load(simulation, 40, 50, () => simulation.servers[2]);
  await simulation.run(simulation.nowMs + 2000);
  assert.ok((await simulation.record(0)).servers["s2.1"].granted > 100);
  simulation.leave(simulation.servers[2]);
  assert.notEqual(simulation.servers[2].counts.admit(0, simulation.month()), "admitted");
  await simulation.run(simulation.nowMs + 12_000);
  const { left, total, servers: fields } = await simulation.record(0);
  assert.deepEqual([left, total, fields], [{ s2: 40 }, 40, {}]);
  assert.doesNotMatch(JSON.stringify(await redis.client.hgetall("hc:{0}:servers")), /s2\.1/);
  assert.deepEqual(admittedAtOnce(simulation), [30, 30]);
});

test("without Redis a server uses its part of the rate and its lease, and reports its counts later", async () => {
  const simulation = await servers(2, { burst: 20, quota: 100_000 });
  load(simulation, 1000, 20, () => simulation.servers[0]);
  await simulation.run(simulation.nowMs + 5000);
  const before = simulation.tally(0).admitted;
  simulation.isRefusing = true;
  await simulation.run(simulation.nowMs + 11_000);
  const during = simulation.tally(0).admitted - before;
  assert.ok(during >= 95 && during <= 150, String(during));
  simulation.isRefusing = false;
  await simulation.run(simulation.nowMs + 10_000);
  assert.equal((await simulation.record(0)).total, simulation.tally(0).admitted);
  assert.equal(simulation.overRate, 0);
});

for (const state of ["same", "empty"] as const)
  test(`a client below its rate gets no 429 while Redis restarts ${state === "same" ? "with its data" : "empty"}`, async () => {
    const ceilings = { burst: 30, quota: 100_000 };
    const simulation = await servers(3, ceilings, ceilings);
    // The demand of the first account is half its rate. The demand of the second account is three times its rate.
    load(simulation, 600, 1000 / 15);
    load(simulation, 3600, 1000 / 90, undefined, 1);
    await simulation.run(simulation.nowMs + 10_000);
    const before = simulation.tally(1).admitted;
    simulation.isRefusing = true;
    await simulation.run(simulation.nowMs + 1000);
    simulation.isRefusing = false;
    await simulation.restartRedis(state);
    await simulation.run(simulation.nowMs + 19_000);
    assert.equal(simulation.tally(0).refused, 0);
    const admitted = simulation.tally(1).admitted - before;
    assert.ok(admitted >= 0.95 * 20 * 30 && admitted <= 20 * 30 + 60, `${admitted} in 20 s`);
    assert.equal(simulation.overRate, 0);
  });

test("after Redis loses its data, copies on other servers restore the counts and leases of a dead server", async () => {
  const simulation = await servers(3, { burst: 100, quota: 1000 });
  load(simulation, 300, 10, () => simulation.servers[0]);
  await simulation.run(simulation.nowMs + 8000);
  const { servers: fields, left } = await simulation.record(0);
  simulation.kill(simulation.servers[0]);
  await simulation.restartRedis("empty");
  await simulation.run(simulation.nowMs + 5000);
  const known = await simulation.record(0);
  const told = ({ used, granted }: { used: number; granted: number }) => [used, granted];
  assert.deepEqual([known.left, told(known.servers["s0.1"])], [left, told(fields["s0.1"])]);
});

test("a nearly used-up quota isn't exceeded while servers restore an emptied Redis", async () => {
  const quota = 150;
  const simulation = await servers(3, { burst: 20, quota });
  load(simulation, 2000, 10);
  while (simulation.tally(0).admitted < quota - 10) await simulation.run(simulation.nowMs + 10);
  // While Redis refuses calls, the servers' copies of the record become old. So their next call requests a new copy.
  simulation.isRefusing = true;
  await simulation.run(simulation.nowMs + 1500);
  await simulation.restartRedis("empty");
  simulation.isRefusing = false;
  await simulation.run(simulation.nowMs + 10_000);
  assert.equal(simulation.tally(0).admitted, quota);
  assert.equal((await simulation.record(0)).total, quota);
});

test("an emptied Redis recovers the counts of earlier processes, even if all servers leave at once", async () => {
  const simulation = await servers(3, { burst: 20, quota: 400 });
  const pass = (ms: number) => simulation.run(simulation.nowMs + ms);
  load(simulation, 190, 60);
  await pass(15_000);
  for (const server of simulation.servers) {
    simulation.leave(server);
    await pass(1000);
    simulation.start(server);
    await pass(4000);
  }
  load(simulation, 30, 60);
  await pass(1750);
  await simulation.restartRedis("empty");
  for (const server of simulation.servers) simulation.leave(server);
  await pass(1000);
  for (const server of simulation.servers) simulation.start(server);
  await pass(6000);
  const { left, servers: entries } = await simulation.record(0);
  assert.equal(
    [...Object.values(entries).map(({ used }) => used), ...Object.values(left)].reduce((a, b) => a + b, 0),
    220,
  );
});

for (const startsTogether of [true, false])
  test(`servers that start ${startsTogether ? "together" : "one by one"} with an emptied Redis admit exactly the rest of the quota`, async () => {
    const simulation = await servers(3, { burst: 20, quota: 600 });
    const pass = (ms: number) => simulation.run(simulation.nowMs + ms);
    load(simulation, 590, 50);
    await pass(30_000);
    await stopAll(simulation);
    for (const server of simulation.servers) {
      simulation.start(server);
      if (!startsTogether) await pass(10_000);
    }
    await pass(startsTogether ? 4000 : 0);
    load(simulation, 200, 50);
    await pass(20_000);
    assert.equal(simulation.tally(0).admitted, 600);
  });

for (const [lost, order] of [
  // With an empty Redis, the servers that start first can't know the counts of the servers that start later.
  ["everything", [[0, 1, 2]]],
  ["flags", [[0, 1, 2]]],
  ["flags", [[0, 1], [2]]],
  ["flags", [[0], [1], [2]]],
] as const)
  test(`the quota isn't exceeded when servers ${order.join(" then ")} start with a Redis that lost ${lost}`, async () => {
    for (const left of [0, 1, 5, 20])
      for (const [user, asksEarly] of [undefined, 0, 2].flatMap(
        (i) =>
          [
            [i, true],
            [i, false],
          ] as const,
      )) {
        await redis.client.flushall();
        const simulation = await servers(3, { burst: 60, quota: 240 + left });
        await useUp(simulation, 240, user);
        await stopAll(simulation, lost === "flags" ? "hc:{0}:flags" : undefined);
        for (const group of order) {
          const starting = group.map((i) => simulation.servers[i]);
          // At first the servers can read flags, but no records.
          for (const server of starting) server.failingReads = Number.POSITIVE_INFINITY;
          for (const server of starting) simulation.start(server);
          await simulation.run(simulation.nowMs + 8000);
          assert.ok(starting.every(({ shares }) => !shares.isReady));
          if (asksEarly) admittedAtOnce(simulation);
          for (const server of starting) server.failingReads = 0;
          await simulation.run(simulation.nowMs + 500);
          assert.ok(starting.every(({ shares }) => shares.isReady));
          admittedAtOnce(simulation);
        }
        load(simulation, 200, 50);
        await simulation.run(simulation.nowMs + 20_000);
        assert.equal(simulation.tally(0).admitted, 240 + left, `left ${left}, used on ${user}`);
      }
  });

test("requests of a server that restarts soon after its first start are counted once", async () => {
  for (const ms of [30, 200, 700, 1500]) {
    await redis.client.flushall();
    const simulation = await servers(2, { burst: 50, quota: 1000 });
    const server = simulation.add();
    for (let times = 0; times < 3; times++) {
      load(simulation, 50, ms / 50, () => server);
      await simulation.run(simulation.nowMs + ms);
      simulation.leave(server);
      await simulation.run(simulation.nowMs + 100);
      simulation.start(server);
    }
    await simulation.run(simulation.nowMs + 3000);
    simulation.request(server, 0);
    await simulation.run(simulation.nowMs + 3000);
    assert.equal((await simulation.record(0)).total, simulation.tally(0).admitted, `after ${ms} ms`);
  }
});

test("a server cut off from Redis stops before others get its part, and rejoins when back", async () => {
  const simulation = await servers(3, { burst: 30, quota: 1_000_000 });
  const [first, second, cut] = simulation.servers;
  load(simulation, 400, 25, () => cut);
  await simulation.run(simulation.nowMs + 10_000);
  cut.isCut = true;
  load(simulation, 440, 250, () => cut);
  for (const server of [first, second]) load(simulation, 7500, 20, () => server);
  const admitted = () => simulation.servers.map(({ counts }) => counts.used(0, simulation.month()));
  await simulation.run(simulation.nowMs + 45_000);
  await simulation.run(simulation.nowMs + 15_000);
  const after = admitted();
  await simulation.run(simulation.nowMs + 50_000);
  const end = admitted();
  assert.equal(end[2], after[2]);
  const others = end[0] + end[1] - after[0] - after[1];
  assert.ok(others >= 0.97 * 30 * 50, `the others admit ${others} in 50 s`);
  cut.isCut = false;
  load(simulation, 250, 40, () => cut);
  await simulation.run(simulation.nowMs + 12_000);
  assert.ok(admitted()[2] - end[2] > 50);
  const { total } = await simulation.record(0);
  assert.ok(Math.abs(total - simulation.tally(0).admitted) < 10);
  assert.equal(simulation.overRate, 0);
});

test("servers that were suspended don't use a rate that another server got meanwhile", async () => {
  const simulation = await servers(5, { burst: 20, quota: 1_000_000 });
  for (const [i, server] of simulation.servers.entries()) {
    if (i > 0) simulation.servers[i - 1].isStopped = true;
    const before = simulation.nowMs;
    for (let j = 0; j < 30; j++) simulation.request(server, 0);
    load(simulation, 60, 110, () => server);
    await simulation.run(before + 10_000);
  }
  const [last] = simulation.servers.slice(-1);
  assert.ok(simulation.overRate <= 0);
  // A resumed server first serves waiting requests, before its control thread runs.
  const admitted = admittedAtOnce(simulation);
  assert.deepEqual(admitted.slice(0, -1), [0, 0, 0, 0]);
  assert.ok(admitted[4] > 0);
  for (const server of simulation.servers) if (server !== last) simulation.resume(server);
  load(simulation, 2000, 10);
  await simulation.run(simulation.nowMs + 20_000);
  assert.ok(simulation.overRate <= 0);
  await simulation.run(simulation.nowMs + 10_000);
  assert.ok(admittedAtOnce(simulation).every((count) => count >= 4));
});

for (const joins of [0, 1, 2])
  test(`after one server dies and ${joins} join, the servers use all of the remaining rate`, async () => {
    const ceilings = { burst: 30, quota: 1_000_000 };
    const simulation = await servers(3, ceilings, ceilings);
    const upInTurn = (i: number) => {
      const up = simulation.servers.filter(({ isUp }) => isUp);
      return up[i % up.length];
    };
    load(simulation, 60 * 15, 1000 / 15, upInTurn, 0);
    load(simulation, 60 * 300, 1000 / 300, upInTurn, 1);
    await simulation.run(simulation.nowMs + 10_000);
    simulation.kill(simulation.servers[0]);
    for (let i = 0; i < joins; i++) simulation.add();
    await simulation.run(simulation.nowMs + 5000);
    const before = simulation.tally(1).admitted;
    await simulation.run(simulation.nowMs + 30_000);
    const admitted = simulation.tally(1).admitted - before;
    // For a minute, no server uses the dead server's part of the rate.
    const left = (30 * 30 * 2) / 3;
    assert.ok(admitted >= 0.95 * left && admitted <= 1.05 * left, `${admitted}`);
    assert.equal(simulation.overRate, 0);
  });

for (const isUsedUp of [false, true])
  test(`forgetting a server ${isUsedUp ? "after the rest of the quota is used up " : ""}frees its lease except for requests it may have admitted unreported`, async () => {
    const simulation = await servers(3, { burst: 20, quota: 1000 });
    load(simulation, 60, 100, () => simulation.servers[2]);
    await simulation.run(simulation.nowMs + 6000);
    const { used, granted } = (await simulation.record(0)).servers["s2.1"];
    const [, , unsaid] = admittedAtOnce(simulation);
    assert.ok(unsaid >= 15 && granted - used > 41, `${unsaid} unsaid, ${granted - used} leased`);
    simulation.kill(simulation.servers[2]);
    await simulation.run(simulation.nowMs + 62_000);
    if (isUsedUp) {
      load(simulation, 3000, 25, (i) => simulation.servers[i % 2]);
      await simulation.run(simulation.nowMs + 80_000);
    }
    assert.equal(await forget(redis.client, "s2.1", months), granted - used - 41);
    assert.deepEqual((await serversOf(redis.client)).map(({ id }) => id).sort(), ["s0.1", "s1.1"]);
    load(simulation, 3000, 25, (i) => simulation.servers[i % 2]);
    await simulation.run(simulation.nowMs + 80_000);
    // The forgotten server may have admitted 41 requests in a second from a full bucket, and 6 by its credit.
    const kept = 41 + 6;
    assert.equal(simulation.tally(0).admitted, 1000 - kept + unsaid);
    assert.equal((await simulation.record(0)).total, 1000);
  });

for (const [what, change] of [
  ["nothing else happens", () => {}],
  [
    "another server is killed",
    (simulation: Simulation, a: Server) => {
      simulation.kill(a);
      simulation.start(a);
    },
  ],
  [
    "another server restarts",
    async (simulation: Simulation, a: Server) => {
      simulation.leave(a);
      await simulation.run(simulation.nowMs + 100);
      simulation.start(a);
    },
  ],
  ["a server is added", (simulation: Simulation) => void simulation.add()],
] as const)
  test(`a server that misses two losses keeps its part of the rate when ${what}`, async () => {
    const simulation = await servers(2, { burst: 40, quota: 100_000 });
    const [a, b] = simulation.servers;
    // A lease covers ten seconds of arriving requests, far more than the rate admits. So each server's lease lasts
    // until the end of the test, even while server b is cut off.
    load(simulation, 10_000, 4);
    await simulation.run(simulation.nowMs + 3000);
    b.isCut = true;
    for (let losses = 0; losses < 2; losses++) {
      await simulation.restartRedis("empty");
      await simulation.run(simulation.nowMs + 9000);
      await change(simulation, a);
      await simulation.run(simulation.nowMs + 2000);
    }
    await simulation.run(simulation.nowMs + 20_000);
    assert.equal(simulation.overRate, 0);
  });

test("an emptied Redis waits for a known server that needs seconds to reach it", async () => {
  const simulation = await servers(2, { burst: 300, quota: 600 });
  const [near, far] = simulation.servers;
  load(simulation, 400, 5, () => far);
  await simulation.run(simulation.nowMs + 1990);
  far.isCut = true;
  await simulation.restartRedis("empty");
  load(simulation, 1000, 5, () => near);
  await simulation.run(simulation.nowMs + 4000);
  far.isCut = false;
  load(simulation, 400, 50);
  await simulation.run(simulation.nowMs + 21_000);
  assert.equal(simulation.tally(0).admitted, 600);
});

test("Redis waits for the reports of a far server with many accounts before it grants requests again", async () => {
  const accounts = Array.from({ length: 2500 }, () => ({ burst: 300, quota: 800 }));
  const simulation = new Simulation({ seed: 1, client: redis.client, accounts });
  for (let i = 0; i < 2; i++) simulation.add();
  await simulation.run(6000);
  const [first, second] = simulation.servers;
  for (const account of accounts.keys()) simulation.request(first, account);
  const last = accounts.length - 1;
  load(simulation, 700, 5, () => first, last);
  await simulation.run(simulation.nowMs + 10_000);
  Object.assign(simulation, { minDelayMs: 240, maxDelayMs: 260 });
  await simulation.restartRedis("empty");
  load(simulation, 2000, 10, () => second, last);
  await simulation.run(simulation.nowMs + 3000);
  first.isCut = true;
  await simulation.run(simulation.nowMs + 3500);
  first.isCut = false;
  await simulation.run(simulation.nowMs + 25_000);
  assert.deepEqual([simulation.tally(last).admitted, (await simulation.record(last)).total], [800, 800]);
});

test("2,500 accounts are reported in several calls, also to an emptied Redis, without refusals", async () => {
  const accounts = Array.from({ length: 2500 }, () => ({ burst: 30, quota: 1000 }));
  const simulation = await servers(2, ...accounts);
  const askAll = () => {
    for (const server of simulation.servers)
      for (const account of accounts.keys()) assert.ok(simulation.request(server, account));
  };
  askAll();
  await simulation.run(simulation.nowMs + 3000);
  await simulation.restartRedis("empty");
  askAll();
  for (let i = 0; i < 2 * accounts.length; i++) {
    await simulation.run(simulation.nowMs + 1);
    assert.ok(simulation.request(simulation.servers[i % 2], i % accounts.length), `after ${i} ms`);
  }
  await simulation.run(simulation.nowMs + 10_000);
  for (const account of accounts.keys()) assert.equal((await simulation.record(account)).total, 6);
});

test("one server at a time delivers events, and another takes over when it is silent or leaves", async () => {
  const simulation = await servers(3, { burst: 30, quota: 1000 });
  const delivering = () =>
    simulation.servers.filter(({ isUp, shares }) => isUp && shares.delivers(simulation.nowMs));
  const always = async (ms: number, expected: Server) => {
    for (const endMs = simulation.nowMs + ms; simulation.nowMs < endMs; ) {
      assert.deepEqual(delivering(), [expected]);
      await simulation.run(simulation.nowMs + 100);
    }
  };
  const [first] = delivering();
  await always(5000, first);
  first.isCut = true;
  await simulation.run(simulation.nowMs + 900);
  assert.deepEqual(delivering(), [first]);
  await simulation.run(simulation.nowMs + 3200);
  const [next] = delivering();
  assert.notEqual(next, first);
  first.isCut = false;
  await always(5000, next);
  simulation.leave(next);
  await simulation.run(simulation.nowMs + 1100);
  await always(2000, delivering()[0]);
  await simulation.restartRedis("empty");
  for (let i = 0; i < 50; i++) {
    await simulation.run(simulation.nowMs + 100);
    assert.ok(delivering().length <= 1);
  }
  await always(1000, delivering()[0]);
});

test("a change waits until all servers with a call in the last minute have applied it", async () => {
  const simulation = await servers(3, { burst: 30, quota: 1000 });
  // The simulation's time replaces Redis' time.
  const evalsha: ScriptClient["evalsha"] = (digest, keys, ...values) =>
    redis.client.evalsha(
      ...[digest, keys, ...values.slice(0, -1)],
      JSON.stringify(simulation.timed(JSON.parse(String(values.at(-1))))),
    );
  const client = Object.assign(Object.create(redis.client), { evalsha });
  const behind = () => serversBehind(client, 1_763_000_000_000_002, 0);
  simulation.servers[0].taken = 1_763_000_000_000_002;
  simulation.servers[1].taken = 1_763_000_000_000_001;
  await simulation.run(simulation.nowMs + 1100);
  assert.deepEqual((await behind()).sort(), ["s1.1", "s2.1"]);
  simulation.servers[1].taken = 1_763_000_000_000_002;
  simulation.servers[1].shares.confirm();
  simulation.servers[2].isCut = true;
  await simulation.run(simulation.nowMs + 1000);
  assert.deepEqual(await behind(), ["s2.1"]);
  await simulation.run(simulation.nowMs + 61_000);
  assert.deepEqual(await behind(), []);
});

test("an idle server sends one heartbeat a second", async () => {
  const simulation = await servers(1, { burst: 30, quota: 1000 });
  const calls = simulation.calls;
  const before = await redis.client.hget("hc:{0}:servers", "beat:s0.1");
  await simulation.run(simulation.nowMs + 60_000);
  assert.ok(simulation.calls - calls <= 61, String(simulation.calls - calls));
  assert.notEqual(await redis.client.hget("hc:{0}:servers", "beat:s0.1"), before);
});
