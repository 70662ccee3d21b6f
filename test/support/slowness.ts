import { readdirSync, readFileSync } from "node:fs";

/**
 * Makes this process's browsers as slow as an old phone beside the machines on which tests run. Their pages stand still for most
 * of the time. Chromium's own way to slow them uses up the CPU meanwhile, so that every other test waits.
 */

/** A page's process runs for one part of so many. */
const slowdown = 4;
const runMs = 10;

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process has ended.
    return "";
  }
}

/** Returns the processes that draw the pages of browsers which `pid` or a process begun by it has begun. */
function renderersBelow(pid: number | "self"): number[] {
  const threads = readTasks(pid);
  const children = threads.flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number),
  );
  return children.flatMap((child) => [
    ...(read(`/proc/${child}/cmdline`).includes("--type=renderer") ? [child] : []),
    ...renderersBelow(child),
  ]);
}

function readTasks(pid: number | "self"): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name);
    } catch {
      // It has ended.
    }
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
    stopped = renderersBelow("self");
    signal(stopped, "SIGSTOP");
    timer = setTimeout(run, runMs * (slowdown - 1));
  };
  run();
  return () => {
    clearTimeout(timer);
    signal(stopped, "SIGCONT");
  };
}
