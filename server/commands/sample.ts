import * as v from "valibot";
import { publishSnapshot } from "../../datasets/revisions.ts";
import {
  defaultSampleRows,
  defaultSampleSeed,
  maxSampleSeed,
  syntheticSnapshot,
} from "../../datasets/sample/synthetic.ts";
import {
  encodeSnapshot,
  maxDataYear,
  maxSnapshotRows,
  minDataYear,
  versionName,
} from "../../engine/index.ts";
import { calledAs, readOptions } from "../shared/arguments.ts";
import { wholeNumber } from "../shared/schemas.ts";
import { registryOf } from "../store/registry.ts";
import { runProgram, say } from "./program.ts";

const usage = `${calledAs("sample")} --out DIR --year YYYY [--rows N] [--seed N]`;
export const help = `usage: ${usage}

Writes a synthetic snapshot, whose facilities and amounts are invented, as the next data version of its year, and
prints its path.

  --out DIR      folder of the snapshots
  --year YYYY    the data year
  --rows N       ${defaultSampleRows} unless given, ${maxSnapshotRows} at most
  --seed N       the same seed gives the same rows; default ${defaultSampleSeed}

The registry in STATE_DIR (default: var) has all version numbers that were ever served. They aren't used again.
`;

const options = v.object({
  out: v.pipe(v.string(), v.nonEmpty("a folder")),
  year: wholeNumber(minDataYear, maxDataYear),
  rows: v.optional(wholeNumber(1, maxSnapshotRows), String(defaultSampleRows)),
  seed: v.optional(wholeNumber(0, maxSampleSeed), String(defaultSampleSeed)),
});

export function run(args: string[]): void {
  const { out, year: dataYear, rows, seed } = readOptions("sample", options, args);
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
