import { strict as assert } from "node:assert";
import { execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { publishSnapshot } from "../datasets/publish.ts";
import { defaultSampleSeed, syntheticContent } from "../datasets/synthetic.ts";
import {
  attachImage,
  encodePrices,
  encodeSnapshot,
  findGroup,
  type Image,
  sealSnapshot,
  textOf,
} from "../engine/index.ts";
import { openFile, readHead, stateOf } from "../server/files.ts";
import { Loads } from "../server/loads.ts";
import { maxBurst, maxQuota } from "../server/plans.ts";
import { spreadOf } from "./measure.ts";

/*
 * What grows with the data, and what doesn't: load time, memory and query time at 0.1, 1 and 10 million rows. Run
 * `node bench/scale.ts`; `--smoke` takes small sizes, to see that it works. Each figure is of a process of its own.
 */

const smoke = process.argv.includes("--smoke");
const sizes = smoke ? [2_000, 5_000, 10_000] : [100_000, 1_000_000, 10_000_000];
const seed = defaultSampleSeed;
const limit = 25;
const batch = 1000;
const memoryRuns = smoke ? 1 : 5;
const batches = smoke ? 3 : 500;
const warmingBatches = smoke ? 1 : 100;
const fewThreads = 1;
const manyThreads = 4;
const connections = 32;
const warmingRequests = 640;
const dataYear = 2024;

/** A price query: an APC code and a state, null for the nation. */
type Query = [code: string, state: string | null];

interface Loaded {
  loadMs: number;
  /** CPU time of all threads. */
  loadCpuMs: number;
  /** Resident memory beyond that before the load, at its peak. */
  peakMb: number;
  imageBytes: number;
}

interface Timed {
  /** By file: median CPU time of a query, from its arguments to the answer's bytes. */
  queryUs: number[];
  /** How many different groups were asked. */
  groups: number;
}

/** What a process of this file is to do, in place of everything. */
type Task =
  | { do: "write"; rows: number; folder: string }
  | { do: "load"; file: string }
  | { do: "time"; files: string[] };

function memoryMb(field: "VmRSS" | "VmHWM", pid: number | "self" = "self"): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  assert.ok(found, `process ${pid} runs`);
  return (Number(found[1]) * 1024) / 1e6;
}

function write(rows: number, folder: string): string {
  return publishSnapshot(folder, dataYear, [], (revision) =>
    encodeSnapshot(sealSnapshot(syntheticContent({ dataYear, revision, rows, seed }))),
  );
}

/** Loads a file as a server does. */
async function loadSnapshot(path: string): Promise<SharedArrayBuffer> {
  const state = await stateOf(path);
  const file = state && (await openFile(path, state.signature));
  assert.ok(state && file, path);
  const head = await readHead(file, path);
  await file.handle.close();
  const image = await new Loads().load({ ...state, name: path, path, head, onRows: () => {} });
  assert.ok(image, path);
  return image;
}

async function load(file: string): Promise<Loaded> {
  const beforeMb = memoryMb("VmRSS");
  const started = performance.now();
  const before = process.cpuUsage();
  const image = attachImage(await loadSnapshot(file));
  const loadMs = performance.now() - started;
  const { user, system } = process.cpuUsage(before);
  return {
    loadMs,
    loadCpuMs: (user + system) / 1000,
    peakMb: memoryMb("VmHWM") - beforeMb,
    imageBytes: image.buffer.byteLength,
  };
}

/** Groups that give a full answer, and so do at every larger size. */
function fullGroups(image: Image): Query[] {
  const states = [null, "CA", "TX", "NY", "FL", "PA", "OH", "IL", "MI", "NC", "GA"];
  return [...image.procedureOf.keys()].flatMap((code) =>
    states
      .filter((state) => {
        const group = findGroup(image, code, state);
        return group >= 0 && image.groupStart[group + 1] - image.groupStart[group] >= limit;
      })
      .map((state): Query => [code, state]),
  );
}

/**
 * CPU time of a query at every size, the median over batches. All sizes are asked the same, all answers have as many
 * rows, and the sizes take turns, so that what else the machine does meets them all.
 */
async function time(files: string[]): Promise<Timed> {
  const images: Image[] = [];
  for (const file of files) images.push(attachImage(await loadSnapshot(file)));
  const queries = fullGroups(images[0]);
  const ask = (image: Image, [code, state]: Query) =>
    encodePrices(image, findGroup(image, code, state), limit);
  for (const image of images)
    for (const query of queries) {
      const { procedure, data } = JSON.parse(textOf(ask(image, query)));
      assert.equal(procedure.code, query[0]);
      assert.equal(data.length, limit);
    }
  const times = images.map((): number[] => []);
  let next = seed;
  let sink = 0;
  for (let i = 0; i < warmingBatches + batches; i++)
    for (const [at, image] of images.entries()) {
      const before = process.cpuUsage();
      for (let j = 0; j < batch; j++) {
        next = (Math.imul(next, 1664525) + 1013904223) >>> 0;
        sink += ask(image, queries[Math.floor((next / 2 ** 32) * queries.length)]).length;
      }
      const { user, system } = process.cpuUsage(before);
      if (i >= warmingBatches) times[at].push((user + system) / batch);
    }
  assert.ok(sink > 0);
  return {
    queryUs: times.map((list) => spreadOf(list).median),
    groups: queries.length,
  };
}

