import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { connectRedis } from "../../server/parts/replicas/redis.ts";
import { redisAddress } from "../../server/parts/replicas/redis-url.ts";
import { freePort, until } from "../support/connection.ts";
import { temporaryFolder } from "../support/folders.ts";
import { RedisProxy } from "../support/redis-proxy.ts";
import { RedisNode } from "../support/redis-server.ts";
import { Client, Replica } from "../support/replicas.ts";
import { createKey, node, Running } from "../support/server.ts";

/** Tests connections to Redis: with TLS, as a user with minimum rights, to a Cluster and with Sentinels. */

function certificates(): { authority: string; certificate: string; key: string } {
  const folder = temporaryFolder();
  const openssl = (words: string) =>
    execFileSync("openssl", words.split(" "), { cwd: folder, stdio: "pipe" });
  const make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
  openssl(`${make} -keyout ca.key -out ca.pem -subj /CN=authority`);
  const signed = "-CA ca.pem -CAkey ca.key -addext subjectAltName=IP:127.0.0.1";
  openssl(`${make} -keyout redis.key -out redis.pem -subj /CN=redis ${signed}`);
  const [authority, certificate, key] = ["ca.pem", "redis.pem", "redis.key"].map((name) =>
    join(folder, name),
  );
  return { authority, certificate, key };
}

/** The rights that a server and its commands need. For a Cluster they also need `+cluster|slots`. */
const rights = "~hc:* resetchannels -@all +@read +@write +@scripting +@connection -@dangerous +info +time";

