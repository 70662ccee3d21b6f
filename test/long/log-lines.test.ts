import assert from "node:assert/strict";
import { test } from "node:test";
import { requestText } from "../support/connection.ts";
import { call, pricesPath, startServer, withConnections } from "../support/server.ts";

/** Tests which lines a server logs. */

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
