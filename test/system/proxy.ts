import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { allEndpoints } from "../../server/api/openapi.ts";
import {
  type Answer,
  Connection,
  call,
  createKey,
  datasetsFolder,
  requestText,
  startServer,
  type TestServer,
  temporaryFolder,
  until,
} from "../support/server.ts";

/** Tests that every proxy in front of the service has to pass, with the README's configuration. */

/** Seconds after which a proxy must have closed its idle connections. */
export const maxIdleSeconds = 8;
export interface Proxied {
  service: TestServer;
  /** Address of the proxy, with a key of the service. */
  proxy: Pick<TestServer, "api" | "key">;
  /** A key of an account with a quota of one request. */
  spentKey: string;
  /** A key of an account with a rate of one request per second. */
  slowKey: string;
  port: number;
  stop(): Promise<void>;
}

/** @param command returns the proxy's command, which has to stay in the foreground */
export async function startProxied(
  command: (folder: string, upstream: string, port: number) => string[],
  port: number,
): Promise<Proxied> {
  const stateDir = temporaryFolder();
  const spentKey = createKey(stateDir, "spent", { burst: 1000, quota: 1 });
  const slowKey = createKey(stateDir, "slow", { burst: 1, quota: 1000 });
  const service = await startServer({ stateDir, datasetsDir: datasetsFolder() });
  const upstream = new URL(service.api);
  const folder = temporaryFolder();
  const stopProxy = await startProxy(command(folder, upstream.host, port), folder, port);
  return {
    service,
    proxy: { api: `http://127.0.0.1:${port}`, key: service.key },
    spentKey,
    slowKey,
    port: Number(upstream.port),
    async stop() {
      await stopProxy();
      assert.equal(await service.stop(), 0);
    },
  };
}

