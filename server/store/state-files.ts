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
import { makeFolder } from "../../datasets/folder.ts";
import {
  checkLog,
  checkWhole,
  databaseFile,
  filesOf,
  hasLog,
  identityOf,
  linesOf,
  lockFile,
  overwritten,
  servedFile,
  writtenOf,
} from "../../datasets/state.ts";
import { DataError, reasonOf } from "../../engine/query.ts";
import { lockFolder } from "./lock.ts";
import { lastingWalFault } from "./wal.ts";

/** The files of the state: webhooks' secrets are in them, and SQLite goes on with one that was deleted, replaced or overwritten. */

const folderMode = 0o700;
const fileMode = 0o600;
const stickyBit = 0o1000;

/** Makes a state folder where it is missing, for its owner only, whatever the umask. */
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

/** Makes an empty file where it is missing, for its owner only. SQLite gives a database's mode to the files beside it. */
export function makePrivateFile(file: string): void {
  if (existsSync(file)) return;
  const descriptor = openSync(file, "a", fileMode);
  fchmodSync(descriptor, fileMode);
  closeSync(descriptor);
}

/**
 * Takes the state from everybody but its owner.
 *
 * @returns what others could read or write, and what of that can't be taken from them
 */
export function narrowAccess(folder: string): { narrowed: string[]; open: string[] } {
  const files = [...filesOf(folder), lockFile(folder), servedFile(folder)];
  const [narrowed, open]: string[][] = [[], []];
  for (const path of [folder, ...files]) {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o077) === 0) continue;
    try {
      // A folder such as /tmp is everybody's.
      if ((mode & stickyBit) !== 0) throw new Error("a folder for all");
      chmodSync(path, path === folder ? folderMode : fileMode);
      narrowed.push(path);
    } catch {
      open.push(path);
    }
  }
  return { narrowed, open };
}

/** A server's hold on its state folder: the lock, and an eye on the files of the database that it has open. */
export class StateGuard {
  readonly #folder: string;
  #unlock: () => void;
  #lock: string | undefined;
  #hasMadeFolder = false;
  /** What each file was when the database was opened, by path. */
  #files = new Map<string, string | undefined>();
  /** What the database itself was when this process wrote to it last; commands write to its log only. */
  #written: string | undefined;
  /** Whether another file, or none, is in the place of the database. */
  #isLost = false;
  /** Which file somebody else has written to. There is no way back while SQLite has it open. */
  #overwritten: string | undefined;

  /** @throws DataError when another server has the folder, it can't be used, its database was overwritten, or its log is another's */
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

  /** Watches the database, which has been opened and read, and tells commands which one it is. */
  watch(): void {
    this.#look();
    this.#publish();
  }

  /** Whether the database is lost, and nothing may be written to what is left of it. */
  get isOverwritten(): boolean {
    return this.#overwritten !== undefined;
  }

  /**
   * Empties the write-ahead log into the database, while all files are as they were left. What was written before is
   * then lost with no log; done once a second, a lost one takes no more counts with it than a crash may.
   *
   * @returns what has happened to the files, as `fault` says
   */
  checkpoint(store: { loggedFrames(): number; checkpoint(): void }): string | undefined {
    const before = this.fault();
    if (before !== undefined || store.loggedFrames() === 0) return before;
    const file = databaseFile(this.#folder);
    // SQLite copies pages without looking at their checksums.
    const fault = lastingWalFault(`${file}-wal`, () => store.loggedFrames());
    if (fault !== undefined) {
      this.#lose(`${file}-wal was overwritten: ${fault}`);
      return this.#overwritten;
    }
    try {
      store.checkpoint();
    } finally {
      // It may have been deleted meanwhile: then what it was before tells it from what is put in its place.
      this.#written = writtenOf(file) ?? this.#written;
    }
    return this.fault();
  }

  /**
   * What has happened to the files since; undefined when all are in their places and whole. Where the lock is gone, it
   * is taken anew, in a folder made anew if need be, so that commands still see that a server runs.
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
      if (!this.isOverwritten && writtenOf(file) !== this.#written) this.#lose(`${file} was overwritten`);
      return this.#overwritten;
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** Gives the folder free. That the database was overwritten, or which one a log belongs to that is left, stays to be read. */
  close(): void {
    if (this.#files.size > 0) this.#lookForDatabase();
    else if (hasLog(this.#folder)) {
      // A database that can't be opened is going to be replaced.
      this.#look();
      this.#isLost = true;
      this.#publish();
    }
    const isLeft = this.isOverwritten || this.#isLost;
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

  #lose(reason: string): void {
    this.#overwritten = reason;
    this.#publish();
  }

  #publish(): void {
    makePrivateFile(servedFile(this.#folder));
    const lines = linesOf(this.#files.values()) + (this.#isLost ? `${this.#written ?? ""}\n` : "");
    // On the disk: after a power loss an older one would speak of other files.
    writeFileSync(servedFile(this.#folder), this.isOverwritten ? overwritten : lines, { flush: true });
  }

  /** What was made only for commands to see would be in the way of a folder that is put back. */
  #removeFolder(): void {
    rmSync(lockFile(this.#folder), { force: true });
    try {
      rmdirSync(this.#folder);
    } catch {
      // Something else is in it by now.
    }
  }
}
