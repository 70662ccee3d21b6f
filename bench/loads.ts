import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Image, Snapshot } from "../engine/index.ts";
import { generateKey } from "../server/keys.ts";
import { seededRandom } from "../test/support/random.ts";
import { allPriceTargets, drawZipf, hotTarget, searchTargets } from "./requests.ts";
import type { Kind } from "./servers.ts";

/** The loads: what is asked, how, and which servers are asked. */

/** A server's part in a load. */
export interface Entrant {
  name: string;
  kind: Kind;
  threads: number;
  list: ListName;
}

/** A bound on one entrant's CPU time per request, as a multiple of another's in the same round. */
export interface Target {
  entrant: string;
  against: string;
  atMost: number;
}

export interface Load {
  name: string;
  title: string;
  connections: number;
  /** Requests that each connection sends at once. */
  pipeline: number;
  loadProcesses: number;
  /** Whether servers have one core and the load another; if not, all have all. */
  isPinned: boolean;
  entrants: Entrant[];
  targets: Target[];
  /** Of the service, median of the rounds. */
  p99AtMostUs?: number;
}

export type ListName = keyof ReturnType<typeof writeLists>;

export interface List {
  file: string;
  lines: readonly string[];
  /** Whether all are refused. */
  refused: boolean;
}

export interface ListSizes {
  zipf: number;
  searchWarm: number;
  searchCold: number;
  keys: number;
}

/** Writes the lists into files. A line is a target and, after a tab, a header that goes with it. */
export function writeLists(
  folder: string,
  data: { image: Image; snapshot: Snapshot },
  hotEtag: string,
  sizes: ListSizes,
  seed: number,
) {
  const prices = allPriceTargets(data.image, seededRandom(seed));
  const random = seededRandom(seed + 1);
  // The service's cache is full of these at once; the others outnumber what it holds many times.
  const searches = searchTargets(data.snapshot, sizes.searchWarm + sizes.searchCold, random);
  const keys = Array.from({ length: sizes.keys }, () =>
    generateKey(Buffer.from(Array.from({ length: 32 }, () => random.int(256)))),
  );
  const list = (name: string, lines: readonly string[], refused = false): List => {
    const file = join(folder, `${name}.txt`);
    writeFileSync(file, `${lines.join("\n")}\n`);
    return { file, lines, refused };
  };
  return {
    hot: list("hot", [hotTarget]),
    zipf: list("zipf", drawZipf(prices, sizes.zipf, random)),
    uniform: list("uniform", prices),
    "search-warm": list("search-warm", searches.slice(0, sizes.searchWarm)),
    "search-cold": list("search-cold", searches.slice(sizes.searchWarm)),
    "not-modified": list("not-modified", [`${hotTarget}\tIf-None-Match: ${hotEtag}`]),
    // Well formed and unknown: what costs most to refuse.
    unauthorized: list(
      "unauthorized",
      keys.map((key) => `${hotTarget}\tAuthorization: Bearer ${key}`),
      true,
    ),
  };
}

/** One connection's request after the other, on a core beside the server's, unless something else is said. */
export const plain = { connections: 64, pipeline: 1, loadProcesses: 1, isPinned: true };

function load(
  name: string,
  title: string,
  entrants: Entrant[],
  targets: Target[] = [],
  changes: Partial<Load> = {},
): Load {
  return { ...plain, name, title, entrants, targets, ...changes };
}

function entrants(list: ListName, ...kinds: Kind[]): Entrant[] {
  return kinds.map((kind) => ({ name: kind, kind, threads: 1, list }));
}

const to = (against: string, atMost: number, entrant = "service"): Target => ({ entrant, against, atMost });
const constants: Kind[] = ["service", "ceiling", "nginx"];
const computing: Kind[] = ["service", "ceiling", "sqlite", "duckdb", "node-http"];
/** The service has to take a fifteenth of what these take. */
const databases = [to("sqlite", 1 / 15), to("duckdb", 1 / 15)];
const hot200: Entrant = { name: "service, 200", kind: "service", threads: 1, list: "hot" };

export const loads: readonly Load[] = [
  load("hot", "one query, 64 connections", entrants("hot", ...constants, "sqlite", "duckdb", "node-http"), [
    to("ceiling", 1.1),
    to("nginx", 1),
    ...databases,
  ]),
  load(
    "zipf",
    "Zipf mix over every procedure, state and limit, exponent 1.1",
    entrants("zipf", ...computing),
    [to("ceiling", 1.15), ...databases],
  ),
  load("uniform", "every procedure, state and limit, in random order", entrants("uniform", ...computing), [
    to("ceiling", 1.3),
    ...databases,
  ]),
  load("search-warm", "searches that were asked before", entrants("search-warm", "service", "ceiling"), [
    to("ceiling", 1.2),
  ]),
  load(
    "search-cold",
    "searches that were never asked before, one connection",
    entrants("search-cold", "service", "ceiling"),
    [],
    // One connection, so that the latency is that of a search and not of a queue.
    { connections: 1, p99AtMostUs: 300 },
  ),
  load("not-modified", "one query with If-None-Match: 304", [
    ...entrants("not-modified", "service", "ceiling"),
    hot200,
  ]),
  load(
    "unauthorized",
    "unknown keys: 401",
    [...entrants("unauthorized", "service", "ceiling"), hot200],
    [to("service, 200", 1)],
  ),
  load(
    "pipelined",
    "one query, 16 requests at once on each of 64 connections",
    entrants("hot", ...constants),
    [to("ceiling", 1.5)],
    { pipeline: 16 },
  ),
  load("connections-1", "one query, 1 connection", entrants("hot", ...constants), [], { connections: 1 }),
  load("connections-1000", "one query, 1,000 connections", entrants("hot", ...constants), [], {
    connections: 1000,
  }),
  load(
    "threads",
    "one query, more serving threads, and two loads on the same cores",
    [1, 2, 4].flatMap((threads) =>
      (["service", "ceiling"] as const).map((kind): Entrant => {
        const name = `${kind}, ${threads} ${threads === 1 ? "thread" : "threads"}`;
        return { name, kind, threads, list: "hot" };
      }),
    ),
    [2, 4].map((threads) => to("service, 1 thread", 1.1, `service, ${threads} threads`)),
    { loadProcesses: 2, isPinned: false },
  ),
];

/** The other entrant by which a ratio is made: the same server in another setting, or the ceiling. */
export function baselineOf(load: Load, { name, kind }: Entrant): string | undefined {
  const single = `${kind}, 1 thread`;
  if (load.entrants.some((entrant) => entrant.name === single)) return name === single ? undefined : single;
  return kind === "ceiling" ? undefined : "ceiling";
}
