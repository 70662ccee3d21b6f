import { existsSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { identityOf } from "../../datasets/folder.ts";
import { DataError, systemCode } from "../../engine/query.ts";

/** Tells other processes whether a server runs on a state folder, and whether the database there is the server's. */

export const databaseFile = (folder: string) => join(folder, "state.sqlite");
/** The file in which a server names the database that it has open. A server removes the file at an orderly end. */
export const servedFile = (folder: string) => join(folder, "server.database");
export const lockFile = (folder: string) => join(folder, "server.lock");

/** How to restore a backup. Logs are deleted, because SQLite would replay a log that isn't the backup's. */
export const restoring =
  "put a backup in its place, delete every -wal and -shm file beside it that isn't the backup's";

/** Whether a server is running or starting on a state folder. */
export function isServed(folder: string): boolean {
  const file = lockFile(folder);
  if (!existsSync(file)) return false;
  const database = new Database(file, { readonly: true, timeout: 0 });
  try {
    database.pragma("schema_version");
    return false;
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code === "SQLITE_BUSY") return true;
    throw error;
  } finally {
    database.close();
  }
}

/** Whether the database has a write-ahead log that isn't empty. */
export function hasLog(folder: string): boolean {
  return (lstatSync(`${databaseFile(folder)}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** Returns the paths of the database and of the files that SQLite makes beside it, even if the files don't exist. */
export function filesOf(folder: string): string[] {
  return ["", "-wal", "-shm"].map((end) => databaseFile(folder) + end);
}

/**
 * Returns the identities of the database's files now, in the format of `server.database`. Each file has a line, which
 * is empty for a missing file.
 */
export function identitiesIn(folder: string): string {
  return filesOf(folder)
    .map((file) => `${identityOf(file) ?? ""}\n`)
    .join("");
}

/**
 * Refuses a database for a command if the running server has another database open, because the server would never see
 * what the command writes. @throws DataError
 */
export function checkServed(folder: string): void {
  if (!isServed(folder)) {
    checkLeft(folder);
    return;
  }
  const opened = readServed(folder);
  // A server that is just starting hasn't written the file yet.
  if (opened === undefined || opened === identitiesIn(folder)) return;
  throw new DataError(
    `state database ${databaseFile(folder)}`,
    "other files than those that the running server has open",
    `those: put them back, or stop the server, ${restoring}, and start again`,
  );
}

/**
 * Refuses a database beside the write-ahead log of a lost database, because SQLite would replay the log. Refuses a
 * folder without the lost database, because an empty database would be made. @throws DataError
 */
export function checkLeft(folder: string): void {
  const [lost, log] = readServed(folder)?.split("\n") ?? [];
  if (lost === undefined) return;
  const file = databaseFile(folder);
  const found = identityOf(file);
  if (lost === found) return;
  // An empty state would have none of the clients' keys, and would use version numbers again.
  if (found === undefined)
    throw new DataError(
      `state database ${file}`,
      "none, although a server used one here and then crashed or lost it",
      `that database: put it back, or ${restoring}, and then ${servedFile(folder)}; to begin a new state, delete all of these`,
    );
  // In a copy of the folder, the log has another identity, and belongs to the database beside it.
  if (hasLog(folder) && identityOf(`${file}-wal`) === log) throw foreignLog(folder);
}

/** Makes the error for a write-ahead log that doesn't belong to the database beside it. */
export function foreignLog(folder: string): DataError {
  return new DataError(
    `state database ${databaseFile(folder)}`,
    "another one beside the write-ahead log of the one that was here",
    `that one: put it back, or ${restoring}, and then ${servedFile(folder)}`,
  );
}

/** Returns the content of `server.database`; undefined if there is none. */
export function readServed(folder: string): string | undefined {
  try {
    // The file is empty if the disk was full when it was written.
    return readFileSync(servedFile(folder), "utf8") || undefined;
  } catch (error) {
    if (!/^(ENOENT|ENOTDIR)$/.test(systemCode(error) ?? "")) throw error;
    return undefined;
  }
}
