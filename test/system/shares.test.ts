import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { keysOf, scriptIn } from "../../server/parts/replicas/redis.ts";
import type { ScriptClient } from "../../server/parts/replicas/script.ts";
import type { Ceilings } from "../../server/parts/replicas/share.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";
import { Simulation } from "../support/shares-simulation.ts";

/** Replicas share ceilings through the script in a real Redis; time and network are the test's. */

let redis: RedisServer;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());
beforeEach(async () => {
  await redis.client.flushall();
});

/** So many replicas that know each other. */
async function replicas(count: number, ...accounts: Ceilings[]) {
  const simulation = new Simulation({ seed: 1, client: redis.client, accounts });
  for (let i = 0; i < count; i++) simulation.add();
  await simulation.run(4000);
  assert.ok(simulation.replicas.every(({ shares }) => shares.isReady));
  return simulation;
}

type Replica = Simulation["replicas"][number];

/**
 * Has requests come evenly from now on.
 *
 * @param replicaOf which gets the i-th, as it comes; all of them in turn
 */
function load(
  simulation: Simulation,
  requests: number,
  everyMs: number,
  replicaOf: (i: number) => Replica = (i) => simulation.replicas[i % simulation.replicas.length],
  account = 0,
): void {
  for (let i = 0; i < requests; i++)
    simulation.at(simulation.nowMs + i * everyMs, () => void simulation.request(replicaOf(i), account));
}

/** How many requests are admitted of those that come to a replica at one moment. */
function admittedAtOnce(simulation: Simulation, replica: number, requests: number, account = 0): number {
  let count = 0;
  for (let i = 0; i < requests; i++) if (simulation.request(simulation.replicas[replica], account)) count++;
  return count;
}

test("the script is sent whole only to a Redis that doesn't have it", async () => {
  const sent: string[] = [];
  const client: ScriptClient = {
    evalsha: (...values) => {
      sent.push("evalsha");
      return redis.client.evalsha(...values);
    },
    eval: (...values) => {
      sent.push("eval");
      return redis.client.eval(...values);
    },
  };
  await redis.client.script("FLUSH");
  const script = scriptIn(client);
  const months = ["2026-01", "2026-02"];
  const first = await script(0, months, ["a", 1, "", 0, "start", 1000, 0, ...months]);
  const second = await script(0, months, ["a", 2, "", 0, "tick", 1000, 0, ...months]);
  assert.deepEqual(sent, ["evalsha", "eval", "evalsha"]);
  assert.equal(first[0], "ok");
  const [, runId] = /run_id:(\w+)/.exec(await redis.client.info("server")) ?? [];
  assert.equal(String(second[1]).split(":")[0], runId);
  assert.deepEqual(await script(0, months, ["a", 2, "", 0, "tick", 1000, 0, ...months]), ["stale", 2]);
});

test("a shard's keys lie in one slot of a Cluster", () => {
  const keys = keysOf(7, ["2026-01", "2026-02"]);
  assert.equal(keys.length, 13);
  assert.ok(keys.every((key) => key.startsWith("hc:{7}:")));
});

test("each replica has its part of an idle account's burst, and an overdraft of a tenth of that", async () => {
  const simulation = await replicas(3, { burst: 60, quota: 100_000 });
  assert.deepEqual(
    [0, 1, 2].map((replica) => admittedAtOnce(simulation, replica, 100)),
    [22, 22, 22],
  );
});

test("the tokens go where they are asked for, and come back to all", async () => {
  const simulation = await replicas(3, { burst: 60, quota: 100_000 });
  load(simulation, 300, 10, () => simulation.replicas[0]);
  await simulation.run(simulation.nowMs + 3000);
  const { admitted } = simulation.tally(0, simulation.month());
  // Of 300 requests in 3 s a bucket of 60 that fills at 60 per second admits 240.
  assert.ok(admitted >= 0.98 * 180 && admitted <= 240, String(admitted));
  await simulation.run(simulation.nowMs + 10_000);
  assert.deepEqual(
    [0, 1, 2].map((replica) => admittedAtOnce(simulation, replica, 100)),
    [22, 22, 22],
  );
  assert.equal(simulation.overBurst, 0);
});

