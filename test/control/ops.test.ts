import assert from "node:assert/strict";
import { after, test } from "node:test";
import { opsServer } from "../../server/control/ops.ts";
import { OperatorConsole } from "../../server/parts/console/console.ts";
import { History } from "../../server/parts/console/history.ts";
import { Traffic } from "../../server/shared/traffic.ts";
import { Connection, listening, requestText, until } from "../support/connection.ts";

/** Tests the operator's listener, also with metrics that are slow or fail. */

let made = 0;
let make: () => Promise<string> = async () => "metrics\n";
const metrics = {
  contentType: "text/plain",
  async text() {
    made++;
    return make();
  },
};
let lost: string[] = [];
/** Undefined while the server starts. */
let shown: OperatorConsole | undefined;
const server = opsServer({
  isReady: () => true,
  lostVersions: () => lost,
  metrics,
  pages: () => shown,
  allowedHosts: ["prometheus.example"],
});
const url = `http://127.0.0.1:${await listening(server)}`;
after(() => {
  server.close();
  server.closeAllConnections();
});

async function ask(request: string, headers: Record<string, string> = {}) {
  const connection = await Connection.open(url);
  await connection.send(requestText(request, { Connection: "close", ...headers }));
  return connection.answer(request.split(" ")[0]);
}

test("readiness names the versions that were served before and can't be now", async () => {
  assert.equal(String((await ask("GET /readyz")).body), "ready\n");
  lost = ["2023.1", "2022.2"];
  const { status, body } = await ask("GET /readyz");
  lost = [];
  assert.deepEqual(
    [status, String(body)],
    [
      200,
      "ready\ndata version 2023.1 isn't served, though it was before and its file is there\ndata version 2022.2 isn't served, though it was before and its file is there\n",
    ],
  );
});

test("a request whose handler fails gets 500, and the next one is answered", async () => {
  make = () => Promise.reject(new Error("the disk is gone"));
  const connection = await Connection.open(url);
  await connection.send(requestText("GET /metrics", {}).repeat(2));
  for (let i = 0; i < 2; i++) assert.equal((await connection.answer()).status, 500);
  make = async () => "metrics\n";
  await connection.send(requestText("GET /metrics", {}));
  assert.equal((await connection.answer()).status, 200);
  connection.close();
});

test("a console with an unreadable state gives 500 for its stream and still serves its page", async () => {
  const traffic = new Traffic([], 1);
  const history = new History(
    traffic,
    () => ({ connections: 0, memory: 0 }),
    () => new Map(),
    0,
  );
  shown = new OperatorConsole(history, () => {
    throw new Error("the database disk image is malformed");
  });
  assert.equal((await ask("GET /console/stream")).status, 500);
  assert.equal((await ask("GET /")).status, 200);
  shown = undefined;
  assert.equal((await ask("GET /")).status, 503);
});

test("pipelined requests are answered one at a time, in their order", async () => {
  made = 0;
  const { promise, resolve } = Promise.withResolvers<string>();
  make = () => promise;
  const connection = await Connection.open(url);
  await connection.send(requestText("GET /metrics", {}).repeat(3) + requestText("GET /livez", {}));
  await until("the first one", () => made > 0);
  // An answer on another connection shows that the server has read all requests sent before.
  assert.equal((await ask("GET /livez")).status, 200);
  assert.equal(made, 1);
  make = async () => "later\n";
  resolve("first\n");
  const bodies: string[] = [];
  for (let i = 0; i < 4; i++) bodies.push(String((await connection.answer()).body));
  assert.deepEqual(bodies, ["first\n", "later\n", "later\n", "ok\n"]);
  assert.equal(made, 3);
  connection.close();
});

test("a client that pipelines more than 17 requests is disconnected without a response", async () => {
  made = 0;
  const { promise, resolve } = Promise.withResolvers<string>();
  make = () => promise;
  const connection = await Connection.open(url);
  await connection.send(requestText("GET /metrics", {}).repeat(5000));
  assert.equal((await connection.rest()).length, 0);
  resolve("late\n");
  assert.equal((await ask("GET /livez")).status, 200);
  assert.equal(made, 1);
});

test("waiting pipelined requests are dropped when their connection closes", async () => {
  made = 0;
  const { promise, resolve } = Promise.withResolvers<string>();
  make = () => promise;
  const connection = await Connection.open(url);
  await connection.send(requestText("GET /metrics", {}).repeat(10));
  await until("the first one", () => made > 0);
  connection.close();
  await until("the server to see it", async () => {
    const { promise: counted, resolve: count } = Promise.withResolvers<number>();
    server.getConnections((_, open) => count(open));
    return (await counted) === 0;
  });
  resolve("late\n");
  assert.equal((await ask("GET /livez")).status, 200);
  assert.equal(made, 1);
});

for (const target of ["/", "/livez", "/readyz", "/metrics", "/console/stream", "/nothing"]) {
  test(`${target} is refused for foreign Host and Origin headers`, async () => {
    for (const headers of [
      { Host: "evil.example" },
      { Host: "127.0.0.1", Origin: "http://evil.example" },
      { Host: "127.0.0.1", Origin: "null" },
      { Host: "127.0.0.1", Origin: "http://6.6.6.6" },
      { Host: "127.0.0.1:9090", Origin: "http://127.0.0.1:8080" },
      { Host: "127.0.0.1:9090", Origin: "http://127.0.0.1" },
      { Host: "127.0.0.1", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" },
    ] as Record<string, string>[])
      assert.equal((await ask(`GET ${target}`, headers)).status, 403);
    for (const Host of [
      "localhost:9090",
      "127.0.0.1",
      "10.1.2.3:80",
      "[::1]:9090",
      "PROMETHEUS.example:9090",
    ])
      assert.notEqual((await ask(`GET ${target}`, { Host })).status, 403, Host);
    const itself = { Origin: "http://127.0.0.1:9090", "Sec-Fetch-Site": "same-origin" };
    assert.notEqual((await ask(`GET ${target}`, { Host: "127.0.0.1:9090", ...itself })).status, 403);
    const followed = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" };
    const link = await ask(`GET ${target}`, { Host: "127.0.0.1", ...followed });
    if (target === "/") assert.notEqual(link.status, 403, "a link");
  });

  test(`${target} accepts only GET and HEAD`, async () => {
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
      const answer = await ask(`${method} ${target}`);
      assert.deepEqual([answer.status, answer.header("Allow")], [405, "GET, HEAD"]);
    }
    assert.notEqual((await ask(`HEAD ${target}`)).status, 405);
  });
}
