import type Database from "better-sqlite3";
import type { Plan } from "../shared/plans.ts";
import { databaseInMemory, type OpenOptions, openDatabase } from "./database.ts";

/** Reads and writes the tables of the state database. */

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
/** Of an account: as many as two months have. */
const maxDays = 62;

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
  /** The key that was made when this one was rotated. */
  replaced_by: number | null;
}

/** How far the tables of accounts and keys have changed, counted by `changed`. */
export interface Changes {
  accounts: number;
  keys: number;
}

export interface StoredVersion {
  version: string;
  sha256: string;
  content_sha256: string;
  first_served: string;
  /** Null while it is served. */
  retired: string | null;
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

  /** The one in a folder; see `openDatabase`. */
  static open(folder: string, options: OpenOptions = {}): Store {
    return new Store(openDatabase(folder, options));
  }

  /** A new one in memory, which leaves nothing. */
  static inMemory(): Store {
    return new Store(databaseInMemory());
  }

  private constructor(database: Database.Database) {
    this.#database = database;
  }

  /** Frames in the write-ahead log. */
  loggedFrames(): number {
    const [{ log }] = this.#database.pragma("wal_checkpoint(NOOP)") as { log: number }[];
    return log;
  }

  /** Brings what is in the write-ahead log into the database itself, and empties the log unless another process needs it. */
  checkpoint(): void {
    // The second one keeps other processes from writing: little is left for it.
    for (const mode of ["PASSIVE", "TRUNCATE"]) this.#database.pragma(`wal_checkpoint(${mode})`);
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

  /** All accounts by name, with their use in a month and the keys that are valid at a time. */
  accounts(month: string, now: Date): (Account & { used: number; keys: number })[] {
    return this.#all(
      `SELECT accounts.*, coalesce(used, 0) AS used, count(keys.id) AS keys FROM accounts
        LEFT JOIN usage ON usage.account = accounts.id AND month = ?
        LEFT JOIN keys ON keys.account = accounts.id AND revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > ?)
        GROUP BY accounts.id ORDER BY name`,
      month,
      now.toISOString(),
    );
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
    const result = this.#change(sql, name, plan, burst, quota, webhook, webhook_secret, now.toISOString());
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
    this.#change(
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
    const result = this.#change(sql, account, hash, last4, now.toISOString(), expires?.toISOString() ?? null);
    return Number(result.lastInsertRowid);
  }

  /** A key that was revoked before stays revoked since then. */
  revokeKey(id: number, now: Date): void {
    const sql = `UPDATE keys SET revoked_at = coalesce(revoked_at, ?),
      changed = (SELECT max(changed) + 1 FROM keys) WHERE id = ?`;
    this.#change(sql, now.toISOString(), id);
  }

  /** Says which key took the place of one that was rotated. */
  replaceKey(id: number, by: number): void {
    this.#run("UPDATE keys SET replaced_by = ? WHERE id = ?", by, id);
  }

  /** Sets when a key expires; null is never. */
  expireKey(id: number, at: Date | null): void {
    const sql = "UPDATE keys SET expires_at = ?, changed = (SELECT max(changed) + 1 FROM keys) WHERE id = ?";
    this.#change(sql, at?.toISOString() ?? null, id);
  }

