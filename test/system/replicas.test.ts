import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { run } from "../support/commands.ts";
import { until } from "../support/connection.ts";
import { temporaryFolder } from "../support/folders.ts";
import { RedisProxy } from "../support/redis-proxy.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";
import { Client, Replica, sum } from "../support/replicas.ts";
import { ample, createKey } from "../support/server.ts";

/** Tests three servers that share ceilings through a real Redis behind a proxy. REPLICAS_SECONDS sizes the loads. */

const seconds = Number(process.env.REPLICAS_SECONDS ?? 4);
const count = 3;
const seed = temporaryFolder();
let accounts = 0;
/** Call this before the servers start. */
const account = (burst: number, quota: number) => {
  accounts++;
  return { id: accounts, burst, quota, key: createKey(seed, `account ${accounts}`, { burst, quota }) };
};
const bystander = account(ample.burst, ample.quota);
const all = account(500, 900);
const bursting = account(60, ample.quota);
const restarted = account(400, 1500);
const killed = account(400, 1200);
const leaving = account(400, 600);
const restored = account(400, 900);
const emptied = account(400, 900);

let redis: RedisServer;
let proxy: RedisProxy;
let url: string;
let replicas: Replica[];
before(async () => {
  redis = await startRedis();
  proxy = new RedisProxy(redis.path);
  url = await proxy.listen();
  replicas = Array.from({ length: count }, () => new Replica(seed, url));
  await Promise.all(replicas.map((replica) => replica.start()));
  await allMembers();
});
after(async () => {
  for (const client of opened) client.close();
  await Promise.all(replicas.map((replica) => replica.stop()));
  proxy.close();
  await redis.stop();
});

async function allMembers(): Promise<void> {
  for (const replica of replicas)
    await until("all to be members", async () => {
      const [members, age] = [
        await replica.metric("hcqs_replicas"),
        await replica.metric("hcqs_sync_age_seconds"),
      ];
      return members === count && age < 1;
    });
}

const opened: Client[] = [];
async function clientOf(replica: Replica, key: string): Promise<Client> {
  const client = await Client.of(replica, key);
  opened.push(client);
  return client;
}
const clientsOf = (key: string) => Promise.all(replicas.map((replica) => clientOf(replica, key)));

async function useUp(clients: readonly Client[]): Promise<void> {
  await Promise.all(clients.map((client) => client.askUntil(() => client.last === "month")));
}

const early = (clients: readonly Client[]) =>
  clients.reduce((total, { refused }) => total + refused.lease, 0);

test("three servers together admit exactly the quota, and each knows the remaining requests", async (t) => {
  const clients = await clientsOf(all.key);
  await Promise.all(clients.map((client) => client.askUntil(() => sum(clients) >= 300)));
  // Only one client sends requests now. Its replica has to learn of the requests at the other replicas.
  await until("one replica to know of all", async () => {
    await clients[0].ask();
    return clients[0].last === "admitted" && clients[0].remaining === all.quota - sum(clients);
  });
  const { used, days } = await until("an answer", () => replicas[0].usage(all.key));
  assert.deepEqual([used, days], [sum(clients) + 1, used]);
  await useUp(clients);
  assert.equal(sum(clients) + 1, all.quota);
  t.diagnostic(`${early(clients)} early refusals of ${all.quota}`);
  for (const client of clients) assert.ok(client.admitted.length > 0);
  await until("all to be given back", async () => {
    const charged = await Promise.all(replicas.map((r) => r.metric("hcqs_lease_charged_requests")));
    return charged.every((requests) => requests <= 4);
  });
});

test("requests are answered while Redis doesn't respond", async () => {
  await allMembers();
  const clients = await clientsOf(bystander.key);
  proxy.hold();
  for (const client of clients) await client.askUntil(() => client.admitted.length === 100);
  proxy.release();
});

test("no window of time has more requests than the burst allows", async () => {
  await allMembers();
  const clients = await clientsOf(bursting.key);
  const endMs = performance.now() + seconds * 1000;
  await Promise.all(clients.map((client) => client.askUntil(() => performance.now() > endMs)));
  const sent = clients.flatMap(({ admitted }) => admitted).sort((a, b) => a.sentMs - b.sentMs);
  const { burst } = bursting;
  const most = Math.max(2 * burst, burst + count);
  for (const { sentMs: fromMs } of sent) {
    const came = sent
      .filter(({ sentMs }) => sentMs >= fromMs)
      .map(({ cameMs }) => cameMs)
      .sort((a, b) => a - b);
    for (const [i, toMs] of came.entries()) {
      const allowed = (burst * (toMs - fromMs)) / 1000 + most;
      assert.ok(i + 1 <= allowed, `${i + 1} requests in ${toMs - fromMs} ms, expected ${allowed} at most`);
    }
  }
});

test("servers admit exactly the quota even if Redis restarts empty", async () => {
  await allMembers();
  const clients = await clientsOf(restarted.key);
  await Promise.all(clients.map((client) => client.askUntil(() => sum(clients) >= 500)));
  await redis.stop();
  for (const client of clients) for (let i = 0; i < 50; i++) await client.ask();
  await until("the server to say so", () => /Redis is down/.test(replicas[0].log));
  redis = await startRedis(1, redis.path);
  await useUp(clients);
  assert.equal(sum(clients), restarted.quota);
  await until("the server to say so", () => /Redis is back/.test(replicas[0].log));
});

