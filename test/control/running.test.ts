import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { keepingStripped, node } from "../support/server.ts";

/** Tests what the control thread repeats, and how it ends. */

const running = path.resolve(import.meta.dirname, "../../server/control/running.ts");

test("repeated failures are logged once, and at a stop the steps run from the last on, and the exit code tells of one that fails", () => {
  const code = `
    import { setTimeout as delay } from "node:timers/promises";
    import { closers, end, isStopping, repeat, stdout, unlessStopping } from ${JSON.stringify(running)};
    const tell = (text) => stdout.write(text + "\\n");
    let runs = 0;
    repeat("some work", 1, async () => {
      runs++;
      if (runs < 6 && runs !== 4) throw new Error(runs < 3 ? "one" : "other");
    });
    while (runs < 7) await delay(1);
    tell(await unlessStopping(Promise.resolve("going on")));
    closers.push(() => { tell("the first step"); });
    closers.push(() => { throw new Error("broken"); });
    closers.push(async () => {
      tell("stopping " + isStopping());
      await unlessStopping(Promise.resolve()).catch(({ name }) => tell(name));
      await end(3);
      tell("exit code " + process.exitCode);
    });
    await end(0);`;
  const args = [...keepingStripped, "--input-type=module", "--eval", code];
  const { status, stdout, stderr } = spawnSync(node, args, { encoding: "utf8" });
  assert.equal(status, 1, stderr);
  assert.equal(stdout, "going on\nstopping true\nAbortError\nexit code 3\nthe first step\n");
  const lines = stderr.trim().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)).map(({ level, reason, msg }) => [level, reason, msg]),
    [
      ...["one", "other", "other"].map((reason) => ["error", reason, "some work failed; retrying"]),
      ["error", "broken", "stopping failed"],
      ["info", undefined, "stopped"],
    ],
  );
});

/** The module anew, whose stop ends no process. @returns what the stop has called */
async function openStop(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.timers.reset();
    syncBuiltinESMExports();
    process.exitCode = undefined;
  });
  const called: string[] = [];
  for (const name of ["kill", "abort", "exit"] as const)
    t.mock.method(process, name, (...args: unknown[]) => called.push([name, ...args.slice(1)].join(" ")));
  const { closers, end, log }: typeof import("../../server/control/running.ts") = await import(
    `${running}?${t.name}`
  );
  for (const level of ["fatal", "info"] as const)
    t.mock.method(log, level, (text: string) => called.push(text));
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms);
    for (let i = 0; i < 5; i++) await new Promise(setImmediate);
  };
  return { called, closers, end, pass };
}

test("a step that doesn't end in 7 s is passed over, and then the process is killed", async (t) => {
  const { called, closers, end, pass } = await openStop(t);
  closers.push(() => void called.push("the next step"));
  closers.push(() => new Promise(() => {}));
  void end(0);
  await pass(6999);
  assert.deepEqual(called, []);
  await pass(1);
  assert.deepEqual(called, [
    ...["the next step", "a thread doesn't end: the process is killed"],
    ...["kill SIGKILL", "abort", "exit"],
  ]);
});

test("a stop of 9 s is given up, though each step ends in time", async (t) => {
  const { called, closers, end, pass } = await openStop(t);
  for (let i = 0; i < 2; i++) closers.push(() => new Promise(() => {}));
  void end(0);
  await pass(7000);
  await pass(1999);
  assert.deepEqual(called, []);
  await pass(1);
  assert.deepEqual(called, ["kill SIGKILL", "abort"]);
});
