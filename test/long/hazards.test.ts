import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { generateKey } from "../../server/accounts/keys.ts";
import { Connection, call, pricesPath, rawRequest, requestText, startServer } from "../support/server.ts";

/** Tests requests that have crashed or confused HTTP servers. The server has to answer or to close the connection. */

const unknownKey = generateKey();
const env = { PORTAL: "on", CORS_ORIGINS: "https://a.example" };
const server = await startServer({ env });
after(() => server.stop());

const prices = `${pricesPath}?procedure=5072`;
const authorization = { Authorization: `Bearer ${server.key}` };
const text = (request: string, headers: Record<string, string> = {}) =>
  requestText(request, { ...authorization, ...headers });

afterEach(async () => {
  assert.equal((await call(server, `GET ${prices}`)).status, 200, "the server lives");
});

/** Returns all that the server sends until it closes the connection. */
async function untilClosed(...chunks: (string | Uint8Array)[]): Promise<string> {
  const connection = await Connection.open(server.api);
  await connection.send(...chunks);
  return (await connection.rest()).toString("latin1");
}

const answersIn = (received: string) => received.split("HTTP/1.1 ").length - 1;

/** About one answer without a body in 150 says that it closes its connection. Then the exchange begins again. */
async function onOneConnection(exchange: (connection: Connection) => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const connection = await Connection.open(server.api);
    try {
      await exchange(connection);
      return;
    } catch (error) {
      if (!connection.saidClose || attempt === 5) throw error;
    } finally {
      connection.close();
    }
  }
}

test("HEAD is answered repeatedly on one connection, whatever the status", () =>
  onOneConnection(async (connection) => {
    for (const [target, status] of [
      [prices, 200],
      ["/api/v1/nothing", 404],
      [pricesPath, 400],
      [prices, 200],
    ] as const) {
      await connection.send(text(`HEAD ${target}`));
      const answer = await connection.answer("HEAD");
      assert.equal(answer.status, status);
      assert.match(answer.header("Content-Length") ?? "", /^[1-9]\d*$/);
    }
    await connection.send(text(`GET ${prices}`));
    assert.equal((await connection.answer()).status, 200);
  }));

for (const path of [prices, "/api/v1/search?q=hospital", "/api/v1/healthcare/facilities?procedure=5072"])
  test(`pipelined requests are answered in their order: ${path}`, async () => {
    const connection = await Connection.open(server.api);
    const limits = Array.from({ length: 40 }, (_, i) => i + 1);
    await connection.send(limits.map((limit) => text(`GET ${path}&limit=${limit}`)).join(""));
    for (const limit of limits) {
      const { body } = await connection.answer();
      assert.equal(JSON.parse(body.toString()).data.length, limit);
    }
    connection.close();
  });

for (const close of ["close", "TE, close", "Close, TE"])
  test(`Connection: ${close} closes the connection after any response`, async () => {
    const whole = await call(server, `GET ${prices}`);
    const tag = { "If-None-Match": whole.header("ETag") ?? "" };
    for (const [request, headers, status] of [
      [`GET ${prices}`, {}, 200],
      [`HEAD ${prices}`, {}, 200],
      [`GET ${prices}`, tag, 304],
      [`HEAD ${prices}`, tag, 304],
      ["GET /api/v1/nothing", {}, 404],
      ["HEAD /api/v1/nothing", {}, 404],
    ] as const) {
      const connection = await Connection.open(server.api);
      await connection.send(text(request, { ...headers, Connection: close }));
      const answer = await connection.answer(request.split(" ")[0]);
      assert.equal(answer.status, status);
      const length = answer.header("Content-Length");
      // A 304 may have the Content-Length of the complete answer.
      if (status === 304) assert.ok(length === undefined || Number(length) === whole.body.length, length);
      if (status === 200) assert.equal(Number(length), whole.body.length);
      assert.equal((await connection.rest()).length, 0);
      // The header shows that this connection isn't closed for being idle. If the request says exactly `close`, the
      // library closes the connection without this header, but an answer without a body may be closed at random.
      if (close !== "close") assert.equal(answer.header("Connection"), "close");
    }
  });

