import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { claimPort } from "../../server/control/port.ts";
import { listening } from "../support/connection.ts";

/** Tests that a port has one server. Claims last until the process ends. */

const host = "127.0.0.1";
/** An address without claims. The system may give out a port of `host` again that is claimed, and not listened on. */
const other = "127.0.0.2";

test("a claimed port can't be claimed again, and any free port is another one", async () => {
  const port = await claimPort(host, 0);
  assert.ok(port > 0);
  await assert.rejects(claimPort(host, port), {
    message: `can't listen on ${host} port ${port}: another server uses it`,
  });
  const further = await claimPort(host, 0);
  assert.notEqual(further, port);
  await assert.rejects(claimPort(host, further), /another server uses it$/);
});

test("a given port is claimed, unless another program listens on it", async (t) => {
  const server = createServer();
  t.after(() => server.close());
  const port = await listening(server, other);
  await assert.rejects(claimPort(other, port), {
    message: new RegExp(`^can't listen on ${other} port ${port}: .*already in use`),
  });
  const free = createServer();
  const given = await listening(free, other);
  await new Promise((resolve) => free.close(resolve));
  assert.equal(await claimPort(other, given), given);
  await assert.rejects(claimPort(other, given), /another server uses it$/);
});
