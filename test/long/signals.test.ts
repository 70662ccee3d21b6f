import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Store } from "../../server/store/store.ts";
import type { Random } from "../support/random.ts";
import {
  call,
  createKey,
  datasetsFolder,
  pricesPath,
  ready,
  spawnServer,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { preloaded, signalsThat, stopsCleanly, takesSignals } from "../support/stopping.ts";
import { killRounds, trialRandom } from "./trial.ts";

/** Tests how a server ends: by signals at random moments, as process 1 of a container, and when a thread dies. */

const datasetsDir = temporaryFolder();
copyFileSync(path.join(datasetsFolder(), "2023.1.parquet"), path.join(datasetsDir, "2023.1.parquet"));
/** SIGRTMIN+3 for programs: the C library uses two real-time signals itself. */
const realTimeSignal = 37;

function start(t: TestContext, env: Record<string, string> = {}) {
  const server = spawnServer({ datasetsDir, stateDir: temporaryFolder(), env: { THREADS: "2", ...env } });
  t.after(() => server.signal("SIGKILL"));
  return server;
}

for (const signal of signalsThat("stops").filter((name) => name !== "SIGTERM"))
  test(`${signal} stops the server cleanly, with its counts saved`, (t) => stopsCleanly(t, signal));

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

test("signals that end the server end it at once", async (t) => {
  for (const signal of signalsThat("ends immediately")) {
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

test("SIGTERM or SIGINT at any moment of a start stops the server cleanly", async (t) => {
  const random = trialRandom(t);
  const moments = Array.from({ length: killRounds }, () => random.int(1500));
  t.diagnostic(await trialOfStops(random, moments));
});

/** Asserts that servers exit with 0. @param moments milliseconds from a server's first instruction to the signal */
async function trialOfStops(random: Random, moments: number[]): Promise<string> {
  const stateDir = temporaryFolder();
  let early = 0;
  for (const ms of moments) {
    const server = spawnServer({ datasetsDir, stateDir, env: { THREADS: "2" } });
    try {
      await until("the first instruction", () => takesSignals(server.pid));
      await delay(ms);
      if (random.int(2) === 0) server.signal("SIGHUP");
      server.signal(random.pick(["SIGTERM", "SIGINT"]));
      const { code, stdout, stderr } = await server.finished();
      assert.equal(code, 0, `${ms} ms after the first instruction: ${stderr}`);
      assert.doesNotMatch(stderr, /"level":"(error|fatal)"/);
      if (!stdout.includes("ready")) early++;
    } finally {
      server.signal("SIGKILL");
    }
  }
  return `${moments.length} stops, ${early} before the server was ready`;
}

test("a server whose serving thread hangs saves its counts and is killed within ten seconds", async (t) => {
  const stateDir = temporaryFolder();
  const key = createKey(stateDir, "acme", { burst: 1000, quota: 100 });
  // The serving thread hangs as soon as the stop begins.
  const script = `
    import { workerData, parentPort } from "node:worker_threads";
    if (workerData?.gate) parentPort.on("message", ({ type }) => { while (type === "drain"); });`;
  const server = spawnServer({ datasetsDir, stateDir, env: preloaded(script) });
  t.after(() => server.signal("SIGKILL"));
  const { api } = await ready(server);
  assert.equal((await call({ api, key }, `GET ${pricesPath}?procedure=5073`)).status, 200);
  server.signal("SIGTERM");
  await assert.rejects(server.finished(), /was ended by SIGKILL/);
  assert.match(server.stderr, /a thread doesn't end: the process is killed/);
  const store = Store.open(stateDir);
  assert.deepEqual([...store.usage.ofMonth(new Date().toISOString().slice(0, 7)).values()], [1]);
  store.close();
});

test("a start that fails late exits with its reason instead of an abort", async (t) => {
  // Without randomness, the control thread fails to make the demo account, after the serving threads listen.
  const home = temporaryFolder();
  const script = `
    import crypto from "node:crypto";
    import { syncBuiltinESMExports } from "node:module";
    import { isMainThread } from "node:worker_threads";
    if (isMainThread) {
      crypto.randomBytes = () => { throw new Error("no randomness"); };
      syncBuiltinESMExports();
    }`;
  const server = spawnServer({ datasetsDir, env: { ...preloaded(script), THREADS: "2" } }, home);
  t.after(() => server.signal("SIGKILL"));
  const { code, stderr } = await server.finished();
  assert.deepEqual([code, stderr.trim().split("\n").at(-1)], [1, "no randomness"]);
});

function startAsFirst(t: TestContext) {
  const env = { PATH: process.env.PATH, PORT: "0", OPS_PORT: "0", THREADS: "1" };
  const folders = { DATASETS_DIR: datasetsDir, STATE_DIR: temporaryFolder() };
  const words = ["--pid", "--fork", "--mount-proc", "--kill-child", process.execPath, "server/main.ts"];
  const outer = spawn("unshare", words, {
    cwd: path.resolve(import.meta.dirname, "../.."),
    env: { ...env, ...folders },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => outer.kill("SIGKILL"));
  let stdout = "";
  outer.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  return {
    pid: () =>
      until("process 1", () => {
        const children = readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, "utf8");
        return Number(children.trim()) || undefined;
      }),
    isReady: () => stdout.startsWith("ready "),
    async ended() {
      await until("the end", () => outer.exitCode !== null || outer.signalCode !== null);
      return [outer.exitCode, outer.signalCode];
    },
  };
}

for (const isEarly of [true, false])
  test(`as process 1, a server survives SIGHUP and stops cleanly on SIGTERM ${isEarly ? "at its first instruction" : "when it is ready"}`, async (t) => {
    const server = startAsFirst(t);
    const pid = await server.pid();
    await until("it to be so far", () => (isEarly ? takesSignals(pid) : server.isReady()));
    process.kill(pid, "SIGHUP");
    process.kill(pid, "SIGTERM");
    assert.deepEqual(await server.ended(), [0, null]);
  });

/** Whether a thread is one of its kind, for a script. */
const isThread = {
  control: "isMainThread",
  serving: "workerData?.gate",
  page: "workerData?.writingModule",
};

/** Makes a script that runs code in a thread as soon as a file exists. */
function dying(thread: keyof typeof isThread, does: string) {
  const cue = path.join(temporaryFolder(), "cue");
  const script = `
    import { existsSync } from "node:fs";
    import { getHeapStatistics } from "node:v8";
    import { isMainThread, workerData } from "node:worker_threads";
    const hoard = [];
    if (${isThread[thread]}) {
      const timer = setInterval(() => {
        if (!existsSync(${JSON.stringify(cue)})) return;
        clearInterval(timer);
        ${does}
      }, 5);
    }`;
  return { script, die: () => writeFileSync(cue, "") };
}

const fillHeap = `
  const { heap_size_limit } = getHeapStatistics();
  while (getHeapStatistics().used_heap_size < 0.85 * heap_size_limit)
    hoard.push(Array.from({ length: 1000 }, (_, i) => ({ i })));`;

for (const [what, thread, does, reason] of [
  [
    "a serving thread that throws",
    "serving",
    'throw new Error("boom");',
    /"reason":"Error: boom.*a serving thread failed/,
  ],
  ["a serving thread that exits", "serving", "process.exit(7);", /"reason":"it ended with exit code 7"/],
  [
    "a page thread that exits",
    "page",
    "process.exit(7);",
    /"reason":"it ended with exit code 7".*the page thread failed/,
  ],
  [
    "a page thread whose memory runs out",
    "page",
    fillHeap,
    /"reason":"Error: out of memory: 80 % of a heap of .*the page thread failed/,
  ],
  [
    "a serving thread whose memory runs out",
    "serving",
    fillHeap,
    /"reason":"Error: out of memory: 80 % of a heap of \d+ MB/,
  ],
  [
    "a control thread whose memory runs out",
    "control",
    fillHeap,
    /"stack":"Error: out of memory: 80 % of a heap of .*the control thread is out of memory/,
  ],
] as const)
  test(`${what} ends the process with exit code 1 and its reason`, async (t) => {
    const { script, die } = dying(thread, does);
    const stateDir = temporaryFolder();
    createKey(stateDir, "visitors", { burst: 10, quota: 100 });
    // Visitors have a key, so there is a page thread.
    const pages = { STATE_DIR: stateDir, PORTAL: "on", PORTAL_ACCOUNT: "visitors" };
    const server = start(t, { ...pages, ...preloaded(script, "--max-old-space-size=400") });
    await ready(server);
    die();
    const { code, stderr } = await server.finished();
    assert.equal(code, 1, stderr);
    assert.match(stderr, reason);
    assert.match(stderr, /"level":"fatal"/);
  });

for (const [what, thread, does] of [
  ["an error that a library's callback throws on the control thread", "control", 'throw new Error("boom");'],
  ["a rejection that nobody handles in a serving thread", "serving", 'Promise.reject(new Error("boom"));'],
] as const)
  test(`${what} is logged, and the server keeps running`, async (t) => {
    const { script, die } = dying(thread, does);
    const server = start(t, preloaded(script));
    const { ops } = await ready(server);
    die();
    await until("the line in the log", () => /"level":"error".*"stack":"Error: boom/.test(server.stderr));
    assert.equal((await fetch(`${ops}/readyz`)).status, 200);
    server.signal("SIGTERM");
    assert.equal((await server.finished()).code, 0);
  });
