import { strict as assert } from "node:assert";
import { statSync } from "node:fs";
import { basename } from "node:path";
import { sum } from "d3-array";
import { defaultSampleSeed as seed } from "../datasets/sample/synthetic.ts";
import { attachImage, csvPieces, findGroup, groupSize, type Image, textOf } from "../engine/index.ts";
import { Loader } from "../server/snapshots/loader.ts";
import { temporaryFolder } from "../test/support/folders.ts";
import { memoryBytes } from "../test/support/memory.ts";
import { seededRandom } from "../test/support/random.ts";
import { ask, json } from "./check.ts";
import { rounded, spreadOf } from "./figures.ts";
import { run } from "./measure.ts";
import { smoke } from "./options.ts";
import { runToEnd } from "./program.ts";
import { allPriceQueries, answerOf, byMarkup, inDepth, madeAnew, nearer, nearest } from "./requests.ts";
import { pricesPath, type Query } from "./rivals/rival.ts";
import { prepareFolder, Servers } from "./servers.ts";

/*
 * Measures how load time, memory and the time of answers depend on the number of rows: 0.1, 1, 5 and 10 million. Run it
 * with `node bench/scale.ts`. `--smoke` uses small sizes as a check. Each load is measured in its own process, and all
 * answers are measured in another process.
 */

const sizes = smoke ? [2_000, 5_000, 10_000] : [100_000, 1_000_000, 5_000_000, 10_000_000];
const limit = 25;
const batch = 1000;
const memoryRuns = smoke ? 1 : 5;
/** Batches of price queries per size: so many that the first, before the code is compiled, don't affect the median. */
const batches = smoke ? 3 : 600;
const [fewThreads, manyThreads] = [1, 4];
const [connections, requestsPerConnection] = [32, 20];
const dataYear = 2024;
const answers: Record<string, string> = {
  "list by markup": byMarkup,
  "list within 500 miles": nearest,
  "list within 50 miles": nearer,
  "one procedure's details": inDepth,
  "procedures by spread": "/healthcare/procedures?sort=spread",
  trends: "/healthcare/trends?procedure=8011",
  search: "/search?q=general+hospital",
  "search with a typo": "/search?q=regionl+medical+center",
};

function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function loadImage(path: string): Promise<Image> {
  const loader = new Loader();
  const loaded = await loader.load({ name: basename(path), path, onRows: () => {}, isBackground: false });
  await loader.end();
  return attachImage(loaded.image);
}

async function load(file: string) {
  const bytesBefore = memoryBytes("VmRSS");
  const cpuBefore = cpuUs();
  const started = performance.now();
  const image = await loadImage(file);
  return {
    "file MB": statSync(file).size / 1e6,
    "load ms": performance.now() - started,
    "load CPU ms": (cpuUs() - cpuBefore) / 1000,
    // The memory before the load doesn't count.
    "load peak MB": (memoryBytes("VmHWM") - bytesBefore) / 1e6,
    "image MB": image.buffer.byteLength / 1e6,
  };
}

/**
 * Measures the CPU time of answers for all sizes. Each price query is answered with a full page at every size. For
 * price queries the sizes take turns, so that other work on the machine affects all sizes.
 */
async function time(files: string[]) {
  const images: Image[] = [];
  for (const file of files) images.push(await loadImage(file));
  const random = seededRandom(seed);
  // A full page at the smallest size is a full page at every size.
  const isFull = ({ procedure, state }: Query) =>
    groupSize(images[0], findGroup(images[0], procedure, state)) >= limit;
  const queries = allPriceQueries(images[0], random).filter(
    (query) => query.limit === limit && isFull(query),
  );
  for (const image of images)
    for (const query of queries) {
      const { procedure, data } = JSON.parse(textOf(answerOf(image, query)));
      assert.equal(procedure.code, query.procedure);
      assert.equal(data.length, limit);
    }
  const times = images.map((): number[] => []);
  let sink = 0;
  for (let i = 0; i < batches; i++)
    for (const [at, image] of images.entries()) {
      const before = cpuUs();
      for (let j = 0; j < batch; j++) sink += answerOf(image, random.pick(queries)).length;
      times[at].push((cpuUs() - before) / batch);
    }
  assert.ok(sink > 0);
  const prices = times.map((list) => spreadOf(list).median);
  const costs: Record<string, number[]> = { "price query": prices };
  for (const [name, target] of Object.entries(answers))
    costs[name] = images.map((image) => medianCpuUs(() => madeAnew(image, target).length));
  costs["CSV export, CPU ns a byte"] = images.map(exportNsPerByte);
  return { costs, groups: queries.length };
}

