import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs, {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { readAccounts } from "../../server/accounts/transfer.ts";
import { backUp, exportAccounts } from "../../server/store/backup.ts";
import { narrowAccess } from "../../server/store/private-files.ts";
import { registryOf } from "../../server/store/registry.ts";
import { keepReserve, withReserve } from "../../server/store/room.ts";
import { checkServed } from "../../server/store/served.ts";
import { StateGuard } from "../../server/store/state-guard.ts";
import { Store } from "../../server/store/store.ts";
import { keepingStripped, temporaryFolder } from "../support/server.ts";
import { account, foreignLog, modeOf, modesIn, namesIn, otherFiles } from "../support/state.ts";

/** Tests the files of the state: who can read them, and what a server does when they are lost. */

for (const umask of ["000", "0777"])
  test(`a command makes a state that only its owner can read, with umask ${umask}`, () => {
    const folder = path.join(temporaryFolder(), "state");
    const command = `umask ${umask}; exec "$@" server/commands/keys.ts create --account acme --plan free`;
    execFileSync("sh", ["-c", command, "sh", process.execPath, ...keepingStripped], {
      cwd: path.resolve(import.meta.dirname, "../.."),
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, STATE_DIR: folder },
    });
    assert.equal(modeOf(folder), "700");
    assert.deepEqual(modesIn(folder), { "state.sqlite": "600" });
  });

test("a store uses a write-ahead log with full sync and without automatic checkpoints", (t) => {
  const connections = new Set<Database.Database>();
  const { pragma } = Database.prototype;
  t.mock.method(
    Database.prototype,
    "pragma",
    function (this: Database.Database, ...args: Parameters<typeof pragma>) {
      connections.add(this);
      return pragma.apply(this, args);
    },
  );
  const folder = temporaryFolder();
  const store = Store.open(folder);
  const [used] = [...connections].filter(({ open, readonly }) => open && !readonly);
  const settingOf = (name: string) => used.pragma(name, { simple: true });
  const names = ["journal_mode", "synchronous", "foreign_keys", "wal_autocheckpoint"];
  assert.deepEqual(names.map(settingOf), ["wal", 2, 1, 0]);
  store.close();
  // Bytes 18 and 19 are SQLite's file format versions for writing and reading. 2 means a write-ahead log.
  assert.deepEqual([...readFileSync(path.join(folder, "state.sqlite")).subarray(18, 20)], [2, 2]);
});

test("a store, a lock and a guard make files that only their owner can read", () => {
  const before = process.umask(0);
  try {
    const folder = path.join(temporaryFolder(), "a/state");
    const guard = new StateGuard(folder);
    const store = Store.open(folder);
    guard.watch();
    assert.equal(modeOf(folder), "700");
    assert.deepEqual(new Set(Object.values(modesIn(folder))), new Set(["600"]));
    assert.deepEqual(narrowAccess(folder), []);
    store.close();
    guard.close();
  } finally {
    process.umask(before);
  }
});

test("a start takes every right of group and others away from the state's folder and from each of its files", () => {
  const folder = path.join(temporaryFolder(), "state");
  const guard = new StateGuard(folder);
  const store = Store.open(folder);
  guard.watch();
  const paths = [folder, ...readdirSync(folder).map((name) => path.join(folder, name))];
  for (const each of paths)
    for (const right of [0o040, 0o020, 0o010, 0o004, 0o002, 0o001]) {
      const owner = statSync(each).mode & 0o777;
      chmodSync(each, owner | right);
      assert.deepEqual(narrowAccess(folder), [each], `${each} with ${right.toString(8)}`);
      assert.equal(statSync(each).mode & 0o777, owner);
    }
  assert.ok(paths.length > 4, paths.join());
  store.close();
  guard.close();
});

test("a shared folder such as /tmp keeps its access, and the state files in it become private", () => {
  const folder = temporaryFolder();
  chmodSync(folder, 0o1777);
  Store.open(folder).close();
  chmodSync(path.join(folder, "state.sqlite"), 0o644);
  assert.deepEqual(narrowAccess(folder), [path.join(folder, "state.sqlite")]);
  assert.equal(modeOf(folder), "777");
});

