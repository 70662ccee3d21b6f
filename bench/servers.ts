import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { publishSnapshot } from "../datasets/publish/publish.ts";
import { defaultSampleSeed, syntheticSnapshot } from "../datasets/sample/synthetic.ts";
import { encodeSnapshot } from "../engine/index.ts";
import { maxBurst, maxQuota } from "../server/shared/plans.ts";
import { createKey, freePort, until } from "../test/support/server.ts";
import { pinned } from "./options.ts";
import { writeNginx } from "./rivals/nginx.ts";
import type { Constant, RivalSettings } from "./rivals/rival.ts";

/** Starts the service and its rivals as processes of their own, on one core. */

const repository = resolve(import.meta.dirname, "..");
/** Maximum time of a start. With ten million rows it takes half a minute on a machine with nothing else to do. */
const maxStartMs = 300_000;
const maxStopMs = 15_000;

/** The service, a sender of constants, and servers that compute the answer. */
export type Kind =
  | "service"
  | "ceiling"
  | "ceiling-spread"
  | "nginx"
  | "sqlite"
  | "sqlite-cached"
  | "duckdb"
  | "node-http";

export const sendsConstant = (kind: Kind) => kind.startsWith("ceiling") || kind === "nginx";

const environment = { PATH: process.env.PATH, PORT: "0", OPS_PORT: "0", LOG_LEVEL: "warn" };
const nothing: Constant = { status: "", headers: [], body: Buffer.alloc(0) };

export interface Server {
  kind: Kind;
  port: number;
  /** The processes whose CPU time counts. */
  pids: readonly number[];
  /** The key of an account that is never refused. */
  key: string;
}

/** The data that all servers of a run use, in a folder. */
interface Ground {
  folder: string;
  /** The current data version's file. */
  snapshotFile: string;
  key: string;
}

/** Writes snapshots of some years and a state with one account that is never refused. */
export async function prepareGround(folder: string, rows: number, years = [2023, 2024]): Promise<Ground> {
  const files = years.map((dataYear) =>
    publishSnapshot(join(folder, "snapshots"), dataYear, [], (revision) =>
      encodeSnapshot(syntheticSnapshot({ dataYear, revision, rows, seed: defaultSampleSeed })),
    ),
  );
  const stateDir = join(folder, "state");
  const key = createKey(stateDir, "bench", { burst: maxBurst, quota: maxQuota });
  return { folder, snapshotFile: files[files.length - 1], key };
}

interface Running extends Server {
  child: ChildProcess;
  ended: Promise<unknown>;
}

export class Servers {
  readonly #ground: Ground;
  /** Servers by the arguments that they were started with. */
  readonly #servers = new Map<string, Promise<Server>>();
  readonly #running: Running[] = [];

  constructor(ground: Ground) {
    this.#ground = ground;
    // However the process ends, no server is left running.
    process.once("exit", () => {
      for (const { child } of this.#running) child.kill("SIGKILL");
    });
  }

  /**
   * A server that is ready for requests; the same one when it is asked for again.
   *
   * @param core the only core that it may use; undefined for all
   * @param constant what the ceilings and `nginx` answer; the other rivals take its headers
   */
  get(kind: Kind, threads: number, core?: number, constant?: Constant): Promise<Server> {
    const name = JSON.stringify([kind, threads, core, sendsConstant(kind) && constant]);
    const server = this.#servers.get(name) ?? this.#start(kind, threads, core, constant);
    this.#servers.set(name, server);
    return server;
  }

  /** Ends all servers. @throws Error when the service doesn't end in order */
  async stopAll(): Promise<void> {
    this.#servers.clear();
    await Promise.all(
      this.#running.map(async ({ child, kind, ended }) => {
        child.kill("SIGTERM");
        await Promise.race([ended, delay(maxStopMs)]);
        child.kill("SIGKILL");
        if (kind === "service" && child.exitCode !== 0)
          throw new Error(`the service ended with ${child.exitCode}, expected 0`);
      }),
    );
  }

  async #start(kind: Kind, threads: number, core?: number, constant = nothing): Promise<Server> {
    const { folder: ground, snapshotFile, key } = this.#ground;
    const folder = mkdtempSync(join(ground, kind));
    const [STATE_DIR, DATASETS_DIR] = [join(folder, "state"), join(ground, "snapshots")];
    // A copy, because a server locks its state.
    cpSync(join(ground, "state"), STATE_DIR, { recursive: true });
    chmodSync(STATE_DIR, 0o700);
    const bodyFile = join(folder, "body");
    writeFileSync(bodyFile, constant.body);
    const port = kind === "nginx" ? await freePort() : 0;
    const { status, headers } = constant;
    const settings: RivalSettings = {
      snapshotFile,
      headers,
      status,
      bodyFile,
      threads,
      caches: kind === "sqlite-cached",
      isSpread: kind === "ceiling-spread",
    };
    let command = [
      process.execPath,
      `bench/rivals/${kind.replace(/-cached|-spread/, "")}.ts`,
      JSON.stringify(settings),
    ];
    if (kind === "service") command = ["server/hcqs", "start"];
    if (kind === "nginx") command = ["nginx", "-p", folder, "-c", writeNginx(folder, port, constant)];
    const [file, ...args] = pinned(command, core);
    const child = spawn(file, args, {
      cwd: repository,
      env: { ...environment, THREADS: String(threads), DATASETS_DIR, STATE_DIR },
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (child.pid === undefined) throw new Error(`${kind} can't be started`);
    const running = { kind, port, pids: [child.pid], key, child, ended: once(child, "exit") };
    this.#running.push(running);
    if (kind === "nginx") running.pids = await until("nginx to start its worker", () => workersOf(running));
    else running.port = await readyPort(running);
    return running;
  }
}

/** The port in a server's line `ready …`, which has a port or a URL with one. */
async function readyPort(running: Running): Promise<number> {
  const signal = AbortSignal.timeout(maxStartMs);
  for await (const line of createInterface({ input: running.child.stdout!, signal })) {
    const port = /^ready (?:http:\/\/[\d.]+:)?(\d+)/.exec(line)?.[1];
    if (port !== undefined) return Number(port);
  }
  const { child, kind } = running;
  throw new Error(`${kind} isn't ready, it came to ${child.exitCode ?? child.signalCode ?? "no end"}`);
}

/** The worker processes of nginx, which it starts as soon as it listens. */
function workersOf({ pids: [master] }: Server): number[] | undefined {
  const workers = readFileSync(`/proc/${master}/task/${master}/children`, "utf8").trim();
  return workers === "" ? undefined : workers.split(" ").map(Number);
}
