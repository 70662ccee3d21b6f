import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { run } from "../support/commands.ts";
import { freePort, until } from "../support/connection.ts";
import { temporaryFolder } from "../support/folders.ts";
import { RedisNode } from "../support/redis-server.ts";
import { Client, Replica, sum } from "../support/replicas.ts";
import { createKey } from "../support/server.ts";

/** Tests servers under load during a failover of Redis, with Sentinels and with a Cluster. */

const count = 3;
const ceilings = { burst: 500, quota: 1500 };

/** Servers that share a Redis, and accounts with a key each. */
class Fleet {
  readonly replicas: Replica[];
  readonly keys: string[];
  readonly #url: string;

  constructor(url: string, accounts: number) {
    this.#url = url;
    const seed = temporaryFolder();
    this.keys = Array.from({ length: accounts }, (_, i) => createKey(seed, `account ${i + 1}`, ceilings));
    this.replicas = Array.from({ length: count }, () => new Replica(seed, url));
  }

  async start(t: TestContext): Promise<this> {
    t.after(() => Promise.all(this.replicas.map((replica) => replica.kill())));
    await Promise.all(this.replicas.map((replica) => replica.start()));
    await this.inStep();
    return this;
  }

  async inStep(): Promise<void> {
    for (const replica of this.replicas)
      await until("all to be members", async () => {
        const [members, age] = ["hcqs_replicas", "hcqs_sync_age_seconds"].map((name) => replica.metric(name));
        return (await members) === count && (await age) < 1;
      });
  }

  /** Uses up an account's quota on all servers. @param happens what happens to Redis in the meantime */
  async useUp(account: number, happens = async () => {}): Promise<void> {
    const key = this.keys[account - 1];
    const clients = await Promise.all(this.replicas.map((replica) => Client.of(replica, key)));
    const used = Promise.all(
      clients.map(async (client) => {
        // After a refused request, a pause gives the servers processor time.
        while ((await client.ask()) !== "month") if (client.last !== "admitted") await delay(10);
      }),
    );
    await Promise.race([used, until("some of the month to be used", () => sum(clients) >= 500)]);
    await Promise.all([happens(), used]);
    assert.equal(sum(clients), ceilings.quota);
    for (const client of clients) client.close();
  }