for (const members of [2, 3, 4])
  test(`a client that comes to ${members} replicas in turn, and waits when it is refused, gets all of a small quota`, async () => {
    const quotas = [1, 2, 3, 5, 10, 20];
    const simulation = await replicas(members, ...quotas.map((quota) => ({ burst: 10, quota })));
    const ask = (account: number, turn: number) => {
      const isAdmitted = simulation.request(simulation.replicas[turn % members], account);
      simulation.at(simulation.nowMs + (isAdmitted ? 20 : 1020), () => ask(account, turn + 1));
    };
    for (const account of quotas.keys()) ask(account, 0);
    await simulation.run(simulation.nowMs + 60_000);
    const admitted = quotas.map((_, account) => simulation.tally(account, simulation.month()).admitted);
    assert.deepEqual(admitted, quotas);
  });

test("a lower quota holds at once for what was leased before", async () => {
  const ceilings = { burst: 300, quota: 10_000 };
  const simulation = await replicas(3, ceilings);
  load(simulation, 300, 10);
  await simulation.run(simulation.nowMs + 3000);
  ceilings.quota = 200;
  for (const { shares } of simulation.replicas) shares.enter(0);
  assert.deepEqual(
    [0, 1, 2].map((replica) => admittedAtOnce(simulation, replica, 100)),
    [0, 0, 0],
  );
});

test("each threshold is recorded once, whatever replicas cross it", async () => {
  const simulation = await replicas(3, { burst: 50, quota: 100 });
  load(simulation, 400, 20);
  simulation.repeatedPercent = 20;
  await simulation.run(simulation.nowMs + 20_000);
  const events = await redis.client.xrange("hc:{0}:events", "-", "+");
  const thresholds = events.map(([, fields]) => fields.slice(0, 8));
  assert.deepEqual(
    thresholds,
    [80, 90, 100].map((threshold) => [
      ...["account", "0", "month", "2026-01", "threshold", String(threshold), "quota", "100"],
    ]),
  );
});

test("a replica that leaves gives back what it holds, and the others have its part", async () => {
  const simulation = await replicas(3, { burst: 60, quota: 100_000 });
  load(simulation, 40, 50, () => simulation.replicas[2]);
  await simulation.run(simulation.nowMs + 2000);
  const month = simulation.month();
  const before = await simulation.stored(0, month);
  assert.ok(before.granted > 100, String(before.granted));
  simulation.leave(simulation.replicas[2]);
  await simulation.run(simulation.nowMs + 3000);
  const left = await simulation.stored(0, month);
  assert.deepEqual([left.used, left.granted], [40, 40]);
  assert.deepEqual(
    [0, 1].map((replica) => admittedAtOnce(simulation, replica, 100)),
    [33, 33],
  );
});

test("without Redis a replica has its part of the rate and what it has leased, and settles later", async () => {
  const simulation = await replicas(2, { burst: 20, quota: 100_000 });
  load(simulation, 1000, 20, () => simulation.replicas[0]);
  await simulation.run(simulation.nowMs + 5000);
  const month = simulation.month();
  const before = simulation.tally(0, month).admitted;
  simulation.isRefusing = true;
  await simulation.run(simulation.nowMs + 11_000);
  const during = simulation.tally(0, month).admitted - before;
  assert.ok(during >= 95 && during <= 135, String(during));
  simulation.isRefusing = false;
  await simulation.run(simulation.nowMs + 10_000);
  assert.equal((await simulation.stored(0, month)).used, simulation.tally(0, month).admitted);
  assert.equal(simulation.overBurst, 0);
});

for (const state of ["same", "empty"] as const)
  test(`who asks for less than the rate is refused nothing when Redis starts anew ${state === "same" ? "with what it had" : "empty"}`, async () => {
    const ceilings = { burst: 30, quota: 100_000 };
    const simulation = await replicas(3, ceilings, ceilings);
    // Of the first account half the rate is asked for, and of the second more than there is.
    load(simulation, 600, 1000 / 15);
    load(simulation, 3600, 1000 / 90, undefined, 1);
    await simulation.run(simulation.nowMs + 10_000);
    const tally = simulation.tally(1, simulation.month());
    const before = tally.admitted;
    simulation.isRefusing = true;
    await simulation.run(simulation.nowMs + 1000);
    simulation.isRefusing = false;
    await simulation.restartRedis(state);
    await simulation.run(simulation.nowMs + 19_000);
    assert.equal(simulation.tally(0, simulation.month()).refused, 0);
    const admitted = tally.admitted - before;
    // Nothing comes until a replica notices that Redis is away, for 1.5 s at most.
    assert.ok(admitted >= 20 * 30 - 1.5 * 30 && admitted <= 20 * 30 + 30, `${admitted} in 20 s`);
    assert.equal(simulation.overBurst, 0);
  });

