import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { sizeFrom, trialRandom } from "../long/trial.ts";
import { freePort } from "../support/connection.ts";
import { repository } from "../support/deployment.ts";
import { formerRelease, keeps, runOf } from "../support/former-release.ts";
import { PostgresServer } from "../support/postgres-server.ts";
import { type Running, ready, temporaryFolder, until } from "../support/server.ts";
import { nginxCommand, startProxy } from "./proxy.ts";

/**
 * Tests that no client notices when three servers of release 0.1.0, with PostgreSQL and behind nginx, are replaced one after the
 * other by this release, and then by 0.1.0 again. UPGRADE_REQUESTS is the number of requests meanwhile.
 */

const requests = sizeFrom("UPGRADE_REQUESTS", 10_000);
const clients = 8;
const exportPath = "versions/2023.1/export.csv";

const former = formerRelease();
const database = await PostgresServer.start();
const datasetsDir = temporaryFolder();

async function commandOf(release: string, command: string, ...args: string[]): Promise<string> {
  const env = { DATABASE_URL: database.url, STATE_DIR: temporaryFolder() };
  const { code, stdout, stderr } = await runOf(
    release,
    `server/commands/${command}.ts`,
    args,
    env,
  ).finished();
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

for (const year of ["2023", "2024"])
  await commandOf(former, "sample", "--out", datasetsDir, "--year", year, "--rows", "30000");

const keyOf = (account: string, quota: number) =>
  commandOf(
    former,
    "keys",
    ...["create", "--account", account, "--plan", "enterprise"],
    ...["--burst", "10000", "--quota", String(quota)],
  );

class Server {
  readonly port: number;
  readonly #stateDir = temporaryFolder();
  #process: Running | undefined;

  constructor(port: number) {
    this.port = port;
    after(() => this.#process?.signal("SIGKILL"));
  }

  async begin(release: string): Promise<void> {
    this.#process = runOf(release, "server/main.ts", [], {
      ...{ PORT: String(this.port), OPS_PORT: "0", THREADS: "1", PORTAL: "off" },
      ...{ DATASETS_DIR: datasetsDir, STATE_DIR: this.#stateDir, DATABASE_URL: database.url },
    });
    await ready(this.#process);
  }

  async replace(release: string): Promise<void> {
    this.#process?.signal("SIGTERM");
    assert.equal((await this.#process?.finished())?.code, 0);
    await this.begin(release);
  }
}

interface Listed {
  data: { ccn: string; code: string }[];
  /** The path of the next page. */
  next: string | null;
}

test("no client notices that servers of 0.1.0 are replaced one after the other, and replaced back", async (t) => {
  const random = trialRandom(t);
  const [reader, small] = [await keyOf("reader", 1_000_000), await keyOf("small", 1000)];
  const servers = await Promise.all([0, 1, 2].map(async () => new Server(await freePort())));
  for (const server of servers) await server.begin(former);
  const port = await freePort();
  const folder = temporaryFolder();
  const hosts = servers.map((server) => `server 127.0.0.1:${server.port} max_fails=1 fail_timeout=1s;`);
  const block = readFileSync(path.join(repository, "server/deploy/nginx.replicas.conf"), "utf8")
    .replace(/( +server api-\d:8080.*\n)+/, `${hosts.join("\n")}\n`)
    .replace("listen 80;", `listen 127.0.0.1:${port};`);
  t.after(await startProxy(nginxCommand(folder, block), folder, port));

  let repeated = 0;
  /** Where a busy machine is too slow to count, clients ask again when the answer says. */
  const ask = async (target: string, key = reader): Promise<Response> => {
    const headers = { Authorization: `Bearer ${key}` };
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${target}`, { headers });
    if (answer.status !== 503) return answer;
    await answer.arrayBuffer();
    repeated++;
    await setTimeout(1000 * Number(answer.headers.get("Retry-After")));
    return ask(target, key);
  };
  const bodyOf = async (target: string): Promise<unknown> => {
    const answer = await ask(target);
    const body: unknown = await answer.json();
    assert.equal(answer.status, 200, `${target}: ${JSON.stringify(body)}`);
    return body;
  };
  const listed = async (target: string) => (await bodyOf(target)) as Listed;

  const codes = (await listed("healthcare/procedures?limit=20")).data.map(({ code }) => code);
  const { data } = await listed(`healthcare/facilities?procedure=${codes[0]}&limit=20`);
  const pinned = "versions/2023.1/healthcare";
  const targets = codes.flatMap((code, i) => [
    ...[`${pinned}/prices?procedure=${code}`, `${pinned}/prices?procedure=${code}&state=CA`],
    ...[`${pinned}/procedures/${code}`, `healthcare/trends?procedure=${code}`],
    `${pinned}/facilities?procedure=${code}&sort=markup&limit=50`,
    ...[
      `${pinned}/facilities/${data[i].ccn}`,
      `healthcare/facilities/${data[i].ccn}/trends?procedure=${code}`,
    ],
  ]);
  const before = new Map<string, unknown>();
  for (const target of targets) {
    const answer = await ask(target);
    if (answer.status === 200) before.set(target, await answer.json());
    else await answer.arrayBuffer();
  }
  assert.ok(before.size > 80, `${before.size} answers`);
  /** Next pages of lists that were begun before. */
  const begun = await Promise.all(
    ["prices", "facilities"].flatMap((list) =>
      codes.map(async (code) => {
        const { next } = await listed(`${pinned}/${list}?procedure=${code}&limit=5`);
        return next === null ? [] : [next.slice("/api/v1/".length)];
      }),
    ),
  );
  for (const target of begun.flat()) before.set(target, await bodyOf(target));
  const known = [...before.keys()];
  const searches = ["saint", "general", "springs", "heights hospital"].map(
    (words) => `search?q=${encodeURIComponent(words)}`,
  );

  const outcomes = new Map<number, number>();
  let done = 0;
  let hasFailed = false;
  const client = async () => {
    while (done < requests && !hasFailed) {
      const target = random.int(10) > 0 ? random.pick(known) : random.pick(searches);
      const answer = await ask(target);
      const body: unknown = await answer.json();
      done++;
      const text = JSON.stringify(body);
      assert.equal(answer.status, 200, `${target} is ${answer.status} after ${done} requests: ${text}`);
      const earlier = before.get(target);
      assert.ok(
        earlier === undefined || keeps(earlier, body),
        `${target} was ${JSON.stringify(earlier)}, is ${text}`,
      );
      if (random.int(5) > 0) continue;
      // Most often, another server answers the next page.
      const { next } = await listed(`${pinned}/prices?procedure=${random.pick(codes)}&limit=5`);
      if (next !== null) await bodyOf(next.slice("/api/v1/".length));
      const limited = await ask(targets[0], small);
      await limited.arrayBuffer();
      outcomes.set(limited.status, (outcomes.get(limited.status) ?? 0) + 1);
    }
  };
  /** Begins an export from a server. @returns a function that reads it */
  const exported = async (at: number) => {
    const asked = get(`http://127.0.0.1:${at}/api/v1/${exportPath}`, {
      headers: { Authorization: `Bearer ${reader}` },
    });
    const [answer]: IncomingMessage[] = await once(asked, "response");
    assert.equal(answer.statusCode, 200);
    return async () => {
      const pieces: Buffer[] = [];
      for await (const piece of answer) {
        pieces.push(piece);
        // Slowly at first, so that the stop finds an export that isn't read. A stopping server aborts exports after 5 s.
        if (pieces.length > 10) continue;
        const readAt = done;
        await until("other requests", () => done >= readAt + 20 || done >= requests || hasFailed);
      }
      return Buffer.concat(pieces);
    };
  };
  const whole = Buffer.from(await (await ask(exportPath)).arrayBuffer());

  const working = Promise.all(Array.from({ length: clients }, client)).catch((error) => {
    hasFailed = true;
    throw error;
  });
  const replacing = (async () => {
    const steps = [repository, former].flatMap((release) => servers.map((server) => ({ server, release })));
    for (const [i, { server, release }] of steps.entries()) {
      await until("requests before", () => done > ((i + 1) * requests) / (steps.length + 2) || hasFailed);
      const read = await exported(server.port);
      const [saved] = await Promise.all([read(), server.replace(release)]);
      assert.ok(saved.equals(whole), "an export that a client reads slowly is whole");
    }
  })();
  for (const ended of await Promise.allSettled([working, replacing]))
    if (ended.status === "rejected") throw ended.reason;

  assert.ok(repeated <= requests / 100, `${repeated} requests were repeated`);
  assert.deepEqual([...outcomes.keys()].sort(), [200, 429]);
  const admitted = outcomes.get(200);
  assert.equal(admitted, 1000, "all of the quota and no more");
  const events = JSON.parse(await commandOf(repository, "events", "list", "--json")) as {
    account: string;
    threshold: number;
  }[];
  assert.deepEqual(
    events.filter(({ account }) => account === "small").map(({ threshold }) => threshold),
    [80, 90, 100],
  );
  t.diagnostic(`${done} requests, ${repeated} repeated, ${before.size} answers compared`);
});