test("the state's guard reports no fault if the database had journal mode DELETE before the start", () => {
  const folder = temporaryFolder();
  Store.open(folder).close();
  const database = new Database(path.join(folder, "state.sqlite"));
  assert.equal(database.pragma("journal_mode = DELETE", { simple: true }), "delete");
  database.close();
  const guard = new StateGuard(folder);
  const store = Store.open(folder);
  guard.watch();
  store.progress.saveApplied({ accounts: 0, keys: 0 });
  guard.checkpoint(store);
  assert.equal(guard.fault(), undefined);
  store.close();
  guard.close();
});

test("a checkpoint is made if anything is in the log, and not otherwise", () => {
  const guard = new StateGuard(temporaryFolder());
  const made = [0, 1, 2].map((frames) => {
    let checkpoints = 0;
    guard.checkpoint({ loggedFrames: () => frames, checkpoint: () => void checkpoints++ });
    return checkpoints;
  });
  guard.close();
  assert.deepEqual(made, [0, 1, 1]);
});

function guarded() {
  const folder = path.join(temporaryFolder(), "state");
  const guard = new StateGuard(folder);
  const store = Store.open(folder);
  const file = path.join(folder, "state.sqlite");
  guard.watch();
  after(() => store.close());
  return { folder, guard, store, file };
}

for (const end of ["", "-wal", "-shm"])
  test(`a server and commands notice when state.sqlite${end} is deleted, replaced or put back`, () => {
    const { folder, guard, store, file } = guarded();
    const path = file + end;
    const check = (fault: string | undefined) => {
      assert.equal(guard.fault(), fault);
      const calls = [() => checkServed(folder), () => registryOf({ STATE_DIR: folder })];
      if (fault === undefined) for (const call of [...calls, () => guard.checkpoint(store)]) call();
      else {
        for (const call of calls) assert.throws(call, otherFiles(folder));
        assert.throws(() => guard.checkpoint(store), { message: fault });
      }
    };
    check(undefined);
    renameSync(path, `${file}.away`);
    check(`${path} was deleted`);
    writeFileSync(path, "");
    check(`${path} was replaced`);
    rmSync(path);
    symlinkSync(`${file}.away`, path);
    check(`${path} was replaced`);
    renameSync(`${file}.away`, path);
    check(undefined);
    guard.close();
    checkServed(folder);
  });

test("a symbolic link in place of the database is refused at a start", () => {
  const folder = temporaryFolder();
  const file = path.join(folder, "state.sqlite");
  Store.open(folder).close();
  renameSync(file, `${file}.away`);
  symlinkSync(`${file}.away`, file);
  const message = `state database ${file}: found a symbolic link, expected a regular file: STATE_DIR may name another folder`;
  assert.throws(() => Store.open(folder), { message });
  rmSync(`${file}.away`);
  assert.throws(() => Store.open(folder), { message }, "to nowhere");
});

test("writes by commands and the server and a backup raise no false alarm and reach the database", () => {
  const { folder, guard, store, file } = guarded();
  const command = Store.open(folder);
  const names = Array.from({ length: 90 }, (_, i) => `account ${1000 + i}`);
  for (const [i, name] of names.entries()) {
    const writer = i % 3 === 0 ? store : i % 3 === 1 ? command : Store.open(folder);
    writer.accounts.create({ ...account, name }, new Date());
    if (writer !== store && writer !== command) writer.close();
    assert.equal(guard.fault(), undefined);
    checkServed(folder);
    if (i % 7 === 0) guard.checkpoint(store);
  }
  guard.checkpoint(store);
  assert.equal(guard.fault(), undefined);
  assert.equal(statSync(`${file}-wal`).size, 0);
  const [copy, backup] = [temporaryFolder(), temporaryFolder()];
  copyFileSync(file, path.join(copy, "state.sqlite"));
  const reader = new Database(file);
  reader.prepare("VACUUM INTO ?").run(path.join(backup, "state.sqlite"));
  reader.close();
  assert.equal(guard.fault(), undefined);
  for (const copied of [Store.open(copy), Store.open(backup)]) {
    assert.deepEqual(namesIn(copied), names);
    copied.close();
  }
  command.close();
  guard.close();
});

