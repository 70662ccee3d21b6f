import assert from "node:assert/strict";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, truncateSync, writeSync } from "node:fs";
import { get } from "node:http";
import path from "node:path";
import { test } from "node:test";
import {
  Connection,
  call,
  pricesPath,
  rawRequest,
  requestText,
  startServer,
  type TestServer,
  until,
} from "../support/server.ts";

/** Tests that the service keeps running with a damaged state, and without descriptors. */

const prices = `GET ${pricesPath}?procedure=5072`;

async function post(server: TestServer, target: string, body: object): Promise<number> {
  const content = JSON.stringify(body);
  const headers = {
    Authorization: `Bearer ${server.key}`,
    "Content-Type": "application/json",
    "Content-Length": String(content.length),
  };
  return (await rawRequest(server.api, requestText(`POST ${target}`, headers) + content)).status;
}

async function stateOnConsole(server: TestServer): Promise<{ server: { fault: string | null } }> {
  const request = get(`${server.ops}/console/stream`);
  const [response] = await once(request, "response");
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) {
    text += chunk;
    const [, state] = /^event: state\ndata: (.*)$/m.exec(text) ?? [];
    if (state === undefined) continue;
    request.destroy();
    return JSON.parse(state);
  }
  throw new Error(`the stream ended: ${text}`);
}

async function useAll(server: TestServer): Promise<void> {
  for (const target of ["/", "/livez", "/readyz", "/metrics", "/console/stream"])
    await rawRequest(server.ops, requestText(`HEAD ${target}`, { Connection: "close" }));
  await stateOnConsole(server);
  assert.equal((await call(server, "GET /api/v1/usage")).status, 200);
  for (const [target, body] of [
    ["/portal/account", {}],
    ["/portal/keys", {}],
    ["/portal/keys/create", {}],
    ["/portal/account/email", { email: "a@b.example" }],
    ["/portal/signup", { name: "Ada", email: "ada@b.example" }],
    ["/portal/signup/confirm", { token: "x" }],
  ] as const)
    assert.ok((await post(server, target, body)) >= 200, target);
  server.process.signal("SIGHUP");
  assert.equal((await call(server, prices)).status, 200);
}

/** Functions that damage a file of a running server, by description. */
const damages: Record<string, (file: string) => void> = {
  "is truncated": (file) => truncateSync(file),
  "is overwritten in place": (file) => {
    const fd = openSync(file, "r+");
    writeSync(fd, Buffer.alloc(8192, "rubbish "), 0, 8192, 0);
    closeSync(fd);
  },
  "becomes a folder": (file) => {
    rmSync(file);
    mkdirSync(file);
  },
};

async function damageState(name: string, damage: (file: string) => void): Promise<void> {
  const env = { PORTAL: "on", SIGNUP: "open", SIGNUP_DAILY: "1000" };
  const server = await startServer({ env });
  const file = path.join(server.stateDir, name);
  assert.ok(existsSync(file));
  await useAll(server);
  damage(file);
  for (let i = 0; i < 2; i++) await useAll(server);
  server.process.signal("SIGTERM");
  await server.process.finished();
}

test(`the service keeps serving when its database ${Object.keys(damages).join(", ")}`, async () => {
  await Promise.all(Object.values(damages).map((damage) => damageState("state.sqlite", damage)));
});

test("the service keeps serving when its database's write-ahead log is truncated or overwritten in place", async () => {
  const harms = [damages["is truncated"], damages["is overwritten in place"]];
  await Promise.all(harms.map((damage) => damageState("state.sqlite-wal", damage)));
});

test("the service keeps serving after it had no file descriptors left", async () => {
  const server = await startServer({ env: { PORTAL: "on" }, maxDescriptors: 90 });
  const open: Connection[] = [];
  for (let i = 0; i < 100; i++) {
    const connection = await Connection.open(server.ops).catch(() => undefined);
    if (connection !== undefined) open.push(connection);
  }
  for (const connection of open) connection.close();
  await until("a place on the operator's listener", async () => {
    const answer = await rawRequest(server.ops, requestText("GET /livez", { Connection: "close" })).catch(
      () => undefined,
    );
    return answer?.status === 200;
  });
  await useAll(server);
  assert.equal(await server.stop(), 0);
});
