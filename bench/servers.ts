import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { publishSnapshot } from "../datasets/publish.ts";
import { syntheticContent } from "../datasets/synthetic.ts";
import { encodeSnapshot, sealSnapshot } from "../engine/index.ts";
import { maxBurst, maxQuota } from "../server/plans.ts";
import { run } from "./measure.ts";
import { writeNginx } from "./rivals/nginx.ts";
import { freePort, type Headers, type RivalSettings } from "./rivals/rival.ts";

/** Starts the service and its rivals as processes of their own, on one core. */

const repository = resolve(import.meta.dirname, "..");
const maxStartMs = 60_000;
const maxStopMs = 15_000;
const pollMs = 20;

/** The service, a sender of constants, and servers that compute the answer. */
export type Kind = "service" | "ceiling" | "nginx" | "sqlite" | "duckdb" | "node-http";

/** An answer as a constant. */
export interface Constant {
  status: string;
  headers: Headers;
  body: Uint8Array;
}

export interface Server {
  port: number;
  /** The processes whose CPU time counts. */
  pids: readonly number[];
}

/** What all servers of a run work on, in a temporary folder. */
export interface Ground {
  folder: string;
  /** The current data version's file. */
  snapshotFile: string;
  key: string;
}

/** Writes snapshots of two years and a state with one account that is never refused. */
export async function prepareGround(rows: number, seed: number): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  const files = [2023, 2024].map((dataYear) =>
    publishSnapshot(join(folder, "snapshots"), dataYear, [], (revision) =>
      encodeSnapshot(sealSnapshot(syntheticContent({ dataYear, revision, rows, seed }))),
    ),
  );
  const command = [process.execPath, join(repository, "server/keys-command.ts"), "create"];
  const account = ["--account", "bench", "--plan", "enterprise"];
  const ceilings = ["--burst", String(maxBurst), "--quota", String(maxQuota)];
  const stateDir = join(folder, "state");
  const key = await run(["env", `STATE_DIR=${stateDir}`, ...command, ...account, ...ceilings]);
  return { folder, snapshotFile: files[1], key: key.trim() };
}

interface Running {
  child: ChildProcess;
  kind: Kind;
  logFile: string;
}

export class Servers {
  readonly #ground: Ground;
  /** Servers by what they were started with. */
  readonly #servers = new Map<string, Promise<Server>>();
  #running: Running[] = [];
  #folders = 0;

  constructor(ground: Ground) {
    this.#ground = ground;
    // Whatever happens, nothing stays behind.
    process.once("exit", () => {
      for (const { child } of this.#running) child.kill("SIGKILL");
    });
  }

  /**
   * A server that is ready for requests; the same one when it is asked for again.
   *
   * @param core the only core that it may use; undefined for all
   * @param constant what `ceiling` and `nginx` answer; the others take its headers
   */
  get(kind: Kind, threads: number, core: number | undefined, constant: Constant): Promise<Server> {
    const sent = kind === "ceiling" || kind === "nginx" ? Buffer.from(constant.body).toString() : "";
    const name = JSON.stringify([kind, threads, core, sent && [constant.status, constant.headers, sent]]);
    const known = this.#servers.get(name);
    if (known !== undefined) return known;
    const folder = join(this.#ground.folder, String(this.#folders++));
    mkdirSync(folder);
    const server =
      kind === "nginx"
        ? this.#startNginx(folder, core, constant)
        : this.#startScript(folder, kind, threads, core, constant);
    this.#servers.set(name, server);
    return server;
  }

  /** Ends all servers; the service has to end well. */
  async stopAll(): Promise<void> {
    const running = this.#running;
    this.#running = [];
    this.#servers.clear();
    await Promise.all(
      running.map(async ({ child, kind, logFile }) => {
        const timer = setTimeout(() => child.kill("SIGKILL"), maxStopMs);
        const ended = hasEnded(child) ? undefined : once(child, "exit");
        child.kill("SIGTERM");
        await ended;
        clearTimeout(timer);
        if (kind === "service" && child.exitCode !== 0)
          throw new Error(`the service ended with ${child.exitCode}, expected 0: ${readFileSync(logFile)}`);
      }),
    );
  }

  async #startScript(
    folder: string,
    kind: Exclude<Kind, "nginx">,
    threads: number,
    core: number | undefined,
    { status, headers, body }: Constant,
  ): Promise<Server> {
    const isService = kind === "service";
    const command = [
      process.execPath,
      join(repository, isService ? "server/main.ts" : `bench/rivals/${kind}.ts`),
    ];
    let environment = {};
    if (isService) {
      const STATE_DIR = join(folder, "state");
      // A copy, because a server locks its state.
      cpSync(join(this.#ground.folder, "state"), STATE_DIR, { recursive: true });
      const DATASETS_DIR = join(this.#ground.folder, "snapshots");
      environment = { PORT: "0", OPS_PORT: "0", THREADS: String(threads), DATASETS_DIR, STATE_DIR };
    } else {
      const { snapshotFile } = this.#ground;
      const bodyFile = join(folder, "body");
      writeFileSync(bodyFile, body);
      const settings: RivalSettings = { snapshotFile, headers, status, bodyFile, threads };
      command.push(JSON.stringify(settings));
    }
    const running = this.#spawn(kind, folder, command, core, environment);
    return { port: await readyPort(running), pids: [pidOf(running)] };
  }

  async #startNginx(folder: string, core: number | undefined, constant: Constant): Promise<Server> {
    const port = await freePort();
    const configuration = writeNginx(folder, port, core, constant.headers, constant.body);
    const running = this.#spawn("nginx", folder, ["nginx", "-p", folder, "-c", configuration], core, {});
    for (let waited = 0; !(await accepts(port)); waited += pollMs) {
      if (waited > maxStartMs || hasEnded(running.child)) throw notReady(running);
      await delay(pollMs);
    }
    const master = pidOf(running);
    const workers = readFileSync(`/proc/${master}/task/${master}/children`, "utf8").trim().split(" ");
    return { port, pids: workers.map(Number) };
  }

  #spawn(
    kind: Kind,
    folder: string,
    command: string[],
    core: number | undefined,
    environment: object,
  ): Running {
    const logFile = join(folder, "log");
    const [file, ...args] = core === undefined ? command : ["taskset", "-c", String(core), ...command];
    const child = spawn(file, args, {
      cwd: repository,
      env: { PATH: process.env.PATH, ...environment },
      stdio: ["ignore", "pipe", openSync(logFile, "a")],
    });
    const running = { child, kind, logFile };
    this.#running.push(running);
    return running;
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function notReady({ child, kind, logFile }: Running): Error {
  const end = child.exitCode ?? child.signalCode ?? "no end";
  return new Error(`${kind} isn't ready, it came to ${end}: ${readFileSync(logFile)}`);
}

function pidOf({ child, kind }: Running): number {
  if (child.pid === undefined) throw new Error(`${kind} can't be started`);
  return child.pid;
}

/** The port in a server's line `ready …`. */
function readyPort(running: Running): Promise<number> {
  const { child } = running;
  return new Promise((resolve, reject) => {
    let output = "";
    const timer = setTimeout(() => child.kill("SIGKILL"), maxStartMs);
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const found = /^ready (?:http:\/\/[\d.]+:)?(\d+)/m.exec(output);
      if (found === null) return;
      clearTimeout(timer);
      resolve(Number(found[1]));
    });
    child.once("exit", () => {
      clearTimeout(timer);
      reject(notReady(running));
    });
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
