import { spawn } from "node:child_process";
import { once } from "node:events";
import { pinned } from "./cores.ts";
import { exportPath } from "./requests.ts";
import type { Server } from "./servers.ts";

const readers = 8;

/**
 * Starts fast and slow readers of CSV exports.
 * @param seconds minimum duration of the downloads
 * @returns a function that stops the readers, and throws Error if a reader had already exited
 */
export async function sendExports({ port, key }: Server, seconds: number, core?: number) {
  const [url, header] = requestOf({ port, key });
  const fast = `wrk --threads=1 --connections=${readers} --duration=${seconds + 60}s`;
  // With a range in the URL's fragment, which curl doesn't send, curl repeats the request until curl is killed.
  const slow = `curl --silent --parallel --parallel-max ${readers} --limit-rate 1M`;
  const commands = [
    [...fast.split(" "), "--header", header, url],
    [...slow.split(" "), "--header", header, `${url}#[1-1000000000]`],
  ];
  return start(commands, core);
}

/**
 * Starts a reader that downloads one CSV export after the other, at up to 20 MiB per second.
 * @returns a function that stops the reader, and throws Error if it had already exited
 */
export async function readExport(server: Pick<Server, "port" | "key">, core?: number) {
  const [url, header] = requestOf(server);
  const slow = ["curl", "--silent", "--limit-rate", "20M", "--output", "/dev/null", "--header", header];
  return start([[...slow, `${url}#[1-1000000000]`]], core);
}

const requestOf = ({ port, key }: Pick<Server, "port" | "key">) => [
  `http://127.0.0.1:${port}${exportPath}.csv`,
  `Authorization: Bearer ${key}`,
];

async function start(commands: readonly string[][], core?: number) {
  // Only the server's CPU time matters, so the readers run with idle priority on the load's core.
  const children = commands.map((command) =>
    spawn("chrt", ["--idle", "0", ...pinned(command, core)], { stdio: "ignore" }),
  );
  await Promise.all(children.map((child) => once(child, "spawn")));
  return () => {
    const ended = children.find(({ exitCode }) => exitCode !== null);
    for (const child of children) child.kill();
    if (ended !== undefined)
      throw new Error(`readers of exports ended with ${ended.exitCode}, expected none to end`);
  };
}