test("an empty or foreign database is refused unchanged, and a new database is complete at once", () => {
  const folder = temporaryFolder();
  const file = path.join(folder, "state.sqlite");
  writeFileSync(file, "");
  assert.throws(() => Store.open(folder), /found damage \(an empty file\), expected a sound database/);
  assert.deepEqual(readdirSync(folder), ["state.sqlite"]);
  const table = "CREATE TABLE notes (text)";
  for (const sql of ["PRAGMA journal_mode = WAL", table, `PRAGMA journal_mode = WAL; ${table}`]) {
    rmSync(file);
    const other = new Database(file);
    other.exec(sql);
    other.close();
    const before = readFileSync(file);
    assert.throws(
      () => Store.open(folder),
      /found a database without a schema of this service, expected schema version 1: STATE_DIR may/,
    );
    assert.deepEqual([readFileSync(file), readdirSync(folder)], [before, ["state.sqlite"]]);
  }
  const fresh = temporaryFolder();
  const store = Store.open(fresh);
  const found = new Database(path.join(fresh, "state.sqlite"));
  assert.deepEqual(found.pragma("wal_checkpoint(NOOP)"), [{ busy: 0, log: 0, checkpointed: 0 }]);
  assert.ok(found.prepare("SELECT * FROM obeyed").get() !== undefined);
  found.close();
  store.accounts.create({ ...account, name: "a" }, new Date());
  const torn = temporaryFolder();
  copyFileSync(path.join(fresh, "state.sqlite-wal"), path.join(torn, "state.sqlite-wal"));
  assert.throws(() => Store.open(torn), /found damage \(none beside a write-ahead log\), expected a sound/);
  assert.deepEqual(readdirSync(torn), ["state.sqlite-wal"]);
  assert.deepEqual(readdirSync(fresh).toSorted(), ["state.sqlite", "state.sqlite-shm", "state.sqlite-wal"]);
  store.close();
});

/** Makes a guarded database and a backup. The backup lacks the last account, which is only in the write-ahead log. */
function guardedWithBackup() {
  const world = guarded();
  const { store, file, guard } = world;
  const backup = path.join(temporaryFolder(), "backup");
  store.accounts.create({ ...account, name: "in the backup" }, new Date());
  guard.checkpoint(store);
  copyFileSync(file, backup);
  store.accounts.create({ ...account, name: "in the log" }, new Date());
  const end = () => {
    store.close();
    guard.close();
  };
  return { ...world, backup, end };
}

function namesAtStart(folder: string): string[] {
  const store = Store.open(folder);
  const names = namesIn(store);
  store.close();
  return names;
}

test("what a server had open means nothing after its end, whatever is there then", () => {
  const { folder, file, backup, end } = guardedWithBackup();
  end();
  assert.ok(!readdirSync(folder).includes("server.database"));
  // A server that was killed leaves the file behind.
  writeFileSync(path.join(folder, "server.database"), "1:2:3\n1:2:4\n1:2:5\n");
  renameSync(backup, file);
  checkServed(folder);
  new StateGuard(folder).close();
  assert.deepEqual(namesAtStart(folder), ["in the backup"]);
});

test("a lost database that is put back after the server ends keeps the content of its log", () => {
  const { folder, file, end } = guardedWithBackup();
  renameSync(file, `${file}.away`);
  end();
  renameSync(`${file}.away`, file);
  assert.deepEqual(namesAtStart(folder), ["in the backup", "in the log"]);
});

