import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { getPriority } from "node:os";
import { after, test } from "node:test";
import { Worker } from "node:worker_threads";
import { stepBack, threadIds } from "../../server/shared/priority.ts";
import { ample, createKey, startServer, temporaryFolder } from "../support/server.ts";

/** Tests which threads come first where they share a core. */

const threads = 2;
const stateDir = temporaryFolder();
createKey(stateDir, "visitors", ample);
const pages = { PORTAL: "on", PORTAL_ACCOUNT: "visitors" };
const server = await startServer({ stateDir, env: { THREADS: `${threads}`, ...pages } });
after(async () => {
  assert.equal(await server.stop(), 0);
});

test("the threads that compile for the others come after those that answer requests", () => {
  const { pid } = server.process;
  const ids = readdirSync(`/proc/${pid}/task`).map(Number);
  const behind = ids.filter((id) => getPriority(id) > getPriority());
  // Where the tests themselves have a low priority, nothing comes after them.
  assert.equal(behind.length > 0, getPriority() < 10, `${behind} of ${ids}`);
  assert.ok(!behind.includes(pid));
  assert.ok(ids.length - behind.length > threads);
  // The last is the page thread.
  if (getPriority() < 10) {
    const last = Math.max(...behind.map((id) => getPriority(id)));
    assert.equal(behind.filter((id) => getPriority(id) === last).length, 1);
  }
});

test("a thread steps back by itself, and never comes forward", async () => {
  const others = threadIds();
  const thread = new Worker("require('node:worker_threads').parentPort.once('message', () => {})", {
    eval: true,
  });
  const own = threadIds().filter((id) => !others.includes(id));
  assert.equal(own.length, 1);
  const nice = getPriority() + 1;
  stepBack(own, nice);
  stepBack(own, nice - 1);
  assert.deepEqual(
    [...own, 0].map((id) => getPriority(id)),
    [nice, nice - 1],
  );
  await thread.terminate();
  stepBack(own, nice);
});
