import Database from "better-sqlite3";
import { DataError } from "../../engine/query.ts";
import { makePrivateFile } from "./private-files.ts";
import { lockFile } from "./served.ts";

/** Locks a state folder, so that only one server at a time uses it. */

/** Maximum wait of a starting server for its lock. A command that checks the lock holds it for microseconds. */
const maxReadersMs = 1000;

/**
 * Takes a folder's lock, which ends with the process. Returns a function that releases the lock.
 * @throws DataError when another process has the lock
 */
export function lockFolder(folder: string): () => void {
  makePrivateFile(lockFile(folder));
  const database = new Database(lockFile(folder), { timeout: maxReadersMs });
  try {
    // The journal is in memory, because a full disk has no room for a file.
    database.pragma("journal_mode = MEMORY");
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (!(error instanceof Database.SqliteError && error.code === "SQLITE_BUSY")) throw error;
    throw new DataError(
      `STATE_DIR ${folder}`,
      "another server that uses it",
      "a folder of its own for each server",
    );
  }
  return () => database.close();
}
