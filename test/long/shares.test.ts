import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Limits } from "../../server/accounts/limits.ts";
import { plans } from "../../server/shared/plans.ts";
import { seededRandom } from "../support/random.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";
import { faultyRun } from "../support/shares-faults.ts";
import { Simulation } from "../support/shares-simulation.ts";
import { untold, wrongSums } from "../support/shares-stored.ts";
import { sizeFrom, trialRandom } from "./trial.ts";

/**
 * Replicas share ceilings: virtual time and network around the script in a real Redis. Sizes: SHARES_RUNS,
 * SHARES_REPLICAS, SHARES_ACCOUNTS, SHARES_MINUTES, SHARES_PER_SECOND.
 */

const runs = sizeFrom("SHARES_RUNS", 200);
const replicas = sizeFrom("SHARES_REPLICAS", 100);
const accounts = sizeFrom("SHARES_ACCOUNTS", 10_000);
const minutes = sizeFrom("SHARES_MINUTES", 180);
/** Each is of some requests. */
const bunchesPerSecond = sizeFrom("SHARES_PER_SECOND", 20);

let redis: RedisServer;
before(async () => {
  redis = await startRedis(16);
});
after(() => redis.stop());

for (const losesWrites of [false, true])
  test(`no quota is passed, and no count lost, in runs with faults${losesWrites ? " where Redis loses writes" : ""}`, async (t) => {
    const firstSeed = trialRandom(t).int(1_000_000);
    let seed = firstSeed;
    const sums = { calls: 0, rows: 0, overBurst: 0, overQuota: 0 };
    const work = async (client: (typeof redis.clients)[number]) => {
      while (seed < firstSeed + runs) {
        const own = seed++;
        const { simulation, months, history } = await faultyRun(client, own, losesWrites);
        const says = (text: string) => `seed ${own}: ${text}\n${history.join("\n")}`;
        for (const [i, { quota, admitted, lost, stored }] of months.entries()) {
          const allowance = simulation.allowance(i >> 1);
          const what = JSON.stringify({ account: i >> 1, quota, admitted, lost, stored, allowance });
          assert.ok(admitted - lost - allowance <= quota, says(`over its quota: ${what}`));
          assert.equal(stored.used, stored.usedByEach, says(what));
          assert.equal(stored.granted, stored.grantedToEach, says(what));
          // What a killed process admitted by credit, and nobody knows of, its next one has credit for again.
          assert.ok(stored.granted <= quota + allowance + lost, says(`granted over its quota: ${what}`));
          if (losesWrites) continue;
          assert.ok(stored.used + lost >= admitted && stored.used <= admitted, says(`counts lost: ${what}`));
          // The month that is used up at the end.
          if (i % 2 === 1) assert.ok(admitted >= quota, says(`less than its quota: ${what}`));
        }
        assert.equal(simulation.ledger.lost, 0, says("Redis knew less of a replica than before"));
        sums.calls += simulation.calls;
        sums.rows += simulation.rows;
        sums.overBurst = Math.max(sums.overBurst, simulation.overBurst);
        sums.overQuota = Math.max(sums.overQuota, simulation.overQuota);
      }
    };
    await Promise.all(redis.clients.map(work));
    t.diagnostic(`${runs} runs from seed ${firstSeed}, at most: ${JSON.stringify(sums)}`);
  });

test("sustained load gets what one server admits, on one replica and spread over all", async (t) => {
  for (const members of [3, 10])
    for (const burst of [10, 50, 500])
      for (const isOnOne of [true, false])
        for (const demand of [0.9, 2]) {
          const { ratio, overBurst } = await sustained({ members, burst, isOnOne, demand });
          const what = `${members} replicas, ${burst} per second, demand ${demand}, ${isOnOne ? "one" : "all"}`;
          t.diagnostic(`${what}: ${(100 * ratio).toFixed(1)} %`);
          assert.ok(ratio >= 0.98 && ratio <= 1.01, `${what}: ${ratio}`);
          assert.equal(overBurst, 0, what);
        }
});

