import { existsSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { DataError, systemCode } from "../../engine/query.ts";

/** Tells other processes whether a server runs on a state folder, and which database it has open. */

export const databaseFile = (folder: string) => join(folder, "state.sqlite");
/**
 * A running server writes into this file which database it has open. Without a running server, the file means nothing.
 */
export const servedFile = (folder: string) => join(folder, "server.database");
export const lockFile = (folder: string) => join(folder, "server.lock");

/** How to restore a backup, for messages. SQLite would replay a log that isn't the backup's. */
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

export function hasLog(folder: string): boolean {
  return (lstatSync(`${databaseFile(folder)}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

export function filesOf(folder: string): string[] {
  return ["", "-wal", "-shm"].map((end) => databaseFile(folder) + end);
}

/**
 * Returns a line for each of the database's files: empty for a missing file, and different after a replacement. The time
 * of creation distinguishes a new file from a deleted file with the same inode.
 */
export function identitiesIn(folder: string): string {
  const stats = filesOf(folder).map((file) => lstatSync(file, { bigint: true, throwIfNoEntry: false }));
  return stats.map((stat) => (stat ? `${stat.dev}:${stat.ino}:${stat.birthtimeNs}\n` : "\n")).join("");
}

/**
 * Refuses a command's database if the running server has another one open. That server would never see the command's
 * changes.
 * @throws DataError
 */
export function checkServed(folder: string): void {
  if (!isServed(folder)) return;
  const opened = readServed(folder);
  // A server that is just starting hasn't written the file yet.
  if (opened === undefined || opened === identitiesIn(folder)) return;
  throw new DataError(
    `state database ${databaseFile(folder)}`,
    "other files than those that the running server has open",
    `those: put them back, or stop the server, ${restoring}, and start again`,
  );
}

export function readServed(folder: string): string | undefined {
  try {
    // The file is empty if the disk was full when it was written.
    return readFileSync(servedFile(folder), "utf8") || undefined;
  } catch (error) {
    if (!/^(ENOENT|ENOTDIR)$/.test(systemCode(error) ?? "")) throw error;
    return undefined;
  }
}
