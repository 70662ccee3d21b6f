import { setTimeout as delay } from "node:timers/promises";
import { mean } from "d3-array";
import { defaultSampleRows, defaultSampleSeed } from "../datasets/sample/synthetic.ts";
import { temporaryFolder } from "../test/support/folders.ts";
import { memoryBytes } from "../test/support/memory.ts";
import { spreadOf } from "./figures.ts";
import { plain } from "./loads.ts";
import { measure } from "./measure.ts";
import { smoke } from "./options.ts";
import { checkPrograms, runToEnd } from "./program.ts";
import { writeLists } from "./requests.ts";
import { loadSnapshot } from "./rivals/rival.ts";
import { prepareFolder, Servers } from "./servers.ts";

/*
 * Measures the service's memory with two full-size snapshots and two threads, while the service answers all price
 * queries. `node bench/memory.ts` measures for ten minutes. `--smoke` measures for five seconds, which is too short to
 * detect growth.
 */

const seconds = smoke ? 5 : 600;
const everyMs = smoke ? 1000 : 10_000;
const threads = 2;
const maxBytes = 300e6;
/** Maximum ratio of the mean memory in the last third of the run to the mean in the second third. */
const maxGrowth = 1.02;

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);

async function main(): Promise<void> {
  checkPrograms("wrk");
  const prepared = await prepareFolder(temporaryFolder(), defaultSampleRows);
  const none = { zipf: 0, warm: 0, cold: 0, keys: 0 };
  const { uniform } = writeLists(prepared.folder, await loadSnapshot(prepared.snapshotFile), none);
  const servers = new Servers(prepared);
  const server = await servers.get("service", threads);
  const series: number[] = [];
  const sample = () => {
    const bytes = memoryBytes("VmRSS", server.pids[0]);
    console.log(`${String((series.length * everyMs) / 1000).padStart(4)} s ${megabytes(bytes)} MB`);
    series.push(bytes);
  };
  sample();
  const load = measure(server, { ...plain, list: uniform, start: 0, seconds, core: undefined });
  for (let waited = 0; waited < seconds * 1000; waited += everyMs) {
    await Promise.race([delay(everyMs), load.then(() => delay(everyMs))]);
    sample();
  }
  const { requests } = await load;
  await servers.stopAll();

  const { min, max } = spreadOf(series);
  const third = Math.floor(series.length / 3);
  const growth = mean(series.slice(-third))! / mean(series.slice(third, 2 * third))!;
  console.log(`${requests.toLocaleString("en")} requests, ${threads} threads, seed ${defaultSampleSeed}`);
  console.log(
    `resident memory: ${megabytes(min)} to ${megabytes(max)} MB (target ≤ ${megabytes(maxBytes)} MB)`,
  );
  console.log(`last third / second third ${growth.toFixed(3)} (target ≤ ${maxGrowth})`);
  if (!smoke && (max > maxBytes || growth > maxGrowth)) throw new Error("the target is missed");
}

await runToEnd(main);
