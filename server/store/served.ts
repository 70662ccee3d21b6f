import { existsSync, lstatSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { identityOf } from "../../datasets/folder.ts";
import { DataError, systemCode } from "../../engine/query.ts";

/** Tells other processes whether a server runs on a state folder, and whether the database there is the server's. */

export const databaseFile = (folder: string) => join(folder, "state.sqlite");
const besideDatabase = ["-wal", "-shm"];
/** The path of the file in which a server tells commands which database it has open. */
export const servedFile = (folder: string) => join(folder, "server.database");
export const lockFile = (folder: string) => join(folder, "server.lock");

/** Whether a server runs on a state folder, or is just starting. */
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

/** Changes whenever a file is written to; undefined where there is none. Opening the file to read it would drop SQLite's locks. */
export function writtenOf(file: string): string | undefined {
  const stat = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.mtimeNs}:${stat.size}`;
}

export function hasLog(folder: string): boolean {
  return (lstatSync(`${databaseFile(folder)}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

export function filesOf(folder: string): string[] {
  const file = databaseFile(folder);
  return [file, ...besideDatabase.map((end) => file + end)];
}

/** How to restore a backup: SQLite would replay a log that was left beside it. */
export const restoring =
  "put a backup in its place, delete every -wal and -shm file beside it that isn't the backup's";

/** What `server.database` contains if another program has overwritten the database. */
export const overwritten = "overwritten\n";

/**
 * The content before that: one identity a line, empty where there is no such file. A further line for a lost database
 * has its time and size, because file systems give the identity of a deleted file to a new one.
 */
export function linesOf(identities: Iterable<string | undefined>): string {
  return Array.from(identities, (identity) => `${identity ?? ""}\n`).join("");
}

/**
 * Refuses a database for a command if the running server has another one open, because the server would never see what
 * the command writes, or if it was overwritten.
 * @throws DataError when another file, or none, is in the place of the server's database, or it was overwritten
 */
export function checkServed(folder: string): void {
  // In this order, because a file left by a killed server is no evidence about the next one.
  const hasServer = isServed(folder);
  const served = checkWhole(folder);
  if (!hasServer) checkLog(folder, served);
  // A server that is just starting hasn't written the file yet.
  if (!hasServer || served === undefined || served.startsWith(linesOf(filesOf(folder).map(identityOf))))
    return;
  const found = identityOf(databaseFile(folder));
  const isThere = found !== undefined && served.startsWith(`${found}\n`);
  const what = isThere ? "other files beside it" : found === undefined ? "none" : "another file";
  throw new DataError(
    `state database ${databaseFile(folder)}`,
    `${what}, while a server runs on the one that was here`,
    `that one: put it back, or stop the server, ${restoring}, and start again`,
  );
}

/**
 * Refuses a database beside the log of another one, because SQLite would replay that log, and refuses to make an empty
 * state in the place of a lost one.
 * @param served what the last server wrote about its files
 */
export function checkLog(folder: string, served: string | undefined): void {
  if (served === undefined) return;
  const file = databaseFile(folder);
  const [database, log, , written = ""] = served.split("\n");
  const found = identityOf(file);
  if ((found ?? "") === database && (written === "" || written === writtenOf(file))) return;
  const isLogged = hasLog(folder) && identityOf(`${file}-wal`) === log;
  // A new state would have none of the clients' keys, and would give out version numbers again.
  if (found === undefined && !isLogged)
    throw new DataError(
      `state database ${file}`,
      "none, although a server used one here and then crashed or lost it",
      `that database: restore it or a backup; to begin a new state, delete ${servedFile(folder)}`,
    );
  if (!isLogged) {
    // The old log is gone, and the next one may get its identity.
    rmSync(servedFile(folder), { force: true });
    return;
  }
  throw new DataError(
    `state database ${file}`,
    `${found === undefined ? "none" : "another one"} beside the write-ahead log of the one that was here`,
    `that one: put it back, or ${restoring}, and then ${servedFile(folder)}`,
  );
}

/** Refuses an overwritten database, even one that looks sound. @returns the content of `server.database` */
export function checkWhole(folder: string): string | undefined {
  // Read at once, because a server may delete it meanwhile.
  let served: string | undefined;
  try {
    served = readFileSync(servedFile(folder), "utf8");
  } catch (error) {
    if (!/^(ENOENT|ENOTDIR)$/.test(systemCode(error) ?? "")) throw error;
  }
  if (served !== overwritten) return served;
  throw new DataError(
    `state database ${databaseFile(folder)}`,
    "what is left of one that was overwritten while a server ran on it",
    `a sound one: stop the server, ${restoring}, and then ${servedFile(folder)}`,
  );
}
