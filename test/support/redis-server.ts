import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Redis } from "ioredis";
import { temporaryFolder } from "./folders.ts";

/** A Redis of its own for tests: in memory, on a Unix socket. */

export interface RedisServer {
  /** Of its socket. */
  path: string;
  /** Of database 0. */
  client: Redis;
  /** Of so many databases, which have nothing to do with each other. */
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
