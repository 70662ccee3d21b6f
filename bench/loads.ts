import type { ListName } from "./requests.ts";
import type { Kind } from "./servers.ts";

export interface Entrant {
  name: string;
  kind: Kind;
  threads: number;
  list: ListName;
  /** Whether the server sends whole files at the same time. */
  besideExports?: boolean;
}

export type Bounded = "cpuUs" | "cpuNsPerByte" | "p99Us";

export interface Load {
  name: string;
  title: string;
  connections: number;
  /** Requests sent together on a connection, without waiting for answers. */
  pipeline: number;
  loadProcesses: number;
  /** Whether to run servers on one core and the load generator on another. Otherwise all programs use all cores. */
  isPinned: boolean;
  entrants: Entrant[];
  /** Upper bounds of medians over rounds, by figure and entrant. `a / b` is the ratio of two entrants in a round. */
  targets: Partial<Record<Bounded, Record<string, number>>>;
}

export const plain = { connections: 64, pipeline: 1, loadProcesses: 1, isPinned: true };

function load(name: string, title: string, entrants: Entrant[], others: Partial<Load> = {}): Load {
  return { ...plain, name, title, entrants, targets: {}, ...others };
}

function entrants(list: ListName, kinds: readonly Kind[] = ["service", "ceiling"]): Entrant[] {
  return kinds.map((kind) => ({ name: kind, kind, threads: 1, list }));
}

const constants: Kind[] = ["service", "ceiling", "nginx"];
const computing: Kind[] = ["service", "ceiling", "sqlite"];
/** Target: at most a quarter of the CPU time of a database with stored summaries and a cache of answers. */
const fraction = { "service / sqlite": 1 / 4 };
const hot200: Entrant = { ...entrants("hot")[0], name: "service, 200" };

function service(list: ListName, name: string): Entrant {
  return { ...entrants(list)[0], name };
}

/** Sends the same wrong key again and again, as most clients with a wrong key do. */
const oneKey = service("one-unauthorized", "service, one key");

const files = [
  service("export-csv", "CSV"),
  service("export-arrow", "Arrow"),
  service("export-parquet", "Parquet"),
];

function exportsLoad(name: string, title: string, connections: number): Load {
  const beside = { ...service("hot", "service beside exports"), besideExports: true };
  // Downloads of whole files may raise the 99th percentile of other requests' latency by a factor of at most 1.5.
  const targets = { p99Us: { "service beside exports / service": 1.5 } };
  return load(name, title, [service("hot", "service"), beside], { targets, connections });
}

export const loads: readonly Load[] = [
  load("hot", "one query, 64 connections", entrants("hot", [...constants, "sqlite"]), {
    targets: { cpuUs: { "service / ceiling": 1.05, "service / nginx": 1, ...fraction } },
  }),
  load("zipf", "Zipf mix over every procedure, state and limit, exponent 1.1", entrants("zipf", computing), {
    targets: { cpuUs: { "service / ceiling": 1.15, ...fraction } },
  }),
  load("uniform", "every procedure, state and limit, in random order", entrants("uniform", computing), {
    targets: { cpuUs: { "service / ceiling": 1.2, ...fraction } },
  }),
  load("search-warm", "searches that were asked before", entrants("search-warm"), {
    targets: { cpuUs: { "service / ceiling": 1.2 } },
  }),
  load("search-cold", "searches that were never asked before, one connection", entrants("search-cold"), {
    // With one connection, latency doesn't include queueing.
    connections: 1,
    targets: { p99Us: { service: 300 } },
  }),
  load("unauthorized", "unknown keys: 401", [...entrants("unauthorized"), oneKey, hot200], {
    targets: { cpuUs: { "service / service, 200": 1, "service, one key / service, 200": 1 } },
  }),
  load("pipelined", "one query, 16 requests at once on each of 64 connections", entrants("hot", constants), {
    targets: { cpuUs: { "service / ceiling": 1.5 } },
    pipeline: 16,
  }),
  exportsLoad("exports", "one query, beside 8 slow and 8 fast exports as CSV", 64),
  exportsLoad("exports-1", "one query, 1 connection, beside 8 slow and 8 fast exports as CSV", 1),
  load("whole-files", "whole files, one after the other", files, {
    connections: 1,
    // 5 ns per byte equals 200 MB per second.
    targets: { cpuNsPerByte: { CSV: 5 } },
  }),
  load(
    "threads",
    "one query, 2 serving threads, with two load generators on the same cores",
    [1, 2].map((threads) => ({
      ...service("hot", `service, ${threads} thread${threads > 1 ? "s" : ""}`),
      threads,
    })),
    {
      targets: { cpuUs: { "service, 2 threads / service, 1 thread": 1.1 } },
      loadProcesses: 2,
      isPinned: false,
    },
  ),
];