for (const delayMs of [1, 50, 500])
  test(`the last of a quota is refused early to few, with a Redis that is ${delayMs} ms away each way`, async (t) => {
    // What is refused at its end doesn't grow with the quota: a short one stands for the plan's.
    const { burst, quota: planned } = plans.developer;
    const quota = 20 * burst;
    for (const waits of [true, false]) {
      await redis.client.flushdb();
      const simulation = new Simulation({
        seed: 1,
        client: redis.client,
        accounts: [{ burst, quota }],
        minDelayMs: 0.9 * delayMs,
        maxDelayMs: 1.1 * delayMs,
      });
      for (let i = 0; i < 3; i++) simulation.add();
      await simulation.run(4000 + 10 * delayMs);
      const tally = simulation.tally(0, simulation.month());
      // A client asks again after a second, as it is told, or at once.
      const ask = (replica: (typeof simulation.replicas)[number], gapMs: number) => {
        if (tally.admitted >= quota) return;
        const isAdmitted = simulation.request(replica, 0);
        const pauseMs = waits && !isAdmitted ? 1000 : gapMs;
        simulation.at(simulation.nowMs + pauseMs * (0.5 + simulation.random.next()), () =>
          ask(replica, gapMs),
        );
      };
      for (const replica of simulation.replicas)
        for (let i = 0; i < (waits ? 5 : 1); i++) ask(replica, waits ? 100 : 2);
      while (tally.admitted < quota && simulation.nowMs < 600_000)
        await simulation.run(simulation.nowMs + 1000);
      const { admitted, dry, early } = tally;
      const kind = waits ? "clients that wait" : "clients that don't";
      t.diagnostic(
        `${kind}: ${admitted} admitted, ${early} refused early of ${dry} refused for want of a lease`,
      );
      assert.equal(admitted, quota);
      assert.ok(early <= 0.005 * planned, `${kind}: ${early}`);
    }
  });

test(`${replicas} replicas hold the ceilings of ${accounts} accounts for ${minutes} minutes, with faults`, async (t) => {
  const random = trialRandom(t);
  await redis.client.flushdb();
  const ceilings = Array.from({ length: accounts }, () => {
    const { burst } = random.pick([plans.free, plans.developer, plans.startup]);
    return { burst, quota: random.pick([100, 1000, 10_000]) };
  });
  const simulation = new Simulation({
    seed: random.int(2 ** 31),
    client: redis.client,
    accounts: ceilings,
    startMs: Date.UTC(2026, 0, 31, 23, 59),
  });
  for (let i = 0; i < replicas; i++) simulation.add(Math.round((random.next() - 0.5) * 600_000));
  await simulation.run(6000);
  const endMs = 6000 + minutes * 60_000;
  // A few accounts make most of the load.
  const step = () => {
    if (simulation.nowMs > endMs) return;
    const account = Math.floor(accounts * random.next() ** 4);
    const replica = random.pick(simulation.replicas);
    for (let i = random.int(8); i >= 0; i--) simulation.request(replica, account);
    simulation.at(simulation.nowMs - (Math.log(1 - random.next()) * 1000) / bunchesPerSecond, step);
  };
  step();
  let faults = 0;
  const fault = () => {
    if (simulation.nowMs > endMs) return;
    faults++;
    const replica = random.pick(simulation.replicas);
    const backMs = simulation.nowMs + 1000 + random.int(30_000);
    const kind = random.int(10);
    simulation.at(backMs, () => {
      if (kind !== 3) replica.isCut = false;
      simulation.maxDelayMs = 2;
      simulation.isRefusing = false;
      if (!replica.isUp) simulation.start(replica);
    });
    simulation.at(simulation.nowMs + 5000 + random.int(20_000), fault);
    if (kind === 0 && replica.isUp) simulation.kill(replica);
    else if (kind === 1 && replica.isUp) simulation.leave(replica);
    else if (kind === 2) replica.isCut = true;
    else if (kind === 3) {
      // Until others have its part.
      replica.isCut = true;
      simulation.at(simulation.nowMs + 90_000, () => {
        replica.isCut = false;
      });
    } else if (kind === 4) simulation.maxDelayMs = random.pick([20, 200, 1000]);
    else if (kind === 5) simulation.isRefusing = true;
    else if (kind === 6) simulation.setRedisClock(Math.round((random.next() - 0.5) * 600_000));
    else restart();
  };
  const restart = () =>
    simulation.at(simulation.nowMs, () => simulation.restartRedis(random.pick(["same", "empty", "backup"])));
  await simulation.backUp();
  simulation.at(10_000, fault);
  const checks = 10;
  for (let check = 1; check <= checks; check++) {
    await simulation.run(6000 + (minutes * 60_000 * check) / checks);
    assert.ok(simulation.ledger.overGranted <= 0, `${simulation.ledger.overGranted} granted over a quota`);
    assert.equal(simulation.ledger.lost, 0, "Redis knew less of a replica than before");
    assert.equal(simulation.overQuota, 0);
    assert.deepEqual(await wrongSums(simulation), []);
  }
  simulation.isRefusing = false;
  for (const replica of simulation.replicas) {
    replica.isCut = false;
    if (!replica.isUp) simulation.start(replica);
  }
  await simulation.run(simulation.nowMs + 10_000);
  assert.deepEqual(await untold(simulation), []);
  let [admitted, early] = [0, 0];
  for (const tally of simulation.tallies.values()) {
    admitted += tally.admitted;
    early += tally.early;
  }
  const { calls, rows, overBurst, steps, overQuota } = simulation;
  const { entered, overGranted } = simulation.ledger;
  const told = { admitted, early, faults, steps, calls, rows: Math.round(rows), entered };
  const seconds = { wall: Math.round(process.uptime()), cpu: Math.round(process.cpuUsage().user / 1e6) };
  t.diagnostic(JSON.stringify({ ...told, overQuota, overGranted, overBurst, ...seconds }));
  assert.ok(admitted > 0);
});

