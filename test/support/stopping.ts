import { readFileSync } from "node:fs";

/** A server sets the handler of SIGHUP last, so it then handles all signals. */
export function takesSignals(pid: number): boolean {
  const [, caught] =
    /^SigCgt:\s+[0-9a-f]*([0-9a-f])$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number.parseInt(caught, 16) & 1) === 1;
}

/** Each thread of Node runs the script before any other code. */
export function preloaded(script: string, ...options: string[]): Record<string, string> {
  const preload = `--import=data:text/javascript,${encodeURIComponent(script)}`;
  return { NODE_OPTIONS: [...options, preload].join(" ") };
}
