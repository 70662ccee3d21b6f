import Database from "better-sqlite3";
import { lockFile } from "../../datasets/state.ts";
import { DataError } from "../../engine/query.ts";

/** Lets one server at a time have a state folder. */

/** A server that starts waits so long for commands that are looking at its lock, each of which takes microseconds. */
const maxLookersMs = 1000;

/**
 * Keeps a second server off a state folder. The operating system drops the lock with the process, however it ends.
 *
 * @returns what gives the folder free
 * @throws DataError when another server has it
 */
export function lockFolder(folder: string, maxWaitMs = maxLookersMs): () => void {
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