function exportNsPerByte(image: Image): number {
  const before = cpuUs();
  const bytes = sum(csvPieces(image, { procedure: null, state: null }), ({ length }) => length);
  return ((cpuUs() - before) * 1000) / bytes;
}

function medianCpuUs(answer: () => number): number {
  const perBatch = 10;
  const times = Array.from({ length: smoke ? 3 : 60 }, () => {
    const before = cpuUs();
    for (let i = 0; i < perBatch; i++) answer();
    return (cpuUs() - before) / perBatch;
  });
  return spreadOf(times).median;
}

async function inProcess<Given extends unknown[], Out>(
  work: (...given: Given) => Promise<Out>,
  ...given: Given
): Promise<Out> {
  const command = [process.execPath, import.meta.filename, work.name, JSON.stringify(given)];
  return JSON.parse(await run([...command, ...(smoke ? ["--smoke"] : [])], 0));
}

/**
 * Measures the service's resident memory in megabytes after all serving threads have answered. The result is the
 * median of some runs, because the memory that loading leaves behind varies.
 */
async function serverMb(servers: Servers, threads: number): Promise<number> {
  const runs: number[] = [];
  while (runs.length < memoryRuns) {
    const server = await servers.get("service", threads);
    const askInTurn = async () => {
      for (let i = 0; i < requestsPerConnection; i++) {
        const query = i % 2 === 0 ? "procedure=5072" : "procedure=8011&state=CA&limit=50";
        assert.equal(json(await ask(server, `${pricesPath}?${query}`)).source.data_version, `${dataYear}.1`);
      }
    };
    await Promise.all(Array.from({ length: connections }, askInTurn));
    runs.push(memoryBytes("VmRSS", server.pids[0]) / 1e6);
    await servers.stopAll();
  }
  return spreadOf(runs).median;
}

async function main(): Promise<void> {
  const table: Record<string, number>[] = [];
  const files: string[] = [];
  for (const rows of sizes) {
    const prepared = await inProcess(prepareFolder, temporaryFolder(), rows, [dataYear]);
    files.push(prepared.snapshotFile);
    const loaded = await inProcess(load, prepared.snapshotFile);
    const servers = new Servers(prepared);
    const few = await serverMb(servers, fewThreads);
    const many = await serverMb(servers, manyThreads);
    table.push({
      rows,
      ...loaded,
      [`RSS MB, ${fewThreads} thread`]: few,
      [`RSS MB, ${manyThreads} threads`]: many,
      "MB a further thread": (many - few) / (manyThreads - fewThreads),
    });
  }
  const { costs, groups } = await inProcess(time, files);
  console.table(table.map(rounded));
  const bySize = (each: number[]) =>
    rounded(Object.fromEntries(each.map((cost, i) => [`${sizes[i]} rows`, cost])));
  console.table(Object.fromEntries(Object.entries(costs).map(([name, each]) => [name, bySize(each)])));
  console.log(
    `CPU µs of an answer, made anew; price queries over ${groups} groups, ${limit} rows an answer, seed ${seed}`,
  );
}

const works: Record<string, (...given: never[]) => Promise<unknown>> = { prepareFolder, load, time };
const [name, given] = process.argv.slice(2);
if (name in works) console.log(JSON.stringify(await works[name](...(JSON.parse(given) as never[]))));
else await runToEnd(main);
