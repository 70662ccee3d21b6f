import { publishSnapshot } from "../../datasets/publish/publish.ts";
import {
  defaultSampleRows,
  defaultSampleSeed,
  maxSampleSeed,
  syntheticSnapshot,
} from "../../datasets/sample/synthetic.ts";
import {
  DataError,
  encodeSnapshot,
  maxDataYear,
  maxSnapshotRows,
  minDataYear,
  shown,
  versionName,
} from "../../engine/index.ts";
import { calledAs, parsedArguments } from "../shared/arguments.ts";
import { registryOf } from "../store/registry.ts";
import { runProgram, say } from "./program.ts";

/** The `sample` command: writes a synthetic snapshot. */

const usage = `${calledAs("sample")} --out DIR --year YYYY [--rows N] [--seed N]`;
export const help = `usage: ${usage}

Writes a synthetic snapshot, whose facilities and amounts are invented, as the next data version of its year, and
prints its path.

  --out DIR      folder of the snapshots
  --year YYYY    the data year
  --rows N       ${defaultSampleRows} unless given, ${maxSnapshotRows} at most
  --seed N       the same seed gives the same rows; default ${defaultSampleSeed}

The registry of data versions in STATE_DIR (default: var) says which numbers were ever served; none is given out again.
`;

/** @throws DataError if the command line is not as `usage` says */
export function parseOptions(args: string[]) {
  const { out, year, rows = String(defaultSampleRows), seed = String(defaultSampleSeed) } = argumentsIn(args);
  if (out === undefined) throw new DataError("command line", "no --out", usage);
  if (out === "") throw new DataError("--out", "nothing", "a folder");
  if (year === undefined) throw new DataError("command line", "no --year", usage);
  return {
    out,
    dataYear: wholeNumber("--year", year, minDataYear, maxDataYear),
    rows: wholeNumber("--rows", rows, 1, maxSnapshotRows),
    seed: wholeNumber("--seed", seed, 0, maxSampleSeed),
  };
}

function argumentsIn(args: string[]) {
  const text = { type: "string" } as const;
  const options = { out: text, year: text, rows: text, seed: text };
  return parsedArguments("command line", { args, options }, usage).values;
}

function wholeNumber(option: string, text: string, least: number, most: number): number {
  const number = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new DataError(option, shown(text), `a whole number from ${least} to ${most}`);
}

export function run(args: string[]): void {
  const { out, dataYear, rows, seed } = parseOptions(args);
  const known = registryOf(process.env);
  let summary = "";
  const encode = (revision: number) => {
    const snapshot = syntheticSnapshot({ dataYear, revision, rows, seed });
    const { counts } = snapshot;
    summary =
      `synthetic sample ${versionName(snapshot.provenance)}: ${counts.rows} rows: ${counts.pricedRows} priced, ` +
      `${counts.suppressedRows} suppressed; ${counts.facilities} facilities, ${counts.procedures} procedures, ` +
      `seed ${seed}`;
    return encodeSnapshot(snapshot);
  };
  const path = publishSnapshot(out, dataYear, known, encode);
  process.stdout.write(`${path}\n`);
  say(summary);
}

if (import.meta.main) await runProgram(() => help, run);
