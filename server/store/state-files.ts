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
import { identityOf, makeFolder, sync } from "../../datasets/folder.ts";
import { DataError, reasonOf } from "../../engine/query.ts";
import { isNoRoom, keepReserve, NoRoom, reserveFile, withReserve } from "./room.ts";
import {
  checkLeft,
  databaseFile,
  filesOf,
  identitiesIn,
  lockFile,
  readServed,
  servedFile,
} from "./served.ts";

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
  /** The identity of each file when the database was opened, by path. */
  #files = new Map<string, string | undefined>();

  /** @throws DataError when the folder is locked or unusable, or the last server's database is lost */
  constructor(folder: string) {
    this.#folder = folder;
    let unlock: (() => void) | undefined;
    try {
      makeStateFolder(folder);
      unlock = lockFolder(folder);
      checkLeft(folder);
      this.#unlock = unlock;
    } catch (error) {
      unlock?.();
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
    this.#files = new Map(filesOf(this.#folder).map((path) => [path, identityOf(path)]));
    const identities = identitiesIn(this.#folder);
    // A full disk may have no room for the same content again.
    if (readServed(this.#folder) === identities) return;
    this.withRoom(() => {
      makePrivateFile(servedFile(this.#folder));
      // The file is flushed, because an older content could name other files after a power loss.
      writeFileSync(servedFile(this.#folder), identities, { flush: true });
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
   * Moves the write-ahead log into the database, unless a file was deleted or replaced. Called at least once a second:
   * if the log is lost, at most the last second's counts are lost. @returns the text of `fault`
   */
  checkpoint(store: { loggedFrames(): number; checkpoint(): void }): string | undefined {
    const fault = this.fault();
    if (fault !== undefined || store.loggedFrames() === 0) return fault;
    store.checkpoint();
    return this.fault();
  }

  /** Returns what has happened to the files; undefined if nothing has happened to them. */
  fault(): string | undefined {
    try {
      for (const [path, identity] of this.#files) {
        const found = identityOf(path);
        if (found !== identity) return `${path} was ${found === undefined ? "deleted" : "replaced"}`;
      }
      return undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** Releases the folder. If the database is lost or couldn't be opened, `server.database` stays for the next start. */
  close(): void {
    const file = databaseFile(this.#folder);
    if (this.#files.get(file) === identityOf(file)) rmSync(servedFile(this.#folder), { force: true });
    this.#unlock();
  }
}
