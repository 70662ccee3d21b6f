import { existsSync, lstatSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { DataError, systemCode } from "../engine/query.ts";

/** The state of a server as other processes find it: whether a server runs on it, and whether its database is the one there. */

/** The database in a state folder. */
export const databaseFile = (folder: string) => join(folder, "state.sqlite");
const besideDatabase = ["-wal", "-shm"];
/** Which database the server has open that holds the lock, for commands. */
export const servedFile = (folder: string) => join(folder, "server.database");
export const lockFile = (folder: string) => join(folder, "server.lock");

/** Whether a server has a state folder; one that is just starting counts. */
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

/** What tells a file from another one, or a link, that is put in its place; undefined where there is none. */
export function identityOf(file: string): string | undefined {
  const stat = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`;
}

/** What changes whenever a file is written to; undefined where there is none. Reading the file would drop SQLite's locks on it. */
export function writtenOf(file: string): string | undefined {
  const stat = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.mtimeNs}:${stat.size}`;
}

/** Whether transactions lie beside the database that it may not have yet. */
export function hasLog(folder: string): boolean {
  return (lstatSync(`${databaseFile(folder)}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** The database and what SQLite has beside it. */
export function filesOf(folder: string): string[] {
  const file = databaseFile(folder);
  return [file, ...besideDatabase.map((end) => file + end)];
}

/** How a backup is restored; a log that was left beside it would be replayed onto it. */
export const restoring =
  "put a backup in its place, delete every -wal and -shm file beside it that isn't the backup's";

/** What `server.database` says once what the server had open isn't whole any more. */
export const overwritten = "overwritten\n";

/**
 * What it says before: an identity a line, empty where there is no such file. While the database is lost another line
 * says when it was written to: a file system gives the identity of one that is gone to the next.
 */
export function linesOf(identities: Iterable<string | undefined>): string {
  return Array.from(identities, (identity) => `${identity ?? ""}\n`).join("");
}

/**
 * Keeps a command from a database that isn't the one of the running server, which would never hear of what it writes,
 * and from one that was overwritten.
 *
 * @throws DataError when another file, or none, is in the place of the server's database, or it was overwritten
 */
export function checkServed(folder: string): void {
  // In this order: what a server left that was killed says nothing of the next one.
  const hasServer = isServed(folder);
  const served = checkWhole(folder);
  if (!hasServer) checkLog(folder, served);
  // A server that is just starting says nothing yet.
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
 * Keeps the log of a database that was lost from the one in its place, because SQLite would replay it, and an empty
 * state from the place of one that was lost.
 *
 * @param served what the last server had open, and left
 */
export function checkLog(folder: string, served: string | undefined): void {
  if (served === undefined) return;
  const file = databaseFile(folder);
  const [database, log, , written = ""] = served.split("\n");
  const found = identityOf(file);
  if ((found ?? "") === database && (written === "" || written === writtenOf(file))) return;
  const isLogged = hasLog(folder) && identityOf(`${file}-wal`) === log;
  // A new one would know nothing of the keys that clients have, nor of the numbers that versions were served under.
  if (found === undefined && !isLogged)
    throw new DataError(
      `state database ${file}`,
      "none, though a server had one here that didn't end in order or lost it",
      `that one: put it back, or a backup; to begin a new state, delete ${servedFile(folder)}`,
    );
  if (!isLogged) {
    // That log is gone, and the next one may get its identity.
    rmSync(servedFile(folder), { force: true });
    return;
  }
  throw new DataError(
    `state database ${file}`,
    `${found === undefined ? "none" : "another one"} beside the write-ahead log of the one that was here`,
    `that one: put it back, or ${restoring}, and then ${servedFile(folder)}`,
  );
}

/**
 * Nobody goes on with what is left of an overwritten database: it may look sound, and what its log has isn't its own.
 *
 * @returns what `server.database` says
 */
export function checkWhole(folder: string): string | undefined {
  const served = readServed(folder);
  if (served !== overwritten) return served;
  throw new DataError(
    `state database ${databaseFile(folder)}`,
    "what is left of one that was overwritten while a server ran on it",
    `a sound one: stop the server, ${restoring}, and then ${servedFile(folder)}`,
  );
}

/** Undefined where no server says. */
function readServed(folder: string): string | undefined {
  try {
    return readFileSync(servedFile(folder), "utf8");
  } catch (error) {
    if (/^(ENOENT|ENOTDIR)$/.test(systemCode(error) ?? "")) return undefined;
    throw error;
  }
}