test("a response without a body or in pieces closes its connection as asked, and the server survives", async () => {
  const has = { "If-None-Match": "*" };
  const preflight = { Origin: "https://a.example", "Access-Control-Request-Method": "GET" };
  const exports = ["csv", "arrow", "parquet"].flatMap((type) => [
    [`GET /api/v1/export.${type}`, authorization, 200] as const,
    [`HEAD /api/v1/export.${type}`, authorization, 200] as const,
    [`GET /api/v1/export.${type}`, { ...authorization, ...has }, 304] as const,
  ]);
  for (const list of ["close", "TE, close", "close, TE", "Keep-Alive, Close"])
    for (const [request, headers, status] of [
      ["GET /", has, 304],
      ["HEAD /", has, 304],
      ["HEAD /signup", has, 304],
      ["HEAD /", {}, 200],
      ["OPTIONS /api/v1/versions", preflight, 204],
      ["OPTIONS /api/v1/versions", { ...preflight, "Content-Length": "0" }, 204],
      ["GET /api/v1/versions", { ...authorization, ...has }, 304],
      ["HEAD /api/v1/versions", {}, 401],
      ...exports,
    ] as const) {
      const what = `${request}, Connection: ${list}`;
      const connection = await Connection.open(server.api);
      const sent = requestText(request, { ...headers, Connection: list });
      await connection.send(sent);
      const answer = await connection.answer(request.split(" ")[0]);
      assert.equal(answer.status, status, what);
      if (status === 204) assert.equal(answer.header("Content-Length"), undefined, what);
      // The server would answer this request if the connection were still open.
      await connection.send(sent);
      assert.equal((await connection.rest()).length, 0, what);
    }
});

test("the first of several Authorization headers counts", async () => {
  const request = (first: string, second: string) =>
    `GET ${prices} HTTP/1.1\r\nHost: x\r\nAuthorization: ${first}\r\nauthorization: ${second}\r\n\r\n`;
  const [good, bad] = [`Bearer ${server.key}`, `Bearer ${unknownKey}`];
  assert.equal((await rawRequest(server.api, request(good, bad))).status, 200);
  assert.equal((await rawRequest(server.api, request(bad, good))).status, 401);
});

const second = text(`GET ${pricesPath}?procedure=5073`);
const withHeaders = (request: string, headers: string) =>
  text(request).replace(/\r\n$/, `${headers}\r\n\r\n`);

for (const [what, request, headers, body, status] of [
  ["a GET with a body", `GET ${prices}`, "Content-Length: 5", "hello", 400],
  ["a GET with a request as its body", `GET ${prices}`, `Content-Length: ${second.length}`, second, 400],
  [
    "a GET with a chunked body",
    `GET ${prices}`,
    "Transfer-Encoding: chunked",
    "5\r\nhello\r\n0\r\n\r\n",
    400,
  ],
  ["a GET with a strange coding", `GET ${prices}`, "Transfer-Encoding: x", "", 400],
  [
    "a GET with a length and a coding",
    `GET ${prices}`,
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "",
    400,
  ],
  ["a POST with a body", `POST ${prices}`, "Content-Length: 5", "hello", 405],
  ["a POST with a body to nowhere", "POST /api/v1/nothing", "Content-Length: 5", "hello", 404],
] as const)
  test(`${what} gets one ${status}, and the connection is closed`, async () => {
    const received = await untilClosed(withHeaders(request, headers) + body);
    assert.ok(received.startsWith(`HTTP/1.1 ${status} `), received);
    assert.equal(answersIn(received), 1, received);
  });

for (const headers of [
  `Content-Length: 0\r\nContent-Length: ${second.length}`,
  `Content-Length: ${second.length}\r\nContent-Length: 0`,
  `Content-Length: 00\r\nContent-Length: ${second.length}`,
  `Content-Length: 0\r\nTransfer-Encoding:\r\nTransfer-Encoding: chunked`,
  "Content-Length: -1",
  "Content-Length: +5",
  "Content-Length: 5x",
  "Content-Length: 0x5",
  "Content-Length: 99999999999999999999",
  "Content-Length: 5, 5",
  "Transfer-Encoding: x",
  "Transfer-Encoding: chunked, identity",
  "Content-Length: 5\r\nTransfer-Encoding: chunked",
])
  for (const method of ["GET", "POST"])
    test(`${method} with ${JSON.stringify(headers)} can't smuggle a second request in`, async () => {
      const received = await untilClosed(withHeaders(`${method} ${prices}`, headers) + second);
      assert.doesNotMatch(received, /HTTP\/1\.1 200 /);
      assert.ok(answersIn(received) <= 1, received);
    });

