import { DataError } from "../../engine/query.ts";
import { StoredAccounts } from "./accounts.ts";
import { StoredAway } from "./away.ts";
import { Connection, Table } from "./connection.ts";
import { databaseInMemory, type OpenOptions, openDatabase } from "./database.ts";
import { DirectoryCopy } from "./directory.ts";
import { StoredEvents } from "./events.ts";
import { StoredKeys } from "./keys.ts";
import { StoredProgress } from "./progress.ts";
import { AccountRecords } from "./records.ts";
import { StoredSignups } from "./signups.ts";
import { StoredUsage } from "./usage.ts";
import { StoredVersions } from "./versions.ts";

export type { Account, NewAccount } from "./accounts.ts";
export type { AdmittedAlone } from "./away.ts";
export type { Position, Row } from "./directory.ts";
export type { Delivery, StoredEvent } from "./events.ts";
export type { StoredKey } from "./keys.ts";
export type { Changes } from "./progress.ts";
export { type MovedRow, readRows } from "./records.ts";
export { accountTables, type MovedTable } from "./schema.ts";
export type { Signup } from "./signups.ts";

/** The error for a copy of shared accounts without DATABASE_URL. Other servers wouldn't learn of changes to the copy. */
export const onlyACopy = (stateDir: string) =>
  new DataError(
    `STATE_DIR ${stateDir}`,
    "a copy of accounts that servers share through PostgreSQL, but no DATABASE_URL",
    "the DATABASE_URL of those servers; or for a server on its own an empty STATE_DIR, into which accounts export and accounts import move the accounts",
  );

/**
 * The state in one SQLite database. If it is in a file, a write or a transaction is on the disk when its call returns,
 * except with `soon`.
 */
export class Store extends Table {
  readonly accounts = new StoredAccounts(this.db);
  readonly keys = new StoredKeys(this.db);
  readonly usage = new StoredUsage(this.db);
  readonly events = new StoredEvents(this.db);
  readonly signups = new StoredSignups(this.db);
  readonly versions = new StoredVersions(this.db);
  readonly away = new StoredAway(this.db);
  readonly progress = new StoredProgress(this.db);
  readonly directory = new DirectoryCopy(this.db);
  readonly records = new AccountRecords(this.db);

  static open(folder: string, options: OpenOptions = {}): Store {
    return new Store(new Connection(openDatabase(folder, options)));
  }

  static inMemory(): Store {
    return new Store(new Connection(databaseInMemory()));
  }

  /** Size of the database in bytes, without its write-ahead log. */
  get bytes(): number {
    const [pages, pageBytes] = ["page_count", "page_size"].map((name) =>
      Number(this.db.pragma(name, { simple: true })),
    );
    return pages * pageBytes;
  }

  loggedFrames(): number {
    const [{ log }] = this.db.pragma("wal_checkpoint(NOOP)") as { log: number }[];
    return log;
  }

  /** Moves the write-ahead log into the database. Empties the log, unless another process needs it. */
  checkpoint(): void {
    // TRUNCATE keeps other processes from writing. PASSIVE runs first, so that TRUNCATE takes little time.
    for (const mode of ["PASSIVE", "TRUNCATE"]) this.db.pragma(`wal_checkpoint(${mode})`);
  }

  /** Copies the database, as of one moment. @param file an empty file @throws SqliteError */
  copyTo(file: string): void {
    this.db.database.prepare("VACUUM INTO ?").run(file);
  }

  close(): void {
    this.db.database.close();
  }

  /**
   * Returns a text that changes when another connection writes anything, or this one writes to accounts, keys or events.
   */
  changes(): string {
    return `${this.db.pragma("data_version", { simple: true })} ${this.db.ownChanges}`;
  }

  consistently<Result>(work: () => Result): Result {
    return this.db.database.transaction(work).deferred();
  }

  atomically<Result>(work: () => Result): Result {
    return this.db.atomically(work);
  }

  /**
   * Like `atomically`, but doesn't wait for the disk. A loss of power may undo the work; a crash of the process doesn't.
   */
  soon<Result>(work: () => Result): Result {
    return this.db.soon(work);
  }
}
