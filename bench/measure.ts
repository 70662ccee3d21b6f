import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { sum } from "d3-array";
import { pinned } from "./cores.ts";
import type { Load } from "./loads.ts";
import type { List } from "./requests.ts";
import type { Server } from "./servers.ts";

/** wrk generates the load, and /proc gives the server's CPU time. */

/** Frequency of the clock ticks in which /proc gives CPU times. It is fixed on Linux. */
const ticksPerSecond = 100;
const maxAnswerSeconds = 30;
/** Maximum time that wrk may take to read its list and to stop. */
const maxOverrunMs = 60_000;

const script = join(import.meta.dirname, "wrk.lua");

interface Heard {
  requests: number;
  seconds: number;
  p50Us: number;
  p99Us: number;
  p999Us: number;
  /** Answers with status 400 or above. */
  refused: number;
  failed: number;
}

/** CPU times are per request, summed over all threads of the server's `pids`. */
export interface Figures extends Omit<Heard, "refused" | "failed"> {
  cpuUs: number;
  userUs: number;
  systemUs: number;
  requestsPerSecond: number;
}

interface Burst extends Pick<Load, "connections" | "pipeline" | "loadProcesses"> {
  list: List;
  /** Index of the first process's first line; with pipelining, of its first batch. */
  start: number;
  seconds: number;
  core: number | undefined;
}

/** @throws Error when wrk fails, no request is answered, a request fails, or an answer contradicts `list.refused` */
export async function measure(server: Server, burst: Burst): Promise<Figures> {
  const before = cpuUs(server.pids);
  const heard = await Promise.all(
    Array.from({ length: burst.loadProcesses }, (_, i) => runWrk(server, burst, i)),
  );
  const after = cpuUs(server.pids);
  const total = (field: keyof Heard) => sum(heard, (each) => each[field]);
  // Percentiles of two wrk processes can't be merged, so the higher percentile is reported.
  const worst = (field: keyof Heard) => Math.max(...heard.map((each) => each[field]));
  const [requests, failed, refused] = [total("requests"), total("failed"), total("refused")];
  if (requests === 0) throw new Error("no request was answered, expected at least one");
  if (failed > 0) throw new Error(`${failed} of ${requests} requests failed, expected none`);
  const expected = burst.list.refused ? requests : 0;
  if (refused !== expected)
    throw new Error(`${refused} of ${requests} requests were refused, expected ${expected}`);
  const [userUs, systemUs] = after.map((us, i) => (us - before[i]) / requests);
  return {
    cpuUs: userUs + systemUs,
    userUs,
    systemUs,
    requestsPerSecond: sum(heard, (each) => each.requests / each.seconds),
    p50Us: worst("p50Us"),
    p99Us: worst("p99Us"),
    p999Us: worst("p999Us"),
    requests,
    seconds: worst("seconds"),
  };
}

async function runWrk({ port, key }: Server, burst: Burst, process: number): Promise<Heard> {
  const { connections, pipeline, loadProcesses, list, start, seconds, core } = burst;
  const command = [
    ...["wrk", "--threads=1", `--connections=${Math.ceil(connections / loadProcesses)}`],
    ...[`--duration=${seconds}s`, `--timeout=${maxAnswerSeconds}s`],
    ...[`--header=Authorization: Bearer ${key}`, `--script=${script}`, `http://127.0.0.1:${port}`],
    // Processes start at different lines, so that they don't send the same requests at the same time.
    ...["--", list.file, String(start + process * 1009), String(pipeline)],
  ];
  const output = await run(pinned(command, core), seconds * 1000 + maxOverrunMs);
  const line = output.trimEnd().split("\n").at(-1) ?? "";
  if (!line.startsWith("{"))
    throw new Error(`wrk printed ${JSON.stringify(output)}, expected a line of JSON`);
  return JSON.parse(line);
}

/** @param timeout milliseconds, 0 for no limit */
export async function run([file, ...args]: string[], timeout = maxOverrunMs): Promise<string> {
  const { stdout } = await promisify(execFile)(file, args, { timeout });
  return stdout;
}

/** Returns the processes' CPU time in user mode and in the system, in microseconds. */
export function cpuUs(pids: readonly number[]): number[] {
  // The program's name may contain spaces and parentheses, so fields are split after the last ")".
  const stats = pids.map((pid) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" "));
  return [11, 12].map((field) => (sum(stats, (fields) => Number(fields[field])) * 1e6) / ticksPerSecond);
}
