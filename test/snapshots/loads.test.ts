import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import type { Worker } from "node:worker_threads";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { attachImage, encodeSnapshot } from "../../engine/index.ts";
import { Loads, type Wanted } from "../../server/snapshots/loads.ts";
import { columnsOf, type ShortRow, snapshotOf } from "../support/fixtures.ts";
import { fileOf } from "../support/parquet-file.ts";
import { seededRandom } from "../support/random.ts";
import { temporaryFolder } from "../support/server.ts";
import { wantedLoad } from "../support/wanted-load.ts";

/** Tests the memory that loads may take, and the loader threads. */

const mebibyte = 2 ** 20;

async function wantedOf(bytes: Uint8Array): Promise<Wanted> {
  const file = path.join(temporaryFolder(), "2024.3.parquet");
  writeFileSync(file, bytes);
  return await wantedLoad(file);
}

const small = encodeSnapshot(snapshotOf([["010001", "AL", "5072", 100, 50]]));

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

test("small snapshots are loaded one after the other by a single thread", async () => {
  const wanted = await Promise.all(Array.from({ length: 8 }, () => wantedOf(small)));
  const loads = new Loads(1024 * mebibyte);
  const threads = await threadsOf(() => Promise.all(wanted.map((each) => loads.load(each))));
  assert.deepEqual(threads, { most: 1, all: 1 });
});

test("a large snapshot is loaded in parallel with small ones", async () => {
  const large = await wantedOf(
    encodeSnapshot(syntheticSnapshot({ dataYear: 2024, revision: 3, rows: 60_000, seed: 1 })),
  );
  const wanted = [large, await wantedOf(small)];
  // Small loads get a quarter of the memory, which is too little for the large snapshot.
  const loads = new Loads(232 * mebibyte);
  const { most } = await threadsOf(() => Promise.all(wanted.map((each) => loads.load(each))));
  assert.equal(most, 2);
});

test("100 small damaged snapshots use a single thread", async () => {
  const damaged = Buffer.from(small);
  damaged[20] ^= 255;
  const wanted = await Promise.all(Array.from({ length: 100 }, () => wantedOf(damaged)));
  const loads = new Loads(400 * mebibyte);
  const { all } = await threadsOf(() =>
    Promise.all(wanted.map((each) => assert.rejects(loads.load(each), { name: "DataError" }))),
  );
  assert.equal(all, 1);
});

test("a snapshot with large texts is loaded with all available memory, or refused if that isn't enough", async () => {
  const wanted = await wantedOf(wordy(600));
  const { all } = await threadsOf(async () => {
    const loaded = await new Loads(240 * mebibyte).load(wanted);
    assert.equal(loaded && attachImage(loaded.image).description.counts.rows, 600);
  });
  assert.equal(all, 2);
  await assert.rejects(new Loads(90 * mebibyte).load(wanted), {
    name: "DataError",
    message: /^texts of 2024\.3: found \d+ bytes or more, expected at most \d+$/,
  });
});

test("a snapshot too large for the machine's memory is refused", async () => {
  await assert.rejects(new Loads(60 * mebibyte).load(await wantedOf(small)), {
    name: "DataError",
    message:
      "2024.3.parquet: memory needed for the load: found 17 MiB, expected at most 5 MiB, the limit of a load",
  });
});

test("a thread whose decoder failed on a file of another tool ends before the next load", async () => {
  const foreign = Buffer.from(fileOf(columnsOf(snapshotOf([["010001", "AL", "5072", 100, 50]])), new Map()));
  const damaged = foreign.fill(0xff, 40, 80);
  const wanted = [await wantedOf(damaged), await wantedOf(damaged), await wantedOf(small)];
  const loads = new Loads(1024 * mebibyte);
  const results: string[] = [];
  const { most, all } = await threadsOf(() =>
    Promise.all(
      wanted.map((each, arrivedMs) =>
        loads.load({ ...each, arrivedMs }).then(
          () => results.push("loaded"),
          (error: Error) => results.push(error.name),
        ),
      ),
    ),
  );
  assert.deepEqual(results.sort(), ["DataError", "DataError", "loaded"]);
  // The last file to arrive is loaded in between, by the second thread.
  assert.deepEqual([most, all], [1, 2]);
});

test("a file that was replaced while it waited for loading isn't loaded", async () => {
  const wanted = await wantedOf(small);
  writeFileSync(wanted.path, "another");
  assert.equal(await new Loads().load(wanted), undefined);
});

test("of the waiting files, the last to arrive is loaded first", async () => {
  const loads = new Loads(90 * mebibyte);
  const order: number[] = [];
  const load = async (age: number) => {
    await loads.load({ ...(await wantedOf(small)), arrivedMs: 1000 - age });
    order.push(age);
  };
  const first = loads.load(await wantedOf(small));
  await Promise.all([first, load(3), load(2), load(1)]);
  assert.deepEqual(order, [1, 2, 3]);
});
