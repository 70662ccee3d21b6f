import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { encodeSnapshot } from "../../engine/index.ts";
import { metricsText } from "../support/metrics-text.ts";
import type { Random } from "../support/random.ts";
import {
  askForKey,
  Connection,
  call,
  pricesPath,
  requestText,
  startServer,
  type TestServer,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { residentMb, sizeFrom, trialRandom } from "./trial.ts";

/** Tests that a server survives floods of requests by clients that reset, stall or end connections at any moment. */

const connections = sizeFrom("FLOOD_CONNECTIONS", 20_000);
const atOnce = 8;
const maxRequests = 5000;
/** Maximum bytes of a client's requests. The HTTP parser takes no more from one read. */
const maxBytes = 500_000;
const maxPauseMs = 5;
const maxGrowthMb = 48;
/** Number of clients that read nothing, for each kind of request. */
const unreadClients = Math.ceil(connections / 50);
const unreadBlock = 64 * 2 ** 10;
/** Maximum bytes sent by a client that reads nothing. The system's buffers hold far less. */
const maxUnreadBytes = 64 * 2 ** 20;
/** Maximum bytes sent by a client that sends requests one by one and reads nothing. */
const maxUnreadInPieces = 4 * 2 ** 20;
/** Number of requests of a client that reads no answers. A thread that handled them all would delay a stop too long. */
const unreadRequests = 20_000;
/** Maximum milliseconds after which a stalled client resets its connection. The server may close it earlier. */
const maxStallMs = 60;

const known = `GET ${pricesPath}?procedure=5072&state=al&limit=50`;

async function requestsOf(server: TestServer): Promise<string[]> {
  const key = { Authorization: `Bearer ${server.key}` };
  const first = await call(server, `GET ${pricesPath}?procedure=5072&limit=10`);
  const { next } = first.json() as { next: string };
  const etag = first.header("ETag");
  return [
    requestText("GET /"),
    requestText("GET /", { Authorization: "Bearer hcq_nobody" }),
    requestText("GET /nowhere", key),
    requestText(known, key),
    requestText(known, { ...key, "Accept-Encoding": "gzip" }),
    requestText(known, { ...key, "Accept-Encoding": "br" }),
    requestText(`GET ${pricesPath}?procedure=5361&limit=50`, key),
    requestText(`GET ${pricesPath}?procedure=5072&limit=10`, { ...key, "If-None-Match": etag }),
    requestText(`HEAD ${pricesPath}?procedure=5072`, key),
    requestText(`GET ${next}`, key),
    requestText("GET /api/v1/search?q=hosp", key),
    requestText("GET /api/v1/healthcare/procedures?limit=0", key),
    requestText(`POST ${pricesPath}`, { ...key, "Content-Length": "5" }).concat("hello"),
    requestText(`POST ${pricesPath}`, { ...key, "Content-Length": "0" }),
    requestText(known, { ...key, Connection: "close" }),
    requestText(known, { ...key, Connection: "TE, close" }),
    requestText(known.replace("GET", "HEAD"), { ...key, Connection: "TE, close" }),
    requestText(known, { ...key, Connection: "TE, close", "If-None-Match": "*" }),
  ];
}

/** Draws a client's requests, of the same kind or of several kinds. A request that ends the connection comes last. */
function draw(random: Random, kinds: readonly string[]): string {
  const ends = (text: string) => /\r\nConnection:|hello$/.test(text);
  const lasting = kinds.filter((text) => !ends(text));
  const count = Math.round(50 * (maxRequests / 50) ** random.next());
  const one = random.pick(lasting);
  const isMixed = random.int(3) === 0;
  let text = "";
  for (let i = 0; i < count && text.length < maxBytes; i++) text += isMixed ? random.pick(lasting) : one;
  return text + (random.int(4) === 0 ? random.pick(kinds.filter(ends)) : "");
}

async function flood(random: Random, api: string, text: string): Promise<void> {
  const { hostname, port } = new URL(api);
  const end = random.pick(["reset", "reset", "reset in the middle", "half-close", "stall", "read"] as const);
  const pauseMs = random.next() * maxPauseMs;
  const sent = end === "reset in the middle" ? text.slice(0, random.int(text.length)) : text;
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  if (end === "read" || end === "half-close") socket.resume();
  else socket.pause();
  socket.once("end", () => socket.destroy());
  socket.write(sent);
  if (end === "half-close") socket.end();
  await Promise.race([
    closed,
    delay(end === "reset" || end === "reset in the middle" ? pauseMs : maxStallMs),
  ]);
  // After the server has closed its side, `resetAndDestroy` would never close the socket.
  if (socket.writable) socket.resetAndDestroy();
  else socket.destroy();
  await closed;
}

/** Plays a client that sends requests and reads nothing. @returns whether the server cut the connection */
async function askUnread(api: string, text: string, isInPieces: boolean): Promise<boolean> {
  const { hostname, port } = new URL(api);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true }).pause();
  let isOpen = true;
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve())).then(() => {
    isOpen = false;
  });
  const requests = isInPieces ? text : text.repeat(Math.ceil(unreadBlock / text.length));
  let left = isInPieces ? maxUnreadInPieces : maxUnreadBytes;
  while (isOpen && left > 0) {
    const written = new Promise<void>((resolve) => socket.write(requests, () => resolve()));
    await Promise.race([written, closed]);
    // Node emits the connection's events only between turns of the event loop.
    await nextTurn();
    left -= requests.length;
  }
  socket.destroy();
  await closed;
  return left > 0;
}

