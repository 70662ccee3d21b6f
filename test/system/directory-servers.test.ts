import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { exportAccounts, importAccounts } from "../../server/accounts/transfer.ts";
import { runShared } from "../../server/parts/replicas/command.ts";
import { monthKey } from "../../server/parts/replicas/redis.ts";
import { redisAddress } from "../../server/parts/replicas/redis-url.ts";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { Store } from "../../server/store/store.ts";
import { run } from "../support/commands.ts";
import { until } from "../support/connection.ts";
import { temporaryFolder } from "../support/folders.ts";
import { RedisProxy } from "../support/redis-proxy.ts";
import { RedisNode, type RedisServer, startRedis } from "../support/redis-server.ts";
import { Replica } from "../support/replicas.ts";
import { currentOnly, datasetsFolder, node, spawnServer } from "../support/server.ts";
import { account } from "../support/state.ts";

/** Tests servers and commands that run on different machines and share accounts and keys. */

let redis: RedisServer;
let proxy: RedisProxy;
let url: string;
const replicas: Replica[] = [];
before(async () => {
  redis = await startRedis(2);
  proxy = new RedisProxy(redis.path);
  url = await proxy.listen();
  const env = { PORTAL: "on", SIGNUP: "open", WEBHOOK_ALLOW_LOOPBACK: "true" };
  for (let i = 0; i < 2; i++) replicas.push(new Replica(temporaryFolder(), url, env));
  // The first server delivers events, so the servers start one after the other.
  for (const replica of replicas) await replica.start();
});
after(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()));
  proxy.close();
  await redis.stop();
});

/** Whether all servers had applied the last commands' changes. On a busy machine a command may stop waiting. */
let areConfirmed = true;
/** Number of calls of `succeed` in this file after which a server hadn't applied a change yet. */
let timesUnconfirmed = 0;

/** Runs commands on a machine without a state. The commands have to succeed. @returns the stdout of each command */
async function succeed(...commands: string[]): Promise<string[]> {
  const results = await run(join(temporaryFolder(), "none"), commands, { REDIS_URL: url });
  areConfirmed = !results.some(({ stderr }) => /not confirmed/.test(stderr));
  if (!areConfirmed) timesUnconfirmed++;
  assert.ok(timesUnconfirmed <= 1, results.map(({ stderr }) => stderr).join(""));
  return results.map(({ code, stdout, stderr }, i) => {
    assert.equal(code, 0, `${commands[i]}: ${stderr}`);
    return stdout.trimEnd();
  });
}

/** Checks that every server answers a key with a status. Waits only if the last change wasn't confirmed. */
async function answers(key: string, status: number): Promise<void> {
  if (!areConfirmed)
    await until("the servers that were named", async () =>
      (await statuses(key)).every((found) => found === status),
    );
  assert.deepEqual(await statuses(key), [status, status]);
}

const headers = (key: string) => ({ Authorization: `Bearer ${key}` });
const statuses = (key: string) =>
  Promise.all(
    replicas.map(async ({ api }) => (await fetch(`${api}/api/v1/usage`, { headers: headers(key) })).status),
  );

/** Sends requests to servers in turn until they admit no more, and then one more request to each server. */
async function useUp(key: string, left: number, servers: readonly Replica[]): Promise<void> {
  let admitted = 0;
  const askAll = async () => {
    for (const { api } of servers) {
      const path = "/api/v1/healthcare/prices?procedure=5072&limit=1";
      if ((await fetch(`${api}${path}`, { headers: headers(key) })).status === 200) admitted++;
    }
    return admitted >= left;
  };
  await until("the quota to be used up", askAll);
  await askAll();
  assert.equal(admitted, left);
}

test("changes to keys and accounts are in effect on all servers when the command returns", async () => {
  const [key] = await succeed("keys create --account a --plan business");
  await answers(key, 200);
  const [other, , list] = await succeed("keys create --account a", "keys revoke 1", "keys list --json");
  await answers(key, 401);
  await answers(other, 200);
  const states = JSON.parse(list).map(({ id, state }: { id: number; state: string }) => `${id} ${state}`);
  assert.deepEqual(states, ["1 revoked", "2 active"]);
  await succeed("accounts suspend a");
  await answers(other, 401);
  await succeed("accounts resume a");
  await answers(other, 200);
  const [deleted, accounts] = await succeed("accounts delete a --yes", "accounts list --json");
  assert.match(deleted, /^deleted account a, with keys: 2,/);
  assert.equal(accounts, "[]");
  await answers(other, 401);
  for (const { log } of replicas) assert.doesNotMatch(log, / failed/);
});

