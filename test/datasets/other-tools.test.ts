import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { importFile } from "../../datasets/cms/import.ts";
import { decodeSnapshot, partsOf } from "../../engine/index.ts";
import { fullCsv, more, optionsFor, otherRow, row } from "../support/cms-files.ts";
import { temporaryFolder } from "../support/folders.ts";
import { blocksOf } from "../support/readme.ts";

/** Tests that the README's way to make a snapshot with DuckDB gives what `import` makes of the same file. */

test("a snapshot made by DuckDB with the README's SQL equals the same rows imported from CSV", async () => {
  const folder = temporaryFolder();
  const [source, target] = ["release.csv", "2023.1.parquet"].map((name) => path.join(folder, name));
  const content = fullCsv(
    `${otherRow},10001,1,Metropolitan area core,,,,,`,
    `${row},${more}`,
    `010001,Southeast Health,1 Main St,Dothan,AL,5114,Level 4 Excision,0.29,1.005,${more}`,
    `010002,"Hospital, North",3 Main St,Dothan,AL,5072,Level 2 Excision,19999.99,4.35,${more}`,
  );
  writeFileSync(source, content);
  const [block] = blocksOf(readFileSync(new URL("../../datasets/README.md", import.meta.url), "utf8"), "sql");
  const sql = block.replace("release.csv", source).replace("2023.1.parquet", target);
  const db = await (await DuckDBInstance.create(":memory:")).connect();
  await db.run(sql);

  const made = await decodeSnapshot(readFileSync(target), target);
  assert.equal(made.isChecked, false);
  assert.match(made.warnings.join(), /file_sha256/);
  const imported = await importFile(optionsFor(content), []);
  const expected = await decodeSnapshot(readFileSync(imported.path), imported.path);
  assert.equal(expected.isChecked, true);
  const [ours, theirs] = [expected, made].map(({ snapshot }) => partsOf(snapshot.table));
  for (const field of ["ccn", "name", "city", "state"] as const)
    assert.deepEqual(theirs.facilities[field], ours.facilities[field], field);
  assert.deepEqual(theirs.procedures, ours.procedures);
  for (const field of ["facility", "procedure", "charge", "allowed", "services"] as const)
    assert.deepEqual([...theirs.rows[field]], [...ours.rows[field]], field);
  assert.deepEqual(made.snapshot.counts, expected.snapshot.counts);
});