  async run(command: string) {
    const [result] = await run(join(temporaryFolder(), "none"), [command], { REDIS_URL: this.#url });
    return result;
  }

  async listsKeys(): Promise<void> {
    const { code, stderr } = await this.run("keys list");
    assert.equal(code, 0, stderr);
  }

  async statuses(key: string): Promise<number[]> {
    const headers = { Authorization: `Bearer ${key}` };
    return Promise.all(
      this.replicas.map(async ({ api }) => (await fetch(`${api}/api/v1/usage`, { headers })).status),
    );
  }

  async changeKeys(): Promise<void> {
    const made = await this.run("keys create --account later --plan business");
    assert.equal(made.code, 0, made.stderr);
    const key = made.stdout.trim();
    assert.deepEqual(await this.statuses(key), [200, 200, 200]);
    assert.doesNotMatch(made.stderr, /not confirmed/);
    const list = JSON.parse((await this.run("keys list --json")).stdout) as { id: number }[];
    const revoked = await this.run(`keys revoke ${Math.max(...list.map(({ id }) => id))}`);
    assert.equal(revoked.code, 0, revoked.stderr);
    assert.doesNotMatch(revoked.stderr, /not confirmed/);
    assert.deepEqual(await this.statuses(key), [401, 401, 401]);
  }
}

async function nodes(t: TestContext, number: number, lines: (i: number) => string[], words?: string[]) {
  const started = await Promise.all(
    Array.from({ length: number }, (_, i) => RedisNode.start(lines(i), words)),
  );
  t.after(() => Promise.all(started.map((node) => node.stop())));
  return started;
}

const fieldsOf = (list: unknown): Map<string, string> => {
  const words = list as string[];
  return new Map(words.flatMap((name, i) => (i % 2 === 0 ? [[name, words[i + 1]] as const] : [])));
};

test("with Sentinels, no request fails and quotas stay exact when the primary or all Sentinels die", async (t) => {
  const [primary] = await nodes(t, 1, () => []);
  const [replica] = await nodes(t, 1, () => [`replicaof 127.0.0.1 ${primary.port}`]);
  const watching = ["down-after-milliseconds hc 1000", "failover-timeout hc 3000"];
  const sentinels = await nodes(
    t,
    3,
    () => [`monitor hc 127.0.0.1 ${primary.port} 2`, ...watching].map((line) => `sentinel ${line}`),
    ["--sentinel"],
  );
  const seen = async (sentinel: RedisNode) =>
    fieldsOf(await sentinel.client.call("SENTINEL", "MASTER", "hc"));
  for (const sentinel of sentinels)
    await until("the Sentinels to know each other", async () => {
      const fields = await seen(sentinel);
      return fields.get("num-other-sentinels") === "2" && fields.get("num-slaves") === "1";
    });
  await until("the replica to follow", async () =>
    /master_link_status:up/.test(await replica.client.info("replication")),
  );
  const url = `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",")}/hc`;
  const fleet = await new Fleet(url, 2).start(t);
  await fleet.changeKeys();
  await fleet.useUp(1, async () => {
    await primary.kill();
    await fleet.listsKeys();
    for (const sentinel of sentinels)
      await until("a new primary", async () => (await seen(sentinel)).get("port") === String(replica.port));
  });
  await fleet.inStep();
  await fleet.changeKeys();
  await fleet.useUp(2, async () => {
    for (const sentinel of sentinels) await sentinel.stop();
  });
  await fleet.inStep();
  const { code, stderr } = await fleet.run("keys list");
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^REDIS_URL: found a Redis that can't be used \(hc of the Sentinels .*: see that it runs and/,
  );
});

test("with a Cluster, no request fails and quotas stay exact when two primaries are killed under load", async (t) => {
  const buses = await Promise.all(Array.from({ length: 6 }, freePort));
  const redis = await nodes(t, buses.length, (i) => [
    ...["cluster-enabled yes", "cluster-node-timeout 1000", `cluster-port ${buses[i]}`],
  ]);
  const addresses = redis.map(({ port }) => `127.0.0.1:${port}`);
  const both = addresses.map((address, i) => `${address}@${buses[i]}`);
  execFileSync("redis-cli", ["--cluster", "create", ...both, "--cluster-replicas", "1", "--cluster-yes"]);
  const ownerOf = async (from: RedisNode, key: string) => {
    const slot = Number(await from.client.call("CLUSTER", "KEYSLOT", key));
    const slots = (await from.client.call("CLUSTER", "SLOTS")) as [number, number, [string, number]][];
    return slots.find(([first, last]) => first <= slot && slot <= last)?.[2][1];
  };
  for (const node of redis)
    await until("the Cluster", async () => {
      const info = await node.client.call("CLUSTER", "INFO");
      const links = await node.client.info("replication");
      return /cluster_state:ok/.test(String(info)) && !/master_link_status:down/.test(links);
    });
  const url = `redis+cluster://${addresses.slice(0, 2).join(",")}`;
  const fleet = await new Fleet(url, 3).start(t);
  await fleet.changeKeys();
  const dead = new Set<RedisNode>();
  // Kills the primary that stores the ceilings, and then the primary that stores accounts and API keys.
  for (const [i, key] of ["hc:{0}:servers", "hc:{directory}:rows"].entries()) {
    await fleet.useUp(i + 1, async () => {
      const survivor = () => redis.find((node) => !dead.has(node)) ?? assert.fail("no node");
      const died = await ownerOf(survivor(), key);
      const killed = redis.find(({ port }) => port === died) ?? assert.fail("no owner");
      dead.add(killed);
      await killed.kill();
      await fleet.listsKeys();
      await until("another primary", async () => {
        const owner = await ownerOf(survivor(), key);
        return owner !== undefined && owner !== died;
      });
    });
    await fleet.inStep();
    await fleet.changeKeys();
  }
  await fleet.useUp(3);
});
