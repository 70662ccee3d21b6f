import assert from "node:assert/strict";
import fs, { readdirSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { Accounts } from "../../server/accounts/sync.ts";
import { closers, log } from "../../server/control/running.ts";
import { Health, keepState, openState, saveAtEnd, settleState } from "../../server/control/state.ts";
import { readSettings } from "../../server/shared/settings.ts";
import { StateGuard } from "../../server/store/state-guard.ts";
import { Store } from "../../server/store/store.ts";
import { temporaryFolder } from "../support/server.ts";

/** Tests what the control thread does with the state on a disk that is full. */

function opened(t: TestContext) {
  const folder = temporaryFolder();
  const guard = new StateGuard(folder);
  const store = Store.open(folder);
  guard.watch();
  t.after(() => {
    store.close();
    guard.close();
  });
  const health = new Health();
  health.isReady = true;
  const errors: unknown[][] = [];
  t.mock.method(log, "error", (...told: unknown[]) => errors.push(told));
  return { folder, store, guard, health, errors };
}

const full = new Database.SqliteError("database or disk is full", "SQLITE_FULL");

test("a disk without room for the reserve alone isn't a failure to save, but the server isn't ready", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { folder, store, guard, health, errors } = opened(t);
  const disk = { blocks: 1000, bfree: 15, bavail: 15, bsize: 4096 };
  const { mock } = t.mock.method(fs, "statfsSync", () => disk);
  syncBuiltinESMExports();
  const before = closers.length;
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
    for (const close of closers.splice(before)) close();
  });
  const second = async () => {
    t.mock.timers.tick(1000);
    // A failure is logged a moment later.
    await new Promise(setImmediate);
  };
  health.savedAtMs = -1;
  let saves = 0;
  let isFull = false;
  keepState(health, { store, guard }, new Accounts(store, Date.now()), () => {
    saves++;
    if (isFull) throw full;
  });

  await second();
  assert.deepEqual([saves, health.isSaved, health.hasRoom, health.isFit], [1, true, false, false]);
  assert.ok(health.savedAtMs >= 0);
  const reason = `STATE_DIR ${folder}: found no room on its disk, expected at least 64 KiB of room: delete other files from the disk, or move STATE_DIR to another disk`;
  const noReserve = [{ reason }, "keeping a reserve of room on the state's disk failed; retrying"];
  assert.deepEqual(errors, [noReserve]);

  disk.bfree = disk.bavail = 1000;
  isFull = true;
  await second();
  assert.deepEqual([health.isSaved, health.hasRoom, health.isFit], [false, false, false]);
  const notSaved = [{ reason: full.message }, "saving usage failed; retrying"];
  assert.deepEqual(errors, [noReserve, notSaved]);
  assert.ok(!readdirSync(folder).includes("server.reserve"), "the counts come before the reserve");

  isFull = false;
  await second();
  assert.deepEqual([health.isSaved, health.hasRoom, health.isFit], [true, true, true]);
  assert.ok(readdirSync(folder).includes("server.reserve"));
  assert.equal(errors.length, 2);
});

test("a stop on a full disk saves the last counts in the room of the reserve", (t) => {
  const { folder, store, guard, errors } = opened(t);
  guard.keepRoom();
  let saves = 0;
  saveAtEnd({ store, guard }, () => {
    saves++;
    if (readdirSync(folder).includes("server.reserve")) throw full;
  });
  closers.pop()?.();
  assert.deepEqual([saves, errors, process.exitCode], [2, [], undefined]);
  assert.ok(store.progress.savedAt() !== undefined);
});

test("while the state's files are gone, nothing is saved, and that is told once", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { store, guard, health, errors } = opened(t);
  const told: unknown[] = [];
  t.mock.method(log, "info", (text: unknown) => told.push(text));
  let fault: string | undefined = "state.sqlite is gone";
  t.mock.method(guard, "fault", () => fault);
  const before = closers.length;
  t.after(() => {
    for (const close of closers.splice(before)) close();
  });
  let saves = 0;
  keepState(health, { store, guard }, new Accounts(store, Date.now()), () => saves++);
  for (let i = 0; i < 2; i++) t.mock.timers.tick(1000);
  assert.deepEqual([saves, health.fault, health.isSaved, health.isFit], [0, fault, false, false]);
  assert.deepEqual(
    errors.map(([details]) => details),
    [{ reason: fault }],
  );
  assert.match(
    String(errors[0][1]),
    /^the state isn't what was opened: requests are counted in memory only, /,
  );
  fault = undefined;
  t.mock.timers.tick(1000);
  assert.deepEqual([saves, health.fault, health.isSaved, health.isFit], [1, undefined, true, true]);
  assert.deepEqual(told, ["the files of the state can be used again"]);
});

