import assert from "node:assert/strict";
import { test } from "node:test";
import { readable } from "../../server/control/log.ts";
import { PerSecond } from "../../server/shared/per-second.ts";
import { requestText } from "../support/connection.ts";
import { call, pricesPath, startServer, withConnections } from "../support/server.ts";

/** Tests the log's lines in the forms for programs and for people, and the choice of logged requests. */

test("a readable log line shows time, level, message and details", () => {
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

test("a readable log line contains no control characters", () => {
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

test("a rate of 3 lets at most three lines pass in any second", () => {
  const rate = new PerSecond(3);
  const passed = [0, 998, 999, 999, 1000, 1997, 1998, 1999, 2000, 5000].filter((ms) => rate.pass(ms));
  assert.deepEqual(passed, [0, 998, 999, 1000, 1998, 1999, 2000, 5000]);
});

test("the log has no lines below LOG_LEVEL", async () => {
  const server = await startServer({ env: { LOG_LEVEL: "warn" } });
  assert.equal((await call(server, `GET ${pricesPath}?procedure=5072`)).status, 200);
  assert.equal(await server.stop(), 0);
  assert.equal(server.process.stderr, "");
});

test("the access log shows no more requests a second than ACCESS_LOG", async () => {
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
  const shown = server.process.stderr.split('"msg":"request"').length - 1;
  assert.ok(shown >= 1 && shown <= 2 * Math.ceil(seconds + 1), `${shown} lines in ${seconds} s`);
});
