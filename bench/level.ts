import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { publishSnapshot } from "../datasets/revisions.ts";
import { defaultSampleSeed, syntheticSnapshot } from "../datasets/sample/synthetic.ts";
import { encodeSnapshot, stateCodes } from "../engine/index.ts";
import { basePath } from "../server/api/endpoint.ts";
import { temporaryFolder } from "../test/support/folders.ts";
import { checkConstant, typicalAnswer } from "./check.ts";
import { pinned, twoCores } from "./cores.ts";
import { readExport } from "./exports.ts";
import { spreadOf } from "./figures.ts";
import { plain } from "./loads.ts";
import { cpuUs, measure } from "./measure.ts";
import type { Mixture } from "./mixture.ts";
import { smoke } from "./options.ts";
import type { Pace, Paced } from "./paced-client.ts";
import type { Row } from "./report.ts";
import { byMarkup, type writeLists } from "./requests.ts";
import { prepareFolder, type Server, Servers } from "./servers.ts";

/*
 * Measures whether price queries are answered quickly whatever else runs. The queries come evenly spaced, at no more than
 * half of what a thread can handle, from a process that does nothing else. `mixture` compares their latencies with and
 * without other requests and a new snapshot at the same time. `first-second` compares the second after the ready line with
 * a later second. A server that sends a constant answer shows how much latency the client adds.
 */

const dataYear = 2024;
const connections = 16;
/** At this pace the client takes less than half of its core, so that the mixture can run on the same core. */
const maxPerSecond = 20_000;
const [turnSeconds, warmUpSeconds] = smoke ? [1, 1] : [6, 2];
const cores = twoCores();

type Lists = ReturnType<typeof writeLists>;
type Figure = Exclude<keyof Paced, "requests"> | "cpuUs";
type Turn = Paced & { cpuUs: number };

const labels: Record<Figure, string> = {
  p50Us: "p50",
  p99Us: "p99",
  p999Us: "p99.9",
  longestUs: "longest",
  cpuUs: "CPU",
};

class Client {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #target: string;
  perSecond = smoke ? 500 : maxPerSecond;

