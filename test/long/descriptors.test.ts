import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { Connections, maxConnections } from "../../server/shared/connections.ts";
import { metricsText } from "../support/metrics-text.ts";
import {
  Connection,
  pricesPath,
  requestText,
  spawnServer,
  startServer,
  temporaryFolder,
} from "../support/server.ts";

/** Tests what a limit of open files leaves to connections, and what a limit that is too low ends. */

test("connections of all threads are counted together and refused beyond the limit", () => {
  const connections = new Connections(2);
  const another = new Connections(2, connections.buffer);
  assert.deepEqual([connections.enter(), another.enter(), another.enter()], [true, true, false]);
  assert.deepEqual([connections.open, connections.refused], [3, 1]);
  another.leave();
  another.leave();
  assert.ok(connections.enter());
  assert.deepEqual([another.open, another.refused], [2, 1]);
});

test("file descriptors are reserved for the server itself, 16 for each thread", () => {
  assert.ok(maxConnections(1) >= 1);
  assert.equal(maxConnections(1) - maxConnections(3), 32);
});

test("a limit of open files that is too low ends a start or a command with one sentence", async () => {
  const advice = "raise it, for example by ulimit -n 1024 or by LimitNOFILE in a systemd unit";
  for (const [maxDescriptors, threads, expected] of [
    [12, 1, `hcqs: found a limit of 12 open files, expected at least 64: ${advice}`],
    [20, 1, `hcqs: found a limit of 20 open files, expected at least 64: ${advice}`],
    [63, 1, `hcqs: found a limit of 63 open files, expected at least 64: ${advice}`],
    [
      79,
      1,
      `THREADS=1: found a limit of 79 open files, expected at least 80: ${advice}, or set fewer THREADS`,
    ],
    [
      127,
      4,
      `THREADS=4: found a limit of 127 open files, expected at least 128: ${advice}, or set fewer THREADS`,
    ],
  ] as const) {
    const stateDir = temporaryFolder();
    const env = { THREADS: String(threads) };
    const { code, stderr } = await spawnServer({ stateDir, maxDescriptors, env }).finished();
    assert.deepEqual([code, stderr], [1, `${expected}\n`]);
    assert.deepEqual(readdirSync(stateDir), [], "no state is made");
  }
  const keys = ["-c", `ulimit -n 20; exec server/hcqs keys list`];
  const { status, stderr } = spawnSync("sh", keys, { encoding: "utf8" });
  assert.deepEqual([status, stderr.split(", expected")[0]], [1, "hcqs: found a limit of 20 open files"]);
});

test("with just enough open files, a server starts, loads and answers on all its connections", async (t) => {
  const server = await startServer({ maxDescriptors: 80 });
  t.after(() => server.process.signal("SIGKILL"));
  const text = requestText(`GET ${pricesPath}?procedure=5072`, { Authorization: `Bearer ${server.key}` });
  const [, max] = /^hcqs_max_connections (\d+)$/m.exec(await metricsText(server.ops)) ?? [];
  const open = await Promise.all(Array.from({ length: Number(max) }, () => Connection.open(server.api)));
  for (const connection of open) {
    await connection.send(text);
    assert.equal((await connection.answer()).status, 200);
    connection.close();
  }
  assert.ok(open.length >= 20, `${open.length} connections`);
});
