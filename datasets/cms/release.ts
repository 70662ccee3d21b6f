import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { CsvError, type Parser, parse } from "csv-parse";
import { parse as parseNow } from "csv-parse/sync";
import { DataError, type Provenance, systemCode, type TableParts } from "../../engine/index.ts";
import { checkRegular } from "../files.ts";
import { CmsTable, cmsProvenance } from "./cms.ts";
import { type StrayByte, TextScan } from "./encoding.ts";
import { foreignKind, wayToCsv } from "./kind.ts";

const readChunkBytes = 2 ** 20;
/** Real records are shorter, and a low limit detects an unclosed quote early. */
const maxRecordBytes = 2 ** 16;

const maxTitleLines = 50;
/** A truncated amount, such as 96 from 9652.79, looks like a complete amount. */
const unterminated = [
  "a last line without a line end, so the file may be cut off, even within an amount",
  "a complete file: get it again, or add --allow-unterminated if you know that nothing is missing",
] as const;

export interface ReleaseOptions {
  file: string;
  /** The data year, not the year of publication. */
  year: number;
  /** Month of publication as `YYYY-MM`; null if unknown. */
  released: string | null;
  sourceUrl: string | null;
  /** Whether the last line may lack a line end, which may mean that the file was truncated. */
  allowUnterminated: boolean;
}

interface Release {
  table: TableParts;
  provenance: Omit<Provenance, "revision">;
  /** The first byte that isn't UTF-8. If there is such a byte, the file was read as Windows-1252. */
  stray: StrayByte | undefined;
  severalNames: number;
  absentColumns: string[];
  warnings: string[];
}

/** @throws DataError when the file can't be read or the release is invalid */
export async function readRelease(options: ReleaseOptions): Promise<Release> {
  const { file, year, released, sourceUrl } = options;
  let handle: FileHandle | undefined;
  try {
    checkRegular(file, "a CSV file");
    handle = await open(file);
    const scan = await scanFile(handle, file);
    checkText(scan, file, options.allowUnterminated);
    const { table, sha256, bytes } = await readTable(handle, file, scan.stray !== undefined);
    if (bytes !== scan.bytes)
      throw new DataError(
        file,
        `${scan.bytes} bytes and then ${bytes}`,
        "a file that doesn't change while it is read",
      );
    const finished = table.finish();
    const { ccn } = finished.table.facilities;
    const provenance = cmsProvenance(year, released, sourceUrl, sha256, ccn.length);
    return { ...finished, provenance, stray: scan.stray, absentColumns: table.absentColumns };
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new DataError(file, `no readable file (${code})`, "a CSV file");
  } finally {
    await handle?.close();
  }
}

/**
 * Checks that a file begins with the header of a release and, unless `allowUnterminated`, ends with a line end.
 *
 * @throws DataError with `subject` if it doesn't
 */
export async function checkEnds(file: string, subject: string, allowUnterminated: boolean): Promise<void> {
  const handle = await open(file);
  try {
    const { value: start = Buffer.alloc(0) } = await chunksOf(handle).next();
    const kind = foreignKind(start);
    if (kind !== undefined) throw new DataError(subject, kind, "a CSV file, as it was published");
    const [line] = start
      .toString("latin1")
      .replace(/^\xef\xbb\xbf/, "")
      .trimStart()
      .split(/[\r\n]/, 1);
    let header: string[] | undefined;
    try {
      [header] = parseNow(line, { relax_quotes: true });
    } catch (error) {
      if (error instanceof CsvError) throw brokenRecord(error, subject, 1, []);
      throw error;
    }
    new CmsTable(subject, header ?? [], 1);
    const { size } = await handle.stat();
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
    if (!allowUnterminated && !/[\r\n]/.test(buffer.toString("latin1")))
      throw new DataError(subject, ...unterminated);
  } finally {
    await handle.close();
  }
}

