import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { claimPort } from "../../server/control/port.ts";
import { listening } from "../support/connection.ts";

/** Tests that a port has one server. Claims last until the process ends. */

const host = "127.0.0.1";

test("a claimed port can't be claimed again, and any free port is another one", async () => {
  const port = await claimPort(host, 0);
  assert.ok(port > 0);
  await assert.rejects(claimPort(host, port), {
    message: `can't listen on ${host} port ${port}: another server uses it`,
  });
  const other = await claimPort(host, 0);
  assert.notEqual(other, port);
  await assert.rejects(claimPort(host, other), /another server uses it$/);
});

test("a given port is claimed, unless another program listens on it", async (t) => {
  const server = createServer();
  t.after(() => server.close());
  const port = await listening(server);
  await assert.rejects(claimPort(host, port), {
    message: new RegExp(`^can't listen on ${host} port ${port}: .*already in use`),
  });
  const free = createServer();
  const given = await listening(free);
  await new Promise((resolve) => free.close(resolve));
  assert.equal(await claimPort(host, given), given);
  await assert.rejects(claimPort(host, given), /another server uses it$/);
});