test("servers and commands work over TLS as a Redis user with minimal rights", async () => {
  const { authority, certificate, key: certificateKey } = certificates();
  const port = await freePort();
  const redis = await RedisNode.start(
    [
      ...["port 0", `tls-port ${port}`, "tls-auth-clients no", `tls-ca-cert-file ${authority}`],
      ...[`tls-cert-file ${certificate}`, `tls-key-file ${certificateKey}`],
      "maxmemory-policy volatile-lru",
      `user hcqs on >p@ss:w/ord ${rights}`,
    ],
    [],
    port,
  );
  after(() => redis.stop());
  const url = `rediss://hcqs:${encodeURIComponent("p@ss:w/ord")}@127.0.0.1:${port}`;
  const seed = temporaryFolder();
  const key = createKey(seed, "one", { burst: 100, quota: 20 });
  const trusting = { NODE_EXTRA_CA_CERTS: authority };
  const replica = await new Replica(seed, url, trusting).start();
  assert.doesNotMatch(replica.log, /Redis is down/);
  assert.match(replica.log, /"policy":"volatile-lru","msg":"Redis may drop counts and accounts: /);
  const client = await Client.of(replica, key);
  await client.askUntil(() => client.last === "month");
  client.close();
  assert.equal(client.admitted.length, 20);
  const keys = async (env: Record<string, string>, ...words: string[]) =>
    new Running("server/commands/keys.ts", words, { STATE_DIR: join(seed, "none"), ...env }).finished();
  const made = await keys({ ...trusting, REDIS_URL: url }, "create", "--account", "other", "--plan", "free");
  assert.equal(made.code, 0, made.stderr);
  const headers = { Authorization: `Bearer ${made.stdout.trim()}` };
  const usage = () => fetch(`${replica.api}/api/v1/usage`, { headers });
  // The key works at once, unless the command says that the server hasn't confirmed the change in time.
  if (!/not confirmed/.test(made.stderr)) assert.equal((await usage()).status, 200);
  await until("the key to be known", async () => (await usage()).status === 200);
  await until("the events", () => replica.log.match(/"quota event"/g)?.length === 3);
  await replica.stop();
  assert.doesNotMatch(replica.log, /failed/);
  for (const [env, reason] of [
    [{ REDIS_URL: url }, /certificate/],
    [{ ...trusting, REDIS_URL: url.replace("p%40ss", "pass") }, /WRONGPASS/],
  ] as const) {
    const { code, stderr } = await keys(env, "list");
    assert.equal(code, 1);
    assert.match(stderr, /^REDIS_URL: found a Redis that can't be used \(/);
    assert.match(stderr, reason);
  }
});

test("servers and commands report why Redis can't be used, without the password", async () => {
  const redis = await RedisNode.start([`user hcqs on >p@ssword ${rights}`]);
  after(() => redis.stop());
  const seed = temporaryFolder();
  const place = `127.0.0.1:${redis.port}`;
  // A label of a host name has at most 63 characters. So this name fails without asking a slow resolver.
  const nowhere = "x".repeat(64);
  await Promise.all(
    Object.entries({
      [`redis://hcqs:wr%40ng@${place}`]: /^WRONGPASS invalid username-password pair/,
      [`redis://:wr%40ng@${nowhere}`]: /^getaddrinfo \S+ x+$/,
      [`redis+cluster://:wr%40ng@${nowhere}`]: /^getaddrinfo \S+ x+$/,
      [`redis://${place}/99`]: /^database 99: ERR DB index is out of range$/,
    }).map(async ([url, expected]) => {
      const command = new Running("server/commands/keys.ts", ["list"], {
        STATE_DIR: join(seed, "none"),
        REDIS_URL: url,
      }).finished();
      const replica = await new Replica(seed, url).start();
      await until("the reason", () => /"Redis is down/.test(replica.log));
      const reasons = [...replica.log.matchAll(/"level":"warn".*"reason":"(.*?)"/g)].map(
        ([, reason]) => reason,
      );
      assert.equal(reasons.length, 2, replica.log);
      for (const reason of reasons) assert.match(reason, expected);
      const { code, stdout, stderr } = await command;
      assert.deepEqual([code, stdout], [1, ""]);
      const [, reason = ""] =
        /^REDIS_URL: found a Redis that can't be used \((?:the Cluster of )?\S+: (.*)\), expected one that answers, and has the user, password and database in it: see that it runs and can be reached from here\n$/.exec(
          stderr,
        ) ?? [];
      assert.match(reason, expected, stderr);
      assert.doesNotMatch(replica.log + stderr, /wr(@|%40)ng/);
      await replica.stop();
    }),
  );
  assert.equal(await redis.client.dbsize(), 0);
});

test("a missing password and a Redis without TLS give clear errors", async () => {
  const redis = await RedisNode.start();
  after(() => redis.stop());
  await redis.client.config("SET", "requirepass", "secret");
  for (const [scheme, expected] of [
    ["redis", /^a password is asked for, and none was sent$/],
    ["rediss", /^no answer by TLS \(/],
  ] as const) {
    const reasons: string[] = [];
    const client = await connectRedis(redisAddress(`${scheme}://127.0.0.1:${redis.port}`), (reason) =>
      reasons.push(reason),
    );
    await until("the reason", () => reasons.length > 0);
    client.disconnect();
    assert.match(reasons[0], expected);
  }
});

test("commands say what to do about a Redis that is full, is a replica or lacks replicas", async () => {
  const [redis, other] = [await RedisNode.start(), await RedisNode.start()];
  after(() => Promise.all([redis.stop(), other.stop()]));
  const REDIS_URL = `redis://127.0.0.1:${redis.port}`;
  const create = () =>
    new Running("server/commands/keys.ts", ["create", "--account", "a", "--plan", "free"], {
      STATE_DIR: join(temporaryFolder(), "none"),
      REDIS_URL,
    }).finished();
  await redis.client.config("SET", "maxmemory", "1");
  const full = await create();
  assert.deepEqual([full.code, full.stdout], [1, ""]);
  assert.match(full.stderr, /\(127\S+ OOM .*\), expected one with free memory: raise its maxmemory\n$/);
  await redis.client.config("SET", "maxmemory", "0");
  await redis.client.replicaof("127.0.0.1", other.port);
  const replica = await create();
  assert.deepEqual([replica.code, replica.stdout], [1, ""]);
  assert.match(replica.stderr, /READONLY .*\), expected a primary, because a replica can't be written to\n$/);
  await redis.client.replicaof("NO", "ONE");
  await redis.client.config("SET", "min-replicas-to-write", "1");
  const lonely = await create();
  assert.deepEqual([lonely.code, lonely.stdout], [1, ""]);
  assert.match(lonely.stderr, /NOREPLICAS .*\), expected a primary with the replicas that min-replicas/);
});

test("database 0 is never used in place of a configured database that doesn't exist", async () => {
  const redis = await RedisNode.start();
  const address = redisAddress(`redis://127.0.0.1:${redis.port}/9`);
  const faults: string[] = [];
  const client = await connectRedis(address, (fault) => faults.push(fault));
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      await client.incr("asked").catch(() => {});
      await new Promise(setImmediate);
    }
  })();
  after(async () => {
    isOver = true;
    await asking;
    client.disconnect();
    await redis.stop();
  });
  await until("the connection", () => client.status === "ready");
  for (const databases of [1, 16]) {
    await redis.kill();
    appendFileSync(join(redis.folder, "redis.conf"), `databases ${databases}\n`);
    faults.length = 0;
    await redis.restart();
    if (databases === 1) {
      const refused = (fault: string) => fault === "database 9: ERR DB index is out of range";
      await until("refusals", () => faults.filter(refused).length >= 3);
    } else await until("the connection", () => client.status === "ready");
    assert.equal(await redis.client.exists("asked"), 0);
  }
});

