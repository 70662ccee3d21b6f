import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** What the benchmarks over HTTP need of the machine. */

const programs = { wrk: "wrk", nginx: "nginx-light", taskset: "util-linux" };

/** @returns a line that says what to install; undefined when all is there */
export function missingPrograms(needed: readonly (keyof typeof programs)[]): string | undefined {
  const missing = needed.filter((name) => spawnSync(name, ["--version"]).error !== undefined);
  if (missing.length === 0) return undefined;
  const install = missing.map((name) => programs[name]).join(" ");
  return `${missing.join(" and ")} not found; on Debian: apt-get install ${install}`;
}

/** A core for the servers and another for the load; none where there is only one. */
export function twoCores(): { server: number; load: number } | undefined {
  // For example 0-1,4: the kernel's list of the cores that this process may use.
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  const cores = list.split(",").flatMap((range) => {
    const [from, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
  // The first one has most of the system's own work.
  return cores.length < 2 ? undefined : { server: cores[1], load: cores[0] };
}

/** Runs a benchmark and ends the process, with code 1 and its message where it failed. */
export async function runToEnd(main: () => Promise<void>): Promise<never> {
  try {
    await main();
    process.exit();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
