import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { listenAlone } from "../../server/control/port.ts";
import { Connections, maxConnections } from "../../server/shared/connections.ts";

/** Listening, as far as it takes no threads. */

test("a port that another program listens on is refused", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  assert.ok(typeof address === "object" && address !== null);
  await assert.rejects(
    listenAlone("127.0.0.1", address.port, async () => assert.fail("it isn't free")),
    /^Error: can't listen on 127\.0\.0\.1 port \d+: .*EADDRINUSE/,
  );
  other.close();
});

test("an address that isn't this machine's is refused", async () => {
  await assert.rejects(
    listenAlone("192.0.2.1", 0, async () => assert.fail("it isn't ours")),
    /^Error: can't listen on 192\.0\.2\.1 port 0: .*EADDRNOTAVAIL/,
  );
});

test("connections are counted by all threads together, and refused beyond the limit", () => {
  const connections = new Connections(2);
  const another = new Connections(2, connections.buffer);
  assert.deepEqual([connections.enter(), another.enter(), another.enter()], [true, true, false]);
  assert.deepEqual([connections.open, connections.refused], [3, 1]);
  another.leave();
  another.leave();
  assert.ok(connections.enter());
  assert.deepEqual([another.open, another.refused], [2, 1]);
});

test("descriptors are kept back for the server itself", () => {
  assert.ok(maxConnections(1) >= 1);
  assert.equal(maxConnections(1) - maxConnections(3), 32);
});