const damages: Record<string, (bytes: Buffer) => Buffer> = {
  "a garbage header": (bytes) => bytes.fill(0xa5, 0, 100),
  "garbage pages in its middle": (bytes) => bytes.fill(0xa5, 4096, 4096 * 5),
  "its second half gone": (bytes) => bytes.subarray(0, bytes.length / 2),
  "other content": (bytes) => Buffer.alloc(bytes.length, "This was a database once.\n"),
};
for (const [damage, spoil] of Object.entries(damages))
  test(`a killed server's database with ${damage} is refused at the start and left unchanged`, () => {
    const { file: original } = guardedWithBackup();
    const folder = temporaryFolder();
    const file = path.join(folder, "state.sqlite");
    copyFileSync(`${original}-wal`, `${file}-wal`);
    const spoilt = spoil(readFileSync(original));
    writeFileSync(file, spoilt);
    assert.throws(
      () => Store.open(folder),
      /found damage \(.*expected a sound database: put a backup in its place/,
    );
    assert.deepEqual(readFileSync(file), spoilt);
    assert.deepEqual(readFileSync(`${file}-wal`), readFileSync(`${original}-wal`));
  });

test("a database of another schema version is refused unchanged with advice", () => {
  for (const version of [2, 7, -1]) {
    const folder = temporaryFolder();
    Store.open(folder).close();
    const file = path.join(folder, "state.sqlite");
    const database = new Database(file);
    database.pragma(`user_version = ${version}`);
    database.close();
    const before = readFileSync(file);
    assert.throws(() => Store.open(folder), {
      message: `state database ${file}: found schema version ${version}, expected schema version 1: export the accounts with the release that made it, and import them into an empty STATE_DIR with this one`,
    });
    assert.deepEqual(readFileSync(file), before);
  }
});

for (const isRenamed of [false, true])
  test(`a damaged database's log isn't replayed onto a backup that is ${isRenamed ? "renamed" : "copied"} over it`, () => {
    const { folder: served, file: original } = guardedWithBackup();
    const backup = path.join(temporaryFolder(), "backup");
    backUp(served, backup);
    const folder = temporaryFolder();
    const file = path.join(folder, "state.sqlite");
    for (const end of ["", "-wal"]) copyFileSync(original + end, file + end);
    truncateSync(file, statSync(file).size / 2);
    for (let i = 0; i < 2; i++) assert.throws(() => namesAtStart(folder), /found damage/);
    const restore = isRenamed ? renameSync : copyFileSync;
    restore(backup, file);
    for (let i = 0; i < 2; i++) assert.throws(() => namesAtStart(folder), foreignLog(folder));
    rmSync(`${file}-wal`);
    assert.deepEqual(namesAtStart(folder), ["in the backup", "in the log"]);
  });

test("a server keeps a reserve for a start on a full disk, and isn't ready without room for it", (t) => {
  const { folder, guard } = guarded();
  const reserve = path.join(folder, "server.reserve");
  guard.keepRoom();
  assert.deepEqual([statSync(reserve).size, modeOf(reserve)], [65_536, "600"]);
  const before = statSync(reserve).ino;
  guard.keepRoom();
  assert.equal(statSync(reserve).ino, before, "it isn't written again");
  truncateSync(reserve, 100);
  guard.keepRoom();
  assert.equal(statSync(reserve).size, 65_536);
  const full = { blocks: 1000, bfree: 15, bavail: 15, bsize: 4096 };
  t.mock.method(fs, "statfsSync", () => full);
  syncBuiltinESMExports();
  t.after(syncBuiltinESMExports);
  assert.throws(() => guard.keepRoom(), {
    message: `STATE_DIR ${folder}: found no room on its disk, expected at least 64 KiB of room: delete other files from the disk, or move STATE_DIR to another disk`,
  });
  full.blocks = 0;
  guard.keepRoom();
  guard.close();
});

for (const code of ["ENOSPC", "EDQUOT"])
  test(`a reserve that can't be written to its end (${code}) is removed`, (t) => {
    const folder = temporaryFolder();
    const { writeFileSync } = fs;
    const writes = t.mock.method(fs, "writeFileSync", (file: string, bytes: Buffer) => {
      writeFileSync(file, bytes.subarray(0, 4096));
      throw Object.assign(new Error(code), { code, syscall: "write" });
    });
    syncBuiltinESMExports();
    t.after(() => {
      writes.mock.restore();
      syncBuiltinESMExports();
    });
    assert.throws(() => keepReserve(folder), { code });
    assert.deepEqual([readdirSync(folder), writes.mock.callCount()], [[], 1]);
  });

test("a new state says before it is made that 512 KiB are needed, an existing one needs no more", (t) => {
  const { folder: existing } = guarded();
  const free = { blocks: 1000, bfree: 127, bavail: 127, bsize: 4096 };
  const { mock } = t.mock.method(fs, "statfsSync", () => free);
  syncBuiltinESMExports();
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
  });
  const folder = temporaryFolder();
  assert.throws(() => Store.open(folder), {
    name: "DataError",
    message: `state database ${folder}/state.sqlite: found no room on its disk, expected at least 512 KiB of room: delete other files from the disk, or move STATE_DIR to another disk`,
  });
  assert.deepEqual(readdirSync(folder), []);
  Store.open(existing).close();
  free.bfree = free.bavail = 128;
  Store.open(folder).close();
  free.blocks = free.bfree = free.bavail = 0;
  Store.open(temporaryFolder()).close();
});

