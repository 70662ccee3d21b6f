import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { keepingStripped, temporaryFolder, until } from "../support/server.ts";

/** The sample command, as it is stopped. */

test("a signal ends the command while it works, and no file is there", { timeout: 60_000 }, async () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const out = path.join(temporaryFolder(), "out");
    const script = path.resolve(import.meta.dirname, "../../server/commands/sample.ts");
    const words = ["--out", out, "--year", "2024", "--rows", "1000000"];
    const child = spawn(process.execPath, [...keepingStripped, script, ...words], {
      env: { PATH: process.env.PATH, STATE_DIR: temporaryFolder() },
      stdio: "ignore",
    });
    const ended = once(child, "close");
    await until("the command's folder", () => existsSync(out));
    child.kill(signal);
    assert.deepEqual(await ended, [null, signal]);
    assert.deepEqual(readdirSync(out), []);
  }
});
