import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { importFile } from "../../datasets/cms/import.ts";
import type { KnownVersion } from "../../datasets/revisions.ts";
import type { Snapshot } from "../../engine/index.ts";
import { registryOf } from "../../server/store/registry.ts";
import { Store } from "../../server/store/store.ts";
import { csv, optionsFor, otherRow, row } from "../support/cms-files.ts";
import { columnsOf, readBack } from "../support/fixtures.ts";
import { temporaryFolder } from "../support/folders.ts";
import { fileOf, metadataOf } from "../support/parquet-file.ts";
import { servedSha256, stateThatServed } from "../support/state.ts";

/** Tests that a version number is never reused, and that an import writes no second snapshot with the same rows. */

const decoded = (file: string): Promise<Snapshot> => readBack(readFileSync(file), file);
const known = (...versions: string[]): KnownVersion[] =>
  versions.map((version) => ({ version, sha256: servedSha256 }));

const servedFrom = (folder: string) =>
  registryOf({ STATE_DIR: folder }).map(({ version, sha256 }) => ({ version, sha256 }));

test("reading the served versions without a state returns none and creates no state", () => {
  const none = path.join(temporaryFolder(), "none");
  assert.deepEqual(servedFrom(none), []);
  assert.equal(existsSync(none), false);
});

test("served versions are read from the state, also while a server has it open", () => {
  const folder = stateThatServed("2023.1", "2023.12");
  const server = Store.open(folder);
  assert.deepEqual(servedFrom(folder), known("2023.1", "2023.12"));
  server.close();
  assert.deepEqual(servedFrom(folder), known("2023.1", "2023.12"));
});

test("a revision number that was served is never reused, even if its file is deleted", async () => {
  const options = optionsFor(csv(row));
  const first = await importFile(options, known("2023.4", "2022.9"));
  assert.equal(path.basename(first.path), "2023.5.parquet");
  rmSync(first.path);
  const again = await importFile(options, known("2023.4", "2022.9", "2023.5"));
  assert.equal(path.basename(again.path), "2023.6.parquet");
  assert.equal((await decoded(again.path)).provenance.revision, 6);
});

test("existing rows aren't written again, even with another release date, unless forced", async () => {
  const options = optionsFor(csv(row, otherRow));
  const first = await importFile(options, []);
  const other = await importFile({ ...optionsFor(csv(row)), out: options.out }, []);
  assert.deepEqual([first.isNew, other.isNew], [true, true]);
  const reordered = { ...optionsFor(csv(otherRow, row)), out: options.out, released: "2025-08" };
  const again = await importFile(reordered, []);
  assert.deepEqual([again.path, again.isNew, again.counts], [first.path, false, first.counts]);
  assert.deepEqual(readdirSync(options.out), ["2023.1.parquet", "2023.2.parquet"]);

  const forced = await importFile({ ...reordered, force: true }, []);
  assert.deepEqual([path.basename(forced.path), forced.isNew], ["2023.3.parquet", true]);
  assert.equal((await decoded(forced.path)).contentSha256, (await decoded(first.path)).contentSha256);
  assert.equal((await importFile(options, [])).path, forced.path, "the newest one is named");
  const nextYear = await importFile({ ...options, year: 2024 }, []);
  assert.equal(path.basename(nextYear.path), "2024.1.parquet", "another year is another thing");
});

test("existing rows are found in an older file without a row checksum in its footer", async () => {
  const options = optionsFor(csv(row));
  const { path: file } = await importFile(options, []);
  const metadata = metadataOf(readFileSync(file));
  assert.ok(metadata.delete("content_sha256"));
  writeFileSync(file, fileOf(columnsOf(await decoded(file)), metadata));
  assert.equal((await importFile(options, [])).isNew, false);
});

test("rows in a file that a server would refuse don't count as existing", async () => {
  const options = optionsFor(csv(row));
  const { path: file } = await importFile(options, []);
  const bytes = readFileSync(file);
  const isNew = async (versions: readonly KnownVersion[] = []) => {
    const { path: written, isNew } = await importFile(options, versions);
    if (isNew) rmSync(written);
    return isNew;
  };
  assert.equal(await isNew(known("2023.1")), true, "its number was served with another content");
  const { sha256 } = await decoded(file);
  assert.equal(await isNew([{ version: "2023.1", sha256 }]), false);

  writeFileSync(file, Buffer.from(bytes).fill(0xff, 40, 80));
  assert.equal(await isNew(), true, "its rows are damaged, though its footer isn't");
  rmSync(file);
  writeFileSync(path.join(options.out, "2023.7.parquet"), bytes);
  assert.equal(await isNew(), true, "it has another version's name");
  mkdirSync(path.join(options.out, "2023.8.parquet"));
  writeFileSync(path.join(options.out, "2023.9.parquet"), "");
  chmodSync(path.join(options.out, "2023.9.parquet"), 0o000);
  assert.equal(await isNew(), true);
});
