import Database from "better-sqlite3";
import { DataError } from "../../engine/query.ts";
import { lockFile } from "./served.ts";

/** Locks a state folder, so that two servers don't use it at once. */

/** How long a starting server waits for commands that are reading its lock, each of which takes microseconds. */
const maxReadersMs = 1000;

/**
 * Takes the lock of a state folder. The operating system releases it with the process, however that ends.
 * @returns what releases the lock
 * @throws DataError when another server has it
 */
export function lockFolder(folder: string, maxWaitMs = maxReadersMs): () => void {
  const database = new Database(lockFile(folder), { timeout: maxWaitMs });
  try {
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
