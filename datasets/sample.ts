import { parseArgs } from "node:util";
import {
  DataError,
  maxDataYear,
  maxSnapshotRows,
  minDataYear,
  sealSnapshot,
  shown,
  versionName,
} from "../engine/index.ts";
import { publishSnapshot } from "./publish.ts";
import { defaultSampleRows, defaultSampleSeed, maxSampleSeed, syntheticContent } from "./synthetic.ts";

const usage = "sample -- --out DIR --year YYYY [--rows N] [--seed N]";

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
  try {
    return parseArgs({ args, options: { out: text, year: text, rows: text, seed: text } }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Only the first sentence: the rest is advice that doesn't fit here.
    const [reason] = error.message.split(/\.\s|\.$|\n/);
    throw new DataError("command line", reason, usage);
  }
}

function wholeNumber(option: string, text: string, least: number, most: number): number {
  const number = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new DataError(option, shown(text), `a whole number from ${least} to ${most}`);
}

function main(): void {
  // With a handler, a signal waits until the file is whole or gone.
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
  try {
    const { out, dataYear, rows, seed } = parseOptions(process.argv.slice(2));
    let summary = "";
    const path = publishSnapshot(out, dataYear, (revision) => {
      const snapshot = sealSnapshot(syntheticContent({ dataYear, revision, rows, seed }));
      const { counts } = snapshot;
      summary =
        `synthetic sample ${versionName(snapshot.provenance)}: ${counts.rows} rows: ${counts.pricedRows} priced, ` +
        `${counts.suppressedRows} suppressed; ${counts.facilities} facilities, ${counts.procedures} procedures, ` +
        `seed ${seed}`;
      return snapshot;
    });
    process.stdout.write(`${path}\n`);
    process.stderr.write(`${summary}\n`);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

if (import.meta.main) main();
