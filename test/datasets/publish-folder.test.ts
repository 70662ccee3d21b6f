import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { publishFolder } from "../../datasets/publish/publish-folder.ts";
import { encodeSnapshot } from "../../engine/index.ts";
import { run } from "../support/commands.ts";
import { snapshotAs } from "../support/fixtures.ts";
import { temporaryFolder } from "../support/folders.ts";

/** Each file is encoded only once, because the same content is encoded differently each time. */
const files = new Map<string, Buffer>();

function fileOf(version: string, charge = 100): Buffer {
  const name = `${version} ${charge}`;
  const file = files.get(name) ?? encoded(version, charge);
  files.set(name, file);
  return file;
}

function encoded(version: string, charge: number): Buffer {
  return Buffer.from(encodeSnapshot(snapshotAs(version, [["010001", "AL", "5072", charge, 50]])));
}

function folderOf(...versions: string[]): string {
  const folder = temporaryFolder();
  for (const version of versions) writeFileSync(path.join(folder, `${version}.parquet`), fileOf(version));
  return folder;
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const indexIn = (folder: string) => JSON.parse(readFileSync(path.join(folder, "index.json"), "utf8"));
const entryOf = (version: string) => {
  const bytes = fileOf(version);
  return { version, file: `${version}.parquet`, bytes: bytes.length, sha256: sha256(bytes) };
};

test("publish hard-links snapshots into a folder and writes their index, newest first", async () => {
  const from = folderOf("2023.2", "2023.10", "2024.1");
  writeFileSync(path.join(from, "notes.txt"), "");
  const to = path.join(temporaryFolder(), "a/b");
  await publishFolder(from, to);
  assert.deepEqual(indexIn(to), ["2024.1", "2023.10", "2023.2"].map(entryOf));
  assert.deepEqual(readdirSync(to), ["2023.10.parquet", "2023.2.parquet", "2024.1.parquet", "index.json"]);
  const inode = (folder: string) => statSync(path.join(folder, "2024.1.parquet")).ino;
  assert.equal(inode(from), inode(to));
});

test("a deleted snapshot stays in the published folder but not in its index", async () => {
  const [from, to] = [folderOf("2023.1", "2024.1"), temporaryFolder()];
  await publishFolder(from, to);
  rmSync(path.join(from, "2023.1.parquet"));
  await publishFolder(from, to);
  assert.deepEqual(indexIn(to), [entryOf("2024.1")]);
  assert.deepEqual(readdirSync(to), ["2023.1.parquet", "2024.1.parquet", "index.json"]);
});

test("publish rejects a damaged file, a wrong version, changed content and an empty folder", async () => {
  const [from, to] = [folderOf("2024.1"), temporaryFolder()];
  await publishFolder(from, to);
  const before = readFileSync(path.join(to, "index.json"));
  const put = (name: string, bytes: Buffer | string) => writeFileSync(path.join(from, name), bytes);
  put("2024.2.parquet", fileOf("2024.2").subarray(5));
  await assert.rejects(publishFolder(from, to), { name: "DataError" });
  put("2024.2.parquet", fileOf("2024.3"));
  await assert.rejects(publishFolder(from, to), {
    message: `${from}/2024.2.parquet: metadata revision: found 3, expected 2, as in the file's name`,
  });
  rmSync(path.join(from, "2024.2.parquet"));
  rmSync(path.join(from, "2024.1.parquet"));
  put("2024.1.parquet", fileOf("2024.1", 200));
  await assert.rejects(publishFolder(from, to), {
    message: `${from}/2024.1.parquet: content: found ${sha256(fileOf("2024.1", 200))}, expected ${sha256(fileOf("2024.1"))}, which was published as 2024.1`,
  });
  rmSync(path.join(from, "2024.1.parquet"));
  await assert.rejects(publishFolder(from, to), {
    message: `DATASETS_DIR ${from}: found no snapshots, expected at least one <year>.<revision>.parquet`,
  });
  assert.deepEqual(readFileSync(path.join(to, "index.json")), before);
  assert.deepEqual(readdirSync(to), ["2024.1.parquet", "index.json"]);
});

test("publish prints the index's path on stdout and the published versions on stderr", async () => {
  const [from, to] = [folderOf("2024.1"), temporaryFolder()];
  const [result] = await run(temporaryFolder(), [`publish ${to}`], { DATASETS_DIR: from });
  assert.deepEqual(result, { code: 0, stdout: `${to}/index.json\n`, stderr: "published 2024.1\n" });
});