test("a command that lowers ceilings keeps the earlier ones in Redis for credits that were used meanwhile", async () => {
  await succeed("keys create --account lowered --plan enterprise --burst 300 --quota 1200");
  await succeed("keys update --account lowered --plan enterprise --burst 10 --quota 1000");
  const records = await redis.client.hvals(monthKey(monthName(monthOf(Date.now()))));
  const highest = records.map((text) => JSON.parse(text)).map(({ burst, quota }) => `${burst} ${quota}`);
  assert.ok(highest.includes("300 1200"));
});

test("a command warns when it begins a new set of accounts, and a server with others doesn't start", async () => {
  const env = { REDIS_URL: `${url}/1` };
  const [made, again] = await run(
    join(temporaryFolder(), "none"),
    ["keys create --account nine --plan free", "keys create --account nine"],
    env,
  );
  assert.match(made.stderr, /^Redis had no accounts, so this began a new set of accounts there\. .*$/m);
  assert.doesNotMatch(again.stderr, /no accounts/);
  const folder = temporaryFolder();
  await run(folder, ["keys create --account other --plan free"]);
  const { code, stderr } = await spawnServer({
    datasetsDir: datasetsFolder(currentOnly),
    stateDir: folder,
    env,
  }).finished();
  assert.equal(code, 1);
  assert.match(
    stderr,
    /If Redis was emptied and a command then began a new set of accounts there, delete its keys/,
  );
});

test("two imports of the same accounts at once both succeed", async () => {
  const fresh = await RedisNode.start();
  after(() => fresh.stop());
  const env = { REDIS_URL: `redis://127.0.0.1:${fresh.port}` };
  const now = new Date();
  const single = Store.inMemory();
  const { id } = single.accounts.create({ ...account, name: "a", quota: 1000 }, now);
  single.usage.save(monthName(monthOf(now.getTime())), [[id, 70]]);
  const file = join(temporaryFolder(), "accounts");
  writeFileSync(file, exportAccounts(single));
  single.close();
  const outcomes: unknown[] = [];
  await runShared(redisAddress(env.REDIS_URL), {
    now,
    run(store) {
      // The command imports the same file after this import has read Redis. So Redis refuses this import's first try.
      if (outcomes.length === 0)
        execFileSync(node, ["server/commands/accounts.ts", "import", file], {
          env: { ...process.env, ...env },
        });
      const { entered, known, refused } = importAccounts(store, readFileSync(file, "utf8"), "file");
      outcomes.push([entered.length, known, refused]);
      return { result: "", entered };
    },
  });
  assert.deepEqual(outcomes, [
    [1, 0, []],
    [0, 1, []],
  ]);
});

