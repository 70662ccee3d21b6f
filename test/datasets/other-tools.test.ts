import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { importFile } from "../../datasets/cms/import.ts";
import { decodeSnapshot } from "../../engine/index.ts";
import { folder, fullCsv, optionsFor } from "../support/cms-files.ts";
import { contentOf, readBack } from "../support/fixtures.ts";
import { seededRandom } from "../support/random.ts";
import { blocksOf, documentAt } from "../support/readme.ts";

/** Tests the page of the README that makes snapshots with other tools. */

const address = ",36301,1.0,Metropolitan area core";
const facilities = [
  ["010001,Southeast  Health ,1 Main St,Dothan,AL", address],
  ['05001f,"Hôpital, ""North""",,San José,ca', ",90210,4.1,Micropolitan area core"],
  ["330101,Some Hospital,2 Main St,New York,NY", ",,,"],
];

const edges = [
  "0.005",
  "1.005",
  "1.004999999999999",
  "2003.125",
  "5209.03999999999",
  "0",
  ".5",
  "21474836.47",
];

/** Rows in no order. Each value may be blank, as in CMS's files, and a third of the rows is suppressed. */
function release(): string {
  const random = seededRandom(5);
  const decimals = () => Array.from({ length: random.int(13) }, () => random.int(10)).join("");
  const amount = () => random.pick(["", random.pick(edges), `${random.int(100_000)}.${decimals()}`]);
  const count = () => random.pick(["", "41.0", String(random.int(5000))]);
  const rows = facilities.flatMap(([facility, place]) =>
    Array.from({ length: 60 }, (_, n) => {
      const [services, charge, allowed, payment] =
        n % 3 === 0 ? ["", "", "", ""] : [count(), amount(), amount(), amount()];
      const procedure = `${5000 + n},"Level ${n}, Excision"`;
      const others = [count(), services, payment, count(), amount()];
      return `${facility},${procedure},${charge},${allowed}${place},${others}`;
    }),
  );
  return fullCsv(...random.shuffled(rows));
}

test("the README's lines for DuckDB make the rows that import makes of the same file", async () => {
  const options = optionsFor(release());
  const { path: imported } = await importFile(options, []);
  const expected = await readBack(readFileSync(imported), imported);

  const made = path.join(folder, "2023.1.parquet");
  const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
  const [lines] = blocksOf(documentAt("datasets/README.md"), "sql");
  await duckdb.run(lines.replace("release.csv", options.file).replace("2023.1.parquet", made));
  const { snapshot, isChecked, warnings } = await decodeSnapshot(readFileSync(made), made);

  assert.deepEqual(
    { isChecked, warnings },
    { isChecked: false, warnings: ["the file has no file_sha256, so damage to it can't be seen"] },
  );
  const { rows, facilities, procedures, counts } = contentOf(snapshot);
  const other = contentOf(expected);
  assert.deepEqual(
    { rows, facilities, procedures, counts },
    { rows: other.rows, facilities: other.facilities, procedures: other.procedures, counts: other.counts },
  );
  assert.equal(snapshot.contentSha256, expected.contentSha256);
  assert.ok(counts.suppressedRows > 0 && counts.incompleteRows > 0 && counts.pricedRows > 0);
  assert.equal(snapshot.provenance.publisher, expected.provenance.publisher);
  assert.equal(snapshot.provenance.released, "2025-08");
});

test("columns of any type of DuckDB are ignored with a warning", async () => {
  const others = {
    nested: "[{'a': [1, 2], 'b': map {'c': 1}}]",
    fixed: "[1, 2]::INTEGER[2]",
    hugeint: "1::HUGEINT",
    bignum: "1::BIGNUM",
    decimal: "1::DECIMAL(38, 2)",
    double: "1.5::DOUBLE",
    uuid: "uuid()",
    blob: "'a'::BLOB",
    bits: "'101'::BIT",
    time: "TIMETZ '10:00:00+01'",
    timestamp: "TIMESTAMP_NS '2024-01-01'",
    interval: "INTERVAL 1 DAY",
    enumeration: "'a'::ENUM('a', 'b')",
    alternatives: "union_value(a := 1)",
    json: "'{}'::JSON",
    variant: "1::VARIANT",
    nothing: "NULL",
  };
  const made = path.join(folder, "2022.1.parquet");
  const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
  const columns = Object.entries(others).map(([name, value]) => `${value} AS "${name}"`);
  await duckdb.run(
    `COPY (SELECT ${columns.slice(0, 9)}, '010001' AS ccn, 'A' AS facility, 'B' AS city, 'AL' AS state,
    '5072' AS procedure_code, 'C' AS procedure_name, 200 AS submitted_charge_cents, 100 AS medicare_allowed_cents,
    ${columns.slice(9)}) TO '${made}' (FORMAT parquet)`,
  );
  const { snapshot, warnings } = await decodeSnapshot(readFileSync(made), made);
  assert.equal(snapshot.counts.pricedRows, 1);
  assert.match(warnings[1], / hands out: nested, fixed, .* and 7 more$/);
});
