import assert from "node:assert/strict";
import { after, test } from "node:test";
import { metricsText } from "../support/metrics-text.ts";
import {
  type Answer,
  Connection,
  call,
  getStuck,
  pricesPath,
  requestText,
  settled,
  startServer,
  until,
} from "../support/server.ts";

/** Tests many requests on the same connection before the first answer is read. */

// Runs the core with a single part, because the core has to work with each part alone.
process.env.SERVER_PARTS = "postgres";

const server = await startServer();
after(async () => assert.equal(await server.stop(), 0));
const key = { Authorization: `Bearer ${server.key}` };

/** Minimum bytes that the system's buffers of a connection hold while the client reads nothing. */
const socketBytes = 32 * 2 ** 10;

for (const [what, request, headers] of [
  ["4 KB answers", `GET ${pricesPath}?procedure=5072`, key],
  ["8 KB answers", `GET ${pricesPath}?procedure=5072&limit=40`, key],
  ["1 KB answers", `GET ${pricesPath}?procedure=5072&limit=1`, key],
  ["answers to unknown keys", "GET /", {}],
  ["answers larger than a socket's buffer", `GET ${pricesPath}?procedure=5361&limit=50`, key],
] as const)
  test(`${what} that a client reads late arrive in order and undamaged`, async () => {
    const text = requestText(request, headers);
    const { head, body } = await call(server, request, { Authorization: undefined, ...headers });
    const whole = settled(`${head}\r\n\r\n${body.toString("latin1")}`);
    for (const count of [20, 60, 1000]) {
      const connection = await Connection.open(server.api);
      connection.pause();
      const closing = requestText(request, { ...headers, Connection: "close" });
      await connection.send(text.repeat(count - 1) + closing);
      // The server has one thread. So when it answers on another connection, it has handled this connection's requests.
      await call(server, `GET ${pricesPath}?procedure=5073`);
      connection.resume();
      const received = settled((await connection.rest()).toString("latin1"));
      assert.ok(whole.repeat(count).startsWith(received), `of ${count}: ${received.slice(-300)}`);
      if (count * whole.length < socketBytes) assert.equal(received, whole.repeat(count));
    }
  });

for (const [what, method, headers, body] of [
  ["a body", "POST", { "Content-Length": "5" }, "hello"],
  ["a body that never comes", "POST", { "Content-Length": "5" }, ""],
  ["a body in chunks", "POST", { "Transfer-Encoding": "chunked" }, "5\r\nhello\r\n0\r\n\r\n"],
  ["a body of a method without one", "GET", { "Content-Length": "5" }, "hello"],
  ["a body of a HEAD", "HEAD", { "Content-Length": "5" }, "hello"],
] as const)
  test(`a request with ${what} is answered after all earlier ones, and the connection is closed`, async () => {
    const pipeline = async (count: number) => {
      const connection = await Connection.open(server.api);
      const good = requestText(`GET ${pricesPath}?procedure=5072&limit=1`, key);
      await connection.send(
        good.repeat(count) +
          requestText(`${method} ${pricesPath}?procedure=5072`, { ...key, ...headers }) +
          body,
      );
      for (let i = 0; i < count; i++)
        assert.equal((await connection.answer()).status, 200, `${i} of ${count}`);
      const last = await connection.answer(method);
      assert.equal(last.status, method === "POST" ? 405 : 400);
      assert.equal(last.header("Connection"), "close");
      assert.equal((await connection.rest()).length, 0);
    };
    // Runs the pipelines at the same time, because the server waits for seconds for a body that never comes.
    await Promise.all([0, 1, 10, 40].map(pipeline));
  });

for (const [what, method, condition] of [
  ["a HEAD", "HEAD", ""],
  ["what the client has", "GET", "*"],
] as const)
  test(`responses before a request for ${what} with Connection: TE, close reach a slow reader undamaged`, async () => {
    const request = `GET ${pricesPath}?procedure=5072&limit=40`;
    const good = requestText(request, key);
    const { head, body } = await call(server, request);
    const whole = settled(`${head}\r\n\r\n${body.toString("latin1")}`);
    for (const count of [0, 1, 3, 20, 400]) {
      const connection = await Connection.open(server.api);
      connection.pause();
      const headers = { ...key, Connection: "TE, close", ...(condition && { "If-None-Match": condition }) };
      await connection.send(good.repeat(count) + requestText(request.replace("GET", method), headers));
      await call(server, `GET ${pricesPath}?procedure=5073`);
      connection.resume();
      const received = settled((await connection.rest()).toString("latin1"));
      const before = whole.repeat(count);
      assert.ok(before.startsWith(received.slice(0, before.length)), `of ${count}: ${received.slice(-300)}`);
      if (before.length > socketBytes && received.length <= before.length) continue;
      assert.match(
        received.slice(before.length),
        /^HTTP\/1\.1 (200|304) .*\r\nConnection: close\r\n.*\r\n\r\n$/s,
      );
    }
  });

for (const [what, request, status] of [
  ["HEAD without a key", requestText("HEAD /"), 401],
  ["HEAD", requestText(`HEAD ${pricesPath}?procedure=5072`, key), 200],
  ["a 304", requestText(`GET ${pricesPath}?procedure=5072`, { ...key, "If-None-Match": "*" }), 304],
] as const)
  test(`a client that reads each answer to ${what} gets Connection: close before its connection ends`, async () => {
    const connection = await Connection.open(server.api);
    const next = async () => {
      await connection.send(request);
      const answer = await connection.answer("HEAD");
      assert.equal(answer.status, status);
      return answer;
    };
    const first = await next();
    let last = first;
    // The position of the connection's last answer depends on chance.
    while (last.header("Connection") === undefined) last = await next();
    assert.equal(last.header("Connection"), "close");
    assert.equal((await connection.rest()).length, 0);
    const names = (answer: Answer) =>
      [...answer.headers.keys()].filter((name) => name !== "connection").sort();
    assert.deepEqual(names(last), names(first));
    assert.equal(last.header("Content-Length"), first.header("Content-Length"));
    assert.match(last.header("Date") ?? "", /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/);
  });

test("clients that don't read the same answer share its bytes, which are counted while they wait", async () => {
  const waitingBytes = async () =>
    Number(/^hcqs_waiting_response_bytes (\d+)$/m.exec(await metricsText(server.ops))?.[1]);
  assert.equal(await waitingBytes(), 0);
  const request = `GET ${pricesPath}?procedure=5361&limit=50`;
  const { body } = await call(server, request);
  const connections = await Promise.all([1, 2, 3].map(() => Connection.open(server.api)));
  for (const connection of connections) await getStuck(server, connection);
  assert.equal(await waitingBytes(), body.length);
  for (const connection of connections) connection.close();
  await until("nothing to wait", async () => (await waitingBytes()) === 0);
});

test("a GET with a body and another request in one segment close the connection", async () => {
  const withBody = `${requestText("GET /api/v1/versions", { ...key, "Content-Length": "5" })}hello`;
  const next = requestText("GET /api/v1/versions", key);
  for (const text of [`${withBody}${next}`, `${next}${withBody}${next}`]) {
    const connection = await Connection.open(server.api);
    await connection.send(text);
    await until("the connection to close", () => connection.isClosed);
  }
});

test("requests behind Connection: close in one segment are answered", async () => {
  const connection = await Connection.open(server.api);
  const last = requestText("GET /api/v1/versions", { ...key, Connection: "close" });
  await connection.send(`${last}${requestText("GET /api/v1/versions", key)}`);
  for (let i = 0; i < 2; i++) assert.equal((await connection.answer()).status, 200);
  connection.close();
});
