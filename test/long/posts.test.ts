import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { test } from "node:test";
import { memoryBytes } from "../support/memory.ts";
import {
  Connection,
  call,
  pricesPath,
  requestText,
  startServer,
  type TestServer,
  until,
} from "../support/server.ts";
import { sizeFrom } from "./trial.ts";

/** Clients that make a request dear for the server don't keep it from its other work. */

const connections = sizeFrom("POST_CONNECTIONS", 500);
const maxGrowthBytes = 50e6;
/** CPU time of the server for one of the connections. It was 31 ms while each chunk had a buffer of its own. */
const maxCpuMsPerConnection = 2;
/** The kernel's unit of CPU time in `/proc/PID/stat`. */
const msPerTick = 10;

function cpuMs({ process }: TestServer): number {
  const fields = readFileSync(`/proc/${process.pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * msPerTick;
}

for (const threads of ["1", "2", "4"])
  test(`posts in chunks of one byte cost little, on ${threads} threads`, async () => {
    const server = await startServer({ env: { PORTAL: "on", THREADS: threads } });
    const { hostname, port } = new URL(server.api);
    const head = { "Content-Type": "application/json", "Transfer-Encoding": "chunked" };
    const request = `${requestText("POST /portal/signup", head)}${"1\r\na\r\n".repeat(16_384)}0\r\n\r\n`;
    const sockets = await Promise.all(
      Array.from({ length: connections }, async () => {
        const socket = connect(Number(port), hostname).on("error", () => {});
        await once(socket, "connect");
        return socket;
      }),
    );
    const [memory, cpu] = [memoryBytes("VmRSS", server.process.pid), cpuMs(server)];
    const closed = sockets.map((socket) => once(socket.resume(), "close"));
    for (const socket of sockets) socket.write(request);
    assert.equal((await call(server, `GET ${pricesPath}?procedure=5072`)).status, 200);
    await Promise.all(closed);
    const usedMs = cpuMs(server) - cpu;
    assert.ok(usedMs <= maxCpuMsPerConnection * connections, `${usedMs} ms for ${connections} connections`);
    const grown = memoryBytes("VmHWM", server.process.pid) - memory;
    assert.ok(grown <= maxGrowthBytes, `${grown} bytes for ${connections} connections`);
    assert.equal(await server.stop(), 0);
  });

test("pipelined requests for metrics cost no more than those that are answered", async () => {
  const server = await startServer();
  const before = cpuMs(server);
  const flood = requestText("GET /metrics").repeat(2000);
  for (let i = 0; i < connections; i++) {
    const connection = await Connection.open(server.ops);
    await connection.send(flood);
    connection.close();
  }
  await until("the listener to answer", async () => {
    const connection = await Connection.open(server.ops);
    await connection.send(requestText("GET /livez", { Connection: "close" }));
    return (await connection.answer()).status === 200;
  });
  const usedMs = cpuMs(server) - before;
  // 2,000 answers take some seconds, for each of the connections.
  assert.ok(usedMs <= 50 * connections, `${usedMs} ms for ${connections} connections`);
  assert.equal(await server.stop(), 0);
});
