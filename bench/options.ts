import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { reasonOf } from "../engine/query.ts";

/** Options, required programs, CPU cores and exit codes of benchmarks. */

/** Whether to run quickly with small sizes, only to check that everything works. */
export const smoke = process.argv.includes("--smoke");

/** @throws Error that says what to install if a program is missing */
export function checkPrograms(...needed: string[]): void {
  const missing = needed.filter((name) => spawnSync(name, ["--version"]).error !== undefined).join(" and ");
  if (missing !== "")
    throw new Error(`${missing} not found; on Debian: apt-get install wrk nginx-light curl util-linux`);
}

/** A core for the servers and another for the load; none where there is only one. */
export function twoCores(): { server: number; load: number } | undefined {
  // For example 0-1,4: the kernel's list of the cores that this process may use.
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  const cores = list.split(",").flatMap((range) => {
    const [from, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
  // The first core is avoided, because it does most of the system's work.
  return cores.length < 2 ? undefined : { server: cores[1], load: cores[0] };
}

/** Makes a command run on one core; on any if undefined. */
export function pinned(command: readonly string[], core: number | undefined): string[] {
  return core === undefined ? [...command] : ["taskset", "-c", String(core), ...command];
}

/** Runs a benchmark and ends the process. A failure is printed, with exit code 1. */
export async function runToEnd(main: () => Promise<void>): Promise<never> {
  // Exit handlers stop servers and remove folders, so signals must end in a normal exit.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  await main().catch((error) => {
    console.error(reasonOf(error));
    process.exit(1);
  });
  process.exit();
}
