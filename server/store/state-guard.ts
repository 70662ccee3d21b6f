import { rmSync, writeFileSync } from "node:fs";
import { DataError, reasonOf } from "../../engine/query.ts";
import { lockFolder } from "./lock.ts";
import { makePrivateFile, makeStateFolder } from "./private-files.ts";
import { isNoRoom, keepReserve, NoRoom, withReserve } from "./room.ts";
import { filesOf, identitiesIn, readServed, servedFile } from "./served.ts";

/** A server's lock on its state folder, and its watch over the database files that it has open. */
export class StateGuard {
  readonly #folder: string;
  readonly #unlock: () => void;
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

  /** Begins to watch the files of the open database, and tells commands which files these are. */
  watch(): void {
    const opened = identitiesIn(this.#folder);
    this.#opened = opened;
    // The same content isn't written again, because a full disk may have no room for it.
    if (readServed(this.#folder) === opened) return;
    this.withRoom(() => {
      makePrivateFile(servedFile(this.#folder));
      writeFileSync(servedFile(this.#folder), opened);
    });
  }

  /** Keeps a reserve of room, for use when the disk is full. @throws Error when the disk is full now */
  keepRoom(): void {
    keepReserve(this.#folder);
  }

  withRoom<Result>(work: () => Result): Result {
    return withReserve(this.#folder, work);
  }

  /**
   * Moves the write-ahead log into the database. Call this about once a second: a lost log then costs a second's counts.
   * @throws Error when a file was deleted or replaced, or SqliteError
   */
  checkpoint(store: { loggedFrames(): number; checkpoint(): void }): void {
    const fault = this.fault();
    if (fault !== undefined) throw new Error(fault);
    if (store.loggedFrames() > 0) store.checkpoint();
  }

  /** Returns which file was deleted or replaced since `watch`, or why that isn't known; undefined if none was. */
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
