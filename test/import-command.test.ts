import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { decodeSnapshot } from "../engine/index.ts";
import { Store } from "../server/store.ts";
import { csv, optionsFor, otherRow, row } from "./cms-files.ts";
import { type Finished, Running, temporaryFolder } from "./server.ts";

/** The import command, as it is typed. */

/** A folder with the state of a server that has served nothing. */
function emptyState(): string {
  const folder = temporaryFolder();
  Store.open(folder).close();
  return folder;
}
const state = emptyState();

function command(args: string[], env: Record<string, string> = { STATE_DIR: state }): Promise<Finished> {
  return new Running("datasets/import.ts", args, env).finished();
}

test("the command prints the path alone, a summary beside it, and leaves nothing but the snapshot", async () => {
  const { file, out } = optionsFor(csv(row, otherRow));
  const written = path.join(out, "2023.1.parquet");
  const summary = "2 rows: 1 priced, 1 suppressed, 0 incomplete; 2 facilities, 2 procedures, 2 states\n";
  assert.deepEqual(await command([file, "--year", "2023", "--out", out]), {
    code: 0,
    stdout: `${written}\n`,
    stderr: summary,
  });
  assert.deepEqual(readdirSync(out), ["2023.1.parquet"]);

  assert.deepEqual(await command([file, "--year", "2023"], { STATE_DIR: state, DATASETS_DIR: out }), {
    code: 0,
    stdout: `${written}\n`,
    stderr: `${summary}nothing written: 2023.1 has these rows already; --force writes them\n`,
  });
  assert.deepEqual(readdirSync(out), ["2023.1.parquet"]);
});

test("the command says what it had to decide: the encoding, the names, and the number without a registry", async () => {
  const windows = csv(row, row.replace("5072,Level 2", "5073,Level 3").replace("Dothan", "D\xf6than"));
  const { file, out } = optionsFor(Buffer.from(windows, "latin1"));
  const none = temporaryFolder();
  const { code, stdout, stderr } = await command([file, "--year", "2023", "--out", out], { STATE_DIR: none });
  assert.deepEqual([code, stdout], [0, `${path.join(out, "2023.1.parquet")}\n`]);
  assert.deepEqual(stderr.split("\n"), [
    `no registry of data versions in STATE_DIR ${none}: numbers are taken by the snapshots in the folder alone`,
    "read as Windows-1252, as it is not UTF-8: 0xF6 in line 3, byte 36",
    "facilities with several names or cities: 1; the commonest of each is taken",
    "2 rows: 2 priced, 0 suppressed, 0 incomplete; 1 facilities, 2 procedures, 1 states",
    "",
  ]);
});

test("the command says one line and exits with 1 when it refuses", async () => {
  const { file, out } = optionsFor(csv("x"));
  assert.deepEqual(await command([file, "--year", "2023", "--out", out]), {
    code: 1,
    stdout: "",
    stderr: `${file} line 2: found 1 field, expected 9 as in the header\n`,
  });
  assert.equal(existsSync(out), false);
  const damaged = temporaryFolder();
  writeFileSync(path.join(damaged, "state.sqlite"), "x".repeat(5000));
  const refused = await command([file, "--year", "2023", "--out", out], { STATE_DIR: damaged });
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(
    refused.stderr,
    /^state database .*: found file is not a database, expected a sound [^\n]*\n$/,
  );
});

test("--help is help on stdout, for both commands that write snapshots", async () => {
  for (const [script, example] of [
    ["import", "npm run import -- FILE.csv --year YYYY"],
    ["sample", "npm run sample -- --out DIR --year YYYY"],
  ]) {
    const help = await new Running(`datasets/${script}.ts`, ["--year", "1", "--help"], {}).finished();
    assert.deepEqual([help.code, help.stderr], [0, ""]);
    assert.ok(help.stdout.startsWith(`usage: ${example}`), help.stdout);
    assert.match(help.stdout, /\n {2}--year YYYY/);
  }
});

test("the sample command takes no number that was served", async () => {
  const out = temporaryFolder();
  const served = emptyState();
  new Database(path.join(served, "state.sqlite"))
    .exec("INSERT INTO versions VALUES ('2024.3', 'a', 'b', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z')")
    .close();
  const args = ["--out", out, "--year", "2024", "--rows", "100"];
  const written = path.join(out, "2024.4.parquet");
  const { stdout } = await new Running("datasets/sample.ts", args, { STATE_DIR: served }).finished();
  assert.equal(stdout, `${written}\n`);
  assert.equal(decodeSnapshot(readFileSync(written), written).provenance.revision, 4);
});
