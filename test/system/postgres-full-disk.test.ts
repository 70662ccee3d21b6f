import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { awayMs } from "../../server/parts/postgres/contact.ts";
import { reserveFile } from "../../server/store/room.ts";
import { delaying } from "../support/delaying-proxy.ts";
import { fillableDisk } from "../support/full-disk.ts";
import { PostgresServer } from "../support/postgres-server.ts";
import { call, pricesPath, until } from "../support/server.ts";
import { makeKey, runOn, SharedClient, SharedServer } from "../support/shared-server.ts";

/** Servers that share accounts, while the disk of a server's STATE_DIR is full. */

const revoked = ["a", "b", "c", "d"];

/** Starts a server on a small disk, with accounts that have used it. */
async function served(t: TestContext) {
  const database = await PostgresServer.start();
  const { url } = database;
  let proxy = await delaying(database.port, 0);
  const { port } = proxy;
  t.after(() => proxy.close());
  /** Ends the server's connections to the database, until `reconnect`. Commands still have theirs. */
  const disconnect = () => proxy.close();
  const reconnect = async () => {
    proxy = await delaying(database.port, 0, port);
  };
  const { stateDir, fill, empty } = fillableDisk(t);
  const keys = new Map<string, string>();
  for (const name of [...revoked, "suspended", "kept"])
    keys.set(name, await makeKey(url, name, 1000, 1_000_000));
  const server = await SharedServer.start(url.replace(/:\d+\//, `:${port}/`), {}, stateDir);
  t.after(() => server.kill());
  const keyOf = (name: string) => keys.get(name) ?? assert.fail(name);
  const statusOf = async (name: string) =>
    (await call({ api: server.api, key: keyOf(name) }, `GET ${pricesPath}?procedure=5072`)).status;
  const isServed = (name: string) => until("an answer", async () => (await statusOf(name)) === 200);
  for (const name of keys.keys()) await isServed(name);
  const isAlone = () =>
    until("the server to go on alone", async () => (await server.metric("hcqs_database_away_seconds")) > 0);
  return {
    ...{ database, disconnect, reconnect, url, server, stateDir, fill, empty },
    ...{ keyOf, statusOf, isServed, isAlone },
  };
}

async function endAccess(url: string): Promise<void> {
  // Ids are given in the order of the accounts.
  const commands = revoked.map((_, i) => ["keys", "revoke", String(i + 1)]);
  for (const [command, ...args] of [...commands, ["accounts", "suspend", "suspended"]]) {
    const { code, stderr } = await runOn(url, command, ...args);
    assert.equal(code, 0, stderr);
  }
}

for (const end of ["SIGTERM", "SIGKILL"] as const)
  test(`access that ends while the disk is full doesn't come back, not after ${end} without the database either`, async (t) => {
    const { database, url, server, fill, statusOf, isServed, isAlone } = await served(t);
    fill();
    await endAccess(url);
    const isEnded = async () => {
      await isServed("kept");
      // While a change waits for room, the answer is 503.
      for (const name of [...revoked, "suspended"])
        await until(`no access for ${name}`, async () => {
          const status = await statusOf(name);
          assert.notEqual(status, 200, name);
          return status === 401;
        });
    };
    await isEnded();
    await database.stop();
    await isAlone();
    await isEnded();
    // By now the counts may have used up the reserve, so that the last ones find no room.
    await (end === "SIGTERM" ? server.stop([0, 1]) : server.kill());
    await server.begin();
    await isEnded();
    assert.match(server.log, /"reason":"[^"]+".*"msg":"the accounts can't be read from the database"/);
  });

test("a server that has no room for what it reads from the database admits nothing until it has", async (t) => {
  const { url, server, stateDir, fill, empty, keyOf, statusOf, isServed } = await served(t);
  fill();
  rmSync(reserveFile(stateDir));
  fill();
  await endAccess(url);
  const client = await SharedClient.of(server, keyOf("a"));
  t.after(() => client.close());
  const begunMs = performance.now();
  // By then the server would go on alone.
  await client.askUntil(() => performance.now() > begunMs + 2 * awayMs);
  assert.deepEqual([client.counts.admitted, await statusOf("kept"), await server.readiness()], [0, 503, 503]);
  empty();
  await isServed("kept");
  for (const name of [...revoked, "suspended"]) assert.equal(await statusOf(name), 401, name);
});

test("a server that was alone admits nothing once it knows of changes for which it has no room", async (t) => {
  const { disconnect, reconnect, url, server, stateDir, fill, empty, ...asked } = await served(t);
  const { statusOf, isServed, isAlone } = asked;
  disconnect();
  await isAlone();
  await isServed("a");
  fill();
  rmSync(reserveFile(stateDir));
  fill();
  await endAccess(url);
  await reconnect();
  await until(
    "no more answers",
    async () => (await statusOf("a")) === 503 && (await statusOf("kept")) === 503,
  );
  assert.equal(await server.readiness(), 503);
  empty();
  await isServed("kept");
  assert.equal(await statusOf("a"), 401);
});