for (const [method, status] of [
  ["GET", 200],
  ["HEAD", 200],
  ["POST", 405],
] as const)
  test(`${method} with a Content-Length of 0 and the request after it are answered as usual`, async () => {
    for (const length of ["0", "00", "0\r\nContent-Length: 0"])
      await onOneConnection(async (connection) => {
        await connection.send(withHeaders(`${method} ${prices}`, `Content-Length: ${length}`) + second);
        assert.equal((await connection.answer(method)).status, status);
        assert.match((await connection.answer()).body.toString(), /"code":"5073"/);
      });
  });

test("a request behind a chunked body isn't answered", async () => {
  const first = withHeaders(`GET ${prices}`, "Transfer-Encoding: chunked");
  const received = await untilClosed(`${first}0\r\n\r\n${second}`);
  assert.doesNotMatch(received, /HTTP\/1\.1 200 /);
  assert.ok(answersIn(received) <= 1, received);
});

test("a line break in a request can't inject a response header", async () => {
  for (const request of [
    `GET ${prices}%0D%0AX-Injected:%20yes`,
    `GET ${pricesPath}?procedure=%0D%0AX-Injected:%20yes`,
    `GET ${prices}&state=AL%0D%0AX-Injected:%20yes`,
    `GET ${prices}&a%0D%0AX-Injected:=yes`,
    "GET /api/v1/x%0D%0AX-Injected:%20yes",
    "GET /api/v1/versions/2024.3%0D%0AX-Injected:%20yes/healthcare/prices?procedure=5072",
  ]) {
    const answer = await call(server, request);
    assert.ok(answer.status === 400 || answer.status === 404);
    assert.equal(answer.header("X-Injected"), undefined);
    assert.doesNotMatch(answer.head, /injected/i);
  }
});

const key = `Authorization: Bearer ${server.key}`;
const manyHeaders = Array.from({ length: 101 }, (_, i) => `x${i}: 1\r\n`).join("");
for (const [what, bytes, status] of [
  ["HTTP/1.0", `GET ${prices} HTTP/1.0\r\n${key}\r\n\r\n`, 505],
  ["HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505],
  ["a bare line feed", `GET ${prices} HTTP/1.1\nHost: x\n${key}\n\n`, 505],
  ["no host", `GET ${prices} HTTP/1.1\r\n${key}\r\n\r\n`, 400],
  ["a head of 8 KiB", text(`GET ${prices}`, { "X-Long": "x".repeat(8192) }), 431],
  ["more than 100 headers", `GET ${prices} HTTP/1.1\r\nHost: x\r\n${key}\r\n${manyHeaders}\r\n`, 431],
  ["a path of 8 KiB", text(`GET /${"x".repeat(8192)}`), 431],
] as const)
  test(`${what} is refused with ${status}`, async () => {
    const received = await untilClosed(bytes);
    assert.ok(received.startsWith(`HTTP/1.1 ${status} `), received.slice(0, 200));
    assert.equal(answersIn(received), 1);
  });

const head = `GET ${prices} HTTP/1.1\r\nHost: x\r\n${key}\r\n`;
for (const [what, bytes] of [
  ["a header without a colon", `${head}rubbish\r\n\r\n`],
  ["a space before a colon", `${head}Transfer-Encoding : chunked\r\n\r\n${second}`],
  ["a NUL in a header", `${head}X-Odd: a\0b\r\n\r\n`],
  ["a folded header", `${head}X-Odd: a\r\n b\r\n\r\n`],
  ["a request without version", "GET /\r\n\r\n"],
  ["a word", "hello\r\n\r\n"],
  ["four NULs", "\0\0\0\0\r\n\r\n"],
  ["a TLS handshake", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"],
])
  test(`${what} gets no response from the API`, async () => {
    const connection = await Connection.open(server.api);
    await connection.send(bytes);
    await connection.allRead();
    await call(server, `GET ${prices}`);
    connection.cut();
    assert.doesNotMatch((await connection.rest()).toString(), /X-RateLimit/);
  });

test("a request in two segments is answered, except for some splits in its first line", async () => {
  const whole = text(`GET ${prices}&limit=1`);
  const [path, version, end] = ["/", " HTTP/1.1", "\n"].map((part) => whole.indexOf(part));
  for (let at = 1; at < whole.length; at++) {
    const { status } = await rawRequest(server.api, whole.slice(0, at), whole.slice(at));
    // The parser has to read the end of the request line together with the HTTP version.
    const mayFail = at === path || (at > version && at <= end);
    if (!mayFail || status !== 505) assert.equal(status, 200, `split at ${at}`);
  }
});
