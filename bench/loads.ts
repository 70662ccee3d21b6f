import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Image, Snapshot } from "../engine/index.ts";
import { generateKey } from "../server/keys.ts";
import { allPriceTargets, drawZipf, hotTarget, randomBytes, randomFrom, searchTargets } from "./requests.ts";
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

const listNames = [
  "hot",
  "zipf",
  "uniform",
  "search-warm",
  "search-cold",
  "not-modified",
  "unauthorized",
] as const;
export type ListName = (typeof listNames)[number];

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
): Record<ListName, List> {
  const prices = allPriceTargets(data.image, randomFrom(seed));
  const random = randomFrom(seed + 1);
  // The service's cache is full of these at once; the others outnumber what it holds many times.
  const searches = searchTargets(data.snapshot, sizes.searchWarm + sizes.searchCold, random);
  const keys = Array.from({ length: sizes.keys }, () => generateKey(randomBytes(random)));
  const list = (name: ListName, lines: readonly string[], refused = false): List => {
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

const connections = 64;
const plain = { connections, pipeline: 1, loadProcesses: 1, isPinned: true };

function entrants(kinds: readonly Kind[], list: ListName): Entrant[] {
  return kinds.map((kind) => ({ name: kind, kind, threads: 1, list }));
}

const toCeiling = (atMost: number): Target => ({ entrant: "service", against: "ceiling", atMost });
const computing: Kind[] = ["service", "ceiling", "sqlite", "duckdb", "node-http"];
const constants: Kind[] = ["service", "ceiling", "nginx"];
/** The service has to take a fifteenth of what these take. */
const databases = ["sqlite", "duckdb"].map((against) => ({ entrant: "service", against, atMost: 1 / 15 }));
const hot200: Entrant = { name: "service, 200", kind: "service", threads: 1, list: "hot" };

export const loads: readonly Load[] = [
  {
    ...plain,
    name: "hot",
    title: "one query, 64 connections",
    entrants: entrants(["service", "ceiling", "nginx", "sqlite", "duckdb", "node-http"], "hot"),
    targets: [toCeiling(1.1), { entrant: "service", against: "nginx", atMost: 1 }, ...databases],
  },
  {
    ...plain,
    name: "zipf",
    title: "Zipf mix over every procedure, state and limit, exponent 1.1",
    entrants: entrants(computing, "zipf"),
    targets: [toCeiling(1.15), ...databases],
  },
  {
    ...plain,
    name: "uniform",
    title: "every procedure, state and limit, in random order",
    entrants: entrants(computing, "uniform"),
    targets: [toCeiling(1.3), ...databases],
  },
  {
    ...plain,
    name: "search-warm",
    title: "searches that were asked before",
    entrants: entrants(["service", "ceiling"], "search-warm"),
    targets: [toCeiling(1.2)],
  },
  {
    ...plain,
    // One connection, so that the latency is that of a search and not of a queue.
    connections: 1,
    name: "search-cold",
    title: "searches that were never asked before, one connection",
    entrants: entrants(["service", "ceiling"], "search-cold"),
    targets: [],
    p99AtMostUs: 300,
  },
  {
    ...plain,
    name: "not-modified",
    title: "one query with If-None-Match: 304",
    entrants: [...entrants(["service", "ceiling"], "not-modified"), hot200],
    targets: [],
  },
  {
    ...plain,
    name: "unauthorized",
    title: "unknown keys: 401",
    entrants: [...entrants(["service", "ceiling"], "unauthorized"), hot200],
    targets: [{ entrant: "service", against: "service, 200", atMost: 1 }],
  },
  {
    ...plain,
    pipeline: 16,
    name: "pipelined",
    title: "one query, 16 requests at once on each of 64 connections",
    entrants: entrants(constants, "hot"),
    targets: [toCeiling(1.5)],
  },
  {
    ...plain,
    connections: 1,
    name: "connections-1",
    title: "one query, 1 connection",
    entrants: entrants(constants, "hot"),
    targets: [],
  },
  {
    ...plain,
    connections: 1000,
    name: "connections-1000",
    title: "one query, 1,000 connections",
    entrants: entrants(constants, "hot"),
    targets: [],
  },
  {
    ...plain,
    loadProcesses: 2,
    isPinned: false,
    name: "threads",
    title: "one query, more serving threads, and two loads on the same cores",
    entrants: [1, 2, 4].flatMap((threads) =>
      (["service", "ceiling"] as const).map((kind): Entrant => {
        const name = `${kind}, ${threads} ${threads === 1 ? "thread" : "threads"}`;
        return { name, kind, threads, list: "hot" };
      }),
    ),
    targets: [2, 4].map((threads) => ({
      entrant: `service, ${threads} threads`,
      against: "service, 1 thread",
      atMost: 1.1,
    })),
  },
];

/** The other entrant by which a ratio is made: the same server in another setting, or the ceiling. */
export function baselineOf(load: Load, { name, kind }: Entrant): string | undefined {
  const single = `${kind}, 1 thread`;
  if (load.entrants.some((entrant) => entrant.name === single)) return name === single ? undefined : single;
  return kind === "ceiling" ? undefined : "ceiling";
}
