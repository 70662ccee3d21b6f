import { closeSync, existsSync, lstatSync, openSync, readSync, rmSync } from "node:fs";
import Database from "better-sqlite3";
import { DataError, reasonOf, systemCode } from "../../engine/query.ts";
import { unusable } from "./connection.ts";
import { createComplete, makeStateFolder } from "./private-files.ts";
import { checkRoomForNew, isNoRoom, NoRoom, withReserve } from "./room.ts";
import { schema, schemaVersion } from "./schema.ts";
import { databaseFile, hasLog, restoring } from "./served.ts";

/** Opens the state database. Refuses a damaged or foreign database. */

export interface OpenOptions {
  mayCreate?: boolean;
  /** Maximum milliseconds that a write waits for another process that writes. */
  maxWaitMs?: number;
}

/** @throws DataError when the folder or the database can't be used */
export function openDatabase(
  folder: string,
  { mayCreate = true, maxWaitMs = 5000 }: OpenOptions,
): Database.Database {
  const file = databaseFile(folder);
  const isNew = !existsSync(file);
  try {
    if (mayCreate) makeStateFolder(folder);
    else if (!existsSync(file))
      throw new DataError(`STATE_DIR ${folder}`, "no state.sqlite", "a folder with the state of a server");
    // The write-ahead log is looked for before the database, because another process may make both files in between.
    const isLogged = hasLog(folder);
    if (!existsSync(file)) {
      if (isLogged) throw damaged(file, "none beside a write-ahead log");
      checkRoomForNew(folder, `state database ${file}`);
      create(file);
    }
    return withReserve(folder, () => {
      let database: Database.Database | undefined;
      try {
        checkSound(folder, isLogged);
        database = new Database(file, { timeout: maxWaitMs, fileMustExist: true });
        setUp(database);
        return database;
      } catch (error) {
        database?.close();
        throw error;
      }
    });
  } catch (error) {
    if (error instanceof DataError) throw error;
    if (isNoRoom(error)) throw new NoRoom(`state database ${file}`, isNew);
    if (error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code))
      throw damaged(file, error.message);
    throw unusable(`state database ${file}`, reasonOf(error));
  }
}

export function databaseInMemory(): Database.Database {
  const database = new Database(":memory:");
  begin(database);
  setUp(database);
  return database;
}

/** Sets up a connection. Each transaction in a file is then durable at its end. */
function setUp(database: Database.Database): void {
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  database.pragma("foreign_keys = ON");
  // Without automatic checkpoints, commands don't write to the database file while a server runs.
  database.pragma("wal_autocheckpoint = 0");
  // This first read makes the -wal and -shm files of a database that wasn't in WAL mode, such as a backup.
  database.pragma("schema_version");
}

export function begin(database: Database.Database): void {
  database.transaction(() => {
    database.exec(schema);
    database.pragma(`user_version = ${schemaVersion}`);
  })();
}

function create(file: string): void {
  try {
    createComplete(file, (draft) => {
      const database = new Database(draft);
      try {
        begin(database);
        database.pragma("journal_mode = WAL");
      } finally {
        database.close();
      }
    });
  } catch (error) {
    // EEXIST: another process has made the database meanwhile.
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/**
 * Checks the database before it is opened for writing. Opens it read-only, so that SQLite doesn't change it.
 * @throws DataError, SqliteError, or an error of the system
 */
function checkSound(folder: string, isLogged: boolean): void {
  const file = databaseFile(folder);
  const stat = lstatSync(file);
  if (!stat.isFile())
    throw new DataError(
      `state database ${file}`,
      stat.isSymbolicLink() ? "a symbolic link" : "something that isn't a regular file",
      "a regular file: STATE_DIR may name another folder",
    );
  if (stat.size === 0) throw damaged(file, "an empty file");
  if (isLogged && isBackup(file))
    throw new DataError(
      `state database ${file}`,
      "a backup beside the write-ahead log of another database",
      `the backup alone: delete ${file}-wal and ${file}-shm`,
    );
  const beside = [`${file}-wal`, `${file}-shm`].filter((path) => !existsSync(path));
  const database = new Database(file, { readonly: true, timeout: 5000 });
  try {
    const check = database.pragma("quick_check(1)", { simple: true });
    if (check !== "ok") throw damaged(file, String(check));
    const version = Number(database.pragma("user_version", { simple: true }));
    if (version !== schemaVersion)
      throw new DataError(
        `state database ${file}`,
        version === 0 ? "a database without a schema of this service" : `schema version ${version}`,
        version === 0
          ? `schema version ${schemaVersion}: STATE_DIR may name another folder`
          : `schema version ${schemaVersion}: export the accounts with the release that made it, and import them into an empty STATE_DIR with this one`,
      );
    database.close();
  } catch (error) {
    database.close();
    // A failed check removes the -wal and -shm files that it made. After a successful check, another process may use
    // these files.
    for (const path of beside) rmSync(path, { force: true });
    throw error;
  }
}

/** Whether a database's journal mode isn't WAL, as in a copy by `state backup`. */
function isBackup(file: string): boolean {
  const descriptor = openSync(file, "r");
  try {
    // The read version of the file format, which is 2 with a write-ahead log: https://www.sqlite.org/fileformat2.html
    const bytes = new Uint8Array(1);
    readSync(descriptor, bytes, 0, 1, 19);
    return bytes[0] === 1;
  } finally {
    closeSync(descriptor);
  }
}

function damaged(file: string, reason: string): DataError {
  return new DataError(
    `state database ${file}`,
    `damage (${reason.split("\n").find((line) => !line.startsWith("***")) ?? reason})`,
    `a sound database: ${restoring}, or move it away together with its -wal and -shm files to start anew`,
  );
}
