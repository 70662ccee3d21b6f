import { spawn } from "node:child_process";
import { once } from "node:events";
import { pinned } from "./options.ts";
import { exportPath } from "./requests.ts";
import type { Server } from "./servers.ts";

/** Has whole files sent beside a load: as fast as their readers can, and to slow ones. */

const readers = 8;
/** In megabytes a second; a file of full size is 30. */
const slowRate = 1;
const fileMegabytes = 30;

/**
 * @param seconds how long they are sure to go on
 * @param core that the readers run on; undefined for any
 * @returns what ends them
 * @throws Error, when they are ended, if they had ended by themselves
 */
export async function sendExports({ port, key }: Server, seconds: number, core?: number) {
  const url = `http://127.0.0.1:${port}${exportPath}.csv`;
  const header = `Authorization: Bearer ${key}`;
  const slowFiles = readers * Math.ceil(1 + (seconds * slowRate) / fileMegabytes);
  const fast = `wrk --threads=1 --connections=${readers} --duration=${seconds + 60}s`;
  const slow = `curl --silent --parallel --parallel-max ${readers} --limit-rate ${slowRate}M`;
  const commands = [
    [...fast.split(" "), "--header", header, url],
    [...slow.split(" "), "--header", header, ...Array<string>(slowFiles).fill(url)],
  ];
  // What is measured is what they take of the server: of the load's core they get what the load leaves.
  const children = commands.map((command) =>
    spawn("chrt", ["--idle", "0", ...pinned(command, core)], { stdio: "ignore" }),
  );
  await Promise.all(children.map((child) => once(child, "spawn")));
  return () => {
    for (const { exitCode } of children)
      if (exitCode !== null)
        throw new Error(`readers of exports ended with ${exitCode}, expected none to end`);
    for (const child of children) child.kill();
  };
}
