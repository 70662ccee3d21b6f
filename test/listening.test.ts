import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { Connections, maxConnections } from "../server/connections.ts";
import { listenAlone } from "../server/port.ts";

/** One server a port, and no more connections than there are descriptors for. */

const races = Number(process.env.PORT_RACES || 20);

/** A process that listens as a server's threads do, sharing the port, and says how that went. */
async function contender(host: string, port: number): Promise<{ won: boolean; stop(): void }> {
  const script = `
    import * as uws from "uWebSockets.js";
    import { listenAlone } from "${new URL("../server/port.ts", import.meta.url).href}";
    try {
      await listenAlone("${host}", ${port}, (free) => new Promise((resolve, reject) => {
        uws.App().any("/*", (res) => void res.end()).listen("${host}", free, (socket) => (socket ? resolve() : reject()));
      }));
      process.stdout.write("won");
    } catch (error) {
      process.stdout.write("lost: " + error.message);
    }`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: new URL("..", import.meta.url),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = await once(child.stdout, "data");
  const text = String(said);
  assert.match(text, new RegExp(`^(won|lost: can't listen on ${host} port ${port}: .*EADDRINUSE.*)$`));
  return { won: text === "won", stop: () => child.kill("SIGKILL") };
}

async function freePort(): Promise<number> {
  return listenAlone("127.0.0.1", 0, async (port) => port);
}

for (const hosts of [
  ["127.0.0.1", "127.0.0.1", "127.0.0.1"],
  ["127.0.0.1", "0.0.0.0"],
])
  test(`of servers that start together on one port, at ${hosts.join(" and ")}, exactly one wins`, async () => {
    for (let race = 0; race < races / 2; race++) {
      const port = await freePort();
      const contenders = await Promise.all(hosts.map((host) => contender(host, port)));
      for (const { stop } of contenders) stop();
      assert.equal(contenders.filter(({ won }) => won).length, 1, `race ${race}`);
    }
  });

test("a port that another program listens on is refused", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  assert.ok(typeof address === "object" && address !== null);
  await assert.rejects(
    listenAlone("127.0.0.1", address.port, async () => assert.fail("it isn't free")),
    /^Error: can't listen on 127\.0\.0\.1 port \d+: .*EADDRINUSE/,
  );
  other.close();
});

test("an address that isn't this machine's is refused", async () => {
  await assert.rejects(
    listenAlone("192.0.2.1", 0, async () => assert.fail("it isn't ours")),
    /^Error: can't listen on 192\.0\.2\.1 port 0: .*EADDRNOTAVAIL/,
  );
});

test("connections are counted by all threads together, and refused beyond the limit", () => {
  const connections = new Connections(2);
  const another = new Connections(2, connections.buffer);
  assert.deepEqual([connections.enter(), another.enter(), another.enter()], [true, true, false]);
  assert.deepEqual([connections.open, connections.refused], [3, 1]);
  another.leave();
  another.leave();
  assert.ok(connections.enter());
  assert.deepEqual([another.open, another.refused], [2, 1]);
});

test("descriptors are kept back for the server itself", () => {
  assert.ok(maxConnections(1) >= 1);
  assert.equal(maxConnections(1) - maxConnections(3), 32);
});
