import { parseArgs } from "node:util";
import { defaultSampleRows } from "../datasets/sample/synthetic.ts";
import { temporaryFolder } from "../test/support/folders.ts";
import { checkComputed, checkConstant, sampleOf, typicalAnswer } from "./check.ts";
import { twoCores } from "./cores.ts";
import { sendExports } from "./exports.ts";
import { runFirstSecond, runMixture } from "./level.ts";
import { type Load, loads } from "./loads.ts";
import { measure } from "./measure.ts";
import { smoke } from "./options.ts";
import { checkPrograms, runToEnd } from "./program.ts";
import { type Measured, markdownOf, type Row, rowsOf, surroundings } from "./report.ts";
import { writeLists } from "./requests.ts";
import { loadSnapshot } from "./rivals/rival.ts";
import { prepareFolder, type Server, Servers, sendsConstant } from "./servers.ts";

/*
 * Compares the CPU time per request and the latencies of the service and other servers. `npm run bench:http` measures
 * every load in rounds. In a round each server gets a short turn, so that changes in the machine's speed affect all
 * servers. Ratios are computed within a round. The output is one table, for README.md. `--loads hot,zipf` runs only some
 * loads. `--rounds N` is the number of rounds, and `--seconds N` the duration of a measurement. `--smoke` checks all
 * servers and loads quickly.
 */

const size = smoke
  ? { rows: 5000, sample: 25, zipf: 2000, warm: 50, cold: 2000, keys: 100 }
  : { rows: defaultSampleRows, sample: 400, zipf: 200_000, warm: 300, cold: 200_000, keys: 10_000 };
/**
 * Number of new searches if the load `search-cold` isn't chosen. The load `mixture` still needs some: it sends 20
 * searches per second.
 */
const fewCold = 2000;
const warmUpSeconds = 2;
/** Loads with requests at an even pace, measured by `level.ts`. */
const levelLoads = { mixture: runMixture, "first-second": runFirstSecond };
const cores = twoCores();

function readOptions() {
  const known = [...loads.map(({ name }) => name), ...Object.keys(levelLoads)];
  const { values } = parseArgs({
    options: {
      smoke: { type: "boolean" },
      loads: { type: "string", default: known.join() },
      rounds: { type: "string", default: "4" },
      seconds: { type: "string", default: "1" },
    },
  });
  const wholeNumber = (name: "rounds" | "seconds") => {
    const text = values[name];
    if (!/^[1-9][0-9]{0,3}$/.test(text)) throw new Error(`--${name} is ${text}, expected 1 to 9999`);
    return Number(text);
  };
  const names = values.loads.split(",");
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`--loads has ${unknown}, expected some of ${known.join(", ")}`);
  const chosen = loads.filter(({ name }) => names.includes(name));
  const level = Object.entries(levelLoads).filter(([name]) => names.includes(name));
  return { chosen, level, rounds: wholeNumber("rounds"), seconds: wholeNumber("seconds") };
}

interface Ready extends Measured {
  server: Server;
  position: number;
}

type Lists = ReturnType<typeof writeLists>;
type Turns = Pick<ReturnType<typeof readOptions>, "rounds" | "seconds">;

async function enter(servers: Servers, lists: Lists, load: Load): Promise<Ready[]> {
  const core = load.isPinned ? cores?.server : undefined;
  const service = await servers.get("service", 1, core);
  return Promise.all(
    load.entrants.map(async (entrant): Promise<Ready> => {
      const { lines } = lists[entrant.list];
      const sample = sampleOf(lines, size.sample);
      const { constant, meanBytes } = await typicalAnswer(service, sample);
      const server = await servers.get(entrant.kind, entrant.threads, core, constant);
      const isConstant = sendsConstant(entrant.kind);
      if (isConstant) await checkConstant(server, lines[0], constant);
      else if (server !== service && constant.status === "200 OK")
        await checkComputed(server, service, sample);
      const bodyBytes = isConstant ? constant.body.length : meanBytes;
      return { entrant, server, bodyBytes, rounds: [], position: 0 };
    }),
  );
}

async function runLoad(servers: Servers, lists: Lists, load: Load, { rounds, seconds }: Turns) {
  const entrants = await enter(servers, lists, load);
  const core = load.isPinned ? cores?.load : undefined;
  const take = async (ready: Ready, seconds: number) => {
    const list = lists[ready.entrant.list];
    const stop = ready.entrant.besideExports ? await sendExports(ready.server, seconds, core) : () => {};
    const options = { ...load, list, start: ready.position, seconds, core };
    const figures = await measure(ready.server, options);
    stop();
    // The next turn continues where this turn ends in the list, so that requests aren't repeated too early.
    ready.position = (ready.position + figures.requests) % list.lines.length;
    return figures;
  };
  if (smoke) await Promise.all(entrants.map(async (ready) => ready.rounds.push(await take(ready, 1))));
  else
    for (let round = 0; round < rounds; round++)
      for (let turn = 0; turn < entrants.length; turn++) {
        // Each round starts with the server that was second in the previous round.
        const ready = entrants[(round + turn) % entrants.length];
        if (round === 0) await take(ready, warmUpSeconds);
        ready.rounds.push(await take(ready, seconds));
      }
  return rowsOf(load, entrants);
}

async function main(): Promise<void> {
  const { chosen, level, rounds, seconds } = readOptions();
  checkPrograms("wrk", "nginx", "taskset", "chrt", "curl");
  const prepared = await prepareFolder(temporaryFolder(), size.rows);
  const servers = new Servers(prepared);
  // Each text is searched for once, because texts without matches are dropped. For all texts this takes a minute.
  const isCold = chosen.some(({ entrants }) => entrants.some(({ list }) => list === "search-cold"));
  const sizes = { ...size, cold: isCold ? size.cold : fewCold };
  const lists = writeLists(prepared.folder, await loadSnapshot(prepared.snapshotFile), sizes);
  const rows: Row[] = [];
  for (const load of chosen) {
    const names = load.entrants.map(({ name }) => name).join("; ");
    console.error(`${load.name}: ${names}`);
    rows.push(...(await runLoad(servers, lists, load, { rounds, seconds })));
    if (!smoke) await servers.stopAll();
  }
  await servers.stopAll();
  for (const [name, run] of level) {
    console.error(name);
    rows.push(...(await run(lists, size.rows, smoke ? 1 : rounds)));
  }
  if (smoke) return;
  console.log(`${surroundings()}; rounds: ${rounds}, of ${seconds} s\n\n${markdownOf(rows)}`);
}

await runToEnd(main);
