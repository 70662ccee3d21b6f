import { spawnSync } from "node:child_process";
import { reasonOf } from "../engine/query.ts";

export function checkPrograms(...needed: string[]): void {
  const missing = needed.filter((name) => spawnSync(name, ["--version"]).error !== undefined).join(" and ");
  if (missing !== "")
    throw new Error(`${missing} not found; on Debian: apt-get install wrk nginx-light curl util-linux`);
}

/** Runs a benchmark, and ends the process. If the benchmark fails, the error is printed and the exit code is 1. */
export async function runToEnd(main: () => Promise<void>): Promise<never> {
  // Exit handlers stop servers and remove folders, so signals must end the process normally.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  await main().catch((error) => {
    console.error(reasonOf(error));
    process.exit(1);
  });
  process.exit();
}
