import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { sum } from "d3";
import type { Load } from "./loads.ts";
import { pinned } from "./options.ts";
import type { List } from "./requests.ts";
import type { Server } from "./servers.ts";

/** Measures a server from outside: wrk loads it, and the kernel says what its process took. */

/** What /proc counts in, a fixed part of Linux's interface to programs. */
const ticksPerSecond = 100;
/** An answer that takes longer counts as failed. */
const maxAnswerSeconds = 30;
/** How long wrk may take beyond its time, to read its list and to end. */
const maxOverrunMs = 60_000;

const script = join(import.meta.dirname, "wrk.lua");

/** What wrk says at its end. */
interface Heard {
  requests: number;
  seconds: number;
  p50Us: number;
  p99Us: number;
  p999Us: number;
  /** Answers with a status of 400 or more. */
  refused: number;
  failed: number;
}

/** One measurement. CPU time is that of the server's process or processes, all threads, per request. */
export interface Figures extends Omit<Heard, "refused" | "failed"> {
  cpuUs: number;
  userUs: number;
  systemUs: number;
  requestsPerSecond: number;
}

/** What a server gets: requests from a list, over some connections, for some time. */
interface Burst extends Pick<Load, "connections" | "pipeline" | "loadProcesses"> {
  list: List;
  /** The line of the list to begin with. */
  start: number;
  seconds: number;
  /** The core that the load runs on; undefined for any. */
  core: number | undefined;
}

/** @throws Error when a request failed, or was answered with a status of the other kind */
export async function measure(server: Server, burst: Burst): Promise<Figures> {
  const before = cpuUs(server.pids);
  const heard = await Promise.all(
    Array.from({ length: burst.loadProcesses }, (_, i) => runWrk(server, burst, i)),
  );
  const after = cpuUs(server.pids);
  const total = (field: keyof Heard) => sum(heard, (each) => each[field]);
  // Two loads' percentiles can't be merged: the worse of them stands for both.
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
    // Two loads of one list shouldn't ask the same at the same time.
    ...["--", list.file, String(start + process * 1009), String(pipeline)],
  ];
  const output = await run(pinned(command, core), seconds * 1000 + maxOverrunMs);
  const line = output.trimEnd().split("\n").at(-1) ?? "";
  if (!line.startsWith("{"))
    throw new Error(`wrk printed ${JSON.stringify(output)}, expected a line of JSON`);
  return JSON.parse(line);
}

/** Runs a command to its end. @param timeout milliseconds, 0 for any time @returns what it printed */
export async function run([file, ...args]: string[], timeout = maxOverrunMs): Promise<string> {
  const { stdout } = await promisify(execFile)(file, args, { timeout });
  return stdout;
}

/** Microseconds of CPU time so far: the programs' own, and the system's for them. */
function cpuUs(pids: readonly number[]): number[] {
  // After the program's name, which may hold spaces and parentheses itself, the third field stands first.
  const stats = pids.map((pid) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" "));
  return [11, 12].map((field) => (sum(stats, (fields) => Number(fields[field])) * 1e6) / ticksPerSecond);
}
