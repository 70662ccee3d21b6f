import assert from "node:assert/strict";
import { after, test } from "node:test";
import { parse } from "yaml";
import { freePort, until } from "../support/connection.ts";
import { deployFile } from "../support/deployment.ts";
import { temporaryFolder } from "../support/folders.ts";
import { RedisNode } from "../support/redis-server.ts";
import { Client, Replica } from "../support/replicas.ts";
import { ample, createKey } from "../support/server.ts";
import { nginxCommand, startProxy } from "./proxy.ts";

/** Tests a rolling restart with the setup of `compose.replicas.yaml`, with three servers and no container engine. */

const count = 3;
const { services } = parse(deployFile("compose.replicas.yaml"), { merge: true });
const [, ...options] = services.redis.command;
const redis = await RedisNode.start([], options);
const port = await freePort();
const seed = temporaryFolder();
const keys = Array.from({ length: 6 }, (_, i) => createKey(seed, `account ${i + 1}`, ample));
const ports = await Promise.all(Array.from({ length: count }, freePort));
const replicas = ports.map(
  (own) =>
    new Replica(seed, `redis://127.0.0.1:${redis.port}`, {
      ...services["api-1"].environment,
      ...{ OPS_HOST: "127.0.0.1", PORT: String(own), REDIS_URL: `redis://127.0.0.1:${redis.port}` },
    }),
);
await Promise.all(replicas.map((replica) => replica.start()));

function configuration(): string {
  const [first, ...others] = [
    ...deployFile("nginx.replicas.conf").matchAll(/^ {2}server api-\d:8080(.*)$/gm),
  ];
  const here = ports.map((own) => `  server 127.0.0.1:${own}${first[1]}`).join("\n");
  const rest = others.reduce(
    (text, [line]) => text.replace(`${line}\n`, ""),
    deployFile("nginx.replicas.conf"),
  );
  return rest.replace(first[0], here).replace("listen 80;", `listen 127.0.0.1:${port};`);
}

const folder = temporaryFolder();
const stopProxy = await startProxy(nginxCommand(folder, configuration()), folder, port);
after(async () => {
  await stopProxy();
  await Promise.all(replicas.map((replica) => replica.kill()));
  await redis.stop();
});
const proxy = { api: `http://127.0.0.1:${port}` };

async function inStep(): Promise<void> {
  for (const replica of replicas)
    await until("all to be members", async () => (await replica.metric("hcqs_replicas")) === count);
}

/** Reconnects, because nginx closes connections after 1,000 requests. @returns the number of answers */
async function load(key: string, isDone: () => boolean): Promise<number> {
  let answered = 0;
  while (!isDone()) {
    const client = await Client.of(proxy, key);
    await client.askUntil(() => isDone() || client.admitted.length === 500);
    assert.deepEqual(client.refused, { second: 0, month: 0, lease: 0 });
    answered += client.admitted.length;
    client.close();
  }
  return answered;
}

test("no request fails while three servers are restarted one after the other", async (t) => {
  await inStep();
  let isDone = false;
  const loads = Promise.all([...keys, ...keys].map((key) => load(key, () => isDone)));
  for (const replica of replicas) {
    await Promise.race([loads, replica.stop()]);
    await replica.start();
  }
  isDone = true;
  const answered = (await loads).reduce((total, requests) => total + requests, 0);
  await inStep();
  let looks = 0;
  const counted = await until("the counts of all", async () => {
    const used = await Promise.all(keys.map((key) => replicas[0].usage(key)));
    // Each request for the usage counts, too.
    looks += keys.length;
    const all = used.reduce((total, one) => total + (one?.used ?? Number.NaN), 0) - looks;
    return all >= answered && all;
  });
  // If a server stops before it answers a counted request, nginx repeats the request, which is counted again.
  t.diagnostic(`${answered} requests were answered, ${counted - answered} more counted`);
  assert.ok(counted - answered <= keys.length * 2 * count, `${counted - answered} more were counted`);
});
