import { DuckDBInstance } from "@duckdb/node-api";
import { folder } from "./cms-files.ts";

/** Runs the statements of "Check this number", beside the files of `folder`. */

export const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
await duckdb.run(`SET file_search_path = '${folder}'`);

export type Row = Record<string, number | string>;

const texts = new Set(["ccn", "apc", "state"]);

/** @returns rows whose numbers are numbers; CCNs, codes and states stay texts */
export async function rowsBy(sql: string): Promise<Row[]> {
  const rows = (await duckdb.runAndReadAll(sql)).getRowObjectsJson();
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, texts.has(name) ? String(value) : Number(value)]),
    ),
  );
}