const descriptors = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

async function openConnections(server: TestServer): Promise<number> {
  const metrics = await metricsText(server.ops);
  return Number(/^hcqs_open_connections (\d+)$/m.exec(metrics)?.[1]);
}

for (const threads of [1, 2, 4])
  test(`with ${threads} serving threads, floods of broken connections leak no memory or descriptors`, async (t) => {
    const random = trialRandom(t);
    const server = await startServer({ env: { THREADS: String(threads) } });
    t.after(() => server.process.signal("SIGKILL"));
    const { pid } = server.process;
    const kinds = await requestsOf(server);
    const before = await call(server, known);
    await until("no connection to be open", async () => (await openConnections(server)) === 0);
    const descriptorsBefore = descriptors(pid);

    const share = Math.ceil(connections / 3);
    const memory: number[] = [];
    for (const part of [1, 2, 3, 4]) {
      let left = Math.round((share * part) / 4) - Math.round((share * (part - 1)) / 4);
      const client = async () => {
        while (left-- > 0) {
          await flood(random, server.api, draw(random, kinds));
          assert.ok(!server.process.hasEnded, "the server is there");
        }
      };
      await Promise.all(Array.from({ length: atOnce }, client));
      memory.push(residentMb(pid));
    }
    t.diagnostic(`${share} connections; resident MB after each quarter: ${memory.map(Math.round).join(" ")}`);

    await until("all connections to be gone", async () => (await openConnections(server)) === 0);
    // Requests to the operator's listener take some descriptors for a moment.
    await until("the descriptors of before", () => descriptors(pid) <= descriptorsBefore + 2);
    const after = await call(server, known);
    assert.deepEqual([after.status, after.body], [200, before.body]);
    const growth = memory[3] - memory[1];
    assert.ok(growth < maxGrowthMb, `memory grew by ${growth} MB in the second half`);
    assert.equal(await server.stop(), 0);
    assert.doesNotMatch(server.process.stderr, /"level":"(error|fatal)"/);
  });

test("clients that don't read their responses are disconnected and use little memory", async (t) => {
  const server = await startServer();
  t.after(() => server.process.signal("SIGKILL"));
  const { pid } = server.process;
  const key = { Authorization: `Bearer ${server.key}` };
  const before = await call(server, known);
  const condition = { ...key, "If-None-Match": before.header("ETag") };
  const kinds = [
    requestText("HEAD /"),
    requestText(`HEAD ${known.slice(4)}`, key),
    requestText(known, condition),
    requestText(`HEAD ${known.slice(4)}`, condition),
    requestText("HEAD /") + requestText(known, condition),
    requestText("HEAD /").repeat(3) + requestText(known, key),
    requestText(known, key),
  ];
  await until("no connection to be open", async () => (await openConnections(server)) === 0);
  const descriptorsBefore = descriptors(pid);
  const memoryBefore = residentMb(pid);
  let peak = memoryBefore;
  for (const kind of kinds) {
    let left = unreadClients;
    const client = async () => {
      while (left-- > 0) {
        const isCutOff = await askUnread(server.api, kind, left % 2 === 0);
        assert.ok(isCutOff, `cut off, when it asked for ${JSON.stringify(kind)}`);
        peak = Math.max(peak, residentMb(pid));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, client));
  }
  t.diagnostic(`${unreadClients * kinds.length} connections; resident MB from ${memoryBefore} to ${peak}`);
  assert.ok(peak - memoryBefore < maxGrowthMb, `memory grew by ${peak - memoryBefore} MB`);
  await until("all connections to be gone", async () => (await openConnections(server)) === 0);
  await until("the descriptors of before", () => descriptors(pid) <= descriptorsBefore + 2);
  const after = await call(server, known);
  assert.deepEqual([after.status, after.body], [200, before.body]);
  assert.equal(await server.stop(), 0);
  assert.doesNotMatch(server.process.stderr, /"level":"(error|fatal)"/);
});

