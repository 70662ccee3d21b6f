import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Redis } from "ioredis";
import { temporaryFolder } from "./folders.ts";

/** A Redis of its own for tests: in memory, on a Unix socket. */

export interface RedisServer {
  client: Redis;
  stop(): Promise<void>;
}

export async function startRedis(): Promise<RedisServer> {
  const path = join(temporaryFolder(), "redis.sock");
  const options = ["--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no"];
  const server = spawn("redis-server", options, { stdio: "ignore" });
  const ended = once(server, "exit");
  const client = new Redis({ path, retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on("error", () => {});
  await Promise.race([
    new Promise<void>((resolve) => client.once("ready", resolve)),
    ended.then(([code]) => {
      throw new Error(`redis-server ended with ${code}, expected it to serve`);
    }),
  ]);
  return {
    client,
    async stop() {
      client.disconnect();
      server.kill("SIGKILL");
      await ended;
    },
  };
}
