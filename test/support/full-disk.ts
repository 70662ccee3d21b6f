import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { systemCode } from "../../engine/query.ts";
import { temporaryFolder } from "./folders.ts";

/** Mounts a small disk, a tmpfs, which a test can fill up to its last byte. */
export function fillableDisk(t: TestContext, size = "3m") {
  const disk = temporaryFolder();
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", disk]);
  t.after(() => execFileSync("umount", ["--lazy", disk]));
  const filling = join(disk, "filling");
  const stateDir = join(disk, "state");
  return {
    disk,
    stateDir,
    fill() {
      for (const bytes of [65_536, 4096, 1])
        try {
          for (;;) appendFileSync(filling, Buffer.alloc(bytes, 1));
        } catch (error) {
          assert.equal(systemCode(error), "ENOSPC");
        }
    },
    empty: () => rmSync(filling, { force: true }),
  };
}
