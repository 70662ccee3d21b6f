import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "./random.ts";
import { spawnServer, temporaryFolder, until } from "./server.ts";

/** What the trials of signals and of threads that die have in common. */

/** Whether a process takes SIGHUP; a server takes it last of its signals, in its first instructions. */
export function takesSignals(pid: number): boolean {
  const [, caught] =
    /^SigCgt:\s+[0-9a-f]*([0-9a-f])$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number.parseInt(caught, 16) & 1) === 1;
}

/** Options for Node, so that each thread runs a script before all else. */
export function preloaded(script: string, ...options: string[]): Record<string, string> {
  const preload = `--import=data:text/javascript,${encodeURIComponent(script)}`;
  return { NODE_OPTIONS: [...options, preload].join(" ") };
}

/** Ends servers by signals, each so many milliseconds after its first instruction: all in an orderly way. */
export async function trialOfStops(random: Random, moments: number[], datasetsDir: string): Promise<string> {
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
