import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { Connection, call, pricesPath, startServer } from "../support/server.ts";

/** Makes the table of what the HTTP parser answers, and compares it with the table in `server/README.md`. */

const server = await startServer();
after(async () => assert.equal(await server.stop(), 0));

const request = `GET ${pricesPath}?procedure=5072`;
const key = `Authorization: Bearer ${server.key}`;
const first = `${request} HTTP/1.1\r\n`;
const head = `${first}Host: x\r\n${key}\r\n`;
const cookies = (bytes: number) => `Cookie: ${"c".repeat(bytes)}\r\n`;
const headers = (count: number) => Array.from({ length: count }, (_, i) => `X-${i}: 1\r\n`).join("");
const upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";

/** Rows of the table. All requests of a row get the same answer. */
const forms: [form: string, requests: string[]][] = [
  ["HTTP/1.0, HTTP/2 without TLS", [head.replace("1.1", "1.0"), "PRI * HTTP/2.0\r\n\r\nSM\r\n"]],
  ["TLS", ["\x16\x03\x01\x02\x00\x01\x00\r\n"]],
  ["bare line feeds", [head.replaceAll("\r\n", "\n")]],
  [
    "an absolute request target, `OPTIONS *`, `CONNECT`",
    [
      head.replace("GET ", "GET http://x"),
      head.replace(request, "OPTIONS *"),
      head.replace(request, "CONNECT x:80"),
    ],
  ],
  [
    "a request line with further spaces",
    [head.replace("GET ", "GET  "), head.replace("5072 ", "50 72 "), head.replace("GET ", "GET\t")],
  ],
  [
    "a head over 4,096 bytes, such as long cookies; more than 100 headers",
    [head + cookies(4096), head + headers(101), `GET /${"x".repeat(4096)} HTTP/1.1\r\nHost: x\r\n`],
  ],
  ["no `Host`", [`${first}${key}\r\n`]],
  [
    "`Content-Length` with `Transfer-Encoding`; a `Content-Length` that isn't a number",
    [
      `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n`,
      `${head}Content-Length: 5x\r\n`,
      `${head}Content-Length: -1\r\n`,
    ],
  ],
  ["an empty line before the request", [`\r\n${head}`]],
  [
    "a space before a header's colon, a folded header, a header without a colon",
    [`${head}X-A : 0\r\n`, `${head}X-A: a\r\n b\r\n`, `${head}rubbish\r\n`],
  ],
  [
    "a NUL in a header, or a character in its name that HTTP doesn't allow there, such as `(`",
    [`${head}X-A: a\0b\r\n`, ...Array.from('"(),/;<=>?@[\\]{}', (wrong) => `${head}X${wrong}A: 0\r\n`)],
  ],
  ["a first line that isn't an HTTP request line", ["hello\r\n", "GET /\r\n"]],
  ["two `Host` headers, an empty `Host`", [`${head}Host: y\r\n`, `${first}Host:\r\n${key}\r\n`]],
  ["a request to upgrade the connection", [head + upgrade]],
];

/** The answer to a request, if it comes before the answers to two later requests on other connections. */
async function answerTo(text: string): Promise<string> {
  const connection = await Connection.open(server.api);
  await connection.send(`${text}\r\n`);
  await connection.allRead();
  // The server has one thread. So it has read the request when it answers these.
  for (let i = 0; i < 2; i++) await call(server, request);
  connection.cut();
  const received = (await connection.rest()).toString("latin1");
  const [, status = "none"] = /^HTTP\/1\.1 (\d+) /.exec(received) ?? [];
  const by = received === "" ? "" : received.includes("X-RateLimit") ? " by the API" : " in HTML";
  return `${status}${by}`;
}

test("server/README.md says what the HTTP parser answers", async () => {
  const rows: string[] = [];
  for (const [form, requests] of forms) {
    const answers = new Set<string>();
    for (const text of requests) answers.add(await answerTo(text));
    assert.equal(answers.size, 1, `${form}: ${[...answers]}`);
    rows.push(`| ${form} | ${[...answers]} |`);
  }
  const table = `| Request | Answer |\n|---|---|\n${rows.join("\n")}\n`;
  const readme = readFileSync(new URL("../../server/README.md", import.meta.url), "utf8");
  assert.ok(readme.includes(table), `expected this table:\n${table}`);
});

test("a header's name may have all characters that HTTP allows there", async () => {
  for (const right of "!#$%&'*+-.^_`|~")
    assert.equal(await answerTo(`${head}X${right}A: 0\r\n`), "200 by the API", right);
});

test("a request that gets no answer ends with its connection, when the connection is idle for too long", async () => {
  const unanswered = [`\r\n${head}`, `${head}X-A : 0\r\n`, `${head}rubbish\r\n`, "hello\r\n"];
  await Promise.all(
    unanswered.map(async (text) => {
      const connection = await Connection.open(server.api);
      await connection.send(`${text}\r\n`);
      assert.equal((await connection.rest()).length, 0);
    }),
  );
});

test("UWS_HTTP_MAX_HEADERS_SIZE raises the size of a head", async () => {
  const roomy = await startServer({ env: { UWS_HTTP_MAX_HEADERS_SIZE: "16384" } });
  const long = { Cookie: "c".repeat(12_000) };
  assert.equal((await call(roomy, request, long)).status, 200);
  assert.equal(await roomy.stop(), 0);
});
