import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { unlinkSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import path from "node:path";
import { test } from "node:test";
import type { Worker } from "node:worker_threads";
import { attachImage, encodeSnapshot } from "../../engine/index.ts";
import type { Wanted } from "../../server/snapshots/folder.ts";
import { defaultLimits, Loader, type LoadLimits } from "../../server/snapshots/loader.ts";
import { columnsOf, damages, type ShortRow, snapshotOf } from "../support/fixtures.ts";
import { fileOf } from "../support/parquet-file.ts";
import { seededRandom } from "../support/random.ts";
import { temporaryFolder } from "../support/server.ts";

/** Tests the memory that loads may take, and the loader threads. */

const mebibyte = 2 ** 20;

function wantedOf(bytes: Uint8Array): Wanted {
  const name = "2024.3.parquet";
  const file = path.join(temporaryFolder(), name);
  writeFileSync(file, bytes);
  return { name, path: file, onRows: () => {}, isBackground: false };
}

const content = snapshotOf([["010001", "AL", "5072", 100, 50]]);
const small = encodeSnapshot(content);
/** A file whose footer makes the decoder fail, and one that lacks required columns. */
const trapping = damages.flip(fileOf(columnsOf(content), new Map()), seededRandom(40));
const columnless = fileOf(columnsOf(content).slice(5), new Map());

/** A snapshot whose hospitals have names of many words. All words are different. */
function wordy(facilities: number): Uint8Array {
  const random = seededRandom(1);
  const word = () => random.int(36 ** 6).toString(36);
  const rows = Array.from({ length: facilities }, (_, i): ShortRow => {
    const name = Array.from({ length: 60 }, word).join(" ");
    return [String(i).padStart(6, "0"), "AL", "5072", 100, 50, name];
  });
  return encodeSnapshot(snapshotOf(rows));
}

test("a load gets half of the memory that the machine or the container has", () => {
  const machine = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  assert.equal(defaultLimits().maxBytes, machine / 2);
});

/** Counts the loader threads during `work`: the maximum at the same time, and all. */
async function threadsOf(work: () => Promise<unknown>): Promise<{ most: number; all: number }> {
  let [living, most, all] = [0, 0, 0];
  const count = (worker: Worker) => {
    all++;
    most = Math.max(most, ++living);
    worker.once("exit", () => living--);
  };
  process.on("worker", count);
  await work();
  process.off("worker", count);
  return { most, all };
}

const loadFile = async (wanted: Wanted, limits: Partial<LoadLimits> = {}) => {
  const loader = new Loader(limits);
  try {
    return await loader.load(wanted);
  } finally {
    await loader.end();
  }
};

test("one thread loads waiting files and refuses wrong ones, until none waits", async () => {
  const damaged = Buffer.from(small);
  damaged[20] ^= 255;
  const wrong = [damaged, small.subarray(0, 500), Buffer.from("no snapshot"), columnless].map(wantedOf);
  const good = wantedOf(small);
  const loader = new Loader();
  const threads = await threadsOf(async () => {
    for (const file of wrong) {
      await assert.rejects(loader.load(file), { name: "DataError" });
      const loaded = await loader.load(good);
      assert.equal(attachImage(loaded.image).description.counts.rows, 1);
    }
    await loader.end();
    await loader.load(good);
    await loader.end();
  });
  assert.deepEqual(threads, { most: 1, all: 2 });
});

test("a thread ends after a load that fails the decoder or takes too long", async () => {
  const good = wantedOf(small);
  const loader = new Loader();
  const threads = await threadsOf(async () => {
    await assert.rejects(loader.load(wantedOf(trapping)), {
      name: "DataError",
      message: /\(the decoder failed\)/,
    });
    await loader.load(good);
    await loader.end();
    const hurried = new Loader({ maxMs: 0 });
    for (let i = 0; i < 2; i++) await assert.rejects(hurried.load(good), { name: "DataError" });
  });
  assert.deepEqual(threads, { most: 1, all: 4 });
});

test("a snapshot with large texts is refused before its texts fill the memory", async () => {
  const wanted = wantedOf(wordy(600));
  const loaded = await loadFile(wanted, { maxBytes: 240 * mebibyte });
  assert.equal(attachImage(loaded.image).description.counts.rows, 600);
  await assert.rejects(loadFile(wanted, { maxBytes: 70 * mebibyte }), {
    name: "DataError",
    message: /^texts of 2024\.3: found \d+ bytes or more, expected at most \d+$/,
  });
});

test("a snapshot too large for the machine's memory is refused", async () => {
  await assert.rejects(loadFile(wantedOf(small), { maxBytes: 50 * mebibyte }), {
    message:
      /^2024\.3\.parquet: memory needed for the load: found \d+ MiB, expected at most 10 MiB, the limit of a load$/,
  });
});

test("a path that has become a FIFO or a folder while it waited for loading is refused", async () => {
  for (const [make, kind] of [
    ["mkfifo", "a FIFO"],
    ["mkdir", "a folder"],
  ]) {
    const wanted = wantedOf(small);
    unlinkSync(wanted.path);
    execFileSync(make, [wanted.path]);
    await assert.rejects(loadFile(wanted), {
      message: `2024.3.parquet: found ${kind}, expected a regular file`,
    });
  }
});
