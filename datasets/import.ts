import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { CsvError, type Parser, parse } from "csv-parse";
import {
  type Counts,
  countRows,
  DataError,
  maxDataYear,
  minDataYear,
  releasedPattern,
  type SnapshotContent,
  sealSnapshot,
  shown,
} from "../engine/index.ts";
import { CmsTable, cmsProvenance } from "./cms.ts";
import { publishSnapshot, systemCode } from "./publish.ts";

const usage = "npm run import -- FILE.csv --year YYYY [--out DIR] [--released YYYY-MM] [--source-url URL]";

const readChunkBytes = 2 ** 20;
/** Far above any record, and low enough that a quote left open can't swallow a large file. */
const maxRecordBytes = 2 ** 16;
const maxSourceUrlCharacters = 2000;
const progressIntervalMs = 250;

export interface ImportOptions {
  file: string;
  year: number;
  out: string;
  released: string | null;
  sourceUrl: string | null;
}

/** Called after every chunk of the file: rows so far, bytes so far, bytes of the file. */
export type Progress = (rows: number, bytes: number, totalBytes: number) => void;

export interface Imported {
  path: string;
  counts: Counts;
  states: number;
}

/**
 * Imports a CMS release as the next snapshot of its year.
 *
 * @throws DataError whatever is wrong with the file; nothing has been written then
 */
export async function importFile(options: ImportOptions, onProgress?: Progress): Promise<Imported> {
  const content = await readCms(options, onProgress);
  const path = publishSnapshot(options.out, options.year, (revision) =>
    sealSnapshot({ ...content, provenance: { ...content.provenance, revision } }),
  );
  return { path, counts: countRows(content), states: new Set(content.facilities.state).size };
}

/** Reads a CMS release in two passes: one that settles the encoding of the whole file, one that parses it. */
async function readCms(options: ImportOptions, onProgress?: Progress): Promise<SnapshotContent> {
  const { file, year, released, sourceUrl } = options;
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const stat = await handle.stat();
    if (!stat.isFile()) throw new DataError(file, "no regular file", "a CSV file");
    const encoding = (await isUtf8(handle, file)) ? "utf-8" : "windows-1252";
    const table = await readTable(handle, file, encoding, (rows, bytes) =>
      onProgress?.(rows, bytes, stat.size),
    );
    return table.finish({ ...cmsProvenance(year, released, sourceUrl), revision: 1 });
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new DataError(file, `no readable file (${code})`, "a CSV file");
  } finally {
    await handle?.close();
  }
}

/** The file from its start. Each chunk is a buffer of its own, as the parser holds on to the end of it. */
async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const buffer = Buffer.allocUnsafe(readChunkBytes);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function isUtf8(handle: FileHandle, file: string): Promise<boolean> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decodes = (chunk?: Buffer): boolean => {
    try {
      decoder.decode(chunk, { stream: chunk !== undefined });
      return true;
    } catch {
      return false;
    }
  };
  let bytes = 0;
  let marked = false;
  let valid = true;
  for await (const chunk of chunksOf(handle)) {
    if (bytes === 0) marked = chunk.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf));
    bytes += chunk.length;
    valid = decodes(chunk);
    if (!valid) break;
  }
  if (bytes === 0) throw new DataError(file, "an empty file", "a CSV file with a header");
  valid &&= decodes();
  if (marked && !valid)
    throw new DataError(file, "a byte-order mark of UTF-8 before text that is not UTF-8", "one encoding");
  return valid;
}

/** Parses the file from its start. Records go into the table one by one and are kept nowhere else. */
async function readTable(
  handle: FileHandle,
  file: string,
  encoding: "utf-8" | "windows-1252",
  onProgress: (rows: number, bytes: number) => void,
): Promise<CmsTable> {
  let table: CmsTable | undefined;
  let header: string[] = [];
  let nextLine = 1;
  let emptyLines = 0;
  const startOfRecord = (parser: Parser) => nextLine + parser.info.empty_lines - emptyLines;

  const parser = parse({
    bom: true,
    max_record_size: maxRecordBytes,
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    skip_empty_lines: true,
    on_record(record: string[]): null {
      // Lines are counted here because the parser takes a CRLF inside quotes for two.
      const line = startOfRecord(parser);
      emptyLines = parser.info.empty_lines;
      nextLine = line + 1;
      for (const field of record) if (field.includes("\n")) nextLine += field.split("\n").length - 1;

      if (table === undefined) {
        table = new CmsTable(file, record, line);
        header = record;
      } else {
        table.add(record, line);
      }
      return null;
    },
  });
  // Nothing comes out of the parser; without a reader it would not end.
  parser.resume();

  let bytes = 0;
  try {
    await pipeline(
      chunksOf(handle),
      async function* (chunks: AsyncIterable<Buffer>) {
        const decoder = new TextDecoder(encoding);
        for await (const chunk of chunks) {
          yield encoding === "utf-8" ? chunk : Buffer.from(decoder.decode(chunk, { stream: true }));
          bytes += chunk.length;
          onProgress(table?.rows ?? 0, bytes);
        }
      },
      parser,
    );
  } catch (error) {
    if (error instanceof CsvError) throw brokenRecord(error, file, startOfRecord(parser), header);
    throw error;
  }
  if (table === undefined) throw new DataError(file, "only empty lines", "a CSV file with a header");
  return table;
}

