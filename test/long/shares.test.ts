import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { plans } from "../../server/shared/plans.ts";
import { RedisProxy } from "../support/redis-proxy.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";
import { Client, Replica, sum } from "../support/replicas.ts";
import { ample, createKey, temporaryFolder } from "../support/server.ts";
import { faultyRun } from "../support/shares-faults.ts";
import { Simulation } from "../support/shares-simulation.ts";
import { sizeFrom, trialRandom } from "./trial.ts";

/**
 * Tests servers that share ceilings through the script in a real Redis. Time and network are simulated, except in the
 * last tests. SHARES_RUNS is the number of runs with faults.
 */

const runs = sizeFrom("SHARES_RUNS", 200);

let redis: RedisServer;
before(async () => {
  redis = await startRedis(8);
});
after(() => redis.stop());

for (const losesWrites of [false, true])
  test(`no quota or rate is exceeded in simulations with faults${losesWrites ? " where Redis loses writes" : ""}`, async (t) => {
    const firstSeed = trialRandom(t).int(1_000_000);
    let seed = firstSeed;
    const sums = { calls: 0, overRate: 0, overQuota: 0, unused: 0, quotas: 0 };
    const work = async (client: (typeof redis.clients)[number]) => {
      while (seed < firstSeed + runs) {
        const own = seed++;
        const { simulation, months, isExact, history } = await faultyRun(client, own, losesWrites);
        const says = (text: unknown) => `seed ${own}: ${JSON.stringify(text)}\n${history.join("\n")}`;
        assert.equal(simulation.overQuota, 0, says("over a quota"));
        assert.equal(simulation.overRate, 0, says("over a rate"));
        for (const [i, month] of months.entries()) {
          if (isExact) assert.equal(month.record.total, month.admitted, says(month));
          // Each account has two months. The quota of the second month is used up at the end.
          if (isExact && i % 2 === 1) assert.equal(month.admitted, month.quota, says(month));
          if (i % 2 === 1) sums.unused += Math.max(0, month.quota - month.admitted);
          sums.quotas += i % 2 === 1 ? month.quota : 0;
        }
        sums.calls += simulation.calls;
      }
    };
    const ends = await Promise.allSettled(
      redis.clients.map((client) =>
        work(client).catch((error) => {
          seed = Number.POSITIVE_INFINITY;
          throw error;
        }),
      ),
    );
    // A run that goes on would write into a database that later tests use, so this throws after all runs have ended.
    for (const end of ends) if (end.status === "rejected") throw end.reason;
    t.diagnostic(`${runs} runs from seed ${firstSeed}: ${JSON.stringify(sums)}`);
  });

/** Measures the admitted requests of a steady load, divided by the rate. */
async function sustained(burst: number, delayMs: number, on: number, demand: number) {
  await redis.client.flushdb();
  const accounts = [{ burst, quota: 1_000_000_000 }];
  const delays = { minDelayMs: 0.9 * delayMs, maxDelayMs: 1.1 * delayMs };
  const simulation = new Simulation({ seed: 1, client: redis.client, accounts, ...delays });
  for (let i = 0; i < 3; i++) simulation.add();
  await simulation.run(8000);
  const seconds = Math.max(30, 300 / burst);
  const step = () => {
    simulation.request(simulation.servers[simulation.random.int(on)], 0);
    const nextMs = simulation.nowMs - (Math.log(1 - simulation.random.next()) * 1000) / (burst * demand);
    if (nextMs < 13_000 + 1000 * seconds) simulation.at(nextMs, step);
  };
  step();
  await simulation.run(13_000);
  const before = simulation.tally(0).admitted;
  await simulation.run(13_000 + 1000 * seconds);
  assert.equal(simulation.overRate, 0);
  return (simulation.tally(0).admitted - before) / (burst * seconds);
}

