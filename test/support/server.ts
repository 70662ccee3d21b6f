import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import path from "node:path";
import type { Readable } from "node:stream";
import { encodeSnapshot, type Snapshot } from "../../engine/index.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { Store } from "../../server/store/store.ts";
import { type Answer, Connection, maxWaitMs, rawRequest, requestText, until } from "./connection.ts";
import { type ShortRow, snapshotAs } from "./fixtures.ts";
import { temporaryFolder } from "./folders.ts";

export {
  Answer,
  becomes,
  Connection,
  freePort,
  listening,
  rawRequest,
  requestText,
  settled,
  until,
} from "./connection.ts";
export { temporaryFolder } from "./folders.ts";

/** Starts the real server as a process, with small snapshots. */

const repository = path.resolve(import.meta.dirname, "../..");
/** Preloads `strip-cache.js`, which strips types. Stripped code is cached only if there is a compile cache. */
export const keepingStripped = ["--import", path.join(repository, "server/strip-cache.js")];
export const node = path.join(repository, "server/node");
const children: ChildProcessByStdio<null, Readable, Readable>[] = [];
// Processes must end before their folders are removed.
process.prependOnceListener("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

export const pricedRows = {
  "5072": { AL: 40, NY: 20 },
  "5073": { AL: 2 },
  /** The hospitals have very long names, so that a few dozen answers are larger than a socket's buffers. */
  "5361": { TX: 50 },
} as const;
export const suppressedProcedure = "5115";
export const versions = ["2024.3", "2023.2", "2023.1"] as const;

/** Most tests need only the current version, and loading others would make starts slow. */
export const currentOnly = [versions[0]] as const;

/** Each version has other charges. */
export function versionSnapshot(version: string): Snapshot {
  const rows: ShortRow[] = [];
  const [dataYear, revision] = version.split(".").map(Number);
  const factor = dataYear - 2020 + revision / 10;
  // The oldest version has no services.
  const isOldest = version === versions[versions.length - 1];
  let count = 0;
  for (const [code, states] of Object.entries(pricedRows))
    for (const [state, facilities] of Object.entries(states))
      for (let i = 0; i < facilities; i++) {
        const ccn = String(++count).padStart(6, "0");
        // Some charges are equal, and charges aren't in the order of CCNs.
        const charge = 5000 + ((i - (i % 7 === 6 ? 1 : 0)) * 37.17 * factor) / ((i % 3) + 1);
        const name = code === "5361" ? `Hospital ${ccn} ${"院".repeat(480)}` : `Hospital ${ccn}`;
        rows.push([ccn, state, code, charge, charge / 5, name, isOldest ? {} : { services: 11 + i }]);
      }
  rows.push(["000001", "AL", suppressedProcedure, null, null], ["000001", "AL", "5073", 9000, null]);
  return snapshotAs(version, rows);
}

export function datasetsFolder(names: readonly string[] = versions): string {
  const folder = temporaryFolder();
  for (const version of names)
    writeFileSync(path.join(folder, `${version}.parquet`), encodeSnapshot(versionSnapshot(version)));
  return folder;
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface RunOptions {
  cwd?: string | undefined;
  maxDescriptors?: number | undefined;
}

/** The environment is `env`, PATH and NODE_COMPILE_CACHE. */
export class Running {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #closed: Promise<unknown>;
  #mayEnd = false;
  stdout = "";
  stderr = "";

  constructor(
    script: string,
    args: string[],
    env: Record<string, string>,
    { cwd = repository, maxDescriptors }: RunOptions = {},
  ) {
    const command = [node, ...keepingStripped, path.join(repository, script), ...args];
    // The shell sets the limit. Then `exec` replaces the shell by the command.
    const limited = ["sh", "-c", 'ulimit -n "$0" && exec "$@"', String(maxDescriptors), ...command];
    const [program, ...words] = maxDescriptors === undefined ? command : limited;
    this.#child = spawn(program, words, {
      cwd,
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.#closed = once(this.#child, "close");
    this.#child.once("close", (code, signal) => {
      if (this.#mayEnd) return;
      const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
      process.stderr.write(`${script} ended unasked, ${how}; it said: ${this.stderr.slice(-2000)}\n`);
    });
    // If a failed test doesn't stop its server, the tests can still end.
    this.#child.unref();
    for (const stream of [this.#child.stdout, this.#child.stderr])
      if (stream instanceof Socket) stream.unref();
    children.push(this.#child);
  }

  get pid(): number {
    assert.ok(this.#child.pid !== undefined, "the process was started");
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Without this call, it is reported if the process ends by itself. */
  mayEnd(): this {
    this.#mayEnd = true;
    return this;
  }

  signal(signal: NodeJS.Signals): void {
    this.mayEnd();
    this.#child.kill(signal);
  }

  /**
   * A process that doesn't end is killed and fails the test.
   * @param by the signal that has to end the process; null for an exit
   */
  async finished(by: NodeJS.Signals | null = null): Promise<Finished> {
    this.mayEnd();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), maxWaitMs);
    await this.#closed;
    clearTimeout(timer);
    const { exitCode: code, signalCode } = this.#child;
    assert.equal(signalCode, by, `the process was ended by ${signalCode}: ${this.stderr}`);
    return { code, stdout: this.stdout, stderr: this.stderr };
  }
}

export function runKeys(stateDir: string, ...args: string[]): Promise<Finished> {
  return new Running("server/commands/keys.ts", args, { STATE_DIR: stateDir }).finished();
}

/** Makes a key by a command. A server that uses the state may be running. */
export async function askForKey(stateDir: string, account: string, quota = 100): Promise<string> {
  const ceilings = ["--burst", String(Math.max(1000, quota)), "--quota", String(quota)];
  const words = ["--account", account, "--plan", "enterprise", ...ceilings];
  const { code, stdout, stderr } = await runKeys(stateDir, "create", ...words);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

/** With `ceilings`, the key gets a new enterprise account. No server may run on the state. */
export function createKey(
  stateDir: string,
  account: string,
  ceilings?: { burst: number; quota: number },
): string {
  const store = Store.open(stateDir);
  const now = new Date();
  const made = { plan: "enterprise", webhook: null, webhook_secret: null } as const;
  const { id } =
    ceilings === undefined
      ? (store.accounts.byName(account) ?? assert.fail(`no account ${account}`))
      : store.accounts.create({ ...made, ...ceilings, name: account }, now);
  const key = generateKey();
  store.keys.create(id, hashKey(key), key.slice(-4), null, now);
  store.close();
  return key;
}

export interface ServerOptions {
  datasetsDir?: string;
  stateDir?: string;
  env?: Record<string, string>;
  maxDescriptors?: number;
}

export function spawnServer(options: ServerOptions, cwd?: string): Running {
  const { datasetsDir, stateDir, env = {}, maxDescriptors } = options;
  const folders: Record<string, string> = {};
  if (datasetsDir !== undefined) folders.DATASETS_DIR = datasetsDir;
  if (stateDir !== undefined) folders.STATE_DIR = stateDir;
  const { SERVER_PARTS: parts } = process.env;
  return new Running(
    parts === undefined ? "server/main.ts" : "test/support/core.ts",
    [],
    {
      ...(parts !== undefined && { SERVER_PARTS: parts }),
      PORT: "0",
      OPS_PORT: "0",
      THREADS: "1",
      PORTAL: "off",
      ...folders,
      ...env,
    },
    { cwd, maxDescriptors },
  );
}

export async function ready(server: Running): Promise<{ api: string; ops: string }> {
  const line = await until(
    "the ready line",
    () => {
      if (server.hasEnded) throw new Error(`the server ended: ${server.stdout}${server.stderr}`);
      return /^ready (\S+) ops (\S+)\n/m.exec(server.stdout);
    },
    () => server.stdout + server.stderr,
  );
  return { api: line[1], ops: line[2] };
}

export interface TestServer {
  process: Running;
  api: string;
  ops: string;
  stateDir: string;
  datasetsDir: string;
  /** Its enterprise account has more quota than any test needs. */
  key: string;
  keys(...args: string[]): Promise<Finished>;
  /** @returns the exit code after SIGTERM */
  stop(): Promise<number | null>;
}

export const ample = Object.freeze({ burst: 1_000_000, quota: 1_000_000_000 });

/** The server has the current snapshot by default, and an account with the limits `ample`. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const stateDir = options.stateDir ?? temporaryFolder();
  const datasetsDir = options.datasetsDir ?? datasetsFolder(currentOnly);
  mkdirSync(stateDir, { recursive: true });
  const key = createKey(stateDir, `ample ${Date.now()}`, ample);
  const server = spawnServer({ ...options, stateDir, datasetsDir });
  return {
    process: server,
    ...(await ready(server)),
    stateDir,
    datasetsDir,
    key,
    keys: (...args) => runKeys(stateDir, ...args),
    async stop() {
      server.signal("SIGTERM");
      return (await server.finished()).code;
    },
  };
}

/** A server closes idle connections, so connections are closed after their use. */
export async function withConnections<Result>(
  { api }: Pick<TestServer, "api">,
  count: number,
  use: (connections: Connection[]) => Promise<Result>,
): Promise<Result> {
  const connections = await Promise.all(Array.from({ length: count }, () => Connection.open(api)));
  try {
    return await use(connections);
  } finally {
    for (const connection of connections) connection.close();
  }
}

export const pricesPath = "/api/v1/healthcare/prices";

/** @param request such as `GET /path` @param headers by default with the key of the account `ample` */
export const call = (
  { api, key }: Pick<TestServer, "api" | "key">,
  request: string,
  headers: Record<string, string | undefined> = {},
): Promise<Answer> => rawRequest(api, requestText(request, { Authorization: `Bearer ${key}`, ...headers }));

/** Sends requests without reading answers, until the server can't send a whole answer. @returns the number sent */
export async function getStuck(server: TestServer, connection: Connection): Promise<number> {
  const request = `GET ${pricesPath}?procedure=5361&limit=50`;
  const { head, body } = await call(server, request);
  connection.pause();
  for (let sent = 1; ; sent++) {
    await connection.send(requestText(request, { Authorization: `Bearer ${server.key}` }));
    await connection.allRead();
    // The server has one thread, so after this answer it has handled the request of the other connection.
    await call(server, request);
    // At a further request the server would cut the connection. All answers have the length of the first answer.
    if (connection.answeredBytes < sent * (head.length + "\r\n\r\n".length + body.length)) return sent;
  }
}
