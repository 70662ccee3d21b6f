import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { publishSnapshot } from "../datasets/revisions.ts";
import { defaultSampleSeed, syntheticSnapshot } from "../datasets/sample/synthetic.ts";
import { encodeSnapshot } from "../engine/index.ts";
import { maxBurst, maxQuota } from "../server/shared/plans.ts";
import { createKey, freePort, until } from "../test/support/server.ts";
import { pinned } from "./cores.ts";
import { writeNginx } from "./rivals/nginx.ts";
import type { Constant, RivalSettings } from "./rivals/rival.ts";

const account = "bench";
const repository = resolve(import.meta.dirname, "..");
/** With ten million rows, the load alone takes 46 s on an idle machine. */
const maxStartMs = 300_000;
const maxStopMs = 15_000;

export type Kind = "service" | "ceiling" | "nginx" | "sqlite";

export const sendsConstant = (kind: Kind) => kind === "ceiling" || kind === "nginx";

/** `PORTAL_ACCOUNT` is set, because pages have no numbers without an account for visitors. */
const environment = {
  ...{ PATH: process.env.PATH, PORT: "0", OPS_PORT: "0", LOG_LEVEL: "warn" },
  PORTAL_ACCOUNT: account,
};
const nothing: Constant = { status: "", headers: [], body: Buffer.alloc(0) };

export interface Server {
  kind: Kind;
  port: number;
  pids: readonly number[];
  key: string;
}

interface BenchFolder {
  folder: string;
  snapshotFile: string;
  key: string;
}

/** Makes a snapshot of each year, and a state folder with one account, which has the maximum burst and quota. */
export async function prepareFolder(
  folder: string,
  rows: number,
  years = [2023, 2024],
): Promise<BenchFolder> {
  const files = years.map((dataYear) =>
    publishSnapshot(join(folder, "snapshots"), dataYear, [], (revision) =>
      encodeSnapshot(syntheticSnapshot({ dataYear, revision, rows, seed: defaultSampleSeed })),
    ),
  );
  const stateDir = join(folder, "state");
  const key = createKey(stateDir, account, { burst: maxBurst, quota: maxQuota });
  return { folder, snapshotFile: files[files.length - 1], key };
}

interface Running extends Server {
  child: ChildProcess;
  ended: Promise<unknown>;
}

export class Servers {
  readonly #folder: BenchFolder;
  readonly #servers = new Map<string, Promise<Server>>();
  readonly #running: Running[] = [];

  constructor(folder: BenchFolder) {
    this.#folder = folder;
    process.once("exit", () => {
      for (const { child } of this.#running) child.kill("SIGKILL");
    });
  }

  /**
   * Resolves when the server is ready for requests. Until `stopAll`, calls with the same arguments get the same server.
   *
   * @param core the only core that the server may use; undefined for all cores
   * @param constant the answer of `ceiling` and `nginx`; `sqlite` uses only its headers
   */
  get(kind: Kind, threads: number, core?: number, constant?: Constant): Promise<Server> {
    const name = JSON.stringify([kind, threads, core, sendsConstant(kind) && constant]);
    const server = this.#servers.get(name) ?? this.#start(kind, threads, core, constant);
    this.#servers.set(name, server);
    return server;
  }

  /** @throws Error when the service doesn't end with exit code 0 in time */
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
    const { folder: prepared, snapshotFile, key } = this.#folder;
    const folder = mkdtempSync(join(prepared, kind));
    const [STATE_DIR, DATASETS_DIR] = [join(folder, "state"), join(prepared, "snapshots")];
    // A service locks its state, so each service gets a copy.
    cpSync(join(prepared, "state"), STATE_DIR, { recursive: true });
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
    };
    let command = [process.execPath, `bench/rivals/${kind}.ts`, JSON.stringify(settings)];
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

async function readyPort(running: Running): Promise<number> {
  const signal = AbortSignal.timeout(maxStartMs);
  for await (const line of createInterface({ input: running.child.stdout!, signal })) {
    const port = /^ready (?:http:\/\/[\d.]+:)?(\d+)/.exec(line)?.[1];
    if (port !== undefined) return Number(port);
  }
  const { child, kind } = running;
  throw new Error(`${kind} isn't ready, it came to ${child.exitCode ?? child.signalCode ?? "no end"}`);
}

function workersOf({ pids: [master] }: Server): number[] | undefined {
  const workers = readFileSync(`/proc/${master}/task/${master}/children`, "utf8").trim();
  return workers === "" ? undefined : workers.split(" ").map(Number);
}