/** Starts a proxy that stays in the foreground, and waits until it listens. @returns a function that stops it */
export async function startProxy(
  command: readonly string[],
  folder: string,
  port: number,
): Promise<() => Promise<void>> {
  const [program, ...options] = command;
  let log = "";
  const child = spawn(program, options, {
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const failed = new Promise<never>((_, reject) => {
    child.once("error", (error) => reject(new Error(`${program} can't be started: ${error.message}`)));
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  process.once("exit", () => child.kill("SIGKILL"));
  const accepting = until(`${program} to listen`, () => {
    assert.equal(child.exitCode, null, `${program} ended: ${log}`);
    return accepts(port);
  });
  await Promise.race([failed, accepting]);
  return async () => {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const temporaryPaths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/** Makes a command for nginx with the given block, Debian's settings of `http`, and defaults for all other settings. */
export function nginxCommand(folder: string, block: string): string[] {
  const file = join(folder, "nginx.conf");
  writeFileSync(
    file,
    `${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
worker_processes 1;
pid ${join(folder, "nginx.pid")};
error_log stderr warn;
events {}
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  gzip on;
${temporaryPaths.map((name) => `  ${name}_temp_path ${join(folder, name)};`).join("\n")}
${block}
}
`,
  );
  return ["nginx", "-p", folder, "-c", file];
}

const states = { open: "01", closedFirst: "06" };

/** The proxy's ports of connections to the service in a state. */
function upstreamPorts({ port }: Proxied, state: keyof typeof states): number[] {
  const portOf = (address: string) => Number.parseInt(address.split(":")[1], 16);
  return readFileSync("/proc/net/tcp", "utf8")
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , remote, its]) => its === states[state] && portOf(remote) === port)
    .map(([, local]) => portOf(local))
    .sort();
}

/** Headers that a proxy has to pass on unchanged. */
const passedHeaders = [
  ...["Content-Type", "Content-Length", "Content-Encoding", "ETag", "Cache-Control", "Vary"],
  ...["X-RateLimit-Reset", "WWW-Authenticate", "Allow"],
];

type Asked = [request: string, status: number, headers?: Record<string, string | undefined>];

async function requestsFor({ service, spentKey }: Proxied): Promise<Asked[]> {
  const { next } = (await call(service, "GET /api/v1/search?q=hosp&limit=2")).json() as { next: string };
  const queries: Record<string, string> = {
    "/healthcare/prices": "/healthcare/prices?procedure=5072&limit=50",
    "/search": "/search?q=hospital+al%2C",
    "/healthcare/procedures/{code}": "/healthcare/procedures/507%32?bins=5",
    "/healthcare/facilities/{ccn}": "/healthcare/facilities/0000%301",
    "/healthcare/facilities/{ccn}/trends": "/healthcare/facilities/0000%301/trends?procedure=5072",
    "/healthcare/trends": "/healthcare/trends?procedure=5072",
    "/pages/{cursor}": next.slice("/api/v1".length),
  };
  const paths = allEndpoints.flatMap(({ path, kind }) => {
    const query = queries[path] ?? path;
    return kind === "versioned" ? [query, `/versions/2023%2E1${query}`] : [query];
  });
  const requests: Asked[] = [];
  for (const path of paths.map((each) => `/api/v1${each}`)) {
    const { headers } = await call(service, `GET ${path}`);
    requests.push([`GET ${path}`, 200], [`HEAD ${path}`, 200]);
    for (const coding of ["br", "gzip"]) requests.push([`GET ${path}`, 200, { "Accept-Encoding": coding }]);
    const condition = path.endsWith("/usage") ? "*" : headers.get("etag");
    for (const method of ["GET", "HEAD"])
      requests.push([`${method} ${path}`, 304, { "If-None-Match": condition }]);
    requests.push([`GET ${path}${path.includes("?") ? "&" : "?"}nonsense=1`, 400]);
    requests.push([`HEAD ${path}`, 401, { Authorization: undefined }]);
    requests.push([`GET ${path}`, 401, { Authorization: "Bearer hcq_wrong" }]);
    requests.push([`GET ${path}`, 429, { Authorization: `Bearer ${spentKey}` }]);
    for (const method of ["POST", "DELETE", "OPTIONS"]) requests.push([`${method} ${path}`, 405]);
  }
  for (const path of ["/", "/api/v1/nothing", "/api/v1//datasets", "/api/v1/healthcare%2Fprices"])
    requests.push([`GET ${path}`, 404]);
  requests.push(["GET /api/v1/healthcare/facilities/00%2F001", 404]);
  requests.push(["GET /api/v1/healthcare/prices?procedure=9999", 404]);
  requests.push(["GET /api/v1/healthcare/prices?procedure=%zz", 400]);
  requests.push(["GET /api/v1/healthcare/prices", 400]);
  return requests;
}

async function assertSame({ service, proxy }: Proxied, [request, status, headers]: Asked): Promise<void> {
  const direct = await call(service, request, headers);
  const proxied = await call(proxy, request, headers);
  const what = `${request} ${JSON.stringify(headers)}`;
  assert.deepEqual([direct.status, proxied.status], [status, status], `${what}: ${proxied.head}`);
  // Answers about usage differ, because each request counts.
  const isLive = request.endsWith("/usage") && status < 400;
  // A 304 needs no Content-Type, and Caddy removes it.
  const mayDiffer = [
    ...(isLive ? ["ETag", "Content-Length"] : []),
    ...(status === 304 ? ["Content-Type"] : []),
  ];
  for (const name of passedHeaders)
    if (!mayDiffer.includes(name))
      assert.equal(proxied.header(name), direct.header(name), `${what}: ${name}`);
  const counts = status === 401 || status === 429 ? 0 : 1;
  assert.equal(proxied.remaining, direct.remaining - counts, `${what}: X-RateLimit-Remaining`);
  const bodyOf = (answer: Answer) => answer.body.toString("latin1").replace(/retry in \d+ s/, "");
  if (!isLive) assert.equal(bodyOf(proxied), bodyOf(direct), what);
}

const priceRequest = "GET /api/v1/healthcare/prices?procedure=5072&limit=50";

async function askInTurn({ proxy }: Proxied, count: number): Promise<void> {
  const connection = await Connection.open(proxy.api);
  const text = requestText(priceRequest, { Authorization: `Bearer ${proxy.key}` });
  for (let i = 0; i < count; i++) {
    await connection.send(text);
    assert.equal((await connection.answer()).status, 200);
  }
  connection.close();
}

export function testProxy(proxied: Proxied): void {
  const { service, proxy, slowKey } = proxied;

  test("the proxy returns the service's own responses for every endpoint, method, coding and error", async (t) => {
    await call(service, priceRequest, { Authorization: `Bearer ${proxied.spentKey}` });
    const requests = await requestsFor(proxied);
    for (const asked of requests) await assertSame(proxied, asked);
    t.diagnostic(`${requests.length} requests`);
  });

  test("a used-up burst gets 429 with Retry-After", async () => {
    const headers = { Authorization: `Bearer ${slowKey}` };
    const answer = await until("a second request within a second", async () => {
      const last = await call(proxy, priceRequest, headers);
      return last.status === 429 && last;
    });
    assert.equal(answer.error().type, "rate_limit_exceeded");
    assert.equal(answer.header("Retry-After"), "1");
  });

  test("sequential requests share one connection to the service", async () => {
    await askInTurn(proxied, 1);
    const before = upstreamPorts(proxied, "open");
    assert.ok(before.length > 0);
    for (let client = 0; client < 5; client++) await askInTurn(proxied, 20);
    const further = upstreamPorts(proxied, "open").filter((port) => !before.includes(port));
    assert.deepEqual(further, []);
  });

  test("simultaneous clients are all answered, and connections to the service are reused", async () => {
    const clients = 20;
    const before = upstreamPorts(proxied, "closedFirst").length;
    await Promise.all(Array.from({ length: clients }, () => askInTurn(proxied, 50)));
    const closed = upstreamPorts(proxied, "closedFirst").length - before;
    assert.ok(closed <= clients, `${closed} connections closed for ${50 * clients} requests`);
  });

  test("the proxy closes idle connections before the service does, and still answers the next request", async () => {
    await askInTurn(proxied, 1);
    const idle = upstreamPorts(proxied, "open");
    assert.ok(idle.length > 0);
    // The kernel forgets a closed connection at a time of its own.
    const closed = new Set<number>();
    await until(
      "the proxy to close them first",
      () => {
        for (const port of upstreamPorts(proxied, "closedFirst")) closed.add(port);
        return idle.every((port) => closed.has(port));
      },
      () => ({ idle, closed, open: upstreamPorts(proxied, "open") }),
    );
    await askInTurn(proxied, 1);
  });

  test("a request head of nearly 4 KiB is passed on, and a longer one gets 431", async () => {
    const filled = (bytes: number) =>
      call(proxy, priceRequest, { "X-Filler": "x".repeat(bytes), Connection: "close" });
    assert.equal((await filled(3500)).status, 200);
    assert.equal((await filled(4500)).status, 431);
    const longest = `GET /api/v1/search?q=${encodeURIComponent("🏥".repeat(200))}`;
    assert.deepEqual((await call(proxy, longest)).error(), (await call(service, longest)).error());
  });

  test("an HTTP/1.0 client gets a response", async () => {
    for (const host of ["Host: localhost\r\n", ""]) {
      const connection = await Connection.open(proxy.api);
      const key = `Authorization: Bearer ${proxy.key}\r\n`;
      await connection.send(`${priceRequest} HTTP/1.0\r\n${host}${key}\r\n`);
      const received = (await connection.rest()).toString("latin1");
      const [head, body] = received.split("\r\n\r\n");
      assert.match(head, /^HTTP\/1\.[01] 200 /);
      assert.match(head, /^X-RateLimit-Remaining: \d+\r?$/im);
      assert.equal(body, (await call(service, priceRequest)).body.toString("latin1"));
    }
  });

  test("a request with a body is answered, and so is the next one on its connection", async () => {
    const key = `Authorization: Bearer ${proxy.key}`;
    const connection = await Connection.open(proxy.api);
    // A service that closes the connection before it has read the body makes Caddy answer some requests with 502.
    for (const bytes of [1, 1000, ...Array.from({ length: 30 }, () => 300_000)]) {
      await connection.send(`POST ${priceRequest.slice(4)} HTTP/1.1\r\nHost: x\r\n${key}\r\n`);
      await connection.send(`Content-Length: ${bytes}\r\n\r\n${"x".repeat(bytes)}`);
      assert.equal((await connection.answer()).status, 405);
      await connection.send(requestText(priceRequest, { Authorization: `Bearer ${proxy.key}` }));
      assert.equal((await connection.answer()).status, 200);
    }
    connection.close();
  });

  // The service's parser ignores the body that these header lines announce. So a proxy must not pass them on unchanged.
  for (const lines of [": odd\r\nContent-Length: N", "Transfer-Encoding:\r\nTransfer-Encoding: chunked"])
    test(`a request hidden behind ${JSON.stringify(lines)} isn't executed`, async () => {
      const key = { Authorization: `Bearer ${proxy.key}` };
      const remaining = async () => (await call(proxy, priceRequest)).remaining;
      const hidden = requestText("GET /hidden", key);
      const whole = requestText(priceRequest, key).replace(
        /\r\n$/,
        `${lines.replace("N", String(hidden.length))}\r\n\r\n${hidden}`,
      );
      const before = await remaining();
      const connection = await Connection.open(proxy.api);
      await connection.send(whole);
      await connection.answer();
      assert.ok((await remaining()) >= before - 2, "it isn't counted");
      connection.cut();
    });
}
