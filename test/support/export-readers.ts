import { writeFileSync } from "node:fs";
import path from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { tableFromIPC as readByFlechette } from "@uwdata/flechette";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import type { ExportedRow } from "./exported-rows.ts";
import { temporaryFolder } from "./folders.ts";

const db = await (await DuckDBInstance.create(":memory:")).connect();
const folder = temporaryFolder();
let files = 0;

const numeric = new Set([
  "data_year",
  "submitted_charge",
  "medicare_allowed",
  "services",
  "beneficiaries",
  "medicare_payment",
  "outlier_services",
  "outlier_amount",
]);

async function query(sql: string): Promise<ExportedRow[]> {
  const rows = (await db.runAndReadAll(sql)).getRowObjects();
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === "number" || value === null ? value : String(value),
      ]),
    ),
  );
}

/** Strict RFC 4180. Columns of numbers are read as numbers. */
function csvRows(csv: Uint8Array): Promise<ExportedRow[]> {
  const names = csv.subarray(0, csv.indexOf(13)).toString().split(",");
  const columns = names.map((name) => `'${name}': '${numeric.has(name) ? "double" : "varchar"}'`);
  return query(
    `from read_csv('${written(csv, "csv")}', header = true, delim = ',', quote = '"', escape = '"',
      auto_detect = false, new_line = '\\r\\n', columns = {${columns.join(", ")}})`,
  );
}

function written(bytes: Uint8Array, extension: string): string {
  const file = path.join(folder, `${++files}.${extension}`);
  writeFileSync(file, bytes);
  return file;
}

/** Amounts read from Parquet are in cents. */
export const readers: Record<
  string,
  { format: "csv" | "arrow" | "parquet"; read(bytes: Uint8Array): ExportedRow[] | Promise<ExportedRow[]> }
> = {
  "DuckDB (CSV)": { format: "csv", read: csvRows },
  // Flechette reads numbers in place, so the bytes are copied to align them.
  flechette: {
    format: "arrow",
    read: (stream) =>
      readByFlechette(new Uint8Array(stream))
        .toArray()
        .map((row): ExportedRow => ({ ...row })),
  },
  "DuckDB (Parquet)": {
    format: "parquet",
    read: (bytes) => query(`from read_parquet('${written(bytes, "parquet")}')`),
  },
  hyparquet: {
    format: "parquet",
    read: (bytes) => parquetReadObjects({ file: new Uint8Array(bytes).buffer, compressors }),
  },
};
