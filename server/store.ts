import { existsSync, rmSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import { versionsTable } from "../datasets/registry.ts";
import { DataError } from "../engine/query.ts";
import type { Plan } from "./plans.ts";
import { databaseFile, makePrivateFile, makeStateFolder } from "./state-files.ts";
import { walFault } from "./wal.ts";

const schemaVersion = 2;

const eventsTable = `
  CREATE TABLE events (
    id TEXT PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL,
    threshold INTEGER NOT NULL, -- percent of the quota
    quota INTEGER NOT NULL,
    payload TEXT NOT NULL, -- JSON, as it is posted
    created_at TEXT NOT NULL,
    state TEXT NOT NULL, -- of the delivery: none, pending, delivered, failed
    tries INTEGER NOT NULL DEFAULT 0,
    next_try_at TEXT,
    last_answer TEXT,
    UNIQUE (account, month, threshold, quota)
  ) STRICT;
  CREATE INDEX events_due ON events (next_try_at) WHERE state = 'pending';`;

/** Brings a database of the version before up to date. */
const migration = `
  ALTER TABLE accounts ADD COLUMN webhook_old_secret TEXT;
  ALTER TABLE accounts ADD COLUMN webhook_old_secret_until TEXT;
  ALTER TABLE events RENAME TO events_before;
  DROP INDEX events_due;
  ${eventsTable}
  INSERT INTO events SELECT id, account, month, threshold, payload ->> '$.data.quota.limit', payload, created_at,
    state, tries, next_try_at, last_answer FROM events_before;
  DROP TABLE events_before;
  ${versionsTable}`;

/** `changed` counts a table's changes up: what is new since the last look is found without reading the rest. */
const schema = `
  CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    plan TEXT NOT NULL,
    burst INTEGER NOT NULL, -- requests per second
    quota INTEGER NOT NULL, -- requests per UTC calendar month
    webhook TEXT, -- where events are posted
    webhook_secret TEXT, -- what they are signed with
    webhook_old_secret TEXT, -- what they are signed with as well, until
    webhook_old_secret_until TEXT,
    created_at TEXT NOT NULL,
    changed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX accounts_changed ON accounts (changed);
  CREATE TABLE keys (
    id INTEGER PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (id),
    hash BLOB NOT NULL UNIQUE, -- SHA-256 of the key, which itself is stored nowhere
    last4 TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT,
    changed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX keys_changed ON keys (changed);
  CREATE TABLE usage (
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL, -- YYYY-MM
    used INTEGER NOT NULL,
    PRIMARY KEY (account, month)
  ) STRICT, WITHOUT ROWID;
${eventsTable}
${versionsTable}
`;

export interface Account {
  id: number;
  name: string;
  plan: Plan;
  burst: number;
  quota: number;
  webhook: string | null;
  webhook_secret: string | null;
  /** After a rotation, signs beside the new one until the ISO time; both null otherwise. */
  webhook_old_secret: string | null;
  webhook_old_secret_until: string | null;
}
const accountColumns =
  "id, name, plan, burst, quota, webhook, webhook_secret, webhook_old_secret, webhook_old_secret_until, changed";

export type NewAccount = Omit<Account, "id" | "webhook_old_secret" | "webhook_old_secret_until">;

export interface StoredKey {
  id: number;
  account: number;
  hash: Buffer;
  last4: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
}

export type Delivery = "none" | "pending" | "delivered" | "failed";

export interface StoredEvent {
  id: string;
  account: number;
  month: string;
  /** Percent of the quota. */
  threshold: number;
  quota: number;
  payload: string;
  created_at: string;
  state: Delivery;
  tries: number;
  next_try_at: string | null;
  last_answer: string | null;
}

/** Accounts, keys, usage and events in one SQLite database; what is written is on the disk when a call returns. */
export class Store {
  readonly #database: Database.Database;
  #ownChanges = 0;
  readonly #statements = new Map<string, Database.Statement<unknown[], unknown>>();

  /**
   * Opens the database in a folder.
   *
   * @param options.mayCreate whether both are made where they are missing, for their owner only
   * @param options.maxWaitMs how long a call may wait for another process that writes; a server must not stand still for long
   * @throws DataError when the folder or the database can't be used; nothing of it is changed then
   */
  static open(folder: string, { mayCreate = true, maxWaitMs = 5000 } = {}): Store {
    const file = databaseFile(folder);
    let database: Database.Database | undefined;
    try {
      if (mayCreate) makeStateFolder(folder);
      else if (!existsSync(file))
        throw new DataError(`STATE_DIR ${folder}`, "no state.sqlite", "a folder with the state of a server");
      checkSound(file);
      makePrivateFile(file);
      database = new Database(file, { timeout: maxWaitMs });
      return new Store(database, file);
    } catch (error) {
      database?.close();
      if (error instanceof DataError) throw error;
      if (error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code))
        throw damaged(file, error.message);
      const reason = error instanceof Error ? error.message : String(error);
      throw new DataError(`state database ${file}`, reason, "a database that can be read and written");
    }
  }

  private constructor(database: Database.Database, file: string) {
    this.#database = database;
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = FULL");
    database.pragma("foreign_keys = ON");
    this.atomically(() => {
      const version = database.pragma("user_version", { simple: true });
      if (version === schemaVersion) return;
      if (version !== 0 && version !== schemaVersion - 1)
        throw new DataError(
          `state database ${file}`,
          `schema version ${version}`,
          `version ${schemaVersion}, the one before, or none`,
        );
      database.exec(version === 0 ? schema : migration);
      database.pragma(`user_version = ${schemaVersion}`);
    });
  }

  close(): void {
    this.#database.close();
  }

  /** Something that changes when accounts or keys have, by another process or this one. */
  changes(): string {
    return `${this.#database.pragma("data_version", { simple: true })} ${this.#ownChanges}`;
  }

  /** Runs several reads on one state of the database. */
  consistently<Result>(work: () => Result): Result {
    return this.#database.transaction(work).deferred();
  }

  /** Runs several reads and writes as one. */
  atomically<Result>(work: () => Result): Result {
    return this.#database.transaction(work).immediate();
  }

  /** Accounts that changed since a count, and that count now. */
  accountsSince(changed: number): (Account & { changed: number })[] {
    return this.#all(`SELECT ${accountColumns} FROM accounts WHERE changed > ? ORDER BY changed`, changed);
  }

  hasAccounts(): boolean {
    return this.#all("SELECT 1 FROM accounts LIMIT 1").length > 0;
  }

  account(name: string): Account | undefined {
    return this.#all<Account>(`SELECT ${accountColumns} FROM accounts WHERE name = ?`, name)[0];
  }

  accountOf(id: number): Account | undefined {
    return this.#all<Account>(`SELECT ${accountColumns} FROM accounts WHERE id = ?`, id)[0];
  }

  createAccount(account: NewAccount, now: Date): Account {
    const sql = `INSERT INTO accounts (name, plan, burst, quota, webhook, webhook_secret, created_at, changed)
      VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(changed), 0) + 1 FROM accounts))`;
    const { name, plan, burst, quota, webhook, webhook_secret } = account;
    this.#ownChanges++;
    const result = this.#run(sql, name, plan, burst, quota, webhook, webhook_secret, now.toISOString());
    const id = Number(result.lastInsertRowid);
    return { id, ...account, webhook_old_secret: null, webhook_old_secret_until: null };
  }

  /** Writes an account's plan, ceilings and webhook. */
  updateAccount(account: Account): void {
    const sql = `UPDATE accounts SET plan = ?, burst = ?, quota = ?, webhook = ?, webhook_secret = ?,
      webhook_old_secret = ?, webhook_old_secret_until = ?,
      changed = (SELECT max(changed) + 1 FROM accounts) WHERE id = ?`;
    const { id, plan, burst, quota, webhook, webhook_secret } = account;
    const { webhook_old_secret, webhook_old_secret_until } = account;
    this.#ownChanges++;
    this.#run(
      sql,
      ...[plan, burst, quota, webhook, webhook_secret, webhook_old_secret, webhook_old_secret_until, id],
    );
  }

  /** Keys that changed since a count, and that count now. */
  keysSince(changed: number): (StoredKey & { changed: number })[] {
    return this.#all("SELECT * FROM keys WHERE changed > ? ORDER BY changed", changed);
  }

  keys(): (StoredKey & { name: string; plan: Plan })[] {
    return this.#all(
      "SELECT keys.*, name, plan FROM keys JOIN accounts ON accounts.id = keys.account ORDER BY keys.id",
    );
  }

  key(id: number): StoredKey | undefined {
    return this.#all<StoredKey>("SELECT * FROM keys WHERE id = ?", id)[0];
  }

  createKey(account: number, hash: Buffer, last4: string, expires: Date | null, now: Date): number {
    const sql = `INSERT INTO keys (account, hash, last4, created_at, expires_at, changed)
      VALUES (?, ?, ?, ?, ?, (SELECT coalesce(max(changed), 0) + 1 FROM keys))`;
    this.#ownChanges++;
    const result = this.#run(sql, account, hash, last4, now.toISOString(), expires?.toISOString() ?? null);
    return Number(result.lastInsertRowid);
  }

  /** A key that was revoked before stays revoked since then. */
  revokeKey(id: number, now: Date): void {
    const sql = `UPDATE keys SET revoked_at = coalesce(revoked_at, ?),
      changed = (SELECT max(changed) + 1 FROM keys) WHERE id = ?`;
    this.#run(sql, now.toISOString(), id);
  }

  expireKey(id: number, at: Date): void {
    const sql = "UPDATE keys SET expires_at = ?, changed = (SELECT max(changed) + 1 FROM keys) WHERE id = ?";
    this.#run(sql, at.toISOString(), id);
  }

  /** Requests counted per account in a month, `YYYY-MM`. */
  usage(month: string): Map<number, number> {
    const sql = "SELECT account, used FROM usage WHERE month = ?";
    const rows = this.#all<{ account: number; used: number }>(sql, month);
    return new Map(rows.map(({ account, used }) => [account, used]));
  }

  /** Requests counted for one account in a month, `YYYY-MM`. */
  used(account: number, month: string): number {
    const sql = "SELECT used FROM usage WHERE account = ? AND month = ?";
    return this.#all<{ used: number }>(sql, account, month)[0]?.used ?? 0;
  }

  /** Writes absolute counts, so that writing them twice does no harm. */
  saveUsage(month: string, used: readonly (readonly [account: number, used: number])[]): void {
    const sql = `INSERT INTO usage (account, month, used) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET used = excluded.used`;
    for (const [account, count] of used) this.#run(sql, account, month, count);
  }

  /** @returns whether it is new: there is one event per account, month, threshold and quota */
  createEvent(event: Omit<StoredEvent, "tries" | "last_answer">): boolean {
    const sql = `INSERT INTO events (id, account, month, threshold, quota, payload, created_at, state, next_try_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account, month, threshold, quota) DO NOTHING`;
    const { id, account, month, threshold, quota, payload, created_at, state, next_try_at } = event;
    const values = [id, account, month, threshold, quota, payload, created_at, state, next_try_at];
    return this.#run(sql, ...values).changes === 1;
  }

  events(): (StoredEvent & { name: string })[] {
    return this.#all(
      "SELECT events.*, name FROM events JOIN accounts ON accounts.id = events.account ORDER BY events.created_at, events.threshold",
    );
  }

  event(id: string): StoredEvent | undefined {
    return this.#all<StoredEvent>("SELECT * FROM events WHERE id = ?", id)[0];
  }

  /** Events whose next try is due, the longest overdue first. */
  dueEvents(now: Date, limit: number): StoredEvent[] {
    const sql =
      "SELECT * FROM events WHERE state = 'pending' AND next_try_at <= ? ORDER BY next_try_at LIMIT ?";
    return this.#all(sql, now.toISOString(), limit);
  }

  /** Writes how an event's delivery stands. */
  updateDelivery({ id, state, tries, next_try_at, last_answer }: StoredEvent): void {
    const sql = "UPDATE events SET state = ?, tries = ?, next_try_at = ?, last_answer = ? WHERE id = ?";
    this.#run(sql, state, tries, next_try_at, last_answer, id);
  }

  #prepare(sql: string): Database.Statement<unknown[], unknown> {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare<unknown[], unknown>(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #all<Row>(sql: string, ...values: unknown[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  #run(sql: string, ...values: unknown[]): Database.RunResult {
    return this.#prepare(sql).run(...values);
  }
}