test("a Cluster command that may have been executed isn't repeated", async () => {
  const buses = [await freePort(), await freePort()];
  const nodes = await Promise.all(
    buses.map((bus) => RedisNode.start(["cluster-enabled yes", `cluster-port ${bus}`])),
  );
  const [redis, other] = nodes;
  const proxy = new RedisProxy(redis.path);
  const { port } = new URL(await proxy.listen());
  const ask = (node: RedisNode, ...words: (string | number)[]) => node.client.call("CLUSTER", ...words);
  after(async () => {
    proxy.close();
    await Promise.all(nodes.map((node) => node.stop()));
  });
  await redis.client.config("SET", "cluster-announce-port", port);
  await redis.client.config("SET", "cluster-announce-bus-port", buses[0]);
  await ask(redis, "MEET", "127.0.0.1", other.port, buses[1]);
  await ask(redis, "ADDSLOTSRANGE", 8192, 16_383);
  await ask(other, "ADDSLOTSRANGE", 0, 8191);
  for (const node of nodes)
    await until("the Cluster", async () => /cluster_state:ok/.test(String(await ask(node, "INFO"))));
  const address = redisAddress(`redis+cluster://127.0.0.1:${port}`);
  const client = await connectRedis(address, () => {});
  // This key belongs to the Cluster's hash slot 15495.
  const key = "{a}";
  await until("the connection", async () => (await client.incr(key).catch(() => 0)) > 0);
  const before = Number(await redis.client.get(key));
  proxy.losesAnswer = true;
  await assert.rejects(client.incr(key), /Connection is closed/);
  await until("the next answer", () => client.get(key).catch(() => undefined));
  assert.equal(Number(await redis.client.get(key)), before + 1);
  client.disconnect();
});

test("a process ends that disconnects from a Cluster while it asks for the primaries", async () => {
  const bus = await freePort();
  const redis = await RedisNode.start([
    ...["cluster-enabled yes", "cluster-announce-ip 127.0.0.1", `cluster-port ${bus}`],
  ]);
  after(() => redis.stop());
  await redis.client.call("CLUSTER", "ADDSLOTSRANGE", 0, 16_383);
  const [client, address] = ["redis.ts", "redis-url.ts"].map((file) =>
    import.meta.resolve(`../../server/parts/replicas/${file}`),
  );
  const program = `
    import { connectRedis } from ${JSON.stringify(client)};
    import { redisAddress } from ${JSON.stringify(address)};
    const client = await connectRedis(redisAddress("redis+cluster://127.0.0.1:${redis.port}"), () => {});
    client.on("ready", () => {
      const refresh = client.refreshSlotsCache.bind(client);
      client.refreshSlotsCache = (...callback) => {
        client.disconnect();
        refresh(...callback);
        console.log("disconnected");
      };
    });`;
  const words = ["--input-type=module", "--eval", program];
  assert.equal(execFileSync(node, words, { encoding: "utf8", timeout: 60_000 }), "disconnected\n");
});

test("a server warns about a replicated Redis only if min-replicas-to-write isn't set", async () => {
  const primary = await RedisNode.start();
  const replica = await RedisNode.start([`replicaof 127.0.0.1 ${primary.port}`]);
  after(() => Promise.all([primary, replica].map((node) => node.stop())));
  await until("the replica", async () => /connected_slaves:1/.test(await primary.client.info("replication")));
  const seed = temporaryFolder();
  const key = createKey(seed, "one", { burst: 500, quota: 900 });
  const server = new Replica(seed, `redis://127.0.0.1:${primary.port}`);
  await server.start();
  assert.match(server.log, /its min-replicas-to-write has to be 1 or more/);
  await server.stop();
  await primary.client.config("SET", "min-replicas-to-write", "1");
  await primary.client.config("SET", "min-replicas-max-lag", "1");
  await server.start();
  assert.doesNotMatch(server.log, /min-replicas-to-write/);
  // A primary that is cut off from its replica grants nothing, so only leased requests are admitted.
  const client = await Client.of(server, key);
  await client.askUntil(() => client.admitted.length >= 10);
  await replica.kill();
  await until("the primary to refuse writes", () =>
    primary.client.set("x", 1).then(
      () => false,
      () => true,
    ),
  );
  await client.askUntil(() => client.last === "lease");
  assert.ok(client.admitted.length < 900, String(client.admitted.length));
  client.close();
  await server.kill();
});

test("a server switches from a primary that refuses writes when the Sentinels name another one", async () => {
  const [old, next] = [await RedisNode.start(), await RedisNode.start()];
  const sentinel = await RedisNode.start([`sentinel monitor hc 127.0.0.1 ${old.port} 1`], ["--sentinel"]);
  after(() => Promise.all([old, next, sentinel].map((node) => node.stop())));
  const seed = temporaryFolder();
  createKey(seed, "one", { burst: 500, quota: 900 });
  const server = new Replica(seed, `redis+sentinel://127.0.0.1:${sentinel.port}/hc`);
  await server.start();
  // Makes the old primary refuse writes, as if only the server could reach it.
  await old.client.config("SET", "min-replicas-to-write", "1");
  await until("the server to say why", () => /"reason":"NOREPLICAS .*"Redis is down/.test(server.log));
  await sentinel.client.call("SENTINEL", "REMOVE", "hc");
  await sentinel.client.call("SENTINEL", "MONITOR", "hc", "127.0.0.1", String(next.port), "1");
  await until("the server to use the other primary", async () => (await next.client.dbsize()) >= 2);
  await server.stop();
});
