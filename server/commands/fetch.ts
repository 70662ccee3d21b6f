import { existsSync } from "node:fs";
import { catalogueUrl, type Offer, offerOf, offers } from "../../datasets/cms/catalogue.ts";
import { downloadPath, type Listed, listOf } from "../../datasets/cms/listing.ts";
import { checkEnds } from "../../datasets/cms/release.ts";
import { type Caller, downloadFile } from "../../datasets/cms/release-download.ts";
import { readTotals } from "../../datasets/cms/totals.ts";
import { type Clock, systemClock } from "../../datasets/http.ts";
import { proxiesIn } from "../../datasets/proxy.ts";
import {
  DataError,
  isWebAddress,
  minDataYear,
  releasedExpected,
  shown,
  shownAddress,
} from "../../engine/query.ts";
import { calledAs, parsedArguments, wrongOption } from "../shared/arguments.ts";
import { pathIn } from "../shared/paths.ts";
import { defaultOut, importAndPrint, parseOptions as parseImportOptions } from "./import.ts";
import { runProgram, say } from "./program.ts";

const usage =
  `${calledAs("fetch")} --year YYYY | --all | --list [--json] [--url URL] [--out DIR] [--catalogue URL] ` +
  "[--allow-unterminated] [--force]";
export const help = `usage: ${usage}

Downloads the official CMS file of a year, "Medicare Outpatient Hospitals - by Provider and Service", imports it as the
next data version of that year, and prints the path of the snapshot. If the catalogue has CMS's totals of that year, "by
Geography and Service", the release is compared with them. A file that was downloaded before isn't downloaded again. To
download it again, delete it first.

  --year YYYY            calendar year of the services, the data year
  --all                  every year offered, from ${minDataYear} on
  --list                 list the releases offered and the snapshots in DIR; --json for JSON
  --url URL              URL of the file, in place of the catalogue's
  --out DIR              folder of the snapshots, with downloads in DIR/downloads; default DATASETS_DIR or ${defaultOut}
  --catalogue URL        URL of the catalogue; default ${catalogueUrl}
  --allow-unterminated   accept a file whose last line has no line end; it may be truncated
  --force                write a new revision even if DIR has the same rows

If the catalogue doesn't answer, fetch uses the addresses that it knows. It obeys HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and
NO_PROXY, also in lower case, such as HTTPS_PROXY=proxy.example:3128. If a proxy decrypts TLS connections,
NODE_EXTRA_CA_CERTS names the file of its certificate authority (PEM). The registry in STATE_DIR (default: var) has all
version numbers that were ever served. They aren't used again.
`;

const megabyte = 1e6;

type FetchOptions = ReturnType<typeof parseOptions>;

/** @throws Error if the command line is wrong */
export function parseOptions(args: string[], environment: NodeJS.ProcessEnv) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const options = {
    year: text,
    all: flag,
    list: flag,
    json: flag,
    url: text,
    out: { ...text, default: pathIn(environment, "DATASETS_DIR", defaultOut) },
    catalogue: { ...text, default: catalogueUrl },
    "allow-unterminated": flag,
    force: flag,
  };
  const { values } = parsedArguments("fetch", { args, options }, usage);
  const { year, all, list, json, url, out, catalogue, force } = values;
  const ways = [year !== undefined && "--year", all && "--all", list && "--list"].filter(
    (way) => way !== false,
  );
  if (ways.length !== 1)
    throw new Error(
      `fetch needs one of --year, --all and --list${ways.length > 1 ? `, not ${ways.join(" and ")}` : ""}`,
    );
  if (json && !list) throw new Error(`--json goes with --list, not with ${ways[0]}`);
  if (url !== undefined && year === undefined) throw new Error(`--url goes with --year, not with ${ways[0]}`);
  if (year !== undefined && !/^20[0-9]{2}$/.test(year))
    throw wrongOption("--year", shown(year), "a year as YYYY");
  for (const [name, address] of [
    ["--url", url],
    ["--catalogue", catalogue],
  ])
    if (address !== undefined && !isWebAddress(address))
      throw wrongOption(String(name), shownAddress(address), "an http or https URL, without a password");
  if (out === "") throw new Error("--out needs a folder");
  return {
    year: year === undefined ? undefined : Number(year),
    isList: list,
    isJson: json,
    url,
    out,
    catalogue,
    allowUnterminated: values["allow-unterminated"],
    force,
  };
}

async function fetchOffer(offer: Offer, options: FetchOptions, caller: Caller, now: Date): Promise<void> {
  const { url, year, released } = offer;
  const { out, allowUnterminated } = options;
  const path = downloadPath(out, url);
  const isKnownMonth =
    released !== null && releasedExpected(released, year, now.toISOString().slice(0, 7)) === undefined;
  // Checks the import's options before the download.
  const importOptions = parseImportOptions(
    [
      ...[`--year=${year}`, `--out=${out}`, `--source-url=${url}`],
      ...(isKnownMonth ? [`--released=${released}`] : []),
      ...(allowUnterminated ? ["--allow-unterminated"] : []),
      ...(options.force ? ["--force"] : []),
      ...["--", path],
    ],
    {},
    now,
  );
  await downloadOnce(url, path, caller, (part) => checkEnds(part, url, allowUnterminated));
  const totalsFile = await fetchTotals(offer, out, caller);
  try {
    await importAndPrint({ ...importOptions, totalsFile }, process.env);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    const { subject } = error;
    const files = totalsFile === null ? [path] : [path, totalsFile];
    const file = files.find((one) => subject.startsWith(one));
    // Errors about the folder or the registry don't concern the downloaded files.
    if (file === undefined) throw error;
    const other = file === path ? "" : `, or import ${path} without --totals`;
    throw new DataError(
      subject,
      error.found,
      `${error.expected}; delete ${file} to download it again${other}`,
    );
  }
}

