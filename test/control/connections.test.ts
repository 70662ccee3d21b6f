import assert from "node:assert/strict";
import { test } from "node:test";
import { Connections } from "../../server/shared/connections.ts";

/** Tests the counts of connections that all threads share. */

test("connections beyond the maximum are refused and counted until they are closed", () => {
  const connections = new Connections(2);
  const other = new Connections(2, connections.buffer);
  assert.deepEqual(
    [connections.enter(), other.enter(), connections.enter(), other.enter()],
    [true, true, false, false],
  );
  assert.deepEqual([other.open, other.refused], [4, 2]);
  for (let closed = 0; closed < 3; closed++) other.leave();
  assert.ok(connections.enter());
  assert.deepEqual([connections.open, connections.refused, connections.cut], [2, 2, 0]);
});

test("the bytes that wait are summed, and cut connections are counted", () => {
  const connections = new Connections(2);
  connections.wait(300);
  new Connections(2, connections.buffer).wait(200);
  connections.wait(-100);
  connections.cutSlow();
  assert.deepEqual([connections.waitingBytes, connections.cut, connections.refused], [400, 1, 0]);
});
