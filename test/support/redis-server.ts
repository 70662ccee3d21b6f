import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePort } from "./connection.ts";
import { temporaryFolder } from "./folders.ts";

export interface RedisServer {
  /** Path of a Unix socket. */
  path: string;
  client: Redis;
  /** One client per database. Databases share no keys. */
  clients: Redis[];
  stop(): Promise<void>;
}

export async function startRedis(
  databases = 1,
  path = join(temporaryFolder(), "redis.sock"),
): Promise<RedisServer> {
  const options = ["--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no"];
  options.push("--databases", String(databases));
  const server = spawn("redis-server", options, { stdio: "ignore" });
  const ended = once(server, "exit");
  const clients = Array.from(
    { length: databases },
    (_, db) => new Redis({ path, db, retryStrategy: () => 20, maxRetriesPerRequest: null }),
  );
  for (const client of clients) client.on("error", () => {});
  await Promise.race([
    Promise.all(clients.map((client) => new Promise<void>((resolve) => client.once("ready", resolve)))),
    ended.then(([code]) => {
      throw new Error(`redis-server ended with ${code}, expected it to serve`);
    }),
  ]);
  return {
    path,
    client: clients[0],
    clients,
    async stop() {
      for (const client of clients) client.disconnect();
      server.kill("SIGKILL");
      await ended;
    },
  };
}

const nodes: RedisNode[] = [];
process.prependOnceListener("exit", () => {
  for (const node of nodes) void node.kill();
});

/** The folder stays when Redis ends, so that Redis can be restarted. */
export class RedisNode {
  readonly port: number;
  readonly folder = temporaryFolder();
  readonly client: Redis;
  readonly #lines: readonly string[];
  readonly #words: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(port: number, lines: readonly string[], words: readonly string[]) {
    this.port = port;
    this.#lines = lines;
    this.#words = words;
    this.client = new Redis({ path: this.path, retryStrategy: () => 20, maxRetriesPerRequest: null });
    this.client.on("error", () => {});
  }

  /** @param lines lines of the configuration file @param words further arguments of the command */
  static async start(
    lines: readonly string[] = [],
    words: readonly string[] = [],
    port?: number,
  ): Promise<RedisNode> {
    const node = new RedisNode(port ?? (await freePort()), lines, words);
    nodes.push(node);
    await node.restart();
    return node;
  }

  get path(): string {
    return join(this.folder, "redis.sock");
  }

  async restart(): Promise<void> {
    const file = join(this.folder, "redis.conf");
    const own = [`port ${this.port}`, "bind 127.0.0.1", `dir ${this.folder}`, 'save ""'];
    own.push(`unixsocket ${this.path}`);
    // Later lines override earlier lines. A Sentinel stores its state in the file, so an existing file is kept.
    if (!existsSync(file)) writeFileSync(file, `${[...own, ...this.#lines].join("\n")}\n`);
    const child = spawn("redis-server", [file, ...this.#words], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-5000);
    });
    this.#process = child;
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`redis-server ended with ${code}, expected it to serve: ${said}`);
    });
    // An end of the process after its start isn't an error.
    ended.catch(() => {});
    await Promise.race([ended, this.client.ping()]);
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async stop(): Promise<void> {
    this.client.disconnect();
    await this.kill();
  }
}