test("changes on one server's portal apply on all servers", async () => {
  const [key] = await succeed("keys create --account people --plan business");
  const ask = async (replica: Replica, path: string, body: object) => {
    const answer = await fetch(`${replica.api}/portal/${path}`, {
      method: "POST",
      headers: { ...headers(key), "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  };
  const made = await ask(replicas[0], "keys/create", {});
  assert.equal(made.status, 201, JSON.stringify(made));
  assert.deepEqual(await statuses(made.body.key), [200, 200]);
  const revoked = await ask(replicas[1], "keys/revoke", { id: Number(made.body.id) });
  assert.equal(revoked.status, 200);
  assert.deepEqual(await statuses(made.body.key), [401, 401]);
  await ask(replicas[1], "account/email", { email: "ann@example.com" });
  const [accounts] = await succeed("accounts list --json");
  assert.match(accounts, /ann@example\.com/);
});

test("imported accounts keep this month's usage, and all servers continue counting from it", async () => {
  const month = new Date().toISOString().slice(0, 7);
  const [from, none] = [temporaryFolder(), join(temporaryFolder(), "none")];
  const [key] = (
    await run(from, ["keys create --account moved --plan enterprise --burst 100 --quota 1000"])
  ).map(({ stdout }) => stdout.trimEnd());
  const [exported] = (await run(from, ["accounts export"])).map(({ stdout }) => stdout.trimEnd());
  const [head, line] = exported.split("\n");
  const record = JSON.parse(line);
  const keys = record.keys.map((one: object) => ({ ...one, id: 900 }));
  const file = join(temporaryFolder(), "accounts");
  const moved = { ...record, id: 900, keys, usage: [{ month, used: 990 }] };
  writeFileSync(file, `${head}\n${JSON.stringify(moved)}\n`);
  const [said] = await succeed(`accounts import ${file}`);
  assert.equal(said, "entered 1 account");
  const contradicting = join(temporaryFolder(), "accounts");
  writeFileSync(contradicting, `${head}\n${JSON.stringify({ ...moved, name: "other" })}\n`);
  const [refused] = await run(none, [`accounts import ${contradicting}`], { REDIS_URL: url });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^file \S+, line 2: account other: found the account moved with other name /);
  await useUp(key, 10, replicas);
  await until("the use to be listed", async () => {
    const [accounts] = await succeed("accounts list --json");
    return JSON.parse(accounts).some(({ used }: { used: number }) => used === 1000);
  });
});

test("without REDIS_URL, commands and servers reject a state that is a copy of shared accounts", async () => {
  const [key] = await succeed("keys create --account copied --plan business");
  const id = JSON.parse((await succeed("keys list --json"))[0]).at(-1).id;
  const { stateDir } = replicas[1];
  const commands = ["list", `revoke ${id}`, "create --account copied", "update --account copied --plan free"];
  const refused = await run(
    stateDir,
    commands.map((command) => `keys ${command}`),
  );
  for (const { code, stdout, stderr } of refused) {
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(
      stderr,
      /^STATE_DIR \S+: found a copy of accounts that servers share through Redis, but no /,
    );
  }
  assert.deepEqual(await statuses(key), [200, 200]);
  const folder = temporaryFolder();
  cpSync(stateDir, folder, { recursive: true });
  const server = spawnServer({ datasetsDir: datasetsFolder(currentOnly), stateDir: folder });
  const { code, stderr } = await server.finished();
  assert.equal(code, 1);
  assert.match(stderr, /found a copy of accounts that servers share through Redis, but no REDIS_URL/);
});

test("usage before an export counts once when the exporting server joins later, which requires Redis", async () => {
  const month = new Date().toISOString().slice(0, 7);
  const [from, other] = [temporaryFolder(), await startRedis()];
  const otherProxy = new RedisProxy(other.path);
  const env = { REDIS_URL: await otherProxy.listen() };
  const [made] = await run(from, ["keys create --account moved --plan enterprise --burst 100 --quota 1000"]);
  const use = (used: number) => {
    const store = Store.open(from);
    store.usage.save(month, [[1, used]]);
    store.close();
  };
  use(40);
  const [{ stdout }] = await run(from, ["accounts export"]);
  const file = join(temporaryFolder(), "accounts");
  writeFileSync(file, stdout);
  const none = join(temporaryFolder(), "none");
  const [{ code }] = await run(none, [`accounts import ${file}`], env);
  assert.equal(code, 0);
  // Counts more requests, as if the exporting server had continued to serve after the export.
  use(43);
  otherProxy.hold();
  const server = spawnServer({ datasetsDir: datasetsFolder(currentOnly), stateDir: from, env });
  const { stderr } = await server.finished();
  assert.match(stderr, /expected a Redis that answers, because this server has accounts of its own/);
  otherProxy.release();
  const used = async () =>
    JSON.parse((await run(none, ["accounts list --json"], env))[0].stdout)[0].used as number;
  const replica = await new Replica(from, env.REDIS_URL).start();
  const asked = (await replica.usage(made.stdout.trimEnd()))?.used;
  assert.ok(asked !== undefined);
  await until("what it has counted to be told", async () => (await used()) >= 44);
  await replica.stop();
  assert.equal(await used(), 44);
  otherProxy.close();
  await other.stop();
});

test("a server cut off from Redis is named by commands and isn't ready after DIRECTORY_MAX_AGE", async () => {
  const other = new RedisProxy(redis.path);
  const cut = new Replica(temporaryFolder(), await other.listen(), { DIRECTORY_MAX_AGE: "1" });
  await cut.start();
  const [key] = await succeed("keys create --account cut --plan business");
  const id = JSON.parse((await succeed("keys list --json"))[0]).at(-1).id;
  assert.equal(await cut.readiness(), 200);
  other.hold();
  const [{ code, stderr }] = await run(join(temporaryFolder(), "none"), [`keys revoke ${id}`], {
    REDIS_URL: url,
  });
  assert.equal(code, 0);
  assert.match(stderr, new RegExp(`not confirmed within 1.5 s by the server ${cut.id}\\.\\d+:`));
  assert.deepEqual(await statuses(key), [401, 401]);
  const answer = await fetch(`${cut.api}/api/v1/usage`, { headers: headers(key) });
  assert.equal(answer.status, 200);
  await until("it not to be ready", async () => (await cut.readiness()) === 503);
  other.release();
  await until("it to be ready", async () => (await cut.readiness()) === 200);
  await cut.stop();
  other.close();
});

test("a server without accounts isn't ready until it can read them from Redis", async () => {
  const other = new RedisProxy(redis.path);
  const otherUrl = await other.listen();
  other.hold();
  const empty = new Replica(temporaryFolder(), otherUrl);
  await empty.start();
  assert.equal(await empty.readiness(), 503);
  other.release();
  await until("it to be ready", async () => (await empty.readiness()) === 200);
  await empty.stop();
  other.close();
});

test("without Redis, commands fail, portal changes get 503, and servers use their copies", async () => {
  const [key] = await succeed("keys create --account kept --plan business");
  proxy.hold();
  try {
    const [{ code, stderr }] = await run(temporaryFolder(), ["keys list"], { REDIS_URL: url });
    assert.equal(code, 1);
    assert.match(stderr, /^REDIS_URL: found a Redis that can't be used/);
    const answer = await fetch(`${replicas[0].api}/portal/keys/create`, {
      method: "POST",
      headers: { ...headers(key), "Content-Type": "application/json" },
      body: "{}",
    });
    assert.equal(answer.status, 503);
    assert.deepEqual(await statuses(key), [200, 200]);
  } finally {
    proxy.release();
  }
  await until("keys to be made again", async () => {
    const [{ code }] = await run(temporaryFolder(), ["keys create --account kept"], { REDIS_URL: url });
    return code === 0;
  });
});

test("each event is delivered once, and another server retries a killed server's events with the same id", async () => {
  const came: { id: string; threshold: number; used: number }[] = [];
  let status = 200;
  const receiver = createServer((request, response) => {
    void text(request).then((body) => {
      const { data } = JSON.parse(body);
      came.push({
        id: String(request.headers["webhook-id"]),
        threshold: data.threshold,
        used: data.quota.used,
      });
      response.writeHead(status).end();
    });
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  after(() => {
    receiver.close();
    receiver.closeAllConnections();
  });
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const create = (name: string) =>
    `keys create --account ${name} --plan enterprise --burst 1000 --quota 40 --webhook ${hook}`;
  const env = { REDIS_URL: url, WEBHOOK_ALLOW_LOOPBACK: "true" };
  const [one, other] = (await run(temporaryFolder(), [create("one"), create("other")], env)).map(
    ({ stdout }) => stdout.trimEnd(),
  );
  await useUp(one, 40, replicas);
  await until("all three events", () => came.length >= 3);
  assert.deepEqual(
    came.map(({ threshold }) => threshold),
    [80, 90, 100],
  );
  const events = async () => {
    const [list] = await succeed("events list --json");
    const all = JSON.parse(list) as {
      id: string;
      account: string;
      delivery: string;
      threshold: number;
      tries: number;
    }[];
    return all.filter(({ account }) => account === "one" || account === "other");
  };
  await until("the deliveries to be recorded", async () =>
    (await events()).every(({ delivery }) => delivery === "delivered"),
  );
  status = 500;
  await useUp(other, 40, [replicas[1]]);
  const ofOther = async () => (await events()).filter(({ account }) => account === "other");
  await until("the outcome of the first one's try to be recorded", async () => {
    const found = await ofOther();
    return found.length === 3 && found[0].tries > 0;
  });
  await replicas[0].kill();
  const waiting = await ofOther();
  assert.deepEqual(
    waiting.map(({ threshold, delivery, tries }) => [threshold, delivery, tries > 0]),
    [
      [80, "pending", true],
      [90, "pending", false],
      [100, "pending", false],
    ],
    "the later ones wait for the first one",
  );
  status = 200;
  await run(temporaryFolder(), [`events retry ${waiting[0].id}`], env);
  await until("the deliveries by the other server", async () =>
    (await events()).every(({ delivery }) => delivery === "delivered"),
  );
  const tries = came.slice(3).map(({ id }) => id);
  assert.deepEqual(
    tries.filter((id, i) => id !== tries[i - 1]),
    waiting.map(({ id }) => id),
    "in their order, with the same id on every try",
  );
  await replicas[0].start();
});
