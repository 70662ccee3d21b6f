import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import * as v from "valibot";
import { importFile } from "../../datasets/cms/import.ts";
import { csvPieces } from "../../engine/query.ts";
import { datasetsResponse } from "../../server/api/responses.ts";
import { folder, fullCsv, more, optionsFor, plainImport, row } from "../support/cms-files.ts";
import { dataPath } from "../support/data.ts";
import { ask, imageOf, versionsOf } from "../support/endpoint-oracle.ts";
import { readBack, snapshotOf, testProvenance } from "../support/fixtures.ts";

/** Tests that anybody can check a data version by the statements that `/datasets` gives: against CMS's file, and its rows. */

const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
await duckdb.run(`SET file_search_path = '${folder}'`);
const rowsBy = async (sql: string) => (await duckdb.runAndReadAll(sql)).getRowObjectsJson();

const amounts = (charge: string, allowed: string, ccn = "010001", apc = "5072") =>
  `${row.replace("010001", ccn).replace("5072", apc).replace("9652.79,1854.35", `${charge},${allowed}`)},${more}`;
const odd = fullCsv(
  amounts("9652.795", "1854.345"),
  amounts("0.004", "10", "01A001"),
  amounts("0.005", "1e2", "01a002", "5073"),
  amounts("", "", "010004"),
  amounts(" 5209.03999999999 ", "7", "010005"),
  amounts("12", "", "010006"),
);

for (const [what, content] of [
  ["CMS's excerpt", readFileSync(dataPath("prov_svc_dy23_subset.csv"))],
  ["a file with odd amounts", odd],
  ["a file in Windows-1252", Buffer.from(odd.replaceAll("Southeast", "South\u0096east"), "latin1")],
] as const)
  test(`the statement of /datasets counts and adds up ${what} as this service does`, async () => {
    const { file, ...options } = optionsFor(content);
    const name = "It's CMS's file.csv";
    copyFileSync(file, path.join(folder, name));
    const sourceUrl = `https://data.example/${encodeURIComponent(name)}`;
    const { path: written } = await importFile({ ...options, file, sourceUrl }, []);
    const snapshot = await readBack(readFileSync(written), written);
    const image = imageOf(snapshot);
    const [{ verify, ...version }] = v.parse(datasetsResponse, ask(versionsOf(image), "/datasets")).data;
    assert.ok(verify !== null);
    assert.deepEqual(
      [verify.file, verify.source_url, verify.sha256],
      [name, sourceUrl, version.source_sha256],
    );
    // As the README says for files of 2019 and 2021.
    if (what === "a file in Windows-1252")
      execFileSync("sh", ["-c", 'iconv -f WINDOWS-1252 -t UTF-8 "$0" > "$1"', file, path.join(folder, name)]);
    const [found] = await rowsBy(verify.sql);
    const counts = ["rows", "priced_rows", "suppressed_rows", "facilities", "procedures"] as const;
    for (const count of counts) assert.equal(Number(found[count]), version[count], count);

    const exported = path.join(folder, `exported-${version.source_sha256}.csv`);
    writeFileSync(
      exported,
      Buffer.concat(
        Array.from(csvPieces(image, { procedure: null, state: null }), (piece) => Buffer.from(piece)),
      ),
    );
    const [sums] = await rowsBy(
      `SELECT sum(submitted_charge::DECIMAL(18,2)) AS submitted_charge, sum(medicare_allowed::DECIMAL(18,2)) AS medicare_allowed
       FROM read_csv('${exported}', header = true, all_varchar = true) WHERE status = 'priced'`,
    );
    assert.deepEqual(
      [found.submitted_charge, found.medicare_allowed].map(Number),
      [sums.submitted_charge, sums.medicare_allowed].map(Number),
    );
  });

test("a version that isn't from CMS's file has nothing to verify, and without an address the file has no name", async () => {
  const verifyOf = (snapshot: Parameters<typeof imageOf>[0]) =>
    v.parse(datasetsResponse, ask(versionsOf(imageOf(snapshot)), "/datasets")).data[0].verify;
  const withoutFile = { ...testProvenance, sourceSha256: null };
  assert.equal(verifyOf(snapshotOf([["000001", "AL", "5072", 2, 1]], withoutFile)), null);
  const { file } = optionsFor(odd);
  const { path: written } = await importFile(plainImport(file, path.join(folder, "no-address")), []);
  const verify = verifyOf(await readBack(readFileSync(written), written));
  assert.deepEqual([verify?.file, verify?.source_url], [null, null]);
  assert.match(verify?.sql ?? "", /read_csv\('CMS\.csv'/);
});

test("the file is named by any address that a snapshot may have", () => {
  for (const [end, name] of [
    ["/2023/CMS%20%28out%29.csv?a=/b.csv#c", "CMS (out).csv"],
    ["/100%_MUP.csv", "100%_MUP.csv"],
    ["/%E9.csv", "%E9.csv"],
    ["/a%2Fb.csv", "a%2Fb.csv"],
    ["/a%0Ab.csv", "a%0Ab.csv"],
    ["/files/", null],
    ["", null],
  ]) {
    const from = { ...testProvenance, sourceSha256: "0".repeat(64), sourceUrl: `https://data.example${end}` };
    const image = imageOf(snapshotOf([["000001", "AL", "5072", 2, 1]], from));
    const [{ verify }] = v.parse(datasetsResponse, ask(versionsOf(image), "/datasets")).data;
    assert.equal(verify?.file, name, `address that ends in ${end}`);
    assert.ok(verify?.sql.includes(`read_csv('${name ?? "CMS.csv"}'`), `statement for ${end}`);
  }
});

test("the statement of /datasets gives the checksum of the rows from a version's Parquet file, whatever tool wrote it", async () => {
  const { file, ...options } = optionsFor(odd);
  const { path: imported } = await importFile({ ...options, file }, []);
  const tools = ["pandas", "pandas-category", "polars", "pyarrow"].map((tool) =>
    dataPath(`other-tools/${tool}.parquet`),
  );
  for (const [i, from] of [imported, ...tools].entries()) {
    const bytes = readFileSync(from);
    const version = i === 0 ? path.basename(from, ".parquet") : `2023.${1 + i}`;
    const image = imageOf(await readBack(bytes, `${version}.parquet`));
    const [{ content_sha256, content_sql }] = v.parse(
      datasetsResponse,
      ask(versionsOf(image), "/datasets"),
    ).data;
    writeFileSync(path.join(folder, `opps-${version}.parquet`), bytes);
    assert.deepEqual(await rowsBy(content_sql), [{ content_sha256 }], from);
  }
});
