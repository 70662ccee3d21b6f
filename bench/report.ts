import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { digits, rounded, type Spread, spreadOf } from "./figures.ts";
import type { Bounded, Entrant, Load } from "./loads.ts";
import type { Figures } from "./measure.ts";

export interface Results extends ReturnType<typeof surroundings> {
  seed: number;
  settings: Record<string, number | null>;
  loads: LoadResult[];
}

export type LoadResult = ReturnType<typeof summarize>;

export interface Measured {
  entrant: Entrant;
  bodyBytes: number;
  rounds: Figures[];
}

const labels: Record<Bounded, [what: string, unit: string]> = {
  cpuUs: ["CPU", "µs"],
  cpuNsPerByte: ["CPU", "ns per byte"],
  p99Us: ["p99", "µs"],
};

const fields = ["cpuUs", "userUs", "systemUs", "requestsPerSecond", "p50Us", "p99Us", "p999Us"] as const;

export function summarize(load: Load, measured: readonly Measured[]) {
  const entrantOf = (name: string) => {
    const found = measured.find(({ entrant }) => entrant.name === name);
    if (found === undefined) throw new Error(`the load ${load.name} has no entrant ${name}`);
    return found;
  };
  const figuresOf = (name: string, field: Bounded) => {
    const { rounds, bodyBytes } = entrantOf(name);
    return rounds.map((round) =>
      field === "cpuNsPerByte" ? (round.cpuUs * 1000) / bodyBytes : round[field],
    );
  };
  /** An entrant's figure, or its ratio to another entrant's figure in the same round. */
  const found = (name: string, against: string | undefined, field: Bounded = "cpuUs") => {
    const others = against === undefined ? [] : figuresOf(against, field);
    return spreadOf(figuresOf(name, field).map((figure, round) => figure / (others[round] ?? 1)));
  };
  const entrants = measured.map(({ entrant: { name, against }, bodyBytes, rounds }) => {
    const medians = fields.map((field) => [field, spreadOf(rounds.map((round) => round[field])).median]);
    return {
      name,
      bodyBytes: Math.round(bodyBytes),
      median: Object.fromEntries(medians) as Record<(typeof fields)[number], number>,
      cpuUs: found(name, undefined),
      ratio: against && { against, ...found(name, against) },
      rounds,
    };
  });
  const targets = Object.entries(load.targets).flatMap(([field, bounds]) =>
    Object.entries(bounds).map(([pair, atMost]) => {
      const [name, against] = pair.split(" / ");
      const [what, unit] = labels[field as Bounded];
      const spread = found(name, against, field as Bounded);
      const label = `${what} of ${pair}${against === undefined ? `, ${unit}` : ""}`;
      return { what: label, atMost, found: spread, met: spread.median <= atMost };
    }),
  );
  const { name, title, connections, pipeline, loadProcesses } = load;
  return { name, title, connections, pipeline, loadProcesses, entrants, targets };
}

const withRange = ({ median, min, max }: Spread) => `${digits(median)} (${digits(min)}–${digits(max)})`;

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

export function surroundings() {
  const asked = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"));
  const exact: Record<string, string> = { ...asked.dependencies, ...asked.devDependencies };
  // nginx prints its version on stderr, and wrk's exit code isn't 0.
  const said = (program: string) => spawnSync(program, ["-v"], { encoding: "utf8" }).output.join("");
  const versions: Record<string, string> = {
    node: process.versions.node,
    ...Object.fromEntries(packages.map((name) => [name, exact[name]])),
    nginx: /nginx\/(.*)/.exec(said("nginx"))?.[1] ?? "",
    wrk: /^wrk (\S+)/.exec(said("wrk"))?.[1] ?? "",
  };
  const [{ model }, ...others] = cpus();
  const machine = { cpu: model.trim(), cores: 1 + others.length, memoryBytes: totalmem(), kernel: release() };
  return { date: new Date().toISOString(), machine, versions };
}
