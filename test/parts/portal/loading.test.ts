import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { loadingLines } from "../../../server/parts/portal/browser/columns.ts";
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
