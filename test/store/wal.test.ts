import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { Store } from "../../server/store/store.ts";
import { walFault } from "../../server/store/wal.ts";
import { seededRandom } from "../support/random.ts";
import { temporaryFolder } from "../support/server.ts";
import { account } from "../support/state.ts";

/** A write-ahead log that a killed process leaves is taken, and one that is damaged is refused. */

const headerBytes = 32;
const frameBytes = 24 + 4096;
const frameAt = (i: number) => headerBytes + i * frameBytes;
const isFrameWhole = (size: number) => (size - headerBytes) % frameBytes === 0;

/** A database in a folder, copied as it lies on the disk while it is open. */
function copyOf(database: string): { database: Buffer; log: Buffer } {
  return { database: readFileSync(database), log: readFileSync(`${database}-wal`) };
}

/** As kill -9 leaves a new server's state: hardly anything is in the database itself. */
function freshState() {
  const folder = temporaryFolder();
  const store = Store.open(folder);
  for (let month = 1; month < 9; month++) {
    const { id } = store.accounts.create({ ...account, name: `account ${month}` }, new Date(0));
    store.usage.save(`2026-0${month}`, [[id, month]]);
  }
  const copy = copyOf(path.join(folder, "state.sqlite"));
  store.close();
  return copy;
}

/** A database whose log was restarted: new frames over those of the earlier generation. */
function restarted(transactions: number) {
  const file = path.join(temporaryFolder(), "state.sqlite");
  const database = new Database(file);
  database.pragma("journal_mode = WAL");
  database.exec("CREATE TABLE t (a)");
  for (let i = 0; i < 20; i++) database.exec("INSERT INTO t VALUES (1)");
  const before = copyOf(file).log;
  database.pragma("wal_checkpoint(RESTART)");
  for (let i = 0; i < transactions; i++) database.exec("INSERT INTO t VALUES (2)");
  const { log } = copyOf(file);
  database.close();
  return { before, log };
}

function faultOf(log: Uint8Array): string | undefined {
  const file = path.join(temporaryFolder(), "wal");
  writeFileSync(file, log);
  return walFault(file);
}

/** A copy with some bytes inverted. */
function spoilt(log: Buffer, at: number, count = 1): Buffer {
  const copy = Buffer.from(log);
  for (let i = at; i < at + count; i++) copy[i] ^= 0x55;
  return copy;
}

const fresh = freshState();
const frames = (fresh.log.length - headerBytes) / frameBytes;

test("a log that is whole is taken, and so is none, or one without a frame", () => {
  assert.ok(isFrameWhole(fresh.log.length) && frames > 20);
  assert.equal(faultOf(fresh.log), undefined);
  assert.equal(walFault(path.join(temporaryFolder(), "none")), undefined);
  assert.equal(faultOf(Buffer.alloc(0)), undefined);
  assert.equal(faultOf(fresh.log.subarray(0, headerBytes)), undefined);
});

test("a log that ends anywhere, as a killed process leaves it, is taken", () => {
  const random = seededRandom(20_261_001);
  const edges = [1, 2, frames - 1].flatMap((i) => [
    frameAt(i) - 1,
    frameAt(i),
    frameAt(i) + 1,
    frameAt(i) + 24,
  ]);
  for (const size of [
    1,
    31,
    33,
    56,
    100,
    ...edges,
    ...Array.from({ length: 50 }, () => random.int(fresh.log.length)),
  ])
    assert.equal(faultOf(fresh.log.subarray(0, size)), undefined, `cut at ${size}`);
});

test("a last frame that is torn, or whose page wasn't written, is taken", () => {
  const last = frameAt(frames - 1);
  for (const at of [last, last + 4, last + 8, last + 16, last + 24, last + frameBytes - 1])
    assert.equal(faultOf(spoilt(fresh.log, at)), undefined, `at ${at - last}`);
  assert.equal(faultOf(spoilt(fresh.log, last + 24, 4096)), undefined);
});

test("a header or a first frame with a byte that is another one is refused, whichever it is", () => {
  for (let at = 0; at < headerBytes; at++)
    assert.match(faultOf(spoilt(fresh.log, at)) ?? "none", /header of the write-ahead log/, `at ${at}`);
  for (let at = frameAt(0); at < frameAt(1); at += at < frameAt(0) + 24 ? 1 : 97)
    assert.match(faultOf(spoilt(fresh.log, at)) ?? "none", /(first frame|frame 1 of \d+) of the/, `at ${at}`);
  const zeros = Buffer.from(fresh.log).fill(0, frameAt(0), frameAt(1));
  assert.match(faultOf(zeros) ?? "none", /first frame/);
});

test("a frame before the last transactions is refused when it is damaged", () => {
  for (let i = 1; i < frames - 10; i++)
    assert.match(faultOf(spoilt(fresh.log, frameAt(i) + 1000)) ?? "none", new RegExp(`^frame ${i + 1} of`));
});

test("the only frame is refused when it is damaged", () => {
  const one = fresh.log.subarray(0, frameAt(1));
  assert.equal(faultOf(one), undefined);
  for (const at of [frameAt(0), frameAt(0) + 8, frameAt(0) + 20, frameAt(0) + 24])
    assert.match(faultOf(spoilt(one, at)) ?? "none", /(only|first) frame/);
});

test("a log that was begun anew over older frames is taken, at each moment of that", () => {
  const { before, log } = restarted(3);
  assert.equal(log.length, before.length);
  assert.equal(faultOf(log), undefined);
  const written = (bytes: number) => Buffer.concat([log.subarray(0, bytes), before.subarray(bytes)]);
  for (const bytes of [headerBytes, headerBytes + 24, frameAt(1), frameAt(1) + 24, frameAt(2)])
    assert.equal(faultOf(written(bytes)), undefined, `${bytes} bytes are new`);
  assert.match(faultOf(spoilt(log, frameAt(0) + 24)) ?? "none", /frame 1 of/);
  assert.match(faultOf(spoilt(log, frameAt(0) + 9)) ?? "none", /first frame/);
});

/** A state folder with these files. */
function folderWith({ database, log }: { database: Buffer; log: Buffer }): string {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, "state.sqlite"), database);
  writeFileSync(path.join(folder, "state.sqlite-wal"), log);
  return folder;
}

test("a state whose log's first frame is damaged is refused and left as it is", () => {
  const damaged = { ...fresh, log: spoilt(fresh.log, frameAt(0) + 500) };
  const folder = folderWith(damaged);
  assert.throws(() => Store.open(folder).close(), {
    message: `state database ${path.join(folder, "state.sqlite")}: found damage (frame 1 of ${frames} of the write-ahead log), expected a sound database: put a backup in its place, delete every -wal and -shm file beside it that isn't the backup's, or move it away together with its -wal and -shm files to start anew`,
  });
  assert.deepEqual(copyOf(path.join(folder, "state.sqlite")), damaged);
  assert.ok(!existsSync(path.join(folder, "state.sqlite-shm")));
});
