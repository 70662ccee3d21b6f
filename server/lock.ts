import { join } from "node:path";
import Database from "better-sqlite3";
import { DataError } from "../engine/query.ts";

/**
 * Keeps a second server off a state folder. The operating system drops the lock with the process, however it ends.
 *
 * @returns what gives the folder free
 * @throws DataError when another server has it
 */
export function lockFolder(folder: string): () => void {
  const database = new Database(join(folder, "server.lock"), { timeout: 0 });
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
