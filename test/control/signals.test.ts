import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { type TestContext, test } from "node:test";
import {
  currentOnly,
  datasetsFolder,
  node,
  ready,
  spawnServer,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { signalRows, signalsThat, stopsCleanly, takesSignals } from "../support/stopping.ts";

/** Sends each signal to a real server, and checks what the README's table says about the signal. */

const datasetsDir = datasetsFolder(currentOnly);
/** SIGRTMIN+3 for programs: the C library uses two real-time signals itself. */
const realTimeSignal = 37;

function start(t: TestContext, stateDir = temporaryFolder()) {
  const server = spawnServer({ datasetsDir, stateDir });
  t.after(() => server.signal("SIGKILL"));
  return server;
}

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

test("signals that do nothing or pause leave the server running, without a debugger", async (t) => {
  const server = start(t);
  const { ops } = await ready(server);
  for (const signal of [...signalsThat("nothing"), ...signalsThat("pauses")]) {
    server.signal(signal);
    if (signal === "SIGSTOP")
      await until("the pause", () => / T /.test(readFileSync(`/proc/${server.pid}/stat`, "utf8")));
    server.signal("SIGCONT");
    assert.equal((await fetch(`${ops}/readyz`)).status, 200, signal);
  }
  server.signal("SIGTERM");
  const { code, stderr } = await server.finished();
  assert.equal(code, 0);
  assert.doesNotMatch(stderr, /debugger/i);
  assert.doesNotMatch(stderr, /"level":"(warn|error|fatal)".*signal/);
});

test("SIGTERM stops the server cleanly, with its counts saved", async (t) => {
  await stopsCleanly(t, "SIGTERM");
});

test("signals that end the server end it at once", async (t) => {
  for (const signal of signalsThat("ends at once")) {
    const server = start(t);
    await until("the first instruction", () => takesSignals(server.pid));
    server.signal(signal);
    await server.finished(signal);
  }
  const server = start(t);
  await until("the first instruction", () => takesSignals(server.pid));
  process.kill(server.pid, realTimeSignal);
  // Node has no name for this signal.
  const { stderr } = await server.finished();
  assert.doesNotMatch(stderr, /stopped/);
});
