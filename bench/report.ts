import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { digits, rounded, type Spread, spreadOf } from "./figures.ts";
import type { Entrant, Load } from "./loads.ts";
import type { Figures } from "./measure.ts";

/** What a run found, as it stands in the results file. */
export interface Results extends ReturnType<typeof surroundings> {
  date: string;
  seed: number;
  settings: Record<string, number | null>;
  loads: LoadResult[];
}

export type LoadResult = ReturnType<typeof summarize>;

/** What was measured of an entrant. */
export interface Measured {
  entrant: Entrant;
  /** Mean length of the bodies. */
  bodyBytes: number;
  rounds: Figures[];
}

/** The median of the rounds is found field by field. */
const fields = ["cpuUs", "userUs", "systemUs", "requestsPerSecond", "p50Us", "p99Us", "p999Us"] as const;

export function summarize(load: Load, measured: readonly Measured[]) {
  const entrantOf = (name: string) => {
    const found = measured.find(({ entrant }) => entrant.name === name);
    if (found === undefined) throw new Error(`the load ${load.name} has no entrant ${name}`);
    return found;
  };
  const roundsOf = (name: string) => entrantOf(name).rounds;
  /** CPU time per request, or another figure, as a multiple of another entrant's, within a round. */
  const ratio = (name: string, against: string, field: (typeof fields)[number] = "cpuUs") => {
    const others = roundsOf(against);
    return spreadOf(roundsOf(name).map((figures, round) => figures[field] / others[round][field]));
  };
  const entrants = measured.map(({ entrant: { name, against }, bodyBytes, rounds }) => {
    const medians = fields.map((field) => [field, spreadOf(rounds.map((round) => round[field])).median]);
    return {
      name,
      bodyBytes: Math.round(bodyBytes),
      median: Object.fromEntries(medians) as Record<(typeof fields)[number], number>,
      cpuUs: spreadOf(rounds.map(({ cpuUs }) => cpuUs)),
      ratio: against && { against, ...ratio(name, against) },
      rounds,
    };
  });
  const boundsOn = (what: string, field: (typeof fields)[number], targets: Load["targets"]) =>
    Object.entries(targets).map(([pair, atMost]) => {
      const [name, against] = pair.split(" / ");
      return { what: `${what} of ${pair}`, atMost, found: ratio(name, against, field) };
    });
  const bounds = [
    ...boundsOn("CPU", "cpuUs", load.targets),
    ...boundsOn("p99", "p99Us", load.p99Targets ?? {}),
  ];
  for (const [name, atMost] of Object.entries(load.nsPerByteTargets ?? {})) {
    const { bodyBytes, rounds } = entrantOf(name);
    const found = spreadOf(rounds.map(({ cpuUs }) => (cpuUs * 1000) / bodyBytes));
    bounds.push({ what: `CPU of ${name}, ns per byte`, atMost, found });
  }
  if (load.p99AtMostUs !== undefined) {
    const found = spreadOf(roundsOf("service").map(({ p99Us }) => p99Us));
    bounds.push({ what: "p99 of service, µs", atMost: load.p99AtMostUs, found });
  }
  const targets = bounds.map((bound) => ({ ...bound, met: bound.found.median <= bound.atMost }));
  const { name, title, connections, pipeline, loadProcesses } = load;
  return { name, title, connections, pipeline, loadProcesses, entrants, targets };
}

const withRange = ({ median, min, max }: Spread) => `${digits(median)} (${digits(min)}–${digits(max)})`;

/** Prints a load's results, and whether its targets are met. */
export function print({ name, title, entrants, targets }: LoadResult): void {
  const rows = entrants.map(({ name, median, cpuUs: { min, max }, ratio }) => {
    const ratios = ratio && { ratio: ratio.median, ratioMin: ratio.min, ratioMax: ratio.max };
    return [name, rounded({ ...median, cpuMinUs: min, cpuMaxUs: max, ...ratios })];
  });
  console.log(`${name}: ${title}`);
  console.table(Object.fromEntries(rows));
  for (const { what, atMost, found, met } of targets)
    console.log(`  ${what}: ${withRange(found)}, target ≤ ${digits(atMost)}: ${met ? "met" : "missed"}`);
}

/** Every target and what was found, as a table for README.md in this folder. */
export function markdownOf({ loads }: Results): string {
  const rows = loads.flatMap(({ title, targets }) =>
    targets.map(
      ({ what, atMost, found, met }) =>
        `| ${title} | ${what} | ${withRange(found)} | ≤ ${digits(atMost)}${met ? "" : ", missed"} |`,
    ),
  );
  return ["| Load | What | Median (spread) | Target |", "|---|---|---|---|", ...rows].join("\n");
}

const packages = ["uWebSockets.js", "fastify", "better-sqlite3", "@duckdb/node-api"];

/** The machine and the programs that a run's figures are true for. */
export function surroundings() {
  const installed = packages.map((name): [string, string] => {
    const file = join(import.meta.dirname, "../node_modules", name, "package.json");
    const found: { name: string; version: string } = JSON.parse(readFileSync(file, "utf8"));
    // uWebSockets.js is installed under its own name from another package.
    return [found.name, found.version];
  });
  // nginx says it on stderr, and wrk fails after it.
  const said = (program: string) => spawnSync(program, ["-v"], { encoding: "utf8" }).output.join("");
  const versions: Record<string, string> = {
    node: process.versions.node,
    ...Object.fromEntries(installed),
    nginx: /nginx\/(.*)/.exec(said("nginx"))?.[1] ?? "",
    wrk: /^wrk (\S+)/.exec(said("wrk"))?.[1] ?? "",
  };
  const [{ model }, ...others] = cpus();
  const machine = { cpu: model.trim(), cores: 1 + others.length, memoryBytes: totalmem(), kernel: release() };
  return { machine, versions };
}