function poisson(
  simulation: Simulation,
  perSecond: number,
  forMs: number,
  pick: () => (typeof simulation.replicas)[number],
  seen: (ms: number) => void = () => {},
): void {
  const untilMs = simulation.nowMs + forMs;
  const step = () => {
    if (simulation.nowMs > untilMs) return;
    seen(simulation.nowMs);
    simulation.request(pick(), 0);
    simulation.at(simulation.nowMs - (Math.log(1 - simulation.random.next()) * 1000) / perSecond, step);
  };
  step();
}

/** What replicas admit of a demand, in bursts per second, against what one server admits of the same requests. */
async function sustained({
  members,
  burst,
  isOnOne,
  demand,
}: {
  members: number;
  burst: number;
  isOnOne: boolean;
  demand: number;
}) {
  await redis.client.flushdb();
  const quota = 1_000_000_000;
  const simulation = new Simulation({ seed: 1, client: redis.client, accounts: [{ burst, quota }] });
  for (let i = 0; i < members; i++) simulation.add();
  await simulation.run(4000);
  const single = new Limits();
  single.configure(0, burst, 2_000_000_000);
  const month = simulation.month();
  single.enter(0, month, 0);
  const random = seededRandom(2);
  let alone = 0;
  const pick = () => (isOnOne ? simulation.replicas[0] : random.pick(simulation.replicas));
  // The start, where a full bucket is used up, is no sustained load.
  // Long enough for what the replicas may hold at its ends to be little of it.
  const seconds = Math.max(10, 1500 / burst);
  poisson(simulation, burst * demand, 5000 + seconds * 1000, pick, (ms) => {
    if (single.admit(0, month, ms) >= 0) alone++;
  });
  await simulation.run(simulation.nowMs + 5000);
  const [aloneBefore, before] = [alone, simulation.tally(0, month).admitted];
  await simulation.run(simulation.nowMs + seconds * 1000);
  const admitted = simulation.tally(0, month).admitted - before;
  return { ratio: admitted / (alone - aloneBefore), overBurst: simulation.overBurst };
}