  /** How far accounts and keys have changed. */
  latest(): Changes {
    return this.#one(
      "SELECT (SELECT coalesce(max(changed), 0) FROM accounts) AS accounts, (SELECT coalesce(max(changed), 0) FROM keys) AS keys",
    );
  }

  /** How far a server has taken the changes over; it goes by what it knows, and by nothing else from then on. */
  obeyed(): Changes {
    return this.#one("SELECT accounts, keys FROM obeyed");
  }

  /** A server's word that it goes by these changes. */
  obey({ accounts, keys }: Changes): void {
    this.#run("UPDATE obeyed SET accounts = ?, keys = ?", accounts, keys);
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

  /** What each account had used of a month, `YYYY-MM`, at the end of its days; those without a change are left out. */
  daysOf(month: string): Map<number, [day: number, used: number][]> {
    const sql = "SELECT account, day, used FROM days WHERE day BETWEEN ? || '-01' AND ? || '-31'";
    const rows = this.#all<{ account: number; day: string; used: number }>(sql, month, month);
    const ends = new Map<number, [day: number, used: number][]>();
    for (const { account, day, used } of rows) {
      const known = ends.get(account) ?? [];
      known.push([Number(day.slice(8)), used]);
      ends.set(account, known);
    }
    return ends;
  }

  /**
   * Writes what accounts have used of the month up to a day, `YYYY-MM-DD`. An account keeps its last `maxDays`: this
   * month's, and the one's before, which a clock may be set back to. By their number, not by their age: a clock that is
   * far ahead for a moment deletes none of this month.
   */
  saveDay(day: string, used: readonly (readonly [account: number, used: number])[]): void {
    for (const [account, count] of used) {
      const known = this.#run("UPDATE days SET used = ? WHERE account = ? AND day = ?", count, account, day);
      if (known.changes > 0) continue;
      this.#run("INSERT INTO days (account, day, used) VALUES (?, ?, ?)", account, day, count);
      const sql = `DELETE FROM days WHERE account = ? AND day <=
        (SELECT day FROM days WHERE account = ? ORDER BY day DESC LIMIT 1 OFFSET ?)`;
      this.#run(sql, account, account, maxDays);
    }
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

  /**
   * Events whose next try is due, but for some that are under way: of an account no more than a few with those, the
   * ones with the fewest tries first, so that none hides another's. A first try is due at once. First tries come before
   * all others, and then every account's first event before anyone's second; events that are under way or have been
   * tried in vain count, so that an account whose receiver doesn't answer comes after all whose may.
   */
  dueEvents(now: Date, underWay: readonly string[], perAccount: number, limit: number): StoredEvent[] {
    const sql = `
      WITH pending AS (
        SELECT id, account, tries, next_try_at, id IN (SELECT value FROM json_each(?)) AS is_under_way
        FROM events WHERE state = 'pending'
      ), busy AS (
        SELECT account, sum(is_under_way) AS under_way, count(*) AS tried
        FROM pending WHERE tries > 0 OR is_under_way GROUP BY account
      ), due AS (
        SELECT id, account, row_number() OVER (PARTITION BY account ORDER BY tries, next_try_at) AS place
        FROM pending WHERE NOT is_under_way AND (tries = 0 OR next_try_at <= ?)
      )
      SELECT events.* FROM due JOIN events USING (id) LEFT JOIN busy ON busy.account = due.account
      WHERE place + coalesce(under_way, 0) <= ?
      ORDER BY tries > 0, place + coalesce(tried, 0), next_try_at LIMIT ?`;
    return this.#all(sql, JSON.stringify(underWay), now.toISOString(), perAccount, limit);
  }

  /** When the oldest event was made that is still to be delivered. */
  oldestPending(): string | undefined {
    const [{ created_at }] = this.#all<{ created_at: string | null }>(
      "SELECT min(created_at) AS created_at FROM events WHERE state = 'pending'",
    );
    return created_at ?? undefined;
  }

  /** Moves the times of all tries to come by so much, and to no later than a time. */
  moveTries(byMs: number, latest: Date): void {
    const sql = `UPDATE events
      SET next_try_at = min(strftime('%Y-%m-%dT%H:%M:%fZ', next_try_at, ? || ' seconds'), ?)
      WHERE state = 'pending'`;
    this.#run(sql, byMs / 1000, latest.toISOString());
  }

  /** Writes how an event's delivery stands. */
  updateDelivery({ id, state, tries, next_try_at, last_answer }: StoredEvent): void {
    const sql = "UPDATE events SET state = ?, tries = ?, next_try_at = ?, last_answer = ? WHERE id = ?";
    this.#run(sql, state, tries, next_try_at, last_answer, id);
  }

  /** What a version's number stands for; undefined when it was never served. */
  version(version: string): StoredVersion | undefined {
    return this.#all<StoredVersion>("SELECT * FROM versions WHERE version = ?", version)[0];
  }

  /** Enters that a version is served; when it was served before, its number stands for the same content as then. */
  serveVersion(version: string, sha256: string, contentSha256: string, now: Date): void {
    // What is served all the time isn't written with each start.
    if (this.version(version)?.retired === null) return;
    const sql = `INSERT INTO versions (version, sha256, content_sha256, first_served) VALUES (?, ?, ?, ?)
      ON CONFLICT (version) DO UPDATE SET retired = NULL`;
    this.#run(sql, version, sha256, contentSha256, now.toISOString());
  }

  /** Versions that were served when they were last heard of. */
  servedVersions(): string[] {
    const rows = this.#all<StoredVersion>("SELECT * FROM versions WHERE retired IS NULL");
    return rows.map(({ version }) => version);
  }

  retireVersion(version: string, now: Date): void {
    this.#run("UPDATE versions SET retired = ? WHERE version = ?", now.toISOString(), version);
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

  /** The only row of what always has one. */
  #one<Row>(sql: string): Row {
    return this.#all<Row>(sql)[0];
  }

  /** Writes accounts or keys. */
  #change(sql: string, ...values: unknown[]): Database.RunResult {
    this.#ownChanges++;
    return this.#run(sql, ...values);
  }

  #run(sql: string, ...values: unknown[]): Database.RunResult {
    return this.#prepare(sql).run(...values);
  }
}
