import {
  chmodSync,
  closeSync,
  existsSync,
  fchmodSync,
  mkdirSync,
  openSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { identityOf, makeFolder } from "../../datasets/folder.ts";
import { DataError, reasonOf } from "../../engine/query.ts";
import {
  checkLog,
  checkWhole,
  databaseFile,
  filesOf,
  hasLog,
  linesOf,
  lockFile,
  overwritten,
  servedFile,
  writtenOf,
} from "./served.ts";

/** Keeps the state's files private, and notices when they are deleted, replaced or overwritten under a running server. */

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
    // Another process was faster.
    if (!existsSync(folder)) throw error;
  }
}

/** Makes an empty file if it is missing, readable by its owner only. SQLite gives its -wal and -shm files the same mode. */
export function makePrivateFile(file: string): void {
  if (existsSync(file)) return;
  const descriptor = openSync(file, "a", fileMode);
  fchmodSync(descriptor, fileMode);
  closeSync(descriptor);
}

/** Removes other users' access to the state. @returns the files that were changed, and those that can't be */
export function narrowAccess(folder: string): { narrowed: string[]; open: string[] } {
  const files = [...filesOf(folder), lockFile(folder), servedFile(folder)];
  const [narrowed, open]: string[][] = [[], []];
  for (const path of [folder, ...files]) {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o077) === 0) continue;
    try {
      // A shared folder such as /tmp keeps its mode.
      if ((mode & stickyBit) !== 0) throw new Error("a folder for all");
      chmodSync(path, path === folder ? folderMode : fileMode);
      narrowed.push(path);
    } catch {
      open.push(path);
    }
  }
  return { narrowed, open };
}

/** How long a starting server waits for commands that are reading its lock, each of which takes microseconds. */
const maxReadersMs = 1000;

/** Takes a folder's lock, which ends with the process. @returns what releases it @throws DataError when it is taken */
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

/** A server's lock on its state folder, and its watch over the database files that it has open. */
export class StateGuard {
  readonly #folder: string;
  #unlock: () => void;
  #lock: string | undefined;
  #hasMadeFolder = false;
  /** The identity of each file when the database was opened, by path. */
  #files = new Map<string, string | undefined>();
  /** The database's time and size after this process's last checkpoint. Only this process changes the file: commands write to SQLite's log. */
  #written: string | undefined;
  /** Whether the database was deleted or replaced. */
  #isLost = false;
  /** Whether the database was overwritten. Final, because SQLite may have read from it. */
  #isOverwritten = false;

  get isOverwritten(): boolean {
    return this.#isOverwritten;
  }

  /** @throws DataError when another server has the folder, or its files aren't those that the last server left */
  constructor(folder: string) {
    this.#folder = folder;
    let unlock: (() => void) | undefined;
    try {
      makeStateFolder(folder);
      unlock = this.#takeLock();
      checkLog(folder, checkWhole(folder));
      rmSync(servedFile(folder), { force: true });
    } catch (error) {
      unlock?.();
      if (error instanceof DataError) throw error;
      const reason = reasonOf(error);
      throw new DataError(
        `STATE_DIR ${folder}`,
        reason,
        "a folder that can be read and written; STATE_DIR may name another",
      );
    }
    this.#unlock = unlock;
  }

  /** Begins to watch the database, which has to be open, and tells commands which files belong to it. */
  watch(): void {
    this.#look();
    this.#publish();
  }

  /**
   * Moves the write-ahead log into the database, if all files are as they were left. Once a second, so that the loss of
   * a log costs no more counts than a crash.
   * @returns the same as `fault`
   */
  checkpoint(store: { loggedFrames(): number; checkpoint(): void }): string | undefined {
    const before = this.fault();
    if (before !== undefined || store.loggedFrames() === 0) return before;
    const file = databaseFile(this.#folder);
    try {
      store.checkpoint();
    } finally {
      // If the file was deleted meanwhile, its last time distinguishes it from a new file with the same identity.
      this.#written = writtenOf(file) ?? this.#written;
    }
    return this.fault();
  }

  /**
   * Says what has happened to the files; undefined when nothing has. If the lock file is gone, a new one is made, in a
   * new folder if necessary, so that commands still see that a server runs.
   */
  fault(): string | undefined {
    try {
      if (identityOf(lockFile(this.#folder)) !== this.#lock) this.#takeLockAgain();
      this.#lookForDatabase();
      for (const [path, identity] of this.#files) {
        const found = identityOf(path);
        if (found !== identity) return `${path} was ${found === undefined ? "deleted" : "replaced"}`;
      }
      const file = databaseFile(this.#folder);
      if (!this.#isOverwritten && writtenOf(file) !== this.#written) {
        this.#isOverwritten = true;
        this.#publish();
      }
      return this.#isOverwritten ? `${file} was overwritten` : undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** Releases the folder. If the database is lost or overwritten, `server.database` stays for the next start to read. */
  close(): void {
    if (this.#files.size > 0) this.#lookForDatabase();
    else if (hasLog(this.#folder)) {
      // The database couldn't be opened, and will be replaced: its log must not be replayed onto the next one.
      this.#look();
      this.#isLost = true;
      this.#publish();
    }
    const isLeft = this.#isOverwritten || this.#isLost;
    if (!isLeft || this.#hasMadeFolder) rmSync(servedFile(this.#folder), { force: true });
    if (this.#hasMadeFolder) this.#removeFolder();
    this.#unlock();
  }

  #takeLock(maxWaitMs?: number): () => void {
    makePrivateFile(lockFile(this.#folder));
    const unlock = lockFolder(this.#folder, maxWaitMs);
    this.#lock = identityOf(lockFile(this.#folder));
    return unlock;
  }

  #takeLockAgain(): void {
    if (!existsSync(this.#folder)) {
      mkdirSync(this.#folder, folderMode);
      this.#hasMadeFolder = true;
    }
    const before = this.#unlock;
    this.#unlock = this.#takeLock(0);
    before();
    this.#publish();
  }

  #look(): void {
    this.#files = new Map(filesOf(this.#folder).map((path) => [path, identityOf(path)]));
    this.#written = writtenOf(databaseFile(this.#folder));
  }

  #lookForDatabase(): void {
    const file = databaseFile(this.#folder);
    const isLost = identityOf(file) !== this.#files.get(file);
    if (isLost === this.#isLost) return;
    this.#isLost = isLost;
    this.#publish();
  }

  #publish(): void {
    makePrivateFile(servedFile(this.#folder));
    const lines = linesOf(this.#files.values()) + (this.#isLost ? `${this.#written ?? ""}\n` : "");
    // Flushed, because after a power loss an older version would name other files.
    writeFileSync(servedFile(this.#folder), this.#isOverwritten ? overwritten : lines, { flush: true });
  }

  /** Removes the folder that was made for commands to see, so that the deleted one can be put back. */
  #removeFolder(): void {
    rmSync(lockFile(this.#folder), { force: true });
    try {
      rmdirSync(this.#folder);
    } catch {
      // It has other files by now.
    }
  }
}
