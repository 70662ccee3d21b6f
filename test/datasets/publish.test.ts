import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { publishSnapshot } from "../../datasets/publish.ts";
import { decodeSnapshot, encodeSnapshot, type Snapshot, sealSnapshot } from "../../engine/index.ts";
import { randomSnapshot } from "../support/fixtures.ts";

const folder = mkdtempSync(path.join(os.tmpdir(), "publish-test-"));
after(() => rmSync(folder, { recursive: true }));

/** A snapshot that could be published as that revision. */
function snapshotOf(revision: number): Snapshot {
  const content = randomSnapshot(1);
  return sealSnapshot({ ...content, provenance: { ...content.provenance, revision } });
}

test("a revision that is taken meanwhile is left alone, and the next one is written", () => {
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
  assert.equal(decodeSnapshot(readFileSync(written), written).sha256, snapshotOf(2).sha256);
});

test("a publication that fails leaves no file", () => {
  const out = path.join(folder, "failed");
  const failing = () => {
    throw new Error("no snapshot");
  };
  assert.throws(() => publishSnapshot(out, 2024, [], failing), { message: "no snapshot" });
  assert.deepEqual(readdirSync(out), []);
  writeFileSync(path.join(out, "2024.9999.parquet"), "");
  assert.throws(() => publishSnapshot(out, 2024, [], failing), {
    name: "DataError",
    message: `${out}: next revision of 2024: found 10000, expected at most 9999`,
  });
  assert.deepEqual(readdirSync(out), ["2024.9999.parquet"]);
});

test("a folder that can't be made is one error", () => {
  assert.throws(() => publishSnapshot("/proc/nothing/here", 2023, [], () => assert.fail("never built")), {
    message: "/proc/nothing/here: found a refusal to write (ENOENT), expected a folder that can be written",
  });
});
