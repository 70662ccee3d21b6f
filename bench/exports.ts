import { spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Server } from "./servers.ts";

/** Has whole files sent beside a load: as fast as their readers can, and to slow ones. */

const path = "/api/v1/export.csv";
const readers = 8;
/** A slow reader takes at most so much each time, what Node reads at once. */
const slowIntervalMs = 50;

/**
 * @param seconds how long the fast ones are sure to go on
 * @param core that the fast ones run on; undefined for any
 * @returns what ends it
 */
export async function sendExports(server: Server, seconds: number, core?: number): Promise<() => void> {
  const { port, key } = server;
  const fast = spawn(
    core === undefined ? "wrk" : "taskset",
    [
      ...(core === undefined ? [] : ["-c", String(core), "wrk"]),
      ...["--threads=1", `--connections=${readers}`, `--duration=${seconds + 60}s`, "--timeout=60s"],
      ...[`--header=Authorization: Bearer ${key}`, `http://127.0.0.1:${port}${path}`],
    ],
    { stdio: "ignore" },
  );
  const slow = await Promise.all(Array.from({ length: readers }, () => readSlowly(server)));
  return () => {
    fast.kill();
    for (const stop of slow) stop();
  };
}

/** Reads a file bit by bit, and again from its beginning. @returns what ends it */
async function readSlowly({ port, key }: Server): Promise<() => void> {
  const headers = { authorization: `Bearer ${key}` };
  let response: IncomingMessage | undefined;
  let isOver = false;
  const ask = async () => {
    response = undefined;
    const sent = request({ host: "127.0.0.1", port, path, headers, agent: false }).end();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    if (isOver) answer.destroy();
    else response = answer.once("end", ask);
  };
  await ask();
  const timer = setInterval(() => response?.read(), slowIntervalMs);
  return () => {
    isOver = true;
    clearInterval(timer);
    response?.destroy();
  };
}