for (const delayMs of [1, 50, 100, 250])
  test(`a steady load gets its rate on one to three servers with a Redis that is ${delayMs} ms away`, async (t) => {
    for (const burst of [50, 500])
      for (const on of [1, 2, 3]) {
        const got = await sustained(burst, delayMs, on, 2);
        t.diagnostic(`${burst} per second on ${on}: ${(100 * got).toFixed(1)} %`);
        assert.ok(got >= (delayMs > 100 ? 0.85 : 0.95), `${got}`);
      }
    for (const burst of [1, 2, 4, 8])
      for (const on of [1, 3]) {
        const got = await sustained(burst, delayMs, on, 4);
        t.diagnostic(`${burst} per second on ${on}: ${(100 * got).toFixed(1)} %`);
        assert.ok(got >= 0.9, `${burst} on ${on}: ${got}`);
      }
  });

for (const delayMs of [1, 50, 500])
  test(`few requests are refused before the quota is used up with a Redis that is ${delayMs} ms away`, async (t) => {
    const { burst, quota: planned } = plans.developer;
    const quota = 20 * burst;
    await redis.client.flushdb();
    const delays = { minDelayMs: 0.9 * delayMs, maxDelayMs: 1.1 * delayMs };
    const simulation = new Simulation({
      seed: 1,
      client: redis.client,
      accounts: [{ burst, quota }],
      ...delays,
    });
    for (let i = 0; i < 3; i++) simulation.add();
    await simulation.run(4000 + 10 * delayMs);
    const tally = simulation.tally(0);
    const ask = (i: number) => {
      if (tally.admitted >= quota) return;
      const isAdmitted = simulation.request(simulation.servers[i % 3], 0);
      const pauseMs = (isAdmitted ? 100 : 1000) * (0.5 + simulation.random.next());
      simulation.at(simulation.nowMs + pauseMs, () => ask(i));
    };
    for (let i = 0; i < 15; i++) ask(i);
    while (tally.admitted < quota && simulation.nowMs < 600_000)
      await simulation.run(simulation.nowMs + 1000);
    t.diagnostic(`${tally.admitted} admitted, ${tally.early} refused before the quota was used up`);
    assert.equal(tally.admitted, quota);
    assert.ok(tally.early <= 0.005 * planned, `${tally.early}`);
  });

for (const [delayMs, least] of [
  [100, 0.95],
  [250, 0.85],
])
  test(`real servers admit at least ${100 * least} % of the rate with a Redis that is ${delayMs} ms away`, async (t) => {
    const own = await startRedis();
    const proxy = new RedisProxy(own.path);
    const url = await proxy.listen();
    const seed = temporaryFolder();
    const burst = 100;
    const keys = [1, 2, 3].map((on) => createKey(seed, `account ${on}`, { burst, quota: ample.quota }));
    const servers = [1, 2, 3].map(() => new Replica(seed, url));
    t.after(async () => {
      await Promise.all(servers.map((server) => server.kill()));
      proxy.close();
      await own.stop();
    });
    await Promise.all(servers.map((server) => server.start()));
    proxy.delayMs = delayMs;
    for (const [i, key] of keys.entries()) {
      const clients = await Promise.all(servers.slice(0, i + 1).map((server) => Client.of(server, key)));
      const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
      const startMs = performance.now();
      const endMs = startMs + 15_000;
      let before = 0;
      const load = async (client: Client) => {
        for (let n = 1; performance.now() < endMs; n++) {
          await client.ask();
          if (performance.now() < startMs + 5000) before = sum(clients);
          const dueMs = startMs + (n * 1000 * clients.length) / (2 * burst);
          if (dueMs > performance.now()) await pause(dueMs - performance.now());
        }
      };
      await Promise.all(clients.map(load));
      const got = (sum(clients) - before) / (burst * 10);
      t.diagnostic(`on ${i + 1}: ${(100 * got).toFixed(1)} %`);
      assert.ok(got >= least, `${got} on ${i + 1}`);
      for (const client of clients) client.close();
    }
  });
