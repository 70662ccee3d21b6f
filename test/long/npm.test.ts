import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { test } from "node:test";
import { currentOnly, datasetsFolder, temporaryFolder, until } from "../support/server.ts";

/** Tests npm's scripts, which operators run. */

test("SIGTERM to npm start stops the server cleanly", async (t) => {
  const env = {
    ...process.env,
    DATASETS_DIR: datasetsFolder(currentOnly),
    STATE_DIR: temporaryFolder(),
    ...{ PORT: "0", OPS_PORT: "0", THREADS: "1", PORTAL: "off" },
  };
  const npm = spawn("npm", ["start"], { cwd: resolve(import.meta.dirname, "../.."), env });
  // Ends npm after a failure, so that the test doesn't wait for the server.
  t.after(() => npm.kill());
  let output = "";
  let log = "";
  npm.stdout.on("data", (chunk: Buffer) => {
    output += chunk;
  });
  npm.stderr.on("data", (chunk: Buffer) => {
    log += chunk;
  });
  // "close" means that both npm and the server have closed their output, so they have ended.
  const ended = once(npm, "close");
  await until(
    "the ready line",
    () => /^ready http:/m.test(output),
    () => output + log,
  );
  npm.kill("SIGTERM");
  await ended;
  assert.match(log, /"msg":"stopped"/);
});
