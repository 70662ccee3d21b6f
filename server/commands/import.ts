import { existsSync } from "node:fs";
import path from "node:path";
import { type ImportOptions, importFile } from "../../datasets/cms/import.ts";
import { suspectPart } from "../../datasets/cms/plausibility.ts";
import { hexadecimal } from "../../datasets/cms/release.ts";
import { isSyntheticFile } from "../../datasets/revisions.ts";
import {
  isSourceUrl,
  maxDataYear,
  minDataYear,
  releasedExpected,
  shown,
  shownAddress,
  sourceUrlExpected,
} from "../../engine/query.ts";
import { calledAs, parsedArguments, wrongOption } from "../shared/arguments.ts";
import { pathIn } from "../shared/paths.ts";
import { registryOf } from "../store/registry.ts";
import { runProgram, say } from "./program.ts";

const usage =
  `${calledAs("import")} FILE.csv --year YYYY [--out DIR] [--codes FILE] [--totals FILE] [--released YYYY-MM] [--source-url URL] ` +
  "[--allow-unterminated] [--force]";
export const defaultOut = "datasets/snapshots";
export const help = `usage: ${usage}

Imports a CMS release, "Medicare Outpatient Hospitals - by Provider and Service" of 2016 or later, as the next data
version of its year, and prints the path of the snapshot. If the file has faults, the first one is the error, and
nothing is written.

  --year YYYY            calendar year of the services, the data year
  --out DIR              folder of the snapshots; default DATASETS_DIR or ${defaultOut}
  --codes FILE           CMS's OPPS Addendum B as CSV: the HCPCS and CPT codes that each procedure group includes. CPT
                         codes and descriptors are the American Medical Association's
  --totals FILE          CMS's file "by Geography and Service" as CSV: what contradicts it is named
  --released YYYY-MM     month of publication
  --source-url URL       where the file came from
  --allow-unterminated   accept a file whose last line has no line end; it may be truncated
  --force                write a new revision even if DIR has the same rows and codes

The registry in STATE_DIR (default: var) has all version numbers that were ever served. They aren't used again.
`;

/** @throws Error if the command line is wrong, or names a year or month after `now` */
export function parseOptions(args: string[], environment: NodeJS.ProcessEnv, now: Date): ImportOptions {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const options = {
    year: text,
    out: { ...text, default: pathIn(environment, "DATASETS_DIR", defaultOut) },
    codes: text,
    totals: text,
    released: text,
    "source-url": text,
    "allow-unterminated": flag,
    force: flag,
  };
  const config = { args, allowPositionals: true, options };
  const { values, positionals } = parsedArguments("import", config, usage);
  if (positionals.length !== 1)
    throw new Error(`import needs ${positionals.length === 0 ? "a" : "only one"} FILE: ${usage}`);
  const [file] = positionals;
  if (file === "") throw new Error("import needs a FILE, not an empty name");
  const { year, out, codes: codesFile = null, totals: totalsFile = null } = values;
  const { released = null, "source-url": sourceUrl = null } = values;
  if (year === undefined) throw new Error(`import needs --year: ${usage}`);
  if (!/^[0-9]{4}$/.test(year) || Number(year) < minDataYear || Number(year) > maxDataYear)
    throw wrongOption("--year", shown(year), `a year from ${minDataYear} to ${maxDataYear}`);
  const month = now.toISOString().slice(0, 7);
  if (year > month.slice(0, 4))
    throw wrongOption("--year", shown(year), `no year after ${month.slice(0, 4)}`);
  if (released !== null) {
    const expected = releasedExpected(released, Number(year), month);
    if (expected !== undefined) throw wrongOption("--released", shown(released), expected);
  }
  if (sourceUrl !== null && !isSourceUrl(sourceUrl))
    throw wrongOption("--source-url", shownAddress(sourceUrl), sourceUrlExpected);
  checkDataYear("a file", file, year);
  checkDataYear("a source URL", sourceUrl ?? "", year);
  if (out === "") throw new Error("--out needs a folder");
  if (codesFile === "") throw new Error("--codes needs a file");
  if (totalsFile === "") throw new Error("--totals needs a file");
  const { "allow-unterminated": allowUnterminated, force } = values;
  return {
    file,
    year: Number(year),
    out,
    codesFile,
    totalsFile,
    released,
    sourceUrl,
    allowUnterminated,
    force,
  };
}

/**
 * Checks `year` against the year in a file's name, such as DY23 in MUP_OUT_RY25_P04_V10_DY23_Prov_Svc.csv.
 * @throws Error
 */
function checkDataYear(what: string, named: string, year: string): void {
  for (const [part, , digits] of path
    .basename(named)
    .matchAll(/(?<![0-9a-z])DY(20)?([0-9]{2})(?![0-9a-z])/gi))
    if (digits !== year.slice(2))
      throw wrongOption("--year", shown(year), `20${digits} for ${what} with ${part} in its name`);
}

/** Imports a release. Prints the snapshot's path on stdout, and everything else on stderr. */
export async function importAndPrint(options: ImportOptions, environment: NodeJS.ProcessEnv): Promise<void> {
  const known = registryOf(environment);
  const imported = await importFile(options, known);
  const { counts, codes, stray, severalNames, absentColumns, warnings } = imported;
  process.stdout.write(`${imported.path}\n`);
  const gone = known.filter(
    ({ version }) =>
      version.startsWith(`${options.year}.`) && !existsSync(path.join(options.out, `${version}.parquet`)),
  );
  if (imported.isNew && gone.length > 0)
    say(`served before, so not given out again: ${gone.map(({ version }) => version).join(", ")}`);
  if (stray !== undefined)
    say(
      `read as Windows-1252, as it is not UTF-8: ${hexadecimal(stray)} in line ${stray.line}, byte ${stray.byte}`,
    );
  if (absentColumns.length > 0)
    say(`columns that are not in the file, so unknown for every row: ${absentColumns.join(", ")}`);
  if (severalNames > 0)
    say(`facilities with several names or addresses: ${severalNames}; the commonest of each is taken`);
  say(
    `${counts.rows} rows: ${counts.pricedRows} priced, ${counts.suppressedRows} suppressed, ` +
      `${counts.incompleteRows} incomplete; ${counts.facilities} facilities, ${counts.procedures} procedures, ` +
      `${imported.states} states${codes === null ? "" : `, ${codes} HCPCS codes`}`,
  );
  const { totals } = imported;
  if (totals !== undefined)
    say(`${totals.agree} of ${totals.checked} totals of CMS by nation and state agree`);
  const isPart = suspectPart(counts.rows, counts.facilities, imported.states);
  for (const warning of [...isPart, ...warnings]) say(`warning: ${warning}`);
  const version = path.basename(imported.path, ".parquet");
  const before = `${options.year}.${Number(version.split(".")[1]) - 1}`;
  if (
    imported.isNew &&
    (await isSyntheticFile(path.join(options.out, `${before}.parquet`)).catch(() => false))
  )
    say(`numbered ${version}, as ${before} is synthetic, and a version number never gets other content`);
  const lacks = imported.unwritten.length > 0 ? `, but not this ${imported.unwritten.join(" and ")}` : "";
  const same = codes === null ? "these rows" : "these rows and codes";
  if (!imported.isNew) say(`nothing written: ${version} has ${same} already${lacks}; --force writes them`);
}

export function run(args: string[]): Promise<void> {
  return importAndPrint(parseOptions(args, process.env, new Date()), process.env);
}

if (import.meta.main) await runProgram(() => help, run);
