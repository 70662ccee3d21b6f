import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { reasonOf } from "../engine/query.ts";

/** Small sizes quickly check that everything works. */
export const smoke = process.argv.includes("--smoke");

export function checkPrograms(...needed: string[]): void {
  const missing = needed.filter((name) => spawnSync(name, ["--version"]).error !== undefined).join(" and ");
  if (missing !== "")
    throw new Error(`${missing} not found; on Debian: apt-get install wrk nginx-light curl util-linux`);
}

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

/** A failure is printed, and the exit code is 1. */
export async function runToEnd(main: () => Promise<void>): Promise<never> {
  // Exit handlers stop servers and remove folders, so signals must end the process normally.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  await main().catch((error) => {
    console.error(reasonOf(error));
    process.exit(1);
  });
  process.exit();
}
