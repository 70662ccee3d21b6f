import assert from "node:assert/strict";
import fs, { readdirSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { Accounts } from "../../server/accounts/sync.ts";
import { closers, log } from "../../server/control/running.ts";
import { Health, keepState, saveAtEnd } from "../../server/control/state.ts";
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
