import assert from "node:assert/strict";
import { test } from "node:test";
import { readable } from "../../server/control/log.ts";
import { PerSecond } from "../../server/shared/per-second.ts";
import { requestText } from "../support/connection.ts";
import { call, pricesPath, startServer, until, withConnections } from "../support/server.ts";

/** What the log says, to a program and to a person, and which requests it shows. */

type Line = Record<string, unknown>;
const linesIn = (text: string): Line[] =>
  text
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

test("a person reads when, how grave, what and with which details", () => {
  const line = JSON.stringify({
    ...{ level: "warn", time: "2026-01-02T03:04:05.006Z", version: "2024.1", ms: 7, files: ["a b"] },
    ...{ text: 'two "words"', empty: "", stack: "Error: no\n    at here", msg: "look" },
  });
  assert.equal(
    readable(`${line}\n`),
    `2026-01-02T03:04:05.006Z WARN  look version=2024.1 ms=7 files=["a b"] text="two \\"words\\"" empty=""
  Error: no
      at here
`,
  );
});

test("a program reads levels as words and times as ISO text in UTC", async () => {
  const server = await startServer();
  assert.equal(await server.stop(), 0);
  const lines = linesIn(server.process.stderr);
  assert.ok(lines.length > 0);
  for (const { level, time } of lines) {
    assert.match(String(level), /^(info|warn)$/);
    assert.equal(time, new Date(String(time)).toISOString());
  }
});

test("nothing in a line steers the terminal", () => {
  const hostile = "\u001b[2J\u009b2J\r\u202e\u0000";
  const line = JSON.stringify({
    level: hostile,
    time: hostile,
    text: hostile,
    stack: `${hostile}\nat`,
    msg: hostile,
  });
  assert.match(readable(line), /^(?:(?![\p{Cc}\p{Cf}]).|\n)*$/u);
});

test("a rate lets so many pass in any second", () => {
  const rate = new PerSecond(3);
  const passed = [0, 998, 999, 999, 1000, 1997, 1998, 1999, 2000, 5000].filter((ms) => rate.pass(ms));
  assert.deepEqual(passed, [0, 998, 999, 1000, 1998, 1999, 2000, 5000]);
});

test("the log shows no request unless it is told to, and nothing below its level", async () => {
  const server = await startServer({ env: { LOG_LEVEL: "warn" } });
  assert.equal((await call(server, `GET ${pricesPath}?procedure=5072`)).status, 200);
  assert.equal(await server.stop(), 0);
  assert.deepEqual(linesIn(server.process.stderr), []);
  const other = await startServer();
  assert.equal((await call(other, `GET ${pricesPath}?procedure=5072`)).status, 200);
  assert.equal(await other.stop(), 0);
  const messages = linesIn(other.process.stderr).map(({ msg }) => msg);
  assert.ok(messages.includes("stopped") && !messages.includes("request"), messages.join());
});

test("requests that the log shows have all but keys", async () => {
  const server = await startServer({ env: { ACCESS_LOG: "1000" } });
  const { key } = server;
  const secret = key.slice("hcq_".length);
  const escaped = [...key].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join("");
  await call(server, `GET ${pricesPath}?procedure=5072`);
  await call(server, `HEAD ${pricesPath}?procedure=5072&limit=1`);
  await call(server, "GET /api/v1/export.parquet", { Range: "bytes=0-9" });
  const hiding = [key, secret, escaped, key.replace("_", "%5f"), key.toUpperCase()];
  for (const text of hiding) {
    await call(server, `GET ${pricesPath}?key=${text}&procedure=5072`);
    await call(server, `GET /api/v1/healthcare/facilities/${text}?x`);
  }
  await call(server, `GET ${pricesPath}?procedure=5072`, { Authorization: `Bearer ${key}x` });
  const requests = await until("the lines", () => {
    const lines = linesIn(server.process.stderr).filter(({ msg }) => msg === "request");
    return lines.length === 4 + 2 * hiding.length && lines;
  });
  assert.deepEqual(
    requests.slice(0, 3).map(({ request, status }) => [request, status]),
    [
      [`GET ${pricesPath}?procedure=5072`, 200],
      [`HEAD ${pricesPath}?procedure=5072&limit=1`, 200],
      ["GET /api/v1/export.parquet", 206],
    ],
  );
  const [get, head, part, ...others] = requests.map(({ bytes }) => Number(bytes));
  assert.ok(get > 1000 && head === 0 && part === 10 && others.every((bytes) => bytes > 0));
  for (const line of requests) {
    assert.match(String(line.ms), /^\d+(\.\d{1,3})?$/);
    for (const text of [...hiding, secret.slice(0, 20)])
      assert.ok(!JSON.stringify(line).toLowerCase().includes(text.toLowerCase()));
  }
  assert.equal(requests[3].request, `GET ${pricesPath}?key=…&procedure=5072`);
  assert.equal(await server.stop(), 0);
});

test("of many requests the log shows no more than its rate", async () => {
  const server = await startServer({ env: { ACCESS_LOG: "2", THREADS: "2" } });
  const began = Date.now();
  const asked = 300;
  const text = requestText("GET /api/v1/usage", { Authorization: `Bearer ${server.key}` });
  await withConnections(server, 4, async (connections) => {
    for (const connection of connections) await connection.send(text.repeat(asked));
    for (const connection of connections)
      for (let i = 0; i < asked; i++) assert.equal((await connection.answer()).status, 200);
  });
  assert.equal(await server.stop(), 0);
  const seconds = (Date.now() - began) / 1000;
  const shown = linesIn(server.process.stderr).filter(({ msg }) => msg === "request").length;
  assert.ok(shown >= 1 && shown <= 2 * Math.ceil(seconds + 1), `${shown} lines in ${seconds} s`);
});