test("a silent replica's part of the rate isn't given to others when Redis starts anew", async () => {
  const simulation = await replicas(3, { burst: 30, quota: 100_000 });
  for (const replica of simulation.replicas) load(simulation, 1200, 25, () => replica);
  await simulation.run(simulation.nowMs + 10_000);
  // It has leased requests for some seconds.
  simulation.replicas[2].isCut = true;
  await simulation.restartRedis("same");
  await simulation.run(simulation.nowMs + 20_000);
  assert.equal(simulation.overBurst, 0);
});

test("a month that nothing was said of for a hundred days is deleted", async () => {
  const day = 86_400_000;
  let ms = 1000 * day;
  const script = scriptIn(redis.client, () => ({ ms, boot: "run" }));
  const said = [5, 1, 10, 1000, "hold", 1, 0, 0, 1, 0, "", "", "", 0];
  let sequence = 0;
  for (const [months, days] of [
    [["2026-01", "2026-02"], 40],
    [["2026-02", "2026-03"], 90],
    [["2026-06", "2026-07"], 20],
    [["2026-07", "2026-08"], 0],
  ] as const) {
    await script(5, months, ["a", ++sequence, "", 0, "tick", 1000, 0, ...months, ...said]);
    ms += days * day;
  }
  const names = ["2026-02", "2026-06", "2026-07"].map((month) => `hc:{5}:usage:${month}`);
  assert.deepEqual((await redis.client.keys("hc:{5}:usage:*")).toSorted(), names.slice(1));
});

test("a replica that is cut off alone stops before the others have its part, and they have all of it", async () => {
  const simulation = await replicas(3, { burst: 30, quota: 1_000_000 });
  const [first, second, cut] = simulation.replicas;
  // It leases much, and then little is asked of it.
  load(simulation, 400, 25, () => cut);
  await simulation.run(simulation.nowMs + 10_000);
  cut.isCut = true;
  load(simulation, 440, 250, () => cut);
  for (const replica of [first, second]) load(simulation, 7500, 20, () => replica);
  const admitted = () => simulation.replicas.map(({ counts }) => counts.used(0, simulation.month()));
  await simulation.run(simulation.nowMs + 45_000);
  const before = admitted();
  assert.ok(before[2] > 400, "nothing was leased that it could have used");
  await simulation.run(simulation.nowMs + 15_000);
  const after = admitted();
  await simulation.run(simulation.nowMs + 50_000);
  const end = admitted();
  assert.ok(after[2] - before[2] <= 25, `${after[2] - before[2]} in the seconds before it lapses`);
  assert.equal(end[2], after[2]);
  const others = end[0] + end[1] - after[0] - after[1];
  assert.ok(others >= 0.97 * 30 * 50, `the others admit ${others} in 50 s`);
  cut.isCut = false;
  load(simulation, 250, 40, () => cut);
  await simulation.run(simulation.nowMs + 10_000);
  const back = admitted()[2] - end[2];
  assert.ok(back > 50, `${back} when it is back`);
  assert.equal(simulation.overBurst, 0);
});

for (const joins of [0, 1, 2])
  test(`one that died and ${joins} that come instead leave what is left of the rate to all`, async () => {
    const ceilings = { burst: 30, quota: 1_000_000 };
    const simulation = await replicas(3, ceilings, ceilings);
    const upInTurn = (i: number) => {
      const up = simulation.replicas.filter(({ isUp }) => isUp);
      return up[i % up.length];
    };
    load(simulation, 60 * 15, 1000 / 15, upInTurn, 0);
    load(simulation, 60 * 300, 1000 / 300, upInTurn, 1);
    await simulation.run(simulation.nowMs + 10_000);
    simulation.kill(simulation.replicas[0]);
    for (let i = 0; i < joins; i++) simulation.add();
    await simulation.run(simulation.nowMs + 5000);
    const month = simulation.month();
    const before = [0, 1].map((account) => simulation.tally(account, month).admitted);
    await simulation.run(simulation.nowMs + 30_000);
    const admitted = before.map((count, account) => simulation.tally(account, month).admitted - count);
    assert.ok(admitted[0] >= 0.98 * 15 * 30, `${admitted}`);
    // The part of the one that died is nobody's for a minute.
    const left = (30 * 30 * (2 + joins)) / (3 + joins);
    assert.ok(admitted[1] >= 0.98 * left && admitted[1] <= 1.02 * left, `${admitted}`);
    assert.equal(simulation.overBurst, 0);
  });
