import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after } from "node:test";
import { promisify } from "node:util";
import { Client, DatabaseError } from "pg";
import { systemCode } from "../../engine/index.ts";
import { freePort, until } from "./server.ts";

/** Starts real PostgreSQL servers, each in a folder of its own. */

const binaries = "/usr/lib/postgresql";
const [newest = ""] = readdirSync(binaries).sort((a, b) => Number(b) - Number(a));
const bin = (name: string) => path.join(binaries, newest, "bin", name);
const run = promisify(execFile);

/** PostgreSQL's code for an error while it starts, stops or recovers. */
const cannotConnectNow = "57P03";

/** PostgreSQL doesn't run as root. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

export class PostgresServer {
  readonly port: number;
  readonly folder: string;
  readonly #env: Record<string, string>;
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number, env: Record<string, string>) {
    this.folder = folder;
    this.port = port;
    this.#env = env;
  }

  /**
   * Starts a new server with an empty database. It ends with the test file.
   * @param settings such as `fsync=off` @param env for example of a clock
   */
  static async start(
    settings: readonly string[] = ["fsync=off"],
    env: Record<string, string> = {},
  ): Promise<PostgresServer> {
    const server = await PostgresServer.#prepare(env);
    const { folder } = server;
    await run(bin("initdb"), ["-D", folder, "-U", "hcqs", "-A", "trust", "-E", "UTF8", "--no-sync"], {
      ...nobody,
      cwd: folder,
    });
    await server.begin(settings);
    return server;
  }

  /** Starts a standby of this server, which streams its changes. @param name by which the primary knows it */
  async standby(name: string): Promise<PostgresServer> {
    const server = await PostgresServer.#prepare();
    const from = `host=127.0.0.1 port=${this.port} user=hcqs application_name=${name}`;
    await run(bin("pg_basebackup"), ["-D", server.folder, "-d", from, "-R", "--checkpoint=fast"], {
      ...nobody,
      cwd: server.folder,
    });
    await server.begin();
    return server;
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await this.query("SELECT pg_promote()");
  }

  /** Writes a file into the server's folder, readable by the server only. */
  write(name: string, content: string): string {
    const file = path.join(this.folder, name);
    writeFileSync(file, content, { mode: 0o600 });
    if (nobody.uid !== undefined) chownSync(file, nobody.uid, nobody.gid);
    return file;
  }

  static async #prepare(env: Record<string, string> = {}): Promise<PostgresServer> {
    const folder = mkdtempSync(path.join(tmpdir(), "postgres-"));
    if (nobody.uid !== undefined) chownSync(folder, nobody.uid, nobody.gid);
    const server = new PostgresServer(folder, await freePort(), env);
    after(async () => {
      await server.stop("SIGQUIT");
      rmSync(folder, { recursive: true, force: true });
    });
    return server;
  }

  get url(): string {
    return `postgres://hcqs@127.0.0.1:${this.port}/postgres`;
  }

  /** Starts the server again, with its data. */
  async begin(settings: readonly string[] = ["fsync=off"]): Promise<void> {
    const options = ["listen_addresses=127.0.0.1", `unix_socket_directories=${this.folder}`, ...settings];
    this.#process = spawn(
      bin("postgres"),
      ["-D", this.folder, "-p", String(this.port), ...options.flatMap((option) => ["-c", option])],
      { ...nobody, cwd: this.folder, stdio: "ignore", env: { ...process.env, ...this.#env } },
    );
    await until("PostgreSQL to answer", () =>
      this.query("SELECT 1").then(
        () => true,
        () => false,
      ),
    );
  }

  /** Runs SQL on a connection of its own. */
  async query<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    const client = await until("a connection", () => this.#connect());
    try {
      return (await client.query(sql, values)).rows;
    } finally {
      await client.end();
    }
  }

  /**
   * @returns null if the server closed the connection unread, as it does when it can't fork, or can't take one now, as while it
   * recovers: that isn't what is tested
   */
  async #connect(): Promise<Client | null> {
    const client = new Client({ connectionString: this.url });
    client.on("error", () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      const code = error instanceof DatabaseError ? error.code : systemCode(error);
      if (code === "ECONNRESET" || code === cannotConnectNow) return null;
      throw error;
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** @param signal SIGINT stops at once and cleanly, SIGQUIT as a crash does */
  async stop(signal: "SIGINT" | "SIGQUIT" = "SIGINT"): Promise<void> {
    const ended = this.#process;
    this.#process = undefined;
    if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    const exit = once(ended, "exit");
    ended.kill(signal);
    await exit;
  }
}
