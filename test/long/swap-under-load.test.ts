import assert from "node:assert/strict";
import { once } from "node:events";
import { renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import * as v from "valibot";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { encodeSnapshot, type Snapshot } from "../../engine/index.ts";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { Store } from "../../server/store/store.ts";
import { changed } from "../support/fixtures.ts";
import { naivePrices } from "../support/oracle.ts";
import { startServer, type TestServer, temporaryFolder, until } from "../support/server.ts";
import type { FromLoad, LoadOptions, Served, ToLoad } from "./load.ts";
import { residentMb, trialRandom, trialSeconds } from "./trial.ts";

const dataYear = 2024;
const rows = 30_000;
const connections = 64;
const swapEveryMs = 1000;
/** Number of first swaps whose memory isn't compared. After them, caches are full and garbage has been collected. */
const warmingSwaps = 3;
const maxGrowthMb = 40;
/** The image of a snapshot with so many rows takes about 66 MB. */
const largeRows = 300_000;
const leastReturnedMb = 50;

const queries = [
  { code: "5072", state: null, limit: 25 },
  { code: "5072", state: "CA", limit: 5 },
  { code: "5072", state: "TX", limit: 50 },
  { code: "8011", state: null, limit: 50 },
  { code: "8011", state: "NY", limit: 1 },
  { code: "8011", state: "FL", limit: 25 },
  { code: "5115", state: null, limit: 1 },
  { code: "5115", state: "PA", limit: 25 },
];
const asText = ({ code, state, limit }: (typeof queries)[number]) =>
  `?procedure=${code}${state === null ? "" : `&state=${state}`}&limit=${limit}`;

/** Makes the snapshot of revision N. Its amounts are N dollars higher than in revision 0. */
function snapshotOf(revision: number, seed: number): Snapshot {
  const snapshot = syntheticSnapshot({ dataYear, revision, rows, seed });
  return changed(snapshot, ({ rows: { charge, allowed } }) => {
    for (const amounts of [charge, allowed])
      amounts.forEach((cents, row) => {
        if (cents > 0) amounts[row] = cents + 100 * revision;
      });
  });
}

const change = v.looseObject({ msg: v.string(), version: v.string(), current: v.string() });

/** Waits for the log line of a published or retired version. @returns the current version in the line */
function logged(server: TestServer, what: "published" | "retired", version: string): Promise<string> {
  return until(`${version} to be ${what}`, () => {
    for (const line of server.process.stderr.split("\n")) {
      if (!line.includes(`"data version ${what}"`) || !line.endsWith("}")) continue;
      const entry = v.parse(change, JSON.parse(line));
      if (entry.version === version) return entry.current;
    }
    return undefined;
  });
}

class Load {
  readonly #worker: Worker;

  constructor(workerData: LoadOptions) {
    this.#worker = new Worker(new URL("./load.ts", import.meta.url), { workerData });
  }

  tell(message: ToLoad): void {
    this.#worker.postMessage(message);
  }

  async hear(): Promise<FromLoad> {
    const [message]: FromLoad[] = await once(this.#worker, "message");
    return message;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

test("swapping snapshots every second under full load gives only correct responses and leaks no memory", async (t) => {
  const random = trialRandom(t);
  const seed = random.int(2 ** 32);
  const datasetsDir = temporaryFolder();
  const fileOf = (revision: number) => path.join(datasetsDir, `${dataYear}.${revision}.parquet`);
  const put = (snapshot: Snapshot) => {
    const beside = path.join(datasetsDir, ".new");
    writeFileSync(beside, encodeSnapshot(snapshot));
    renameSync(beside, fileOf(snapshot.provenance.revision));
  };
  const nameOf = (revision: number) => `${dataYear}.${revision}`;

  let revision = 1;
  let serving = [1];
  const retired: string[] = [];
  const first = snapshotOf(1, seed);
  put(first);
  const server = await startServer({ datasetsDir, env: { THREADS: "2" } });
  const { api, key } = server;
  const load = new Load({ api, key, connections, queries: queries.map(asText), seed: random.int(2 ** 32) });
  t.after(async () => {
    await load.end();
    server.process.signal("SIGKILL");
  });
  const expect = (snapshot: Snapshot) => {
    const bodies = queries.map(({ code, state, limit }) => {
      const body = naivePrices(snapshot, code, state, limit);
      assert.ok(body, `${code} has prices in ${state}`);
      return body;
    });
    load.tell({ type: "expect", version: nameOf(snapshot.provenance.revision), bodies });
  };
  const serve = async (always: number[], current: string | null) => {
    const served: Served = { always: always.map(nameOf), never: [...retired], current };
    load.tell({ type: "serve", served });
    assert.deepEqual(await load.hear(), { type: "serving" });
  };
  expect(first);
  await serve(serving, nameOf(1));

  const memory: number[] = [];
  const swaps = Math.max(10, trialSeconds);
  for (let swap = 0; swap < swaps; swap++) {
    const pace = delay(swapEveryMs);
    const next = snapshotOf(++revision, seed);
    expect(next);
    // Usually the oldest version goes. If the newest goes, an older version is current until `next` is published.
    const gone = serving.length < 2 ? undefined : random.int(5) > 0 ? serving[0] : serving.at(-1);
    const staying = serving.filter((other) => other !== gone);
    await serve(staying, null);
    if (gone !== undefined && random.int(2) > 0) unlinkSync(fileOf(gone));
    put(next);
    if (gone !== undefined) rmSync(fileOf(gone), { force: true });
    // SIGHUP must have no effect. The periodic scan finds the files.
    if (random.int(2) > 0) server.process.signal("SIGHUP");
    assert.equal(await logged(server, "published", nameOf(revision)), nameOf(revision));
    if (gone !== undefined) {
      await logged(server, "retired", nameOf(gone));
      retired.push(nameOf(gone));
    }
    serving = [...staying, revision];
    await serve(serving, nameOf(revision));
    memory.push(Math.round(residentMb(server.process.pid)));
    if (swap % 3 === 2) {
      // The previous version is current again.
      const newest = revision;
      serving = serving.slice(0, -1);
      await serve(serving, null);
      unlinkSync(fileOf(newest));
      const current = await logged(server, "retired", nameOf(newest));
      retired.push(nameOf(newest));
      assert.equal(current, nameOf(Math.max(...serving)));
      await serve(serving, current);
    }
    await pace;
  }
  load.tell({ type: "stop" });
  const result = await load.hear();
  assert.ok(result.type === "stopped");
  t.diagnostic(`${swaps} swaps, ${result.answered} answers, ${result.failed} failures`);
  t.diagnostic(`resident MB after each swap: ${memory.join(" ")}`);
  assert.deepEqual(result.failures, []);
  assert.ok(result.answered > swaps);
  assert.equal(await server.stop(), 0);
  assert.doesNotMatch(server.process.stderr, /"level":"(error|fatal)"/);

  const store = Store.open(server.stateDir);
  const counted = [...store.usage.ofMonth(monthName(monthOf(Date.now()))).values()];
  store.close();
  assert.deepEqual(counted, [result.answered]);

  const growth = Math.min(...memory.slice(-3)) - Math.max(...memory.slice(warmingSwaps, warmingSwaps + 3));
  assert.ok(growth < maxGrowthMb, `memory grew by ${growth} MB: ${memory.join(" ")}`);
});

test("the memory of a version that was loaded at the start is freed when it is retired", async (t) => {
  const seed = trialRandom(t).int(2 ** 32);
  const datasetsDir = temporaryFolder();
  const put = (revision: number, size: number) => {
    const file = path.join(datasetsDir, `${dataYear}.${revision}.parquet`);
    const snapshot = syntheticSnapshot({ dataYear, revision, rows: size, seed });
    writeFileSync(`${file}.new`, encodeSnapshot(snapshot));
    renameSync(`${file}.new`, file);
    return file;
  };
  const large = put(1, largeRows);
  const server = await startServer({ datasetsDir, env: { THREADS: "2" } });
  t.after(() => server.process.signal("SIGKILL"));
  put(2, 1000);
  await logged(server, "published", `${dataYear}.2`);
  // Other garbage may come before this memory is freed.
  let most = residentMb(server.process.pid);
  unlinkSync(large);
  await logged(server, "retired", `${dataYear}.1`);
  await until("its memory to be free", () => {
    const now = residentMb(server.process.pid);
    most = Math.max(most, now);
    return now < most - leastReturnedMb;
  });
  assert.equal(await server.stop(), 0);
});
