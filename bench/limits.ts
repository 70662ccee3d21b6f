import { strict as assert } from "node:assert";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { sum } from "d3-array";
import { generateKey, hashKey } from "../server/accounts/keys.ts";
import { Limits } from "../server/accounts/limits.ts";
import { Accounts } from "../server/accounts/sync.ts";
import { monthOf } from "../server/shared/months.ts";
import { maxBurst, maxQuota } from "../server/shared/plans.ts";
import { ThreadTraffic, Traffic } from "../server/shared/traffic.ts";
import { Store } from "../server/store/store.ts";
import { temporaryFolder } from "../test/support/folders.ts";
import { digits, spreadOf } from "./figures.ts";
import { smoke } from "./options.ts";
import { runToEnd } from "./program.ts";

/*
 * Measures accounts: admitting a request, counting an answer, starting with many keys, and saving many counts. Run it
 * with `node bench/limits.ts`. `--smoke` runs each case once with small sizes as a check.
 */

const month = monthOf(Date.UTC(2026, 0, 15));
const admits = smoke ? 20_000 : 5_000_000;
const many = smoke ? 2_000 : 100_000;
const rounds = smoke ? 1 : 7;

const account = { plan: "free", burst: 10, quota: 10_000, webhook: null, webhook_secret: null } as const;

/** `words` has the number of ready threads, and the shared clock. */
type Task = { slot: number; threads: number; buffer: SharedArrayBuffer; words: Int32Array };

/**
 * Returns the mean nanoseconds of a call. The results of the calls are summed, so that the compiler can't optimize the
 * work away.
 */
function nanoseconds(count: number, each: (i: number) => number): number {
  let sum = 0;
  const start = performance.now();
  for (let i = 0; i < count; i++) sum += each(i);
  const ns = ((performance.now() - start) * 1e6) / count;
  assert.ok(sum >= 0);
  return ns;
}

/** Admits requests. The shared clock advances so fast that none is refused. @returns mean nanoseconds per request */
function admitAll(limits: Limits, slot: number, words: Int32Array): number {
  return nanoseconds(admits, (i) => {
    if ((i & 255) === 0) Atomics.add(words, 1, 1);
    return limits.admit(slot, month, Atomics.load(words, 1));
  });
}

/** Admits requests in threads that start together. @returns mean nanoseconds per request */
async function admitInThreads(threads: number, sameAccount: boolean): Promise<number> {
  const limits = new Limits();
  const slots = Array.from({ length: threads }, (_, i) => (sameAccount ? 0 : i * 8));
  for (const slot of slots) {
    limits.configure(slot, maxBurst, maxQuota);
    limits.enter(slot, month, 0);
  }
  const words = new Int32Array(new SharedArrayBuffer(8));
  const times = slots.map(async (slot): Promise<number> => {
    const task: Task = { buffer: limits.buffer, words, threads, slot };
    const worker = new Worker(new URL(import.meta.url), { workerData: task, argv: process.argv.slice(2) });
    const [ns] = await once(worker, "message");
    return ns;
  });
  const all = await Promise.all(times);
  const used = new Set(slots);
  for (const slot of used) assert.equal(limits.used(slot, month), (2 * admits * threads) / used.size);
  return sum(all) / threads;
}

function inThread({ buffer, words, threads, slot }: Task): void {
  const limits = new Limits(buffer);
  admitAll(limits, slot, words);
  Atomics.add(words, 0, 1);
  while (Atomics.load(words, 0) < threads);
  parentPort?.postMessage(admitAll(limits, slot, words));
}

/** Returns the mean nanoseconds to count an answer, including the timing of sampled answers. */
function countAnswers(): number {
  const routes = Array.from({ length: 25 }, (_, route) => `/${route}`);
  const traffic = new Traffic(routes, 1);
  const thread = new ThreadTraffic(traffic.buffers[0]);
  const ns = nanoseconds(admits, (i) => {
    thread.answered(i % routes.length, (i & 7) === 0 ? 304 : 200, 4000, thread.begin());
    return 1;
  });
  const counted = sum(traffic.snapshot().answers, ({ requests }) => requests);
  assert.equal(counted, admits);
  return ns;
}

/**
 * Makes a database of `count` accounts. Then measures opening the database and filling the shared tables, and saving
 * first counts of all accounts, higher counts of all accounts, and no changes.
 * @returns milliseconds of each measured step
 */
function stateTimes(count: number) {
  const folder = temporaryFolder();
  const made = Store.open(folder);
  const now = new Date();
  const key = generateKey();
  made.atomically(() => {
    for (let i = 0; i < count; i++) {
      const { id } = made.accounts.create({ ...account, name: `account ${i}` }, now);
      made.keys.create(id, i === 0 ? hashKey(key) : randomBytes(32), "0000", null, now);
    }
  });
  made.close();
  const start = performance.now();
  const store = Store.open(folder);
  const accounts = new Accounts(store, now.getTime());
  const open = performance.now() - start;
  const { keys, ceilings: limits } = accounts.tables;
  if (count > 0) assert.equal(keys.slotOf(keys.find(hashKey(key)), 0), 0);
  const save = (changed: boolean) => {
    if (changed) for (let slot = 0; slot < count; slot++) limits.admit(slot, monthOf(now.getTime()), 1e6);
    const start = performance.now();
    assert.deepEqual(accounts.save(now.getTime()), []);
    return performance.now() - start;
  };
  const times = { open, first: save(true), again: save(true), none: save(false) };
  const used = [...store.usage.ofMonth(now.toISOString().slice(0, 7)).values()];
  assert.ok(used.length === count && used.every((each) => each === 2));
  store.close();
  rmSync(folder, { recursive: true });
  return times;
}

async function report(what: string, unit: string, run: (round: number) => number | Promise<number>) {
  const figures: number[] = [];
  for (let round = 0; round < rounds; round++) figures.push(await run(round));
  const { median, min, max } = spreadOf(figures);
  console.log(`${what}: median ${digits(median)} ${unit} (${digits(min)} to ${digits(max)})`);
}

async function main(): Promise<void> {
  await report("admit a request, 1 thread", "ns", () => admitInThreads(1, true));
  await report("admit a request, 2 threads on one account", "ns", () => admitInThreads(2, true));
  await report("admit a request, 2 threads on accounts of their own", "ns", () => admitInThreads(2, false));
  await report("count an answer", "ns", countAnswers);
  await report("open the state and fill the tables without a key", "ms", () => stateTimes(0).open);
  const times = Array.from({ length: rounds }, () => stateTimes(many));
  const state = (what: string, kind: keyof ReturnType<typeof stateTimes>) =>
    report(what, "ms", (round) => times[round][kind]);
  await state(`open the state and fill the tables with ${many} keys`, "open");
  await state(`save ${many} accounts, first counts`, "first");
  await state(`save ${many} accounts, counts that changed again`, "again");
  await state(`save ${many} accounts, no change`, "none");
}

if (isMainThread) await runToEnd(main);
else inThread(workerData);
