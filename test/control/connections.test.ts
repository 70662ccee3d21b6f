import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { test } from "node:test";
import { Connections, maxConnections } from "../../server/shared/connections.ts";

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

test("as many clients may be connected as the limit of open files leaves, and too low a limit is refused", (t) => {
  let limits = "";
  const { mock } = t.mock.method(fs, "readFileSync", (path: string) => {
    assert.equal(path, "/proc/self/limits");
    if (limits === "") throw new Error("there is no /proc");
    return limits;
  });
  syncBuiltinESMExports();
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
  });
  const linesOf = (soft: string) => `Limit Soft Hard Units
Max processes             64     64     processes
Max open files            ${soft}  4096  files`;
  // A quarter of the limit, at most 256, is the server's own, and 16 for each thread.
  for (const [soft, threads, most] of [
    ["1024", 1, 752],
    ["4096", 4, 3776],
    ["400", 2, 268],
    ["80", 1, 44],
    ["unlimited", 1, 2 ** 30],
  ] as const) {
    limits = linesOf(soft);
    assert.equal(maxConnections(threads), most, soft);
  }
  limits = "";
  assert.equal(maxConnections(2), 736, "1,024 files where the limit can't be read");
  limits = linesOf("95");
  assert.throws(() => maxConnections(2), {
    name: "DataError",
    message:
      "THREADS=2: found a limit of 95 open files, expected at least 96: raise it, for example by ulimit -n 1024 or by LimitNOFILE in a systemd unit, or set fewer THREADS",
  });
});
