import assert from "node:assert/strict";
import { utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { honestSpec, hostileFiles } from "../support/hostile-files.ts";
import type { LoadsReport } from "../support/hostile-loads.ts";
import { fileOfSpec } from "../support/parquet-file.ts";
import { Running, temporaryFolder } from "../support/server.ts";

/** Tests how much memory files with false sizes take before they are refused. */

/** Maximum memory of all loads on a machine with 1 GiB. */
const ceilingBytes = 2 ** 29;
/** Maximum memory of loading small files, two at a time. A loader that trusts their false sizes needs far more. */
const fewBytes = 2 ** 27;
const files = hostileFiles(2024, 2);
const honest = { name: "2024.1.parquet", bytes: fileOfSpec(honestSpec(1)) };

async function loaded(some: { name: string; bytes: Uint8Array }[], maxBytes: number): Promise<LoadsReport> {
  const folder = temporaryFolder();
  const longAgo = new Date(0);
  for (const { name, bytes } of some) {
    writeFileSync(path.join(folder, name), bytes);
    utimesSync(path.join(folder, name), longAgo, longAgo);
  }
  const args = [folder, temporaryFolder(), String(maxBytes)];
  const { code, stdout, stderr } = await new Running("test/support/hostile-loads.ts", args, {}).finished();
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

test("files with false page, dictionary, text or run sizes are refused before they use memory", async () => {
  const lying = files.filter(({ lie }) => !lie.includes("million rows"));
  const { refused, takenBytes } = await loaded(lying, fewBytes);
  assert.equal(refused.length, lying.length, JSON.stringify(refused));
  assert.ok(takenBytes < fewBytes, `${takenBytes} bytes`);
});

test("hostile files loaded at once are refused within the memory limit, and a valid one is served", async () => {
  const { served, refused, takenBytes } = await loaded([...files, honest], ceilingBytes);
  assert.deepEqual(served, ["2024.1"]);
  const names = refused.map(([name]) => name);
  assert.deepEqual(names.sort(), files.map(({ name }) => name).sort());
  assert.ok(takenBytes < ceilingBytes, `${takenBytes} bytes`);
});