  constructor(target: string) {
    const command = [process.execPath, join(import.meta.dirname, "paced-client.ts")];
    const [file, ...args] = pinned(command, cores?.load);
    this.#child = spawn(file, args, { stdio: ["pipe", "pipe", "inherit"] });
    process.once("exit", () => this.#child.kill());
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
    this.#target = target;
  }

  async measure({ port, key, pids }: Server, seconds: number): Promise<Turn> {
    const { perSecond } = this;
    const pace: Pace = { port, key, target: this.#target, perSecond, seconds, connections };
    const total = () => cpuUs(pids).reduce((sum, us) => sum + us, 0);
    const before = total();
    this.#child.stdin!.write(`${JSON.stringify(pace)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the client ended, expected figures");
    const paced: Paced = JSON.parse(value);
    return { ...paced, cpuUs: (total() - before) / paced.requests };
  }

  /** Sets the pace, unless `smoke`, to half of what the server can handle, but at most `maxPerSecond`. */
  async setPace(server: Server, { hot }: Lists): Promise<void> {
    const load = { ...plain, connections, list: hot, start: 0, core: cores?.load };
    await measure(server, { ...load, seconds: warmUpSeconds });
    if (smoke) return;
    const { requestsPerSecond } = await measure(server, { ...load, seconds: 1 });
    this.perSecond = Math.min(maxPerSecond, Math.round(requestsPerSecond / 2));
  }

  end(): void {
    this.#child.kill();
  }
}

function writeSpare(folder: string, rows: number, count: number): string[] {
  const known = [{ version: `${dataYear}.1`, sha256: "" }];
  return Array.from({ length: count }, () =>
    publishSnapshot(join(folder, "spare"), dataYear, known, (revision) =>
      encodeSnapshot(syntheticSnapshot({ dataYear, revision, rows, seed: defaultSampleSeed })),
    ),
  );
}

/**
 * Returns lines alternately from `asked`, of which a few are repeated, and from `anew`, of which every second line
 * after the position `from` is taken.
 */
function alternate(asked: readonly string[], anew: readonly string[], count: number, from: number): string[] {
  return Array.from({ length: count }, (_, i) =>
    i % 2 === 0 ? asked[i % Math.min(asked.length, 10)] : anew[(from + i) % anew.length],
  );
}

async function besideMixture(mixture: Mixture, work: () => Promise<Turn>): Promise<Turn> {
  const command = [process.execPath, join(import.meta.dirname, "mixture.ts"), JSON.stringify(mixture)];
  const [file, ...args] = pinned(["nice", "-n", "19", ...command], cores?.load);
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  // The start of the mixture's process isn't measured.
  await Promise.race([once(child.stdout, "data"), ended]);
  const stop = await readExport(mixture, cores?.load);
  const turn = await work();
  stop();
  const [code] = await ended;
  if (code !== 0) throw new Error(`the mixture ended with ${code}, expected 0`);
  return turn;
}

export async function runMixture(lists: Lists, rows: number, rounds: number): Promise<Row[]> {
  const prepared = await prepareFolder(temporaryFolder(), rows);
  const spare = writeSpare(prepared.folder, rows, rounds);
  const servers = new Servers(prepared);
  const [target] = lists.hot.lines;
  const client = new Client(target);
  const service = await servers.get("service", 1, cores?.server);
  const { constant } = await typicalAnswer(service, [target]);
  const stub = await servers.get("ceiling", 1, cores?.server, constant);
  await checkConstant(stub, target, constant);
  await client.setPace(service, lists);
  await client.measure(stub, warmUpSeconds);
  const procedures = [...new Set(lists.uniform.lines.map((line) => /procedure=(\w+)/.exec(line)?.[1] ?? ""))];
  const pages = procedures.flatMap((code) => stateCodes.map((state) => `/?procedure=${code}&state=${state}`));
  const turns: Record<string, Turn[]> = { stub: [], quiet: [], mixture: [] };
  for (const [round, from] of spare.entries()) {
    const to = join(prepared.folder, "snapshots", from.slice(from.lastIndexOf("/")));
    const count = Math.ceil(turnSeconds * 20);
    const mixture: Mixture = {
      ...{ port: service.port, key: service.key, seconds: turnSeconds },
      pages: alternate(pages, pages.slice(10), count, round * count),
      searches: alternate(lists["search-warm"].lines, lists["search-cold"].lines, count, round * count),
      list: `${basePath}${byMarkup}&limit=50`,
      versions: `${basePath}/versions`,
      snapshot: { from, to, version: `${dataYear}.${round + 2}` },
    };
    turns.stub.push(await client.measure(stub, turnSeconds / 2));
    turns.quiet.push(await client.measure(service, turnSeconds));
    turns.mixture.push(await besideMixture(mixture, () => client.measure(service, turnSeconds)));
  }
  client.end();
  await servers.stopAll();
  const title = "one query at an even pace, beside a mixture of others";
  return rowsOf(title, client, turns, { "mixture / quiet": { p99Us: 2, p999Us: 3 } });
}

export async function runFirstSecond(lists: Lists, rows: number, rounds: number): Promise<Row[]> {
  const prepared = await prepareFolder(temporaryFolder(), rows);
  const servers = new Servers(prepared);
  const [target] = lists.hot.lines;
  const client = new Client(target);
  const before = await servers.get("service", 1, cores?.server);
  await client.setPace(before, lists);
  // The client must be warmed up, but the measured servers must not be.
  await client.measure(before, warmUpSeconds);
  await servers.stopAll();
  const turns: Record<string, Turn[]> = { "first second": [], "later second": [] };
  for (let round = 0; round < rounds; round++) {
    const service = await servers.get("service", 1, cores?.server);
    turns["first second"].push(await client.measure(service, 1));
    await client.measure(service, warmUpSeconds);
    await delay(smoke ? 0 : 1000);
    turns["later second"].push(await client.measure(service, 1));
    await servers.stopAll();
  }
  client.end();
  const title = "one query at an even pace, from the ready line on";
  return rowsOf(title, client, turns, { "first second / later second": { p99Us: 1.5 } });
}

/** @param targets maximum ratios of figures, by two kinds of turns such as `mixture / quiet` */
function rowsOf(
  load: string,
  { perSecond }: Client,
  turns: Record<string, Turn[]>,
  targets: Record<string, Partial<Record<Figure, number>>>,
): Row[] {
  const figures = Object.keys(labels) as Figure[];
  const rows = Object.entries(turns).flatMap(([name, list]) =>
    figures.map((figure) => ({
      load,
      what: `${labels[figure]} of ${name}, µs`,
      ...spreadOf(list.map((turn) => turn[figure])),
      atMost: null,
    })),
  );
  const ratios = Object.entries(targets).flatMap(([pair, bounds]) => {
    const [a, b] = pair.split(" / ").map((name) => turns[name]);
    return figures.map((figure) => ({
      load,
      what: `${labels[figure]} of ${pair}`,
      ...spreadOf(a.map((turn, round) => turn[figure] / b[round][figure])),
      atMost: bounds[figure] ?? null,
    }));
  });
  const pace = { load, what: "requests a second", ...spreadOf([perSecond]), atMost: null };
  return [pace, ...rows, ...ratios];
}
