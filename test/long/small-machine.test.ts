import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { hostileFiles } from "../support/hostile-files.ts";
import { memoryBytes } from "../support/memory.ts";
import {
  call,
  createKey,
  datasetsFolder,
  pricesPath,
  Running,
  ready,
  temporaryFolder,
  until,
} from "../support/server.ts";

/** A server in a container of 1 GiB: beyond that the system kills it. */

const limitBytes = 2 ** 30;

/** Makes a control group with a limit of memory, of either version. @returns its folder, and what limits it */
function limitedGroup(): string | undefined {
  const name = `hcqs-test-${process.pid}`;
  for (const [base, limit] of [
    ["/sys/fs/cgroup/memory", "memory.limit_in_bytes"],
    ["/sys/fs/cgroup", "memory.max"],
  ]) {
    const group = path.join(base, name);
    try {
      if (!existsSync(path.join(base, "cgroup.procs"))) continue;
      mkdirSync(group);
      writeFileSync(path.join(group, limit), String(limitBytes));
      return group;
    } catch {
      if (existsSync(group)) rmdirSync(group);
    }
  }
  return undefined;
}

test("a server that has 1 GiB refuses every hostile file and goes on", { timeout: 300_000 }, async (t) => {
  const group = limitedGroup();
  if (group === undefined) return t.skip("no control group can be made here");
  const datasetsDir = datasetsFolder();
  const stateDir = temporaryFolder();
  const key = createKey(stateDir, "ample", { burst: 1000, quota: 100_000 });
  // Into the group first, and then the server in place of the shell.
  const server = new Running("test/long/in-group.ts", [group], {
    DATASETS_DIR: datasetsDir,
    STATE_DIR: stateDir,
    PORT: "0",
    OPS_PORT: "0",
    THREADS: "2",
  });
  t.after(async () => {
    server.signal("SIGKILL");
    await until("the group to be empty", () => readFileSync(path.join(group, "cgroup.procs"), "utf8") === "");
    rmdirSync(group);
  });
  const { api } = await ready(server);
  const files = hostileFiles(2025, 1);
  for (const { name, bytes } of files) {
    writeFileSync(path.join(datasetsDir, `.${name}`), bytes);
    renameSync(path.join(datasetsDir, `.${name}`), path.join(datasetsDir, name));
  }
  const refusals = () =>
    server.stderr.split("\n").filter((line) => line.includes('"snapshot refused"')).length;
  await until("all refusals", async () => {
    assert.equal((await call({ api, key }, `GET ${pricesPath}?procedure=5072`)).status, 200);
    return refusals() === files.length;
  });
  const peakBytes = memoryBytes("VmHWM", server.pid);
  t.diagnostic(`${Math.round(peakBytes / 2 ** 20)} MiB at most`);
  server.signal("SIGTERM");
  assert.equal((await server.finished()).code, 0);
});
