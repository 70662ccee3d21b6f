import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { keepingStripped } from "../support/server.ts";

/** What signals do to a command. */

const program = new URL("../../server/commands/program.ts", import.meta.url);

/** Sends a signal to a script once it has written something. @returns exit code and signal */
async function ended(script: string, signal: NodeJS.Signals): Promise<unknown[]> {
  const source = `import { writeSync } from "node:fs"; import { interruptibly } from "${program}"; ${script}`;
  const child = spawn(process.execPath, [...keepingStripped, "--input-type=module", "--eval", source], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const end = once(child, "close");
  await once(child.stdout, "data");
  child.kill(signal);
  return end;
}

const work = 'interruptibly(() => { writeSync(1, "."); for (;;); });';
const wait = 'interruptibly(() => {}); process.stdin.resume(); writeSync(1, ".");';

test("a signal ends work that is done in one go at once, and a command that waits with its own exit code", async () => {
  const ends = [ended(work, "SIGTERM"), ended(wait, "SIGINT"), ended(wait, "SIGTERM")];
  assert.deepEqual(await Promise.all(ends), [
    [null, "SIGTERM"],
    [130, null],
    [143, null],
  ]);
});