test("a stopped server returns its lease, and a server that starts without Redis logs it", async () => {
  await allMembers();
  const clients = await clientsOf(leaving.key);
  await Promise.all(clients.map((client) => client.askUntil(() => sum(clients) >= 200)));
  const stopping = replicas[2].stop();
  await Promise.all(clients.slice(0, 2).map((client) => client.askUntil(() => client.last === "month")));
  await stopping;
  assert.equal(sum(clients), leaving.quota);
  await until("nothing to be left of it", async () => {
    const hashes = (await redis.client.keys("*")).filter((key) => !/flags|names/.test(key));
    const contents = await Promise.all(
      hashes.map(async (key) => JSON.stringify(await redis.client.hgetall(key))),
    );
    // The fields `left` and `old` may have the server's id after the server has left.
    const others = contents.map((content) => content.replace(/\\"(left|old)\\":\{[^}]*\}/g, ""));
    return !others.some((content) => content.includes(replicas[2].id));
  });
  await until("two to be left", async () => {
    const members = await Promise.all(replicas.slice(0, 2).map((each) => each.metric("hcqs_replicas")));
    return members.every((count) => count === 2);
  });
  const lost = new Replica(replicas[2].stateDir, "redis://127.0.0.1:1");
  await lost.start();
  assert.match(lost.log, /Redis is down/);
  // After a request, the server knows the account, and its own use of the account's quota.
  const client = await clientOf(lost, leaving.key);
  await client.ask();
  assert.equal(client.last, "lease");
  await lost.stop();
  const free = new Replica(replicas[2].stateDir, "redis://127.0.0.1:1", { QUOTA_WITHOUT_REDIS: "free" });
  await free.start();
  const freed = await clientOf(free, leaving.key);
  assert.equal(await freed.ask(), "admitted");
  await free.stop();
  await replicas[2].start();
});

async function listed(): Promise<{ id: string; state: string; leased: number }[]> {
  const [{ code, stdout, stderr }] = await command("accounts servers --json");
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}
const command = (...words: string[]) => run(join(temporaryFolder(), "none"), words, { REDIS_URL: url });

test("after a server is killed the quota isn't exceeded, and forgetting the server frees its lease", async (t) => {
  await allMembers();
  const clients = await clientsOf(killed.key);
  await Promise.all(clients.map((client) => client.askUntil(() => sum(clients) >= 600)));
  await replicas[2].kill();
  await replicas[2].start();
  // A start may take longer than servers keep idle connections, so new connections are opened.
  const users = await clientsOf(killed.key);
  const all = [...clients, ...users];
  await useUp(users);
  t.diagnostic(`${sum(all)} of ${killed.quota} are admitted before the dead server is forgotten`);
  const before = sum(all);
  assert.ok(before <= killed.quota, `${before}`);
  const dead = (await listed()).filter(({ state }) => state === "gone");
  assert.deepEqual(
    dead.map(({ id }) => id.split(".")[0]),
    [replicas[2].id],
  );
  await until("the console to name it", async () => (await replicas[0].gone())[0] === dead[0].id);
  const [refused, unknown, forgotten] = await command(
    `accounts forget-server ${replicas[1].id}`,
    "accounts forget-server nobody",
    `accounts forget-server ${dead[0].id}`,
  );
  assert.match(refused.stderr, /: found one with a heartbeat in the last minute, expected /);
  assert.match(unknown.stderr, /^server "nobody": found no such id, expected /);
  assert.equal(forgotten.code, 0, forgotten.stderr);
  assert.equal((await listed()).length, count);
  const given = Number(/: (\d+) requests/.exec(forgotten.stdout)?.[1]);
  assert.ok(given <= dead[0].leased, forgotten.stdout);
  await until("the console to forget it", async () => (await replicas[0].gone()).length === 0);
  await until("what was given back to be used", async () => {
    await useUp(users);
    return given === 0 || sum(all) > before;
  });
  assert.ok(sum(all) <= killed.quota, `${sum(all)}`);
});

test("a server restored from a backup joins Redis as a new one, and the quota isn't exceeded", async () => {
  await allMembers();
  const [replica] = replicas;
  const backup = join(temporaryFolder(), "backup");
  await replica.stop();
  cpSync(replica.stateDir, backup, { recursive: true });
  await replica.start();
  const before = await clientOf(replica, restored.key);
  await before.askUntil(() => before.admitted.length >= 300);
  await replica.kill();
  rmSync(replica.stateDir, { recursive: true });
  cpSync(backup, replica.stateDir, { recursive: true });
  await replica.start();
  assert.doesNotMatch(replica.log, /Redis is down/);
  const after = await clientsOf(restored.key);
  await useUp(after);
  assert.ok(sum([before, ...after]) <= restored.quota, String(sum([before, ...after])));
});

test("servers restarted with an emptied Redis admit exactly the rest of the quota", async () => {
  await allMembers();
  const before = await clientsOf(emptied.key);
  await Promise.all(before.map((client) => client.askUntil(() => sum(before) >= 600)));
  await Promise.all(replicas.map((replica) => replica.stop()));
  await redis.client.flushall();
  await Promise.all(replicas.map((replica) => replica.start()));
  const after = await clientsOf(emptied.key);
  await useUp(after);
  assert.equal(sum([...before, ...after]), emptied.quota);
});
