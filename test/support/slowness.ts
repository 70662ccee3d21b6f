import { readdirSync, readFileSync } from "node:fs";

/**
 * Makes this process's browsers as slow as an old phone beside the machines on which tests run. Their pages stand still for most
 * of the time. Chromium's own way to slow them uses up the CPU meanwhile, so that every other test waits.
 */

/** A page's process runs for one part of so many. */
const slowdown = 4;
const runMs = 10;

/** @returns undefined if the process has ended meanwhile */
function ifAlive<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Returns the processes that draw the pages of browsers which `pid` or a process begun by it has begun. */
function renderersBelow(pid: number): number[] {
  const read = (path: string) => ifAlive(() => readFileSync(`/proc/${path}`, "utf8")) ?? "";
  const threads = ifAlive(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const children = threads.flatMap((thread) =>
    read(`${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number),
  );
  return children.flatMap((child) => [
    ...(read(`${child}/cmdline`).includes("--type=renderer") ? [child] : []),
    ...renderersBelow(child),
  ]);
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) ifAlive(() => process.kill(pid, name));
}

/** Slows browsers until the returned function is called. */
export function slowBrowsers(): () => void {
  let stopped: number[] = [];
  let timer: NodeJS.Timeout;
  const run = () => {
    signal(stopped, "SIGCONT");
    timer = setTimeout(stop, runMs);
  };
  const stop = () => {
    stopped = renderersBelow(process.pid);
    signal(stopped, "SIGSTOP");
    timer = setTimeout(run, runMs * (slowdown - 1));
  };
  run();
  return () => {
    clearTimeout(timer);
    signal(stopped, "SIGCONT");
  };
}
