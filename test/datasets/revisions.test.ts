import assert from "node:assert/strict";
import fs, { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { test } from "node:test";
import { checkRegular, readRegular, unwritable } from "../../datasets/files.ts";
import { findContent, newestSnapshot, publishSnapshot } from "../../datasets/revisions.ts";
import { encodeSnapshot, type Snapshot, sealSnapshot } from "../../engine/index.ts";
import { columnsOf, randomSnapshot, readBack } from "../support/fixtures.ts";
import { temporaryFolder } from "../support/folders.ts";
import { fileOf } from "../support/parquet-file.ts";

const folder = temporaryFolder();

function snapshotOf(revision: number): Snapshot {
  const content = randomSnapshot(1);
  return sealSnapshot(content.table, { ...content.provenance, revision });
}

test("a revision that another process writes meanwhile is kept, and the next number is used", async () => {
  const out = path.join(folder, "taken");
  const built: number[] = [];
  const written = publishSnapshot(out, 2024, [], (revision) => {
    built.push(revision);
    if (revision === 1) writeFileSync(path.join(out, "2024.1.parquet"), "theirs");
    return encodeSnapshot(snapshotOf(revision));
  });
  assert.deepEqual(built, [1, 2]);
  assert.equal(written, path.join(out, "2024.2.parquet"));
  assert.deepEqual(readdirSync(out), ["2024.1.parquet", "2024.2.parquet"]);
  assert.equal(readFileSync(path.join(out, "2024.1.parquet"), "utf8"), "theirs");
  assert.equal((await readBack(readFileSync(written), written)).sha256, snapshotOf(2).sha256);
});

test("a publication that fails leaves no file", () => {
  const out = path.join(folder, "failed");
  const failing = () => {
    throw new Error("no snapshot");
  };
  assert.throws(() => publishSnapshot(out, 2024, [], failing), { message: "no snapshot" });
  assert.deepEqual(readdirSync(out), []);
});

test("a year without free revision numbers is rejected with the file or served version that has the last", () => {
  const out = path.join(folder, "full");
  const refused = (known: string[], found: string) =>
    assert.throws(
      () =>
        publishSnapshot(
          out,
          2024,
          known.map((version) => ({ version, sha256: "" })),
          () => assert.fail(),
        ),
      {
        name: "DataError",
        message: `${out}: next revision of 2024: found ${found}, expected at most 9999: a file that is no snapshot can be moved away`,
      },
    );
  refused(["2024.9999", "2024.1", "2023.10000"], "10000, after 2024.9999");
  for (const name of ["2024.9999.parquet", "2024.10000.PARQUET", "2024.123456.parquet"]) {
    const taken = Number(name.split(".")[1]);
    writeFileSync(path.join(out, name), "");
    refused(["2024.1"], `${taken + 1}, after ${name}`);
  }
  assert.equal(readdirSync(out).length, 3);
  const next = publishSnapshot(out, 2023, [], (revision) => encodeSnapshot(snapshotOf(revision)));
  assert.equal(path.basename(next), "2023.1.parquet", "another year has its numbers");
});

test("an output folder that can't be created gives one error", () => {
  assert.throws(() => publishSnapshot("/proc/nothing/here", 2023, [], () => assert.fail("never built")), {
    message:
      "/proc/nothing/here: found a folder that can't be written (ENOENT), expected a folder that can be written",
  });
});

for (const [code, found] of [
  ["ENOSPC", "no room on its disk (ENOSPC)"],
  ["EDQUOT", "no room on its disk (EDQUOT)"],
  ["EEXIST", "a name that is taken, although no such file exists"],
] as const)
  test(`a snapshot that the system refuses (${code}) gives one error and leaves no file`, (t) => {
    const out = path.join(folder, code);
    const writes = t.mock.method(fs, "linkSync", () => {
      throw Object.assign(new Error(code), { code, syscall: "link" });
    });
    syncBuiltinESMExports();
    t.after(() => {
      writes.mock.restore();
      syncBuiltinESMExports();
    });
    const expected =
      code === "EEXIST"
        ? "a folder that can be written"
        : "2 KiB of room: name a folder on another disk, or delete other files from this one";
    assert.throws(() => publishSnapshot(out, 2024, [], () => new Uint8Array(1025)), {
      name: "DataError",
      message: `${out}: found ${found}, expected ${expected}`,
    });
    assert.deepEqual(readdirSync(out), []);
  });

test("the newest snapshot of a year with the same rows is found, whichever tool wrote it", async () => {
  const out = path.join(folder, "found");
  const [wanted, other] = [1, 2].map((seed) => randomSnapshot(seed));
  const find = async (known: { version: string; sha256: string }[] = []) => {
    const found = await findContent(out, 2024, { contentSha256: wanted.contentSha256, codes: null }, known);
    return found && path.basename(found.path);
  };
  assert.equal(await find(), undefined, "there is no folder");
  assert.equal(newestSnapshot(out, 2024), undefined);
  const write = (revision: number, bytes: Uint8Array | string) =>
    writeFileSync(path.join(out, `2024.${revision}.parquet`), bytes);
  const publish = ({ table, provenance }: Snapshot) =>
    publishSnapshot(out, 2024, [], (revision) =>
      encodeSnapshot(sealSnapshot(table, { ...provenance, revision })),
    );
  publish(other);
  assert.equal(await find(), undefined);
  publish(wanted);
  assert.equal(await find(), "2024.2.parquet");
  write(3, fileOf(columnsOf(other), new Map()));
  write(4, "damaged");
  assert.equal(await find(), "2024.2.parquet");
  write(5, fileOf(columnsOf(wanted), new Map()));
  assert.equal(await find(), "2024.5.parquet");
  const { sha256 } = await readBack(readFileSync(path.join(out, "2024.5.parquet")), "2024.5.parquet");
  assert.equal(await find([{ version: "2024.5", sha256 }]), "2024.5.parquet");
  assert.equal(await find([{ version: "2024.5", sha256: "other" }]), "2024.2.parquet", "it can't be served");
  for (const name of ["2024.6", "2024.7.PARQUET"]) writeFileSync(path.join(out, name), "no snapshot's name");
  assert.equal(newestSnapshot(out, 2025), path.join(out, "2024.5.parquet"));
  assert.equal(newestSnapshot(out, 2023), undefined);
});

test("what the system refuses is one error with its code, and any other error stays as it is", () => {
  const refused = (found: string, expected: string) => ({
    name: "DataError",
    message: `${found}, expected ${expected}`,
  });
  assert.throws(
    () => checkRegular("/nothing", "a"),
    refused("/nothing: found no readable file (ENOENT)", "a"),
  );
  assert.throws(
    () => readRegular("/proc", "a"),
    refused("/proc: found something that isn't a regular file", "a"),
  );
  // A file that has no content to read.
  assert.throws(
    () => readRegular("/proc/self/mem", "a"),
    refused("/proc/self/mem: found no readable file (EIO)", "a"),
  );
  assert.throws(() => checkRegular("a\0b", "a"), { code: "ERR_INVALID_ARG_VALUE" });
  const failed = (code: string) => Object.assign(new Error(code), { code, syscall: "write" });
  const advice = "name a folder on another disk, or delete other files from this one";
  for (const [code, bytes, message] of [
    ["ENOSPC", 1024, `f: found no room on its disk (ENOSPC), expected 1 KiB of room: ${advice}`],
    ["EDQUOT", 1025, `f: found no room on its disk (EDQUOT), expected 2 KiB of room: ${advice}`],
    [
      "ENOSPC",
      undefined,
      `f: found no room on its disk (ENOSPC), expected room for the new files: ${advice}`,
    ],
    ["EROFS", 1, "f: found a folder that can't be written (EROFS), expected a folder that can be written"],
  ] as const)
    assert.equal(String(unwritable("f", failed(code), bytes)), `DataError: ${message}`);
  const other = new Error("other");
  assert.equal(unwritable("f", other, 1), other);
});