const sqliteErrors = [
  new Database.SqliteError("database or disk is full", "SQLITE_FULL"),
  new Database.SqliteError("disk I/O error", "SQLITE_IOERR_SHMSIZE"),
  Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC", syscall: "write" }),
];

test("work that finds a full disk deletes the reserve and is done again, once", () => {
  const listeners = process.listenerCount("exit");
  for (const error of sqliteErrors) {
    const folder = temporaryFolder();
    let tries = 0;
    const work = () => {
      tries++;
      if (readdirSync(folder).length > 0) throw error;
      return "done";
    };
    keepReserve(folder);
    assert.deepEqual([withReserve(folder, work), tries], ["done", 2]);
    const fail = () => {
      tries++;
      throw error;
    };
    assert.throws(() => withReserve(folder, fail), error, "without a reserve");
    assert.equal(tries, 3);
    keepReserve(folder);
    const other = new Error("another error");
    const failOtherwise = () => {
      throw other;
    };
    assert.throws(() => withReserve(folder, failOtherwise), other);
    assert.deepEqual(readdirSync(folder), ["server.reserve"], "kept after other errors");
  }
  assert.equal(process.listenerCount("exit"), listeners + 1, "one listener, however often this happens");
});

test("SQLite's error on a full disk names the file and says what to do, and keeps its code", (t) => {
  const folder = temporaryFolder();
  const store = Store.open(folder);
  t.after(() => store.close());
  store.accounts.create({ ...account, name: "a" }, new Date());
  // A database that may not grow is full like a disk.
  const { pragma } = Database.prototype;
  const pages = store.bytes / 4096;
  t.mock.method(Database.prototype, "transaction", function (this: Database.Database, work: () => unknown) {
    pragma.call(this, `max_page_count = ${pages}`);
    return { immediate: work };
  });
  const fill = () =>
    store.atomically(() => {
      for (let i = 0; ; i++) store.accounts.create({ ...account, name: `${i}`.padEnd(1000) }, new Date());
    });
  assert.throws(fill, {
    name: "SqliteError",
    code: "SQLITE_FULL",
    message: `state database ${folder}/state.sqlite: found no room on its disk, expected at least 64 KiB of room: delete other files from the disk, or move STATE_DIR to another disk`,
  });
});

test("SQLite's errors name the file, too, when a start or a save asks for sizes, the log or changes", (t) => {
  const { store, file } = guarded();
  const error = new Database.SqliteError("attempt to write a readonly database", "SQLITE_READONLY");
  t.mock.method(Database.prototype, "pragma", () => {
    throw error;
  });
  const asked = [
    () => store.bytes,
    () => store.loggedFrames(),
    () => store.checkpoint(),
    () => store.changes(),
  ];
  for (const ask of asked)
    assert.throws(ask, {
      code: "SQLITE_READONLY",
      message: `state database ${file}: found attempt to write a readonly database, expected a database that can be read and written; STATE_DIR may name another folder`,
    });
});

test("SQLite's errors name the file in one sentence, except those of a constraint", () => {
  const { store, file } = guarded();
  store.accounts.create({ ...account, name: "a" }, new Date());
  const unusable = (found: string) => ({
    name: "SqliteError",
    message: `state database ${file}: found ${found}, expected a database that can be read and written; STATE_DIR may name another folder`,
  });
  const locker = new Database(file);
  locker.exec("BEGIN IMMEDIATE");
  const second = Store.open(path.dirname(file), { maxWaitMs: 0 });
  const create = () => second.accounts.create({ ...account, name: "b" }, new Date());
  assert.throws(create, unusable("database is locked"));
  assert.throws(() => second.atomically(create), unusable("database is locked"));
  locker.close();
  second.close();
  assert.throws(() => store.accounts.create({ ...account, name: "a" }, new Date()), {
    message: "UNIQUE constraint failed: accounts.name",
  });
  store.checkpoint();
  for (const end of ["", "-wal"]) truncateSync(file + end);
  assert.throws(
    () => store.accounts.list("2026-01", new Date()),
    unusable("database disk image is malformed"),
  );
});