test("each repeated work on the state has its pace, and its failure is told by its name", async (t) => {
  const paces: unknown[] = [];
  const works: (() => void)[] = [];
  t.mock.method(globalThis, "setInterval", (work: () => void, ms: number) => {
    works.push(work);
    paces.push(ms);
  });
  const { store, guard, health, errors } = opened(t);
  const before = closers.length;
  const accounts = new Accounts(store, Date.now());
  const fail = () => {
    throw full;
  };
  for (const name of ["enterMonths", "writeCounts"] as const) t.mock.method(accounts, name, fail);
  t.mock.method(guard, "keepRoom", fail);
  keepState(health, { store, guard }, accounts, fail);
  closers.splice(before);
  // The counts are saved before, so that there is a reserve to keep.
  for (const i of [0, 1, 3, 2, 2]) {
    works[i]();
    await new Promise(setImmediate);
  }
  const { message: reason } = full;
  assert.deepEqual(
    errors,
    [
      "reading accounts and keys",
      "writing usage",
      "keeping a reserve of room on the state's disk",
      "saving usage",
    ].map((what) => [{ reason }, `${what} failed; retrying`]),
  );
  assert.deepEqual(paces, [100, 100, 1000, 1000]);
  // The next failure for the same reason is told after a success.
  t.mock.method(accounts, "enterMonths", () => []);
  works[0]();
  await new Promise(setImmediate);
  t.mock.method(accounts, "enterMonths", fail);
  works[0]();
  await new Promise(setImmediate);
  assert.equal(errors.length, 5);
});

test("a server isn't fit before it is ready, and while it has never read the accounts", () => {
  const health = new Health();
  assert.equal(health.isFit, false);
  health.isReady = true;
  assert.equal(health.isFit, true);
  health.isUnread = () => true;
  assert.equal(health.isFit, false);
  for (const what of ["isSaved", "hasRoom"] as const) {
    const other = new Health();
    other.isReady = true;
    other[what] = false;
    assert.equal(other.isFit, false, what);
  }
});

test("a start warns of a new state and of an old one, and a disk that is full doesn't end it", (t) => {
  const warned: unknown[][] = [];
  t.mock.method(log, "warn", (...told: unknown[]) => warned.push(told));
  const errors: unknown[][] = [];
  t.mock.method(log, "error", (...told: unknown[]) => errors.push(told));
  const settings = readSettings({ STATE_DIR: temporaryFolder() });
  assert.ok(!Array.isArray(settings));
  /** Opens the state as a start does, and ends at once. */
  const start = (isShared: boolean, work: (state: ReturnType<typeof openState>) => void = () => {}) => {
    const before = closers.length;
    warned.length = 0;
    try {
      work(openState(settings, isShared));
    } finally {
      for (const close of closers.splice(before).toReversed()) close();
    }
    return warned.map(([, text]) => String(text).slice(0, 20));
  };
  const minutesAgo = (count: number) => new Date(Date.now() - 60_000 * count);
  assert.deepEqual(
    start(false, ({ store }) => store.progress.noteSaved(minutesAgo(59))),
    ["made a new state: wi"],
  );
  assert.deepEqual(
    start(false, ({ store }) => store.progress.noteSaved(minutesAgo(185))),
    [],
  );
  const health = new Health();
  const old = start(false, ({ store, guard }) => {
    assert.equal((warned[0][0] as { hours: number }).hours, 3);
    const { mock } = t.mock.method(guard, "keepRoom", () => {
      throw full;
    });
    settleState(health, { store, guard });
    mock.restore();
    store.progress.noteSaved(new Date(Date.now() + 7_200_000));
    store.directory.take([], { version: 1, id: "00000000-0000-4000-8000-000000000000" });
  });
  assert.deepEqual(old, ["the state was last s"]);
  assert.deepEqual([health.isSaved, health.hasRoom], [false, false]);
  assert.deepEqual(errors, [
    [{ reason: full.message }, "the disk of the state is full: the server isn't ready"],
  ]);
  assert.deepEqual(start(true), []);
  assert.throws(() => start(false), /copy/);
});

test("a stop without the state's files can't save the last counts, and says so", (t) => {
  const { store, guard, errors } = opened(t);
  t.after(() => {
    process.exitCode = undefined;
  });
  t.mock.method(guard, "fault", () => "it is gone");
  saveAtEnd({ store, guard }, () => assert.fail("nothing is saved"));
  closers.pop()?.();
  assert.deepEqual(
    [errors, process.exitCode],
    [[[{ reason: "it is gone" }, "the last counts can't be saved"]], 1],
  );
});
