import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { reasonOf } from "../engine/query.ts";

/** Options, required programs, CPU cores and exit codes of benchmarks. */

/** Whether to run quickly with small sizes, as a check that everything works. */
export const smoke = process.argv.includes("--smoke");

/** Checks that programs are installed. @throws Error that says what to install */
export function checkPrograms(...needed: string[]): void {
  const missing = needed.filter((name) => spawnSync(name, ["--version"]).error !== undefined).join(" and ");
  if (missing !== "")
    throw new Error(`${missing} not found; on Debian: apt-get install wrk nginx-light curl util-linux`);
}

/** Chooses a core for the servers and another core for the load; undefined if only one core is available. */
export function twoCores(): { server: number; load: number } | undefined {
  // The kernel's list of the cores that this process may use has a form like 0-1,4.
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  const cores = list.split(",").flatMap((range) => {
    const [from, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
  // Servers don't run on the first core, because it does most of the system's work.
  return cores.length < 2 ? undefined : { server: cores[1], load: cores[0] };
}

/** Extends a command so that it runs on the given core. Without a core the command is unchanged. */
export function pinned(command: readonly string[], core: number | undefined): string[] {
  return core === undefined ? [...command] : ["taskset", "-c", String(core), ...command];
}

/** Runs a benchmark and ends the process. A failure is printed, and the exit code is 1. */
export async function runToEnd(main: () => Promise<void>): Promise<never> {
  // Ends normally on signals, because exit handlers stop servers and remove folders.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  await main().catch((error) => {
    console.error(reasonOf(error));
    process.exit(1);
  });
  process.exit();
}