test("a start writes nothing that needs room: no journal of the lock, and not the same server.database again", (t) => {
  const { folder, guard } = guarded();
  const names = readdirSync(folder).toSorted();
  assert.deepEqual(names, [
    "server.database",
    "server.lock",
    "state.sqlite",
    "state.sqlite-shm",
    "state.sqlite-wal",
  ]);
  const writes = t.mock.method(fs, "writeFileSync", () => assert.fail("no room"));
  syncBuiltinESMExports();
  t.after(syncBuiltinESMExports);
  guard.watch();
  assert.equal(writes.mock.callCount(), 0);
  writes.mock.restore();
  syncBuiltinESMExports();
  // The file was cut, because the disk was full when it was written.
  truncateSync(path.join(folder, "server.database"));
  checkServed(folder);
  guard.close();
});

test("a folder that another server has locked, or that can't be used, is refused with its reason", (t) => {
  const folder = temporaryFolder();
  let error: Error = new Database.SqliteError("database is locked", "SQLITE_BUSY");
  const fail = () => {
    throw error;
  };
  t.mock.method(Database.prototype, "exec", fail);
  const refused = (message: string) =>
    assert.throws(() => new StateGuard(folder), {
      name: "DataError",
      message: `STATE_DIR ${folder}: ${message}`,
    });
  refused("found another server that uses it, expected a folder of its own for each server");
  error = new Database.SqliteError("disk I/O error", "SQLITE_IOERR");
  refused("found disk I/O error, expected a folder that can be read and written; STATE_DIR may name another");
  error = new Database.SqliteError("database or disk is full", "SQLITE_FULL");
  refused(
    "found no room on its disk, expected at least 512 KiB of room: delete other files from the disk, or move STATE_DIR to another disk",
  );
});

test("every database that a backup, an export, an import or a question for versions opens is closed again", (t) => {
  const folder = temporaryFolder();
  const store = Store.open(folder);
  store.accounts.create({ ...account, name: "a" }, new Date());
  const opened = new Set<Database.Database>();
  for (const name of ["pragma", "prepare"] as const) {
    const original = Database.prototype[name] as (...args: unknown[]) => unknown;
    t.mock.method(Database.prototype, name, function (this: Database.Database, ...args: unknown[]) {
      opened.add(this);
      return original.apply(this, args);
    });
  }
  const [backup, exported] = ["backup", "export"].map((name) => path.join(temporaryFolder(), name));
  backUp(folder, backup);
  assert.throws(() => backUp(folder, backup), { message: `can't write ${backup}: file already exists` });
  registryOf({ STATE_DIR: folder });
  exportAccounts(store, exported);
  assert.deepEqual(
    readAccounts(exported).map(({ name }) => name),
    ["a"],
  );
  assert.throws(() => readAccounts(path.join(folder, "nothing")));
  store.close();
  assert.ok(opened.size > 7);
  assert.deepEqual(
    [...opened].filter(({ open }) => open).map(({ name }) => name),
    [],
  );
});

for (const code of ["ENOSPC", "EDQUOT"])
  test(`a backup without room (${code}) says how much it needs, and leaves no file`, (t) => {
    const folder = temporaryFolder();
    Store.open(folder).close();
    const file = path.join(temporaryFolder(), "backup");
    t.mock.method(Store.prototype, "copyTo", () => {
      throw Object.assign(new Error(code), { code, syscall: "write" });
    });
    const kibibytes = Math.ceil(statSync(path.join(folder, "state.sqlite")).size / 1024);
    assert.throws(() => backUp(folder, file), {
      name: "DataError",
      message: `file ${file}: found no room on its disk, expected ${kibibytes} KiB of room: name a file on another disk, or delete other files from this one`,
    });
    assert.deepEqual(readdirSync(path.dirname(file)), []);
  });