/** Yields a file's chunks. Each chunk is a new buffer, because the parser keeps the end of the previous chunk. */
async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const buffer = Buffer.allocUnsafe(readChunkBytes);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function scanFile(handle: FileHandle, file: string): Promise<TextScan> {
  const scan = new TextScan();
  for await (const chunk of chunksOf(handle)) {
    const kind = scan.bytes === 0 ? foreignKind(chunk) : undefined;
    if (kind !== undefined)
      throw new DataError(file, kind, `a CSV file, as it was published; ${wayToCsv(kind)}`);
    scan.push(chunk);
  }
  scan.finish();
  if (scan.bytes === 0) throw new DataError(file, "an empty file", "a CSV file with a header");
  return scan;
}

function checkText(
  { isTerminated, line, stray, multibyteLine }: TextScan,
  file: string,
  allowUnterminated: boolean,
): void {
  if (!isTerminated && !allowUnterminated) throw new DataError(`${file} line ${line}`, ...unterminated);
  if (stray !== undefined && multibyteLine !== undefined)
    throw new DataError(
      `${file} line ${stray.line}, byte ${stray.byte}`,
      hexadecimal(stray),
      `UTF-8 as on line ${multibyteLine}`,
    );
}

export function hexadecimal({ value }: StrayByte): string {
  return `0x${value.toString(16).toUpperCase().padStart(2, "0")}`;
}

async function readTable(
  handle: FileHandle,
  file: string,
  isWindows1252: boolean,
): Promise<{ table: CmsTable; sha256: string; bytes: number }> {
  let table: CmsTable | undefined;
  let header: string[] = [];
  let nextLine = 1;
  let emptyLines = 0;
  /** The number of lines with values before the header, and the error of the first such line. */
  let titles: { error: unknown; lines: number } | undefined;
  const startOfRecord = (parser: Parser) => nextLine + parser.info.empty_lines - emptyLines;

  const parser = parse({
    bom: true,
    max_record_size: maxRecordBytes,
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    skip_empty_lines: true,
    on_record(record: string[]): null {
      // The parser counts a CRLF inside quotes as two lines.
      const line = startOfRecord(parser);
      emptyLines = parser.info.empty_lines;
      nextLine = line + 1;
      for (const field of record) if (field.includes("\n")) nextLine += field.split("\n").length - 1;

      // Spreadsheets export empty lines as commas.
      if (record.every((field) => field.trim() === "")) return null;
      if (table === undefined) {
        try {
          table = new CmsTable(file, record, line);
        } catch (error) {
          titles = { error: titles?.error ?? error, lines: (titles?.lines ?? 0) + 1 };
          if (titles.lines > maxTitleLines) throw titles.error;
          return null;
        }
        if (titles !== undefined)
          throw new DataError(
            `${file} line ${line}`,
            `the header after ${titles.lines} other ${titles.lines === 1 ? "line" : "lines"}`,
            "the header in the first line; delete the lines before it",
          );
        header = record;
      } else {
        table.add(record, line);
      }
      return null;
    },
  });
  // The parser emits no records, but it finishes only if its output is consumed.
  parser.resume();

  const hash = createHash("sha256");
  let bytes = 0;
  try {
    await pipeline(
      chunksOf(handle),
      async function* (chunks: AsyncIterable<Buffer>) {
        const decoder = new TextDecoder("windows-1252");
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield isWindows1252 ? Buffer.from(decoder.decode(chunk, { stream: true })) : chunk;
          bytes += chunk.length;
        }
      },
      parser,
    );
  } catch (error) {
    if (error instanceof CsvError) throw brokenRecord(error, file, startOfRecord(parser), header);
    throw error;
  }
  if (titles !== undefined) throw titles.error;
  if (table === undefined) throw new DataError(file, "only empty lines", "a CSV file with a header");
  return { table, sha256: hash.digest("hex"), bytes };
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
      if (String(error.field).trim() === "=")
        return new DataError(
          subject,
          '="…", a spreadsheet\'s formula that keeps a text',
          'the value alone, such as 010008 for ="010008"',
        );
      return new DataError(
        subject,
        "a quote within unquoted text",
        'the whole field in quotes, and "" inside it',
      );
    case "CSV_MAX_RECORD_SIZE":
      return new DataError(
        subject,
        `a record of more than ${maxRecordBytes} bytes`,
        "a shorter record; a closing quote may be missing",
      );
    default:
      return error;
  }
}
