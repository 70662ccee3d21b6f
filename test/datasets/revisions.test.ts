import assert from "node:assert/strict";
import fs, { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { test } from "node:test";
import { publishSnapshot } from "../../datasets/revisions.ts";
import { encodeSnapshot, type Snapshot, sealSnapshot } from "../../engine/index.ts";
import { randomSnapshot, readBack } from "../support/fixtures.ts";
import { temporaryFolder } from "../support/folders.ts";

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
