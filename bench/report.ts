import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { digits, type Spread, spreadOf } from "./figures.ts";
import { baselineOf, type Entrant, type Load } from "./loads.ts";
import { type Figures, run } from "./measure.ts";

/** What a run found, as it stands in the results file. */
export interface Results {
  date: string;
  seed: number;
  settings: Record<string, number | null>;
  machine: { cpu: string; cores: number; memoryBytes: number; kernel: string };
  versions: Record<string, string>;
  loads: LoadResult[];
}

export type LoadResult = ReturnType<typeof summarize>;
type EntrantResult = LoadResult["entrants"][number];

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
  const roundsOf = (name: string) => {
    const found = measured.find(({ entrant }) => entrant.name === name);
    if (found === undefined) throw new Error(`the load ${load.name} has no entrant ${name}`);
    return found.rounds;
  };
  /** CPU time per request as a multiple of another entrant's, within a round. */
  const ratio = (name: string, against: string) => {
    const others = roundsOf(against);
    return spreadOf(roundsOf(name).map(({ cpuUs }, round) => cpuUs / others[round].cpuUs));
  };
  const entrants = measured.map(({ entrant, bodyBytes, rounds }) => {
    const against = baselineOf(load, entrant);
    const medians = fields.map((field) => [field, spreadOf(rounds.map((round) => round[field])).median]);
    return {
      name: entrant.name,
      bodyBytes: Math.round(bodyBytes),
      median: Object.fromEntries(medians) as Record<(typeof fields)[number], number>,
      cpuUs: spreadOf(rounds.map(({ cpuUs }) => cpuUs)),
      ratio: against === undefined ? null : { against, ...ratio(entrant.name, against) },
      rounds,
    };
  });
  const target = (what: string, atMost: number, found: Spread) => {
    return { what, atMost, found, met: found.median <= atMost };
  };
  const targets = Object.entries(load.targets).map(([pair, atMost]) => {
    const [name, against] = pair.split(" / ");
    return target(`CPU of ${pair}`, atMost, ratio(name, against));
  });
  if (load.p99AtMostUs !== undefined) {
    const found = spreadOf(roundsOf("service").map(({ p99Us }) => p99Us));
    targets.push(target("p99 of service, µs", load.p99AtMostUs, found));
  }
  const { name, title, connections, pipeline, loadProcesses } = load;
  return { name, title, connections, pipeline, loadProcesses, entrants, targets };
}

const range = ({ min, max }: Spread) => `${digits(min)}–${digits(max)}`;
const withRange = (spread: Spread) => `${digits(spread.median)} (${range(spread)})`;

/** A width below 0 puts the text to the left. */
const columns: readonly [title: string, width: number, text: (entrant: EntrantResult) => string][] = [
  ["", -20, ({ name }) => name],
  ["CPU µs", 9, ({ median }) => digits(median.cpuUs)],
  ["spread", 15, ({ cpuUs }) => range(cpuUs)],
  ["user", 8, ({ median }) => digits(median.userUs)],
  ["system", 8, ({ median }) => digits(median.systemUs)],
  ["ratio", 8, ({ ratio }) => digits(ratio?.median ?? 1)],
  ["spread", 13, ({ ratio }) => (ratio === null ? "" : range(ratio))],
  ["requests/s", 11, ({ median }) => Math.round(median.requestsPerSecond).toLocaleString("en")],
  ["p50 µs", 9, ({ median }) => digits(median.p50Us)],
  ["p99 µs", 9, ({ median }) => digits(median.p99Us)],
  ["p99.9 µs", 10, ({ median }) => digits(median.p999Us)],
];

/** A load's results as lines of text. */
export function tableOf({ name, title, entrants, targets }: LoadResult): string {
  const line = (of: (column: (typeof columns)[number]) => string) =>
    columns
      .map((column) => (column[1] < 0 ? of(column).padEnd(-column[1]) : of(column).padStart(column[1])))
      .join(" ");
  const verdicts = targets.map(
    ({ what, atMost, found, met }) =>
      `  ${what}: ${withRange(found)}, target ≤ ${digits(atMost)}: ${met ? "met" : "missed"}`,
  );
  const table = entrants.map((entrant) => line(([, , text]) => text(entrant)));
  return [`${name}: ${title}`, line(([title]) => title), ...table, ...verdicts, ""].join("\n");
}

/** Every target and what was found, as a table for the README. */
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
export async function surroundings(): Promise<Pick<Results, "machine" | "versions">> {
  const installed = packages.map((name): [string, string] => {
    const file = join(import.meta.dirname, "../node_modules", name, "package.json");
    const found: { name: string; version: string } = JSON.parse(readFileSync(file, "utf8"));
    // uWebSockets.js is installed under its own name from another package.
    return [found.name, found.version];
  });
  const firstLine = async (...command: string[]) => (await run(command)).split("\n", 1)[0];
  const versions = {
    node: process.versions.node,
    ...Object.fromEntries(installed),
    nginx: (await firstLine("nginx", "-v")).replace(/^.*nginx\//, ""),
    // wrk prints its version with its usage, and fails.
    wrk: (await firstLine("sh", "-c", "wrk --version || true")).replace(/^wrk (\S+).*$/, "$1"),
  };
  const [{ model }, ...others] = cpus();
  const machine = { cpu: model.trim(), cores: 1 + others.length, memoryBytes: totalmem(), kernel: release() };
  return { machine, versions };
}
