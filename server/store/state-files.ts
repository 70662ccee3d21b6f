import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  fchmodSync,
  linkSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { makeFolder, sync } from "../../datasets/folder.ts";
import { DataError, reasonOf } from "../../engine/query.ts";
import { isNoRoom, keepReserve, NoRoom, reserveFile, withReserve } from "./room.ts";
import { filesOf, identitiesIn, lockFile, readServed, servedFile } from "./served.ts";

/** Keeps the state's files private, and notices when they are deleted or replaced under a running server. */

const folderMode = 0o700;
const fileMode = 0o600;
const stickyBit = 0o1000;

/** Makes the state folder if it is missing, readable by its owner only, whatever the umask. */
export function makeStateFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
    chmodSync(folder, folderMode);
  } catch (error) {
    // Another process may have made the folder meanwhile.
    if (!existsSync(folder)) throw error;
  }
}

/** Makes an empty file if it is missing. SQLite gives the -wal and -shm files the same mode. */
function makePrivateFile(file: string): void {
  if (existsSync(file)) return;
  const descriptor = openSync(file, "a", fileMode);
  fchmodSync(descriptor, fileMode);
  closeSync(descriptor);
}

/**
 * Makes a private file, which appears only when it is complete.
 * @param fill writes the content to a draft
 * @throws Error EEXIST when the file exists, because a link never replaces a file
 */
export function createComplete(file: string, fill: (draft: string) => void): void {
  const draft = `${file}.${randomUUID()}`;
  try {
    makePrivateFile(draft);
    fill(draft);
    sync(draft);
    linkSync(draft, file);
  } finally {
    for (const end of ["", "-journal"]) rmSync(draft + end, { force: true });
  }
  sync(dirname(file));
}

/** Removes other users' access to the state where possible. @returns the paths whose mode was changed */
export function narrowAccess(folder: string): string[] {
  const ours = [...filesOf(folder), lockFile(folder), servedFile(folder), reserveFile(folder)];
  return [folder, ...ours].filter((path) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    // A shared folder such as /tmp keeps its mode.
    if ((mode & 0o077) === 0 || (mode & stickyBit) !== 0) return false;
    try {
      chmodSync(path, path === folder ? folderMode : fileMode);
      return true;
    } catch {
      // `chmodSync` fails if the folder is mounted and belongs to another user.
      return false;
    }
  });
}

/** Maximum wait of a starting server for its lock. A command that reads the lock holds it for microseconds. */
const maxReadersMs = 1000;

/**
 * Takes a folder's lock, which ends with the process. Returns a function that releases the lock.
 * @throws DataError when another process has the lock
 */
export function lockFolder(folder: string): () => void {
  makePrivateFile(lockFile(folder));
  const database = new Database(lockFile(folder), { timeout: maxReadersMs });
  try {
    // A journal in memory, because a full disk has no room for a file.
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

/** A server's lock on its state folder, and its watch over the database files that it has open. */
export class StateGuard {
  readonly #folder: string;
  readonly #unlock: () => void;
  /** The identities of the files when the database was opened; undefined before that. */
  #opened: string | undefined;

  /** @throws DataError when the folder is locked or unusable */
  constructor(folder: string) {
    this.#folder = folder;
    try {
      makeStateFolder(folder);
      this.#unlock = lockFolder(folder);
    } catch (error) {
      if (error instanceof DataError) throw error;
      if (isNoRoom(error)) throw new NoRoom(`STATE_DIR ${folder}`, true);
      throw new DataError(
        `STATE_DIR ${folder}`,
        reasonOf(error),
        "a folder that can be read and written; STATE_DIR may name another",
      );
    }
  }

  /** Begins to watch the database, which has to be open, and tells commands which files belong to it. */
  watch(): void {
    const opened = identitiesIn(this.#folder);
    this.#opened = opened;
    // A full disk may have no room for the same content again.
    if (readServed(this.#folder) === opened) return;
    this.withRoom(() => {
      makePrivateFile(servedFile(this.#folder));
      writeFileSync(servedFile(this.#folder), opened);
    });
  }

  /** Makes sure that a start or an end on a full disk has room. @throws Error when the disk is full */
  keepRoom(): void {
    keepReserve(this.#folder);
  }

  /** Runs work, on a full disk with the room that `keepRoom` has kept. The work may be done twice. */
  withRoom<Result>(work: () => Result): Result {
    return withReserve(this.#folder, work);
  }

  /**
   * Moves the write-ahead log into the database. Called at least once a second: if the log is lost, at most the last
   * second's counts are lost. @throws Error when a file was deleted or replaced, or SqliteError
   */
  checkpoint(store: { loggedFrames(): number; checkpoint(): void }): void {
    const fault = this.fault();
    if (fault !== undefined) throw new Error(fault);
    if (store.loggedFrames() > 0) store.checkpoint();
  }

  /** Returns which file was deleted or replaced; undefined if all are as they were when they were opened. */
  fault(): string | undefined {
    try {
      const found = identitiesIn(this.#folder);
      if (this.#opened === undefined || found === this.#opened) return undefined;
      const [before, now] = [this.#opened, found].map((lines) => lines.split("\n"));
      const changed = before.findIndex((line, i) => line !== now[i]);
      return `${filesOf(this.#folder)[changed]} was ${now[changed] === "" ? "deleted" : "replaced"}`;
    } catch (error) {
      return reasonOf(error);
    }
  }

  close(): void {
    rmSync(servedFile(this.#folder), { force: true });
    this.#unlock();
  }
}
