import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { keepingStripped, node } from "../support/server.ts";

test("a failed step of the shutdown is logged, the other steps run, and the exit code is 1", () => {
  const running = path.resolve(import.meta.dirname, "../../server/control/running.ts");
  const code = `
    import { closers, end } from ${JSON.stringify(running)};
    closers.push(() => { process.stderr.write("closed\\n"); });
    closers.push(() => { throw new Error("broken"); });
    await end(0);`;
  const args = [...keepingStripped, "--input-type=module", "--eval", code];
  const { status, stderr } = spawnSync(node, args, { encoding: "utf8" });
  assert.equal(status, 1, stderr);
  assert.match(stderr, /"reason":"broken","msg":"stopping failed"/);
  assert.match(stderr, /^closed$/m);
});
