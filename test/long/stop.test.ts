import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { constants } from "node:os";
import { test } from "node:test";
import { node } from "../support/server.ts";
import { signalRows, stopsCleanly } from "../support/stopping.ts";

/** Tests the README's table of signals. The long trials send each signal to a real server. */

test("the README's table has every signal once", () => {
  const all = signalRows.flatMap(({ signals }) => signals.map((name) => constants.signals[name]));
  assert.deepEqual(
    all.sort((a, b) => a - b),
    [...new Set(Object.values(constants.signals))].sort((a, b) => a - b),
  );
});

test("the commands' Node blocks SIGUSR1, so it opens no debugger", () => {
  const script = 'console.log(fs.readFileSync("/proc/self/status", "utf8"))';
  const status = execFileSync(node, ["--eval", script], { encoding: "utf8" });
  const [, blocked] = /^SigBlk:\s+([0-9a-f]+)$/m.exec(status) ?? [];
  assert.ok(Number.parseInt(blocked, 16) & (1 << (constants.signals.SIGUSR1 - 1)), status);
});

test("SIGTERM stops the server cleanly, with its counts saved", async (t) => {
  await stopsCleanly(t, "SIGTERM");
});
