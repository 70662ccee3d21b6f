import { readFileSync } from "node:fs";

/** Helpers for the trials of signals and of threads that die. */

/** Whether a process handles SIGHUP. A server's first instructions make it handle signals, SIGHUP last. */
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