/**
 * Opens many connections with small receive buffers, sends a request on each, and reads nothing. Prints a line when all
 * requests are sent, and closes the connections when its input ends. Node can't set the size of a socket's buffer.
 */
const unreadScript = `
  use Socket; my ($host, $port, $count, $text) = @ARGV; my @open;
  for my $i (1 .. $count) {
    socket(my $socket, PF_INET, SOCK_STREAM, 0) or die $!; setsockopt($socket, SOL_SOCKET, SO_RCVBUF, 2048) or die $!;
    connect($socket, pack_sockaddr_in($port, inet_aton($host))) or die $!; syswrite($socket, $text) or die $!;
    push @open, $socket;
  }
  $| = 1; print "sent\\n"; my $end = <STDIN>;
`;

async function answered(server: TestServer): Promise<number> {
  const counts = (await metricsText(server.ops)).matchAll(
    /^hcqs_http_requests_total\{.*status="200"\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Connections of clients that read nothing. Each takes a descriptor in the server and in the client. */
const silentClients = Math.min(6000, 4 * connections);

for (const [threads, what, request, maxKb] of [
  [1, "a file of the pages, without a key", "GET /openapi.json", 20],
  [2, "a file of the pages, without a key", "GET /openapi.json", 20],
  [4, "a file of the pages, without a key", "GET /openapi.json", 20],
  [2, "an answer of the API", "GET /api/v1/openapi.json", 20],
  [2, "an answer on a connection to be closed", "GET /api/v1/openapi.json", 20],
  [1, "an Arrow export", "GET /api/v1/export.arrow", 64],
  [4, "an Arrow export", "GET /api/v1/export.arrow", 64],
  [2, "a CSV export", "GET /api/v1/export.csv", 64],
  [2, "a Parquet export", "GET /api/v1/export.parquet", 64],
] as const)
  test(`with ${threads} threads, ${silentClients} clients that don't read ${what} take little memory`, async (t) => {
    const datasetsDir = temporaryFolder();
    writeFileSync(
      path.join(datasetsDir, "2024.1.parquet"),
      encodeSnapshot(syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 20_000, seed: 1 })),
    );
    const env = { THREADS: String(threads), PORTAL: "on" };
    const server = await startServer({ datasetsDir, env, maxDescriptors: 2 * silentClients + 1000 });
    t.after(() => server.process.signal("SIGKILL"));
    const { pid } = server.process;
    const headers = {
      Authorization: `Bearer ${server.key}`,
      ...(what.endsWith("closed") && { Connection: "TE, close" }),
    };
    for (let i = 0; i < 20; i++) await call(server, request, headers);
    const [memoryBefore, before] = [residentMb(pid), await answered(server)];
    const { hostname, port } = new URL(server.api);
    const text = requestText(request, headers);
    const client = spawn("perl", ["-e", unreadScript, hostname, port, String(silentClients), text], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(client.stdout, "data");
    await until("all requests to be handled", async () => (await answered(server)) >= before + silentClients);
    const kbEach = ((residentMb(pid) - memoryBefore) * 1024) / silentClients;
    t.diagnostic(`${kbEach.toFixed(1)} KB for each of ${silentClients} clients`);
    // Garbage of a few dozen MB may remain, whatever the number of clients.
    assert.ok(kbEach < maxKb + (30 * 1024) / silentClients, `${kbEach} KB each`);
    client.stdin.end();
    await once(client, "close");
    await until("all connections to be gone", async () => (await openConnections(server)) === 0);
    assert.match(await metricsText(server.ops), /^hcqs_waiting_response_bytes 0$/m);
    assert.equal((await call(server, known)).status, 200);
    assert.equal(await server.stop(), 0);
    assert.doesNotMatch(server.process.stderr, /"level":"(error|fatal)"/);
  });

for (const [what, request, connectionHeader] of [
  ["answers on connections to be closed", "GET /api/v1", "TE, close"],
  ["exports that nobody reads", "GET /api/v1/export.arrow", undefined],
] as const)
  test(`${silentClients} ${what} don't end the exports of clients that read`, async (t) => {
    const datasetsDir = temporaryFolder();
    writeFileSync(
      path.join(datasetsDir, "2024.1.parquet"),
      encodeSnapshot(syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 116_800, seed: 1 })),
    );
    const env = { THREADS: "2" };
    const server = await startServer({ datasetsDir, env, maxDescriptors: 2 * silentClients + 1000 });
    t.after(() => server.process.signal("SIGKILL"));
    const whole = await call(server, "HEAD /api/v1/export.csv");
    // curl reads as fast as it can.
    const download = promisify(execFile);
    const words = ["-s", "-o", "/dev/null", "-w", "%{http_code} %{size_download}"];
    const target = ["-H", `Authorization: Bearer ${server.key}`, `${server.api}/api/v1/export.csv`];
    const downloads = Array.from({ length: 6 }, () => download("curl", [...words, ...target]));
    const text = requestText(request, {
      ...(connectionHeader === undefined
        ? { Authorization: `Bearer ${await askForKey(server.stateDir, "silent", silentClients)}` }
        : { Connection: connectionHeader }),
    });
    const { hostname, port } = new URL(server.api);
    const client = spawn("perl", ["-e", unreadScript, hostname, port, String(silentClients), text], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(client.stdout, "data");
    for (const { stdout } of await Promise.all(downloads))
      assert.equal(stdout, `200 ${whole.header("Content-Length")}`);
    client.stdin.end();
    await once(client, "close");
    await until("all connections to be gone", async () => (await openConnections(server)) === 0);
    assert.match(await metricsText(server.ops), /^hcqs_waiting_response_bytes 0$/m);
    assert.equal(await server.stop(), 0);
  });

test("a server stops in time right after a flood of requests with unread responses", async (t) => {
  const server = await startServer();
  t.after(() => server.process.signal("SIGKILL"));
  const requests = requestText("HEAD /").repeat(unreadRequests);
  const clients = await Promise.all(Array.from({ length: 400 }, () => Connection.open(server.api)));
  for (const client of clients) {
    client.pause();
    await client.send(requests);
  }
  assert.equal(await server.stop(), 0);
  assert.doesNotMatch(server.process.stderr, /"level":"(error|fatal)"/);
  for (const client of clients) client.cut();
});

test("connections beyond the descriptor limit are closed at once, and the server keeps working", async (t) => {
  const maxDescriptors = 400;
  const server = await startServer({ maxDescriptors });
  t.after(() => server.process.signal("SIGKILL"));
  const metric = async (name: string) => {
    const text = await metricsText(server.ops);
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
  };
  const max = await metric("hcqs_max_connections");
  assert.ok(max > 100 && max < maxDescriptors, `${max} connections of ${maxDescriptors} descriptors`);

  const request = `GET ${pricesPath}?procedure=5072`;
  const text = requestText(request, { Authorization: `Bearer ${server.key}` });
  const open = await Promise.all(Array.from({ length: max }, () => Connection.open(server.api)));
  await until("all to be open", async () => (await metric("hcqs_open_connections")) === max);
  const beyond = await Promise.all(Array.from({ length: maxDescriptors }, () => Connection.open(server.api)));
  for (const connection of beyond)
    assert.equal((await connection.rest()).length, 0, "closed without an answer");
  assert.equal(await metric("hcqs_connections_refused_total"), maxDescriptors);
  for (const connection of [open[0], open[max - 1]]) {
    await connection.send(text);
    assert.equal((await connection.answer()).status, 200);
  }
  assert.equal((await server.keys("list")).code, 0);
  // The operator's listener, too, accepts only its share of connections.
  const idle = await Promise.all(Array.from({ length: 100 }, () => Connection.open(server.ops)));
  const closed = await until(
    "some of them to be closed",
    () => idle.filter((one) => one.isClosed).length >= 36 && idle,
  );
  for (const one of closed) one.cut();

  for (const connection of open) connection.cut();
  await until("all to be gone", async () => (await metric("hcqs_open_connections")) === 0);
  assert.equal((await call(server, request)).status, 200);
  assert.equal(await server.stop(), 0);
});
