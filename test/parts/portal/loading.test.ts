import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { encodeSnapshot } from "../../../engine/index.ts";
import { snapshotColumns } from "../../../engine/snapshot/schema.ts";
import {
  columns as described,
  loadingLines,
  notInParquet,
  parquetNames,
  typedLines,
} from "../../../server/parts/portal/browser/columns.ts";
import { snapshotOf } from "../../support/fixtures.ts";
import { temporaryFolder } from "../../support/server.ts";

test("the DuckDB line loads a CSV with codes as text and names only the file's columns", async () => {
  const columns = ["data_version", "ccn", "code", "submitted_charge"];
  const file = path.join(temporaryFolder(), "opps-2024.1.csv");
  writeFileSync(file, `${columns.join(",")}\r\n2024.1,050441,5072,100.5\r\n`);
  const lines = loadingLines("2024.1", columns);
  const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
  const rows = await duckdb.runAndReadAll(lines.DuckDB.replace("opps-2024.1.csv", file));
  assert.deepEqual(rows.getRowsJson(), [["2024.1", "050441", "5072", 100.5]]);
  for (const line of Object.values(lines)) assert.doesNotMatch(line, /zip|rural/);
});

test("the columns of a Parquet file are the described columns with their names there", () => {
  const there = Object.keys(described).filter((name) => !notInParquet.includes(name));
  assert.deepEqual(
    there.map((name) => parquetNames[name] ?? name).sort(),
    snapshotColumns.map(({ name }) => name).sort(),
  );
});

test("the DuckDB line loads a Parquet file with amounts in dollars", async () => {
  const file = path.join(temporaryFolder(), "opps-2024.1.parquet");
  writeFileSync(file, encodeSnapshot(snapshotOf([["050441", "CA", "5072", 1234.5, 600]])));
  const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
  const line = typedLines("2024.1")["Parquet in DuckDB"].replace("opps-2024.1.parquet", file);
  const [row] = (await duckdb.runAndReadAll(line)).getRowObjectsJson();
  assert.deepEqual([row.ccn, row.procedure_code, row.submitted_charge], ["050441", "5072", 1234.5]);
});