function brokenRecord(error: CsvError, file: string, line: number, header: string[]): Error {
  const index = Number(error.column);
  const field =
    index in header ? `column ${header[index].trim().replace(/\s+/g, " ")}` : `field ${index + 1}`;
  const subject = `${file} line ${line}, ${field}`;
  switch (error.code) {
    case "CSV_QUOTE_NOT_CLOSED":
      return new DataError(subject, "a quote that is never closed", "a closing quote");
    case "CSV_INVALID_CLOSING_QUOTE":
      return new DataError(subject, "text after a closing quote", "a comma or the end of the line");
    case "INVALID_OPENING_QUOTE":
      return new DataError(
        subject,
        "a quote within unquoted text",
        'the whole field in quotes, and "" inside it',
      );
    case "CSV_MAX_RECORD_SIZE":
      return new DataError(
        subject,
        `a record of more than ${maxRecordBytes} bytes`,
        "a shorter one; a quote may be open",
      );
    default:
      return error;
  }
}

/** @throws DataError if the command line is not as `usage` says */
export function parseOptions(args: string[]): ImportOptions {
  const { values, positionals } = parsedArguments(args);
  if (positionals.length !== 1)
    throw new DataError("command line", positionals.length === 0 ? "no FILE" : "more than one FILE", usage);
  const { year, out, released = null, "source-url": sourceUrl = null } = values;
  if (year === undefined) throw new DataError("command line", "no --year", usage);
  if (!/^[0-9]{4}$/.test(year) || Number(year) < minDataYear || Number(year) > maxDataYear)
    throw new DataError("--year", shown(year), `a year from ${minDataYear} to ${maxDataYear}`);
  if (released !== null && !releasedPattern.test(released))
    throw new DataError("--released", shown(released), "a month as YYYY-MM");
  if (sourceUrl !== null && !isWebAddress(sourceUrl))
    throw new DataError("--source-url", shown(sourceUrl), "an http or https URL");
  if (out === "") throw new DataError("--out", "nothing", "a folder");
  return { file: positionals[0], year: Number(year), out, released, sourceUrl };
}

function parsedArguments(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        year: { type: "string" },
        out: { type: "string", default: "datasets/snapshots" },
        released: { type: "string" },
        "source-url": { type: "string" },
      },
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Only the first sentence: the rest is advice that doesn't fit here.
    const [reason] = error.message.split(/\.\s|\.$|\n/);
    throw new DataError("command line", reason, usage);
  }
}

function isWebAddress(text: string): boolean {
  return text.length <= maxSourceUrlCharacters && /^https?:\/\/[!-~]+$/i.test(text) && URL.canParse(text);
}

/** Rows, share and rate on one line that is written over; for a person who waits. */
function terminalProgress(): { update: Progress; clear: () => void } {
  const start = performance.now();
  let last = start;
  return {
    update(rows, bytes, totalBytes) {
      const now = performance.now();
      if (now - last < progressIntervalMs) return;
      last = now;
      const share = Math.floor((100 * bytes) / Math.max(1, totalBytes));
      const rate = Math.round((1000 * rows) / (now - start));
      process.stderr.write(`\r${rows} rows, ${share} %, ${rate} rows/s\x1b[K`);
    },
    clear: () => void process.stderr.write("\r\x1b[K"),
  };
}

async function main(): Promise<void> {
  // With a handler, a signal waits until a file that is being written is whole or gone.
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
  const progress = process.stderr.isTTY ? terminalProgress() : undefined;
  try {
    const { path, counts, states } = await importFile(parseOptions(process.argv.slice(2)), progress?.update);
    progress?.clear();
    process.stdout.write(`${path}\n`);
    process.stderr.write(
      `${counts.rows} rows: ${counts.pricedRows} priced, ${counts.suppressedRows} suppressed, ` +
        `${counts.incompleteRows} incomplete; ${counts.facilities} facilities, ${counts.procedures} procedures, ` +
        `${states} states\n`,
    );
  } catch (error) {
    progress?.clear();
    if (!(error instanceof DataError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await main();
