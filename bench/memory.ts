import { readFileSync, rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defaultSampleRows, defaultSampleSeed } from "../datasets/synthetic.ts";
import { attachImage, buildImage, decodeSnapshot } from "../engine/index.ts";
import { writeLists } from "./loads.ts";
import { measure, residentBytes, spreadOf } from "./measure.ts";
import { missingPrograms, runToEnd } from "./options.ts";
import { prepareGround, Servers } from "./servers.ts";

/*
 * How much memory the service holds with two full-size snapshots and two threads, while it answers every price query
 * in random order: `node bench/memory.ts`. It takes ten minutes; `--smoke` five seconds, which says nothing of growth.
 */

const smoke = process.argv.includes("--smoke");
const seconds = smoke ? 5 : 600;
const everyMs = smoke ? 1000 : 10_000;
const seed = defaultSampleSeed;
const threads = 2;
const maxBytes = 300e6;
/** How much larger the mean of the last third may be than that of the second one, to be called flat. */
const maxGrowth = 1.02;

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

async function main(): Promise<void> {
  const missing = missingPrograms(["wrk"]);
  if (missing !== undefined) throw new Error(missing);
  const ground = await prepareGround(defaultSampleRows, seed);
  process.once("exit", () => rmSync(ground.folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  const { snapshotFile } = ground;
  const snapshot = decodeSnapshot(readFileSync(snapshotFile), snapshotFile);
  const image = attachImage(buildImage(snapshot));
  const sizes = { zipf: 0, searchWarm: 0, searchCold: 0, keys: 0 };
  const { uniform } = writeLists(ground.folder, { image, snapshot }, "", sizes, seed);

  const servers = new Servers(ground);
  const nothing = { status: "", headers: [], body: new Uint8Array() };
  const { port, pids } = await servers.get("service", threads, undefined, nothing);
  const series: number[] = [];
  const sample = () => {
    series.push(residentBytes(pids[0]));
    console.log(
      `${(((series.length - 1) * everyMs) / 1000).toString().padStart(4)} s ${megabytes(series[series.length - 1])} MB`,
    );
  };
  sample();
  const load = measure({
    port,
    pids,
    authorization: `Bearer ${ground.key}`,
    listFile: uniform.file,
    start: 0,
    connections: 64,
    pipeline: 1,
    loadProcesses: 1,
    core: undefined,
    seconds,
    refused: false,
  });
  for (let waited = 0; waited < seconds * 1000; waited += everyMs) {
    await Promise.race([delay(everyMs), load.then(() => delay(everyMs))]);
    sample();
  }
  const { requests } = await load;
  await servers.stopAll();

  const { min, max } = spreadOf(series);
  const third = Math.floor(series.length / 3);
  const growth = mean(series.slice(-third)) / mean(series.slice(third, 2 * third));
  console.log(
    `${requests.toLocaleString("en")} requests in ${seconds} s, ${threads} threads, seed ${seed}\n` +
      `resident memory: first ${megabytes(series[0])} MB, last ${megabytes(series[series.length - 1])} MB, ` +
      `min ${megabytes(min)} MB, max ${megabytes(max)} MB (target ≤ ${megabytes(maxBytes)} MB), ` +
      `last third / second third ${growth.toFixed(3)} (target ≤ ${maxGrowth})`,
  );
  if (!smoke && (max > maxBytes || growth > maxGrowth)) throw new Error("the target is missed");
}

await runToEnd(main);
