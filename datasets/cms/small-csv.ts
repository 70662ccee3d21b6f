import { isUtf8 } from "node:buffer";
import { readFile, stat } from "node:fs/promises";
import { CsvError, type Info } from "csv-parse";
import { parse } from "csv-parse/sync";
import { DataError, systemCode } from "../../engine/index.ts";
import { checkRegular } from "../files.ts";
import { foreignKind } from "./kind.ts";

/**
 * Reads CMS's smaller files whole. Such a file has a few megabytes, or about 20 MB if it also has rows of single HCPCS
 * codes.
 */

const maxBytes = 2 ** 27;

interface Line {
  record: string[];
  /** The line on which the record ends. */
  line: number;
}

/**
 * Reads the records of a CSV file in UTF-8 or Windows-1252. `kind` names another format, such as JSON, if the file
 * begins like it.
 *
 * @param expected describes the file in errors
 * @throws DataError when the file can't be read, is too large, or has broken quoting
 */
export async function readRecords(
  file: string,
  expected: string,
): Promise<{ records: Line[]; kind: string | undefined }> {
  const bytes = await bytesOf(file, expected);
  const kind = foreignKind(bytes);
  const text = new TextDecoder(isUtf8(bytes) ? "utf-8" : "windows-1252").decode(bytes);
  try {
    const options = { bom: true, relax_column_count: true, relax_quotes: true, skip_empty_lines: true };
    const records: Line[] = [];
    const collect = (record: string[], { lines: line }: Info) => {
      records.push({ record, line });
      return null;
    };
    parse(text, { ...options, on_record: collect });
    return { records, kind };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new DataError(file, kind ?? `broken quoting (${error.message})`, expected);
  }
}

async function bytesOf(file: string, expected: string): Promise<Buffer> {
  try {
    checkRegular(file, "a CSV file");
    const { size } = await stat(file);
    if (size > maxBytes)
      throw new DataError(file, `${size} bytes`, `${expected}; it has at most ${maxBytes} bytes`);
    return await readFile(file);
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new DataError(file, `no readable file (${code})`, "a CSV file");
  }
}