/** Runs a task in a process of its own. */
async function inProcess<Result>(task: Task): Promise<Result> {
  const child = fork(import.meta.filename, [JSON.stringify(task), ...(smoke ? ["--smoke"] : [])]);
  const ended = once(child, "exit");
  let result: Result | undefined;
  child.on("message", (message: Result) => {
    result = message;
  });
  const [code] = await ended;
  assert.equal(code, 0, `${task.do} ended with ${code}`);
  assert.ok(result !== undefined, `${task.do} gave a result`);
  return result;
}

/** Resident memory of a server over a folder of snapshots, when every serving thread has answered. */
async function serverMb(datasetsDir: string, stateDir: string, threads: number, key: string) {
  const env = {
    PATH: process.env.PATH,
    DATASETS_DIR: datasetsDir,
    STATE_DIR: stateDir,
    THREADS: String(threads),
    PORT: "0",
    OPS_PORT: "0",
  };
  const main = resolve(import.meta.dirname, "../server/main.ts");
  const server = spawn(process.execPath, [main], { env, stdio: ["ignore", "pipe", "ignore"] });
  const kill = () => server.kill("SIGKILL");
  process.once("exit", kill);
  let output = "";
  for await (const text of server.stdout) {
    output += text;
    const api = /^ready (\S+) /m.exec(output)?.[1];
    if (api === undefined) continue;
    assert.ok(server.pid !== undefined);
    await warm(api, key);
    const mb = memoryMb("VmRSS", server.pid);
    const ended = once(server, "exit");
    server.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
    process.off("exit", kill);
    return mb;
  }
  throw new Error(`the server ended before it was ready: ${output}`);
}

/** What loading leaves behind in the process differs by tens of megabytes from run to run. */
async function medianMb(measure: () => Promise<number>): Promise<number> {
  const runs: number[] = [];
  while (runs.length < memoryRuns) runs.push(await measure());
  return spreadOf(runs).median;
}

async function warm(api: string, key: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const headers = { Authorization: `Bearer ${key}` };
  const paths = ["/healthcare/prices?procedure=5072", "/healthcare/prices?procedure=8011&state=CA&limit=50"];
  const ask = async (i: number) => {
    const request = get(`${api}/api/v1${paths[i % paths.length]}`, { agent, headers });
    const [response] = await once(request, "response");
    let body = "";
    for await (const text of response.setEncoding("utf8")) body += text;
    assert.equal(JSON.parse(body).source.data_version, `${dataYear}.1`);
  };
  await Promise.all(Array.from({ length: warmingRequests }, (_, i) => ask(i)));
  agent.destroy();
}

function createKey(stateDir: string): string {
  const command = [resolve(import.meta.dirname, "../server/keys-command.ts"), "create"];
  const account = ["--account", "benchmark", "--plan", "enterprise"];
  const ceilings = ["--burst", String(maxBurst), "--quota", String(maxQuota)];
  const env = { PATH: process.env.PATH, STATE_DIR: stateDir };
  return execFileSync(process.execPath, [...command, ...account, ...ceilings], { env })
    .toString()
    .trim();
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "scale-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const table: Record<string, number>[] = [];
  const files: string[] = [];
  for (const rows of sizes) {
    const datasetsDir = join(folder, String(rows));
    mkdirSync(datasetsDir);
    // A state each: in one of them a version's number means one content.
    const stateDir = join(folder, `state of ${rows}`);
    const key = createKey(stateDir);
    const file = await inProcess<string>({ do: "write", rows, folder: datasetsDir });
    files.push(file);
    const loaded = await inProcess<Loaded>({ do: "load", file });
    const few = await medianMb(() => serverMb(datasetsDir, stateDir, fewThreads, key));
    const many = await medianMb(() => serverMb(datasetsDir, stateDir, manyThreads, key));
    table.push({
      rows,
      "file MB": tenths(statSync(file).size / 1e6),
      "load ms": Math.round(loaded.loadMs),
      "load CPU ms": Math.round(loaded.loadCpuMs),
      "load peak MB": Math.round(loaded.peakMb),
      "image MB": tenths(loaded.imageBytes / 1e6),
      [`RSS MB, ${fewThreads} thread`]: Math.round(few),
      [`RSS MB, ${manyThreads} threads`]: Math.round(many),
      "MB a further thread": tenths((many - few) / (manyThreads - fewThreads)),
    });
  }
  const { queryUs, groups } = await inProcess<Timed>({ do: "time", files });
  console.table(table.map((row, i) => ({ ...row, "query CPU µs": Math.round(queryUs[i] * 1000) / 1000 })));
  console.log(`queries over ${groups} groups, ${limit} rows an answer, seed ${seed}`);
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

function perform(task: Task): string | Promise<Loaded | Timed> {
  if (task.do === "write") return write(task.rows, task.folder);
  return task.do === "load" ? load(task.file) : time(task.files);
}

if (process.send === undefined) await main();
else {
  process.send(await perform(JSON.parse(process.argv[2])));
  process.disconnect();
}
