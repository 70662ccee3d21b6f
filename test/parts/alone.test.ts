import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { parts } from "../../server/parts.ts";
import { Connection, call, pricesPath, rawRequest, requestText, startServer } from "../support/server.ts";

/** The core with each part alone. What the core does without any part is tested in the contract's, the endpoints' and the accounts' tests. */

const folder = path.resolve(import.meta.dirname, "../../server/parts");

for (const name of readdirSync(folder))
  test(`the core works with the part ${name} alone`, async (t) => {
    process.env.SERVER_PARTS = name;
    const server = await startServer({ env: { PORTAL: "on" } });
    t.after(() => server.stop());
    const { status } = await call(server, `GET ${pricesPath}?procedure=5072`);
    assert.equal(status, 200);
    const home = await rawRequest(server.api, requestText("GET /", { Connection: "close" }));
    assert.equal(home.status, name === "portal" ? 200 : 401);
    const connection = await Connection.open(server.ops);
    await connection.send(requestText("GET /", { Connection: "close" }));
    assert.equal((await connection.answer()).status, name === "console" ? 200 : 404);
  });

test("each folder of parts is one of the list", () => {
  assert.equal(parts.length, readdirSync(folder).length);
});
