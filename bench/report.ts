import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { baselineOf, type Load } from "./loads.ts";
import { type Figures, run, type Spread, spreadOf } from "./measure.ts";

/** What a run found, as it stands in the results file. */
export interface Results {
  date: string;
  seed: number;
  settings: Record<string, number | null>;
  machine: { cpu: string; cores: number; memoryBytes: number; kernel: string };
  versions: Record<string, string>;
  loads: LoadResult[];
}

export interface LoadResult {
  name: string;
  title: string;
  connections: number;
  pipeline: number;
  loadProcesses: number;
  entrants: EntrantResult[];
  targets: { what: string; atMost: number; found: Spread; met: boolean }[];
}

export interface EntrantResult {
  name: string;
  /** Mean length of the bodies. */
  bodyBytes: number;
  median: Omit<Figures, "requests" | "seconds">;
  cpuUs: Spread;
  /** CPU time per request as a multiple of another entrant's, within a round. */
  ratio: ({ against: string } & Spread) | null;
  rounds: Figures[];
}

/** @param rounds each entrant's figures, a round each, by its name */
export function summarize(
  load: Load,
  rounds: ReadonlyMap<string, Figures[]>,
  bodyBytes: ReadonlyMap<string, number>,
): LoadResult {
  const figuresOf = (name: string) => {
    const figures = rounds.get(name);
    if (figures === undefined) throw new Error(`the load ${load.name} has no entrant ${name}`);
    return figures;
  };
  const ratio = (name: string, against: string) => {
    const others = figuresOf(against);
    return spreadOf(figuresOf(name).map(({ cpuUs }, round) => cpuUs / others[round].cpuUs));
  };
  const entrants = load.entrants.map((entrant): EntrantResult => {
    const figures = figuresOf(entrant.name);
    const against = baselineOf(load, entrant);
    const median = (field: keyof Figures) => spreadOf(figures.map((round) => round[field])).median;
    return {
      name: entrant.name,
      bodyBytes: Math.round(bodyBytes.get(entrant.name) ?? 0),
      median: {
        cpuUs: median("cpuUs"),
        userUs: median("userUs"),
        systemUs: median("systemUs"),
        requestsPerSecond: median("requestsPerSecond"),
        p50Us: median("p50Us"),
        p99Us: median("p99Us"),
        p999Us: median("p999Us"),
      },
      cpuUs: spreadOf(figures.map(({ cpuUs }) => cpuUs)),
      ratio: against === undefined ? null : { against, ...ratio(entrant.name, against) },
      rounds: figures,
    };
  });
  const targets = load.targets.map(({ entrant, against, atMost }) => {
    const found = ratio(entrant, against);
    return { what: `CPU of ${entrant} / ${against}`, atMost, found, met: found.median <= atMost };
  });
  if (load.p99AtMostUs !== undefined) {
    const found = spreadOf(figuresOf("service").map(({ p99Us }) => p99Us));
    const atMost = load.p99AtMostUs;
    targets.push({ what: "p99 of service, µs", atMost, found, met: found.median <= atMost });
  }
  const { name, title, connections, pipeline, loadProcesses } = load;
  return { name, title, connections, pipeline, loadProcesses, entrants, targets };
}

const columns = [
  ["", 20],
  ["CPU µs", 9],
  ["spread", 15],
  ["user", 8],
  ["system", 8],
  ["ratio", 8],
  ["spread", 13],
  ["requests/s", 11],
  ["p50 µs", 9],
  ["p99 µs", 9],
  ["p99.9 µs", 10],
] as const;

/** A load's results as lines of text. */
export function tableOf({ name, title, entrants, targets }: LoadResult): string {
  const lines = entrants.map(({ name, median, cpuUs, ratio }) => [
    name,
    digits(median.cpuUs),
    `${digits(cpuUs.min)}–${digits(cpuUs.max)}`,
    digits(median.userUs),
    digits(median.systemUs),
    ratio === null ? "1" : digits(ratio.median),
    ratio === null ? "" : `${digits(ratio.min)}–${digits(ratio.max)}`,
    Math.round(median.requestsPerSecond).toLocaleString("en"),
    digits(median.p50Us),
    digits(median.p99Us),
    digits(median.p999Us),
  ]);
  const table = [columns.map(([title]) => title), ...lines].map((fields) =>
    fields
      .map((field, i) => (i === 0 ? field.padEnd(columns[i][1]) : field.padStart(columns[i][1])))
      .join(" "),
  );
  const verdicts = targets.map(
    ({ what, atMost, found, met }) =>
      `  ${what}: ${digits(found.median)} (${digits(found.min)}–${digits(found.max)}), ` +
      `target ≤ ${digits(atMost)}: ${met ? "met" : "missed"}`,
  );
  return [`${name}: ${title}`, ...table, ...verdicts, ""].join("\n");
}

/** Every target and what was found, as a table for the README. */
export function markdownOf({ loads }: Results): string {
  const rows = loads.flatMap(({ title, targets }) =>
    targets.map(({ what, atMost, found, met }) => {
      const spread = `${digits(found.median)} (${digits(found.min)}–${digits(found.max)})`;
      return `| ${title} | ${what} | ${spread} | ≤ ${digits(atMost)}${met ? "" : ", missed"} |`;
    }),
  );
  return ["| Load | What | Median (spread) | Target |", "|---|---|---|---|", ...rows].join("\n");
}

function digits(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}

const packages = ["uWebSockets.js", "fastify", "better-sqlite3", "@duckdb/node-api"];

export async function versions(): Promise<Record<string, string>> {
  const installed = packages.map((name) => {
    const file = join(resolve(import.meta.dirname, ".."), "node_modules", name, "package.json");
    const found: { name: string; version: string } = JSON.parse(readFileSync(file, "utf8"));
    // uWebSockets.js is installed under its own name from another package.
    return [found.name, found.version] as const;
  });
  const firstLine = (text: string) => text.split("\n", 1)[0];
  return {
    node: process.versions.node,
    ...Object.fromEntries(installed),
    nginx: firstLine(await run(["nginx", "-v"])).replace(/^.*nginx\//, ""),
    // wrk prints its version with its usage, and fails.
    wrk: firstLine(await run(["sh", "-c", "wrk --version || true"])).replace(/^wrk (\S+).*$/, "$1"),
  };
}

export function machine(): Results["machine"] {
  const processors = cpus();
  return {
    cpu: processors[0].model.trim(),
    cores: processors.length,
    memoryBytes: totalmem(),
    kernel: release(),
  };
}
