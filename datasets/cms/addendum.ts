import {
  DataError,
  flawIn,
  type HcpcsCode,
  hcpcsPattern,
  maxStatusCharacters,
  plainWordsOf,
  shown,
} from "../../engine/index.ts";
import { orCode } from "./hints.ts";
import { cleanName } from "./names.ts";
import { readRecords } from "./small-csv.ts";

/**
 * Reads CMS's OPPS Addendum B. The lines before the header, and the order and names of the columns, vary from quarter
 * to quarter.
 */

export const maxTitleLines = 50;

const columnNames = { code: "HCPCS Code", description: "Short Descriptor", status: "SI", apc: "APC" };
type Columns = Record<keyof typeof columnNames, number>;
const expected =
  `the CSV file of CMS's OPPS Addendum B, with the columns ${columnNames.code}, ${columnNames.description} and ` +
  columnNames.apc;

export interface Addendum {
  /** The HCPCS codes in ascending order. A code without an APC has an empty `procedure`. */
  codes: HcpcsCode[];
  /** The year 20nn after "CY" in the lines before the header; undefined if there is none. */
  year: string | undefined;
}

/** @throws DataError when the file can't be read or isn't a valid addendum */
export async function readAddendum(file: string): Promise<Addendum> {
  const { records, kind } = await readRecords(file, expected);
  const at = records.slice(0, maxTitleLines).findIndex(({ record }) => columnsIn(record) !== undefined);
  const columns = columnsIn(records[at]?.record ?? []);
  if (columns === undefined) throw new DataError(file, kind ?? "no header with its columns", expected);
  const codes = new Map<string, HcpcsCode & { line: number }>();
  for (const { record, line } of records.slice(at + 1)) {
    const entry = codeIn(record, columns, `${file} line ${line}`);
    if (entry === undefined) continue;
    const known = codes.get(entry.code) ?? { ...entry, line };
    for (const [column, field] of [
      ["APC", "procedure"],
      ["Short Descriptor", "description"],
    ] as const)
      if (known[field] !== entry[field])
        throw new DataError(
          `${file} line ${line}, column ${column}`,
          `${shown(entry[field])} for ${known.code}`,
          `${shown(known[field])} as on line ${known.line}`,
        );
    codes.set(entry.code, known);
  }
  if (codes.size === 0) throw new DataError(file, "a header and no codes", "at least one code");
  const title = records.slice(0, at).flatMap(({ record }) => record);
  return {
    codes: [...codes.values()].sort((a, b) => (a.code < b.code ? -1 : 1)).map(({ line: _, ...code }) => code),
    year: /\bCY ?(20[0-9]{2})\b/i.exec(title.join(" "))?.[1],
  };
}

/**
 * Finds the columns by words in their names. The status column may be missing (−1). Returns undefined if the line isn't
 * the header.
 */
function columnsIn(record: string[]): Columns | undefined {
  const names = record.map((name) => name.toLowerCase().split(/[^a-z0-9]+/));
  const find = (fits: (words: string[]) => boolean) => names.findIndex(fits);
  const begins = (words: string[], ...starts: string[]) =>
    words.some((word) => starts.some((start) => word.startsWith(start)));
  const columns = {
    code: find((words) => begins(words, "hcpcs", "cpt") && !begins(words, "desc")),
    description: find((words) => begins(words, "desc") && !words.includes("apc")),
    status: find((words) => words.includes("si") || begins(words, "status")),
    apc: find(
      (words) => words.includes("apc") && !begins(words, "desc", "title", "name", "pay", "rate", "weight"),
    ),
  };
  const { code, description, apc } = columns;
  return Math.min(code, description, apc) < 0 || code === apc ? undefined : columns;
}

/**
 * Returns the code in a line, or undefined for a line with neither a valid code nor an APC.
 *
 * @throws DataError when a cell is invalid
 */
function codeIn(record: string[], at: Columns, line: string): HcpcsCode | undefined {
  const cell = (column: keyof Columns) => (record[at[column]] ?? "").trim();
  const refuse = (column: keyof Columns, found: string, expected: string) =>
    new DataError(`${line}, column ${columnNames[column]}`, found, expected);
  const [code, apc, status] = [cell("code").toUpperCase(), cell("apc"), cell("status")];
  if (!hcpcsPattern.test(code)) {
    if (!/[0-9]/.test(apc)) return undefined;
    throw refuse("code", shown(code), orCode("a code such as 27447 or G0105", code, 5));
  }
  // "No APC" is written in several ways: empty, a dash, N/A.
  const procedure = /[0-9]/.test(apc) ? apc.padStart(4, "0") : "";
  if (!/^([0-9]{4})?$/.test(procedure)) throw refuse("apc", shown(apc), "four digits, or nothing");
  if (status.length > maxStatusCharacters)
    throw refuse("status", shown(status), `at most ${maxStatusCharacters} characters`);
  const flaw = flawIn(status);
  if (flaw !== undefined) throw refuse("status", flaw.found, flaw.expected);
  const text = cell("description").replace(/\s+/g, " ");
  const description = text === "" ? "" : cleanName(text);
  if (typeof description !== "string") throw refuse("description", description.found, description.expected);
  return { code, procedure, status, description };
}

/** Returns a message for each code of the search vocabulary that the addendum lists under another APC, or under none. */
export function contradictedCodes({ codes }: Addendum): string[] {
  const procedures = new Map(codes.map(({ code, procedure }) => [code, procedure || "no APC"]));
  return Object.entries(plainWordsOf).flatMap(([expected, { codes }]) =>
    codes
      .filter((code) => (procedures.get(code) ?? expected) !== expected)
      .map((code) => `${code} is in ${procedures.get(code)}, not ${expected}`),
  );
}
