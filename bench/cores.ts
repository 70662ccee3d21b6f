import { readFileSync } from "node:fs";

/** Chooses different cores for servers and load generators. */

export function twoCores(): { server: number; load: number } | undefined {
  // The list of the cores that this process may use has a form like 0-1,4.
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  const cores = list.split(",").flatMap((range) => {
    const [from, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
  // The first core does most of the system's work.
  return cores.length < 2 ? undefined : { server: cores[1], load: cores[0] };
}

export function pinned(command: readonly string[], core: number | undefined): string[] {
  return core === undefined ? [...command] : ["taskset", "-c", String(core), ...command];
}
