import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Measures a server from outside: wrk loads it, and the kernel says what its process took. */

/** What /proc counts in, a fixed part of Linux's interface to programs. */
const ticksPerSecond = 100;
/** An answer that takes longer counts as failed. */
const maxAnswerSeconds = 30;
/** How long wrk may take beyond its time, to read its list and to end. */
const maxOverrunMs = 60_000;

const script = join(import.meta.dirname, "wrk.lua");

/** One measurement. CPU time is that of the server's process or processes, all threads, per request. */
export interface Figures {
  cpuUs: number;
  userUs: number;
  systemUs: number;
  requestsPerSecond: number;
  p50Us: number;
  p99Us: number;
  p999Us: number;
  requests: number;
  seconds: number;
}

/** What a server gets: requests from a file, over some connections, for some time. */
export interface Burst {
  port: number;
  /** Of the server. */
  pids: readonly number[];
  authorization: string;
  listFile: string;
  /** The line of the list to begin with. */
  start: number;
  connections: number;
  pipeline: number;
  /** wrk processes; each opens its share of the connections. */
  loadProcesses: number;
  /** The core that the load runs on; undefined for any. */
  core: number | undefined;
  seconds: number;
  /** Whether every answer has to have a status of 400 or more, rather than none. */
  refused: boolean;
}

/** @throws Error when a request failed, or was answered with a status of the other kind */
export async function measure(burst: Burst): Promise<Figures> {
  const before = cpuSeconds(burst.pids);
  const results = await Promise.all(Array.from({ length: burst.loadProcesses }, (_, i) => runWrk(burst, i)));
  const after = cpuSeconds(burst.pids);
  const sum = (of: (result: WrkResult) => number) => results.reduce((total, result) => total + of(result), 0);
  const worst = (of: (result: WrkResult) => number) => Math.max(...results.map(of));
  const requests = sum((result) => result.requests);
  const failed = sum((result) => result.failed);
  const refused = sum((result) => result.refused);
  if (requests === 0) throw new Error("no request was answered, expected at least one");
  if (failed > 0) throw new Error(`${failed} of ${requests} requests failed, expected none`);
  const expectedRefused = burst.refused ? requests : 0;
  if (refused !== expectedRefused)
    throw new Error(`${refused} of ${requests} requests were refused, expected ${expectedRefused}`);
  const userUs = ((after.user - before.user) / requests) * 1e6;
  const systemUs = ((after.system - before.system) / requests) * 1e6;
  return {
    cpuUs: userUs + systemUs,
    userUs,
    systemUs,
    requestsPerSecond: sum((result) => result.requests / result.seconds),
    // Two loads' percentiles can't be merged: the worse of them stands for both.
    p50Us: worst((result) => result.p50Us),
    p99Us: worst((result) => result.p99Us),
    p999Us: worst((result) => result.p999Us),
    requests,
    seconds: worst((result) => result.seconds),
  };
}

interface WrkResult {
  requests: number;
  seconds: number;
  /** Answers with a status of 400 or more. */
  refused: number;
  failed: number;
  p50Us: number;
  p99Us: number;
  p999Us: number;
}

async function runWrk(burst: Burst, process: number): Promise<WrkResult> {
  const command = [
    ...(burst.core === undefined ? [] : ["taskset", "-c", String(burst.core)]),
    "wrk",
    "--threads=1",
    `--connections=${Math.ceil(burst.connections / burst.loadProcesses)}`,
    `--duration=${burst.seconds}s`,
    `--timeout=${maxAnswerSeconds}s`,
    `--header=Authorization: ${burst.authorization}`,
    `--script=${script}`,
    `http://127.0.0.1:${burst.port}`,
    "--",
    burst.listFile,
    // Two loads of one list shouldn't ask the same at the same time.
    String(burst.start + process * 1009),
    String(burst.pipeline),
  ];
  const output = await run(command, burst.seconds * 1000 + maxOverrunMs);
  const line = output.trimEnd().split("\n").at(-1) ?? "";
  if (!line.startsWith("{"))
    throw new Error(`wrk printed ${JSON.stringify(output)}, expected a line of JSON`);
  return JSON.parse(line);
}

/** Runs a command to its end. @returns what it printed */
export async function run([file, ...args]: string[], timeoutMs = maxOverrunMs): Promise<string> {
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], timeout: timeoutMs });
  let output = "";
  let complaints = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  const [code, signal] = await once(child, "close");
  if (code !== 0) throw new Error(`${file} ended with ${code ?? signal}, expected 0: ${output}${complaints}`);
  // Some programs print their version there.
  return output === "" ? complaints : output;
}

function cpuSeconds(pids: readonly number[]): { user: number; system: number } {
  let user = 0;
  let system = 0;
  for (const pid of pids) {
    // After the program's name, which may hold spaces and parentheses itself, the third field stands first.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    user += Number(fields[11]);
    system += Number(fields[12]);
  }
  return { user: user / ticksPerSecond, system: system / ticksPerSecond };
}

/** Bytes of memory that a process holds. */
export function residentBytes(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  if (found === null) throw new Error(`process ${pid} has no VmRSS, expected a running one`);
  return Number(found[1]) * 1024;
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return {
    median: (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2,
    min: sorted[0],
    max: sorted[sorted.length - 1],
  };
}