/** Downloads a file to `path`, unless it exists. @param check throws if the downloaded file is wrong */
async function downloadOnce(
  url: string,
  path: string,
  caller: Caller,
  check: (part: string) => Promise<void>,
): Promise<void> {
  if (existsSync(path)) return caller.say(`downloaded before: ${path}`);
  caller.say(`downloading ${url}`);
  await downloadFile(url, path, { ...caller, onProgress: byteProgress(caller.clock, caller.say), check });
  caller.say(`downloaded ${path}`);
}

/** Returns the path of the downloaded totals; null if there are none or their download fails. */
async function fetchTotals({ totalsUrl }: Offer, out: string, caller: Caller): Promise<string | null> {
  const without = "the release isn't compared with CMS's totals";
  if (totalsUrl === null) {
    caller.say(`no address of totals is known, so ${without}`);
    return null;
  }
  const path = downloadPath(out, totalsUrl);
  try {
    await downloadOnce(totalsUrl, path, caller, async (part) => void (await readTotals(part)));
    return path;
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    caller.say(`${error.message}; ${without}`);
    return null;
  }
}

/**
 * Makes a function that reports a download's progress at each tenth. It reports nothing while the file's size is unknown.
 */
export function byteProgress(
  clock: Pick<Clock, "now">,
  tell: (line: string) => void,
): (bytes: number, totalBytes: number | undefined) => void {
  let start: { ms: number; bytes: number } | undefined;
  let last = { bytes: 0, tenth: 0 };
  return (bytes, totalBytes) => {
    if (totalBytes === undefined) return;
    const ms = clock.now();
    const tenth = Math.floor((10 * bytes) / totalBytes);
    if (start === undefined || bytes < last.bytes) start = { ms, bytes };
    else if (tenth > last.tenth) {
      const rate = (1000 * (bytes - start.bytes)) / Math.max(1, ms - start.ms);
      const mega = (count: number) => (count / megabyte).toFixed(1);
      const share = `${mega(bytes)} of ${mega(totalBytes)} MB, ${Math.floor((100 * bytes) / totalBytes)} %`;
      tell(`${share}, ${mega(rate)} MB/s, ${Math.ceil((totalBytes - bytes) / rate)} s left`);
    }
    last = { bytes, tenth };
  };
}

function tableOf(rows: readonly Listed[]): string {
  const lines = rows.map(({ year, released, versions, downloaded, url }) => [
    String(year),
    released ?? "-",
    versions.map(({ version, synthetic }) => (synthetic ? `${version} (synthetic)` : version)).join(", ") ||
      "-",
    downloaded === null ? "no" : "yes",
    url ?? "-",
  ]);
  return [["year", "released", "versions", "downloaded", "url"], ...lines]
    .map((fields) => `${fields.join("\t")}\n`)
    .join("");
}

export async function run(args: string[]): Promise<void> {
  const options = parseOptions(args, process.env);
  const { year, url, out } = options;
  const now = new Date();
  const caller: Caller = { clock: systemClock, say, proxyFor: proxiesIn(process.env) };
  if (year !== undefined && url !== undefined) return fetchOffer(offerOf(year, url), options, caller, now);
  const offered = await offers(options.catalogue, caller);
  if (options.isList) {
    const rows = await listOf(offered, out, say);
    process.stdout.write(options.isJson ? `${JSON.stringify(rows, undefined, 2)}\n` : tableOf(rows));
    return;
  }
  if (year === undefined) return fetchAll(offered, options, caller, now);
  const offer = offered.find((one) => one.year === year);
  if (offer === undefined)
    throw new DataError(
      "--year",
      String(year),
      `one that is offered (${offered.map((one) => one.year).join(", ")}), or --url with an address`,
    );
  await fetchOffer(offer, options, caller, now);
}

/** Fetches all offered releases, the oldest first. After a `DataError`, continues with the next release. */
async function fetchAll(
  offered: readonly Offer[],
  options: FetchOptions,
  caller: Caller,
  now: Date,
): Promise<void> {
  const thisYear = now.getUTCFullYear();
  const missing = Array.from({ length: thisYear - minDataYear }, (_, i) => minDataYear + i).filter(
    (year) => !offered.some((offer) => offer.year === year),
  );
  if (missing.length > 0) say(`not offered: ${missing.join(", ")}`);
  for (const offer of offered.toReversed())
    try {
      await fetchOffer(offer, options, caller, now);
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      say(error.message);
      process.exitCode = 1;
    }
}

if (import.meta.main) await runProgram(() => help, run);