const walLooks = 5;
const walLookMs = 20;

/** Looks at a database read only: opened for writing, SQLite would already mend or drop what it finds. */
function checkSound(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const logSize = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 && logSize > 0) throw damaged(file, "an empty file beside a write-ahead log");
  if (size === 0) return;
  const fault = lastingWalFault(`${file}-wal`);
  if (fault !== undefined) throw damaged(file, fault);
  const beside = [`${file}-wal`, `${file}-shm`].filter((path) => !existsSync(path));
  const database = new Database(file, { readonly: true, timeout: 5000 });
  try {
    const check = database.pragma("quick_check(1)", { simple: true });
    if (check !== "ok") throw damaged(file, String(check));
    database.close();
  } catch (error) {
    database.close();
    // What looking has left. Where the database is sound they stay: another process may use them by now.
    for (const path of beside) rmSync(path, { force: true });
    throw error;
  }
}

/** A log that another process writes just now may look damaged, but not for long. */
function lastingWalFault(file: string): string | undefined {
  for (let look = 1; ; look++) {
    const fault = walFault(file);
    if (fault === undefined || look === walLooks) return fault;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, walLookMs);
  }
}

function damaged(file: string, reason: string): DataError {
  return new DataError(
    `state database ${file}`,
    `damage (${reason.split("\n").find((line) => !line.startsWith("***")) ?? reason})`,
    "a sound database: put a backup in its place, or move it away together with its -wal and -shm files to start anew",
  );
}
