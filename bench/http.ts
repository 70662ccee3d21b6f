import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { defaultSampleRows, defaultSampleSeed } from "../datasets/synthetic.ts";
import { attachImage, buildImage, decodeSnapshot } from "../engine/index.ts";
import { chartOf } from "./chart.ts";
import { ask, checkComputed, checkConstant, sampleOf, typicalAnswer } from "./check.ts";
import { type Entrant, type Load, loads, writeLists } from "./loads.ts";
import { type Figures, measure } from "./measure.ts";
import { missingPrograms, runToEnd, twoCores } from "./options.ts";
import { type LoadResult, machine, type Results, summarize, tableOf, versions } from "./report.ts";
import { hotTarget } from "./requests.ts";
import { type Constant, type Ground, prepareGround, type Server, Servers } from "./servers.ts";

/*
 * What a request costs the service, beside its rivals: CPU time of the server's process per request, and latencies.
 * `npm run bench:http` measures every load in rounds; in a round one server after the other has a short turn, so that a
 * change of the machine's mood meets all of them, and ratios are made within a round. A run of all loads writes
 * bench/results; `--loads hot,zipf` only prints. `--rounds N`, `--seconds N` per measurement. `--smoke` checks every
 * server's answers and tries every load, all at once.
 */

const seed = defaultSampleSeed;
const full = {
  rows: defaultSampleRows,
  sample: 400,
  lists: { zipf: 200_000, searchWarm: 300, searchCold: 200_000, keys: 10_000 },
};
const small: typeof full = {
  rows: 5000,
  sample: 25,
  lists: { zipf: 2000, searchWarm: 50, searchCold: 2000, keys: 100 },
};
/** Before a server's first turn. */
const warmUpSeconds = 3;
const resultsFolder = join(import.meta.dirname, "results");

function readOptions() {
  const { values } = parseArgs({
    options: {
      smoke: { type: "boolean", default: false },
      loads: { type: "string" },
      rounds: { type: "string", default: "7" },
      seconds: { type: "string", default: "2" },
    },
  });
  const wholeNumber = (name: "rounds" | "seconds") => {
    const text = values[name];
    if (!/^[1-9][0-9]{0,3}$/.test(text)) throw new Error(`--${name} is ${text}, expected 1 to 9999`);
    return Number(text);
  };
  const names = values.loads?.split(",") ?? loads.map(({ name }) => name);
  const chosen = names.map((name) => {
    const load = loads.find((candidate) => candidate.name === name);
    if (load !== undefined) return load;
    throw new Error(`--loads has ${name}, expected some of ${loads.map(({ name }) => name).join(", ")}`);
  });
  const rounds = wholeNumber("rounds");
  const seconds = wholeNumber("seconds");
  return { smoke: values.smoke, isComplete: values.loads === undefined, loads: chosen, rounds, seconds };
}

const options = readOptions();
const size = options.smoke ? small : full;
const cores = twoCores();

/** An entrant that runs and was checked. */
interface Ready {
  entrant: Entrant;
  server: Server;
  bodyBytes: number;
  /** Where in its list it goes on. */
  position: number;
}

type Lists = ReturnType<typeof writeLists>;

/** Starts the servers of a load and checks what they answer. */
async function enter(
  servers: Servers,
  { key }: Ground,
  lists: Lists,
  hot: Constant,
  load: Load,
): Promise<Ready[]> {
  const core = load.isPinned ? cores?.server : undefined;
  const service = await servers.get("service", 1, core, hot);
  return Promise.all(
    load.entrants.map(async (entrant): Promise<Ready> => {
      const { lines } = lists[entrant.list];
      const sample = sampleOf(lines, size.sample);
      const { constant, meanBytes } = await typicalAnswer(service, key, sample);
      const server = await servers.get(entrant.kind, entrant.threads, core, constant);
      if (entrant.kind === "ceiling" || entrant.kind === "nginx") {
        await checkConstant(entrant.name, server, key, lines[0], constant);
        return { entrant, server, bodyBytes: constant.body.length, position: 0 };
      }
      if (constant.status === "200 OK") await checkComputed(entrant.name, server, service, key, sample);
      return { entrant, server, bodyBytes: meanBytes, position: 0 };
    }),
  );
}

