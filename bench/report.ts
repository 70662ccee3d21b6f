import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { join } from "node:path";
import { digits, type Spread, spreadOf } from "./figures.ts";
import type { Bounded, Entrant, Load } from "./loads.ts";
import type { Figures } from "./measure.ts";

/** The median and the range of a figure over the rounds. The figure may be a ratio of two figures of a round. */
export interface Row extends Spread {
  load: string;
  what: string;
  atMost: number | null;
}

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

/** Returns the CPU time of each entrant if several kinds of servers are compared, and every figure that has a target. */
export function rowsOf({ title, targets }: Load, measured: readonly Measured[]): Row[] {
  const figuresOf = (name: string, field: Bounded) => {
    const found = measured.find(({ entrant }) => entrant.name === name);
    if (found === undefined) throw new Error(`the load "${title}" has no entrant ${name}`);
    return found.rounds.map((round) =>
      field === "cpuNsPerByte" ? (round.cpuUs * 1000) / found.bodyBytes : round[field],
    );
  };
  const row = (pair: string, field: Bounded, atMost: number | null): Row => {
    const [name, against] = pair.split(" / ");
    const [what, unit] = labels[field];
    const others = against === undefined ? [] : figuresOf(against, field);
    const spread = spreadOf(figuresOf(name, field).map((figure, round) => figure / (others[round] ?? 1)));
    return {
      load: title,
      what: `${what} of ${pair}${against === undefined ? `, ${unit}` : ""}`,
      ...spread,
      atMost,
    };
  };
  const bounds = (Object.keys(targets) as Bounded[]).flatMap((field) =>
    Object.entries(targets[field] ?? {}).map(([pair, atMost]) => row(pair, field, atMost)),
  );
  const kinds = new Set(measured.map(({ entrant }) => entrant.kind));
  const cpus = kinds.size > 1 ? measured.map(({ entrant: { name } }) => row(name, "cpuUs", null)) : [];
  return [...cpus, ...bounds];
}

export function markdownOf(rows: readonly Row[]): string {
  const lines = rows.map(({ load, what, median, min, max, atMost }) => {
    const target = atMost === null ? "" : `≤ ${digits(atMost)}${median <= atMost ? "" : ", missed"}`;
    return `| ${load} | ${what} | ${digits(median)} (${digits(min)}–${digits(max)}) | ${target} |`;
  });
  return ["| Load | What | Median (range) | Target |", "|---|---|---|---|", ...lines].join("\n");
}

const packages = ["uWebSockets.js", "fastify", "better-sqlite3"];

export function surroundings(): string {
  const asked = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"));
  const exact: Record<string, string> = { ...asked.dependencies, ...asked.devDependencies };
  // nginx prints its version on stderr, and wrk's exit code isn't 0.
  const said = (program: string) => spawnSync(program, ["-v"], { encoding: "utf8" }).output.join("");
  return [
    new Date().toISOString().slice(0, 10),
    `${cpus().length} × ${cpus()[0].model.trim()}`,
    `Linux ${release()}`,
    `Node ${process.versions.node}`,
    ...packages.map((name) => `${name} ${exact[name].replace(/.*@/, "")}`),
    `nginx ${/nginx\/(.*)/.exec(said("nginx"))?.[1] ?? ""}`,
    `wrk ${/^wrk (\S+)/.exec(said("wrk"))?.[1] ?? ""}`,
  ].join(", ");
}
