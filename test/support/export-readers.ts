import { writeFileSync } from "node:fs";
import path from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { tableFromIPC as readByFlechette } from "@uwdata/flechette";
import { tableFromIPC } from "apache-arrow";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import * as parquet from "parquet-wasm";
import type { ExportedRow } from "./exported-rows.ts";
import { temporaryFolder } from "./folders.ts";

/** Reads exports, and the files that were imported, by programs that people have for them. */

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

/** CSV as DuckDB reads it by the standard alone, numbers as numbers. */
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

const arrowRows = (stream: Uint8Array) =>
  tableFromIPC(stream)
    .toArray()
    .map((row): ExportedRow => row.toJSON());

/** Programs, the export that each reads, and how. Amounts are cents in Parquet. */
export const readers: Record<
  string,
  { format: "csv" | "arrow" | "parquet"; read(bytes: Uint8Array): ExportedRow[] | Promise<ExportedRow[]> }
> = {
  "DuckDB (CSV)": { format: "csv", read: csvRows },
  "apache-arrow": { format: "arrow", read: arrowRows },
  // It reads numbers where they are, so they have to be aligned.
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
  "parquet-wasm": {
    format: "parquet",
    read: (bytes) => arrowRows(parquet.readParquet(bytes).intoIPCStream()),
  },
  hyparquet: {
    format: "parquet",
    read: (bytes) => parquetReadObjects({ file: new Uint8Array(bytes).buffer, compressors }),
  },
};

/** A row of a snapshot file as the other exports have it. */
export function exportedRow(row: ExportedRow, year: number): ExportedRow {
  const {
    procedure_code,
    procedure_name,
    submitted_charge_cents: charge,
    medicare_allowed_cents: allowed,
  } = row;
  const { medicare_payment_cents, outlier_amount_cents, ...rest } = row;
  for (const name of Object.keys(rest)) if (/^procedure_|_cents$/.test(name)) delete rest[name];
  const isPriced = Number(charge) > 0 && Number(allowed) > 0;
  const dollars = (cents: ExportedRow[string]) => (cents === null ? null : Number(cents) / 100);
  return {
    ...rest,
    data_year: year,
    data_version: `${year}.1`,
    code: procedure_code,
    procedure: procedure_name,
    submitted_charge: isPriced ? dollars(charge) : null,
    medicare_allowed: isPriced ? dollars(allowed) : null,
    status: isPriced ? "priced" : charge === null && allowed === null ? "suppressed" : "incomplete",
    medicare_payment: dollars(medicare_payment_cents),
    outlier_amount: dollars(outlier_amount_cents),
  };
}

/** The rows that exports of an imported file of 2023 have to have, as DuckDB finds them in it. */
export function sourceRows(file: string): Promise<ExportedRow[]> {
  const dollars = (name: string) => `round(try_cast(${name} as decimal(20, 6)), 2)`;
  return query(`
    with source as (
      select *, ${dollars("Avg_Tot_Sbmtd_Chrgs")} charge, ${dollars("Avg_Mdcr_Alowd_Amt")} allowed
      from read_csv('${file}', all_varchar = true, header = true, delim = ',', quote = '"', escape = '"', nullstr = '')
    )
    select 2023::double data_year, '2023.1' data_version, Rndrng_Prvdr_CCN ccn,
      regexp_replace(Rndrng_Prvdr_Org_Name, ' +', ' ', 'g') facility, Rndrng_Prvdr_City city,
      Rndrng_Prvdr_State_Abrvtn state, APC_Cd code, APC_Desc "procedure",
      (case when charge > 0 and allowed > 0 then charge end)::double submitted_charge,
      (case when charge > 0 and allowed > 0 then allowed end)::double medicare_allowed,
      case when charge > 0 and allowed > 0 then 'priced' when charge is null and allowed is null then 'suppressed'
        else 'incomplete' end status,
      Rndrng_Prvdr_St street, Rndrng_Prvdr_Zip5 zip, Rndrng_Prvdr_RUCA rural_urban_code,
      Rndrng_Prvdr_RUCA_Desc rural_urban_description, CAPC_Srvcs::double services, Bene_Cnt::double beneficiaries,
      ${dollars("Avg_Mdcr_Pymt_Amt")}::double medicare_payment, Outlier_Srvcs::double outlier_services,
      ${dollars("Avg_Mdcr_Outlier_Amt")}::double outlier_amount
    from source`);
}