async function measureOne(
  load: Load,
  lists: Lists,
  key: string,
  ready: Ready,
  seconds: number,
): Promise<Figures> {
  const list = lists[ready.entrant.list];
  const figures = await measure({
    port: ready.server.port,
    pids: ready.server.pids,
    authorization: `Bearer ${key}`,
    listFile: list.file,
    start: ready.position,
    connections: load.connections,
    pipeline: load.pipeline,
    loadProcesses: load.loadProcesses,
    core: load.isPinned ? cores?.load : undefined,
    seconds,
    refused: list.refused,
  });
  // Goes on where it stopped, so that nothing is asked again before its turn.
  ready.position = (ready.position + figures.requests) % list.lines.length;
  return figures;
}

async function runLoad(
  servers: Servers,
  ground: Ground,
  lists: Lists,
  hot: Constant,
  load: Load,
): Promise<LoadResult> {
  const entrants = await enter(servers, ground, lists, hot, load);
  const rounds = new Map<string, Figures[]>(entrants.map(({ entrant }) => [entrant.name, []]));
  const take = async (ready: Ready, warmUp: number, seconds: number) => {
    if (warmUp > 0) await measureOne(load, lists, ground.key, ready, warmUp);
    rounds.get(ready.entrant.name)?.push(await measureOne(load, lists, ground.key, ready, seconds));
  };
  if (options.smoke) await Promise.all(entrants.map((ready) => take(ready, 0, 1)));
  else
    for (let round = 0; round < options.rounds; round++)
      for (let turn = 0; turn < entrants.length; turn++) {
        // Another one begins in each round.
        const ready = entrants[(round + turn) % entrants.length];
        await take(ready, round === 0 ? warmUpSeconds : 0, options.seconds);
      }
  const bodyBytes = new Map(entrants.map(({ entrant, bodyBytes }) => [entrant.name, bodyBytes]));
  return summarize(load, rounds, bodyBytes);
}

async function main(): Promise<void> {
  const missing = missingPrograms(["wrk", "nginx", "taskset"]);
  if (missing !== undefined) throw new Error(missing);
  const ground = await prepareGround(size.rows, seed);
  process.once("exit", () => rmSync(ground.folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  const servers = new Servers(ground);

  const { snapshotFile, key } = ground;
  const snapshot = decodeSnapshot(readFileSync(snapshotFile), snapshotFile);
  const image = attachImage(buildImage(snapshot));
  const nothing = { status: "", headers: [], body: new Uint8Array() };
  const service = await servers.get("service", 1, cores?.server, nothing);
  const hot = await ask(service, key, hotTarget);
  const etag = hot.headers.find(([name]) => name === "ETag")?.[1] ?? "";
  const lists = writeLists(ground.folder, { image, snapshot }, etag, size.lists, seed);

  const results: Results = {
    date: new Date().toISOString(),
    seed,
    settings: {
      rounds: options.rounds,
      seconds: options.seconds,
      warmUpSeconds,
      rows: size.rows,
      priceTargets: lists.uniform.lines.length,
      serverCore: cores?.server ?? null,
      loadCore: cores?.load ?? null,
    },
    machine: machine(),
    versions: await versions(),
    loads: [],
  };
  if (options.smoke) {
    for (const load of options.loads) {
      await runLoad(servers, ground, lists, hot, load);
      console.log(`${load.name}: ${load.entrants.map(({ name }) => name).join("; ")}: answers checked`);
    }
    await servers.stopAll();
    return;
  }
  for (const load of options.loads) {
    const result = await runLoad(servers, ground, lists, hot, load);
    results.loads.push(result);
    console.log(tableOf(result));
    // Each load meets fresh servers, whatever was measured before.
    await servers.stopAll();
  }
  if (!options.isComplete) return;
  mkdirSync(resultsFolder, { recursive: true });
  writeFileSync(join(resultsFolder, "http.json"), `${JSON.stringify(results, null, 2)}\n`);
  const hotLoad = results.loads.find(({ name }) => name === "hot");
  if (hotLoad !== undefined) writeFileSync(join(resultsFolder, "http.svg"), chartOf(hotLoad, results));
}

await runToEnd(main);
