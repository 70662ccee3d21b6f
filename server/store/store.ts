import { randomBytes } from "node:crypto";
import type Database from "better-sqlite3";
import { DataError } from "../../engine/query.ts";
import type { Plan } from "../shared/plans.ts";
import { databaseInMemory, type OpenOptions, openDatabase, preparing } from "./database.ts";
import { type Row, Rows, type TakenRow } from "./rows.ts";
import { nextChange } from "./schema.ts";

/** Reads and writes the tables of the state database. */

export interface Account {
  id: number;
  name: string;
  plan: Plan;
  burst: number;
  quota: number;
  webhook: string | null;
  webhook_secret: string | null;
  /** After a rotation, signs beside the new one until then; both null otherwise. */
  webhook_old_secret: string | null;
  webhook_old_secret_until: number | null;
  email: string | null;
  /** Null while its keys work. */
  suspended_at: number | null;
}
/** Of an account: as many as two months have. */
export const maxDays = 62;

const accountColumns =
  "id, name, plan, burst, quota, webhook, webhook_secret, webhook_old_secret, webhook_old_secret_until, email, suspended_at, changed";
/** The order of an account's events: a total one, because events of several quotas may be made in the same millisecond. */
const inOrder = "created_at, threshold, month, quota";
/** Of an account, by its id: what is counted for one that was deleted meanwhile is dropped. */
const isThere = "EXISTS (SELECT 1 FROM accounts WHERE id = ? AND name IS NOT NULL)";

export type NewAccount = Omit<
  Account,
  "id" | "webhook_old_secret" | "webhook_old_secret_until" | "email" | "suspended_at"
> & {
  email?: string | null;
};

export interface StoredKey {
  id: number;
  account: number;
  hash: Buffer;
  last4: string;
  /** What its owner calls it. */
  label: string | null;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  /** The key that was made when this one was rotated. */
  replaced_by: number | null;
}

/** How far the tables of accounts and keys have changed, counted by `changed`. */
export interface Changes {
  accounts: number;
  keys: number;
}

interface StoredVersion {
  version: string;
  sha256: string;
  content_sha256: string;
  first_served: number;
  /** Null while it is served. */
  retired: number | null;
}

/** How events are sent to an account's owner. */
export type Channel = "webhook" | "email";

export interface StoredEvent {
  id: string;
  account: number;
  month: string;
  /** Percent of the quota. */
  threshold: number;
  quota: number;
  payload: string;
  created_at: number;
}

/** How sending an event by one channel stands. */
export interface Delivery {
  /** The event's. */
  id: string;
  channel: Channel;
  state: "pending" | "delivered" | "failed";
  tries: number;
  next_try_at: number | null;
  last_answer: string | null;
}

/** An account with all that is theirs, as it goes from one state to another. */
export interface AccountRecord extends Account {
  created_at: number;
  /** Their hashes in hexadecimal digits. */
  keys: (Omit<StoredKey, "account" | "hash"> & { hash: string })[];
  usage: { month: string; used: number }[];
  days: { day: string; used: number }[];
  events: (Omit<StoredEvent, "account"> & { deliveries: Omit<Delivery, "id">[] })[];
  /** Of people who made it themselves. */
  mailboxes: { mailbox: string; created_at: number }[];
}
type NoDelivery = Record<"channel" | "next_try_at" | "last_answer", null> & { state: "none"; tries: 0 };

/** A person's wish for an account. */
export interface Signup {
  /** The e-mail address, in the one form that all its spellings have. */
  mailbox: string;
  /** Where the person's client is. */
  address: string;
}

/** What the link of a signup stands for until it is used. */
interface SignupLink {
  /** SHA-256 of what the link has. */
  token: Buffer;
  /** The account's, unless it is taken by then. */
  name: string;
  email: string;
}

/** Requests of an account in a month, `YYYY-MM`. */
export interface Used {
  account: number;
  month: string;
  used: number;
}

/** Up to which change this is a copy of what several servers have in common. */
export interface Position {
  /** Names what they have in common; "" while this is a copy of nothing. */
  epoch: string;
  version: number;
  /** In which Redis was told again what it may have lost. */
  life: string;
}

/** Of a copy that was to be used as if it was all there is: others would know nothing of what is changed. */
export const onlyACopy = (stateDir: string) =>
  new DataError(
    `STATE_DIR ${stateDir}`,
    "a copy of accounts that servers share through Redis, and no REDIS_URL",
    "REDIS_URL as those servers have it; for a server that shares nothing an empty STATE_DIR, to which accounts export and import bring them",
  );

/** Accounts, keys, usage and events in one SQLite database; what is written is on the disk when a call returns. */
export class Store {
  readonly #database: Database.Database;
  readonly #rows: Rows;
  #ownChanges = 0;
  readonly #prepare: ReturnType<typeof preparing>;

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
    this.#prepare = preparing(database);
    this.#rows = new Rows(database);
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

  /** Copies the database, as it is at one moment, to an empty file. */
  copyTo(file: string): void {
    this.#run("VACUUM INTO ?", file);
  }

  close(): void {
    this.#database.close();
  }

  /** Something that changes when accounts, keys or events have, by another process or this one. */
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

  /** Does a piece of work and undoes it. @returns the rows, of what servers have in common, that it changed */
  rehearse<Result>(work: () => Result): { result: Result; rows: Row[] } {
    return this.#rows.rehearse(work);
  }

  /** All that servers have in common. */
  allRows(): Row[] {
    return this.#rows.all();
  }

  /** What was taken of it from elsewhere, the next after a version. */
  takenRows(after: number, limit: number): TakenRow[] {
    return this.#rows.taken(after, limit);
  }

  /**
   * Writes rows as they are elsewhere, and up to where that is.
   *
   * @param counted requests that are counted there and here, of which this is no longer to be the count
   */
  takeRows(
    rows: readonly TakenRow[],
    { epoch, version, life }: Position,
    counted: readonly Used[] = [],
  ): void {
    this.#ownChanges++;
    this.atomically(() => {
      this.#rows.put(rows);
      for (const { account, month, used } of counted)
        this.#run(
          "UPDATE usage SET used = max(0, used - ?) WHERE account = ? AND month = ?",
          ...[used, account, month],
        );
      this.#run("DELETE FROM directory");
      this.#run("INSERT INTO directory (epoch, version, life) VALUES (?, ?, ?)", epoch, version, life);
    });
  }

  /** Whether this is a copy of what several servers have in common, or was the last time that it was used. */
  get isCopy(): boolean {
    return this.position().epoch !== "";
  }

  position(): Position {
    const [position] = this.#all<Position>("SELECT epoch, version, life FROM directory");
    return position ?? { epoch: "", version: 0, life: "" };
  }

  /** Accounts that changed since a count, and that count now; no account for one that was deleted. */
  accountsSince(changed: number): { id: number; account: Account | undefined; changed: number }[] {
    const sql = `SELECT ${accountColumns} FROM accounts WHERE changed > ? ORDER BY changed`;
    const rows = this.#all<Account & { name: string | null; changed: number }>(sql, changed);
    return rows.map(({ changed, ...account }) => {
      return { id: account.id, account: account.name === null ? undefined : account, changed };
    });
  }

  /** All accounts by name, with their use in a month and the keys that work at a time. */
  accounts(month: string, now: Date): (Account & { used: number; keys: number })[] {
    return this.#all(
      `SELECT accounts.*, coalesce(used, 0) AS used, count(keys.id) AS keys FROM accounts
        LEFT JOIN usage ON usage.account = accounts.id AND month = ?
        LEFT JOIN keys ON keys.account = accounts.id AND revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > ?) AND suspended_at IS NULL
        WHERE name IS NOT NULL GROUP BY accounts.id ORDER BY name`,
      month,
      now.getTime(),
    );
  }

  /** Whether there are accounts, or were some that were deleted. */
  hasAccounts(): boolean {
    return this.#all("SELECT 1 FROM accounts LIMIT 1").length > 0;
  }

  account(name: string): Account | undefined {
    return this.#all<Account>(`SELECT ${accountColumns} FROM accounts WHERE name = ?`, name)[0];
  }

  accountOf(id: number): Account | undefined {
    const sql = `SELECT ${accountColumns} FROM accounts WHERE id = ? AND name IS NOT NULL`;
    return this.#all<Account>(sql, id)[0];
  }

  accountIds(): number[] {
    const sql = "SELECT id FROM accounts WHERE name IS NOT NULL ORDER BY id";
    return this.#all<{ id: number }>(sql).map(({ id }) => id);
  }

  /** Whether an id was that of an account which was deleted: no other gets it. */
  wasDeleted(id: number): boolean {
    return this.#all("SELECT 1 FROM accounts WHERE id = ? AND name IS NULL", id).length > 0;
  }

  /** An account with all that is its own; it has to be there. */
  accountRecord(account: number): AccountRecord {
    const { changed: _, ...row } = this.#all<Omit<AccountRecord, "keys"> & { changed: number }>(
      `SELECT ${accountColumns}, created_at FROM accounts WHERE id = ?`,
      account,
    )[0];
    const keys = `SELECT id, lower(hex(hash)) AS hash, last4, label, created_at, expires_at, revoked_at, replaced_by FROM keys
      WHERE account = ? ORDER BY id`;
    const events = `SELECT id, month, threshold, quota, payload, created_at FROM events
      WHERE account = ? ORDER BY created_at, threshold`;
    return {
      ...row,
      keys: this.#all(keys, account),
      usage: this.#all("SELECT month, used FROM usage WHERE account = ? ORDER BY month", account),
      days: this.#all("SELECT day, used FROM days WHERE account = ? ORDER BY day", account),
      events: this.#all<StoredEvent>(events, account).map((event) => ({
        ...event,
        deliveries: this.deliveries(event.id).map(({ id: _, ...delivery }) => delivery),
      })),
      mailboxes: this.#all("SELECT mailbox, created_at FROM signups WHERE account = ? ORDER BY id", account),
    };
  }

  /** Enters an account with all that is its own, under the ids that it has. */
  enterAccount({ keys, usage, days, events, mailboxes, ...account }: AccountRecord): void {
    this.putAccount(account);
    // The newest first: the one that took the place of another is there before it.
    for (const key of keys.toReversed())
      this.putKey({ ...key, account: account.id, hash: Buffer.from(key.hash, "hex") });
    for (const { month, used } of usage) this.saveUsage(month, [[account.id, used]]);
    for (const { day, used } of days) this.saveDay(day, [[account.id, used]]);
    for (const { deliveries, ...event } of events) {
      this.createEvent({ ...event, account: account.id }, []);
      for (const delivery of deliveries) this.updateDelivery({ ...delivery, id: event.id });
    }
    const sql = "INSERT INTO signups (created_at, mailbox, account) VALUES (?, ?, ?)";
    for (const { mailbox, created_at } of mailboxes) this.#run(sql, created_at, mailbox, account.id);
  }

  /** Writes an account as it is elsewhere, whether there is one of its id or not. */
  putAccount(account: Account & { created_at: number }): void {
    const { id, name, plan, burst, quota, webhook, webhook_secret, created_at } = account;
    const { webhook_old_secret, webhook_old_secret_until, email, suspended_at } = account;
    const sql = `INSERT INTO accounts (id, name, plan, burst, quota, webhook, webhook_secret, webhook_old_secret,
        webhook_old_secret_until, email, suspended_at, created_at, changed)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${nextChange})
      ON CONFLICT (id) DO UPDATE SET name = excluded.name, plan = excluded.plan, burst = excluded.burst,
        quota = excluded.quota, webhook = excluded.webhook, webhook_secret = excluded.webhook_secret,
        webhook_old_secret = excluded.webhook_old_secret,
        webhook_old_secret_until = excluded.webhook_old_secret_until, email = excluded.email,
        suspended_at = excluded.suspended_at, created_at = excluded.created_at, changed = excluded.changed`;
    const hook = [webhook, webhook_secret, webhook_old_secret, webhook_old_secret_until];
    this.#change(sql, id, name, plan, burst, quota, ...hook, email, suspended_at, created_at);
  }

  /** Writes a key as it is elsewhere, whether there is one of its id or not. */
  putKey(key: StoredKey): void {
    const { id, account, hash, last4, label, created_at, expires_at, revoked_at, replaced_by } = key;
    const sql = `INSERT INTO keys (id, account, hash, last4, label, created_at, expires_at, revoked_at, replaced_by,
        changed)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ${nextChange})
      ON CONFLICT (id) DO UPDATE SET account = excluded.account, hash = excluded.hash, last4 = excluded.last4,
        label = excluded.label, created_at = excluded.created_at, expires_at = excluded.expires_at,
        revoked_at = excluded.revoked_at, replaced_by = excluded.replaced_by, changed = excluded.changed`;
    this.#change(sql, id, account, hash, last4, label, created_at, expires_at, revoked_at, replaced_by);
  }

  createAccount(account: NewAccount, now: Date): Account {
    const sql = `INSERT INTO accounts (name, plan, burst, quota, webhook, webhook_secret, email, created_at, changed)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ${nextChange})`;
    const { name, plan, burst, quota, webhook, webhook_secret, email = null } = account;
    const values = [name, plan, burst, quota, webhook, webhook_secret, email, now.getTime()];
    const id = Number(this.#change(sql, ...values).lastInsertRowid);
    const unset = { webhook_old_secret: null, webhook_old_secret_until: null, suspended_at: null };
    return { id, ...account, email, ...unset };
  }

  /** Writes an account's plan, ceilings, webhook and e-mail address, unless it was deleted. */
  updateAccount(account: Omit<Account, "suspended_at">): void {
    const sql = `UPDATE accounts SET plan = ?, burst = ?, quota = ?, webhook = ?, webhook_secret = ?,
      webhook_old_secret = ?, webhook_old_secret_until = ?, email = ?,
      changed = ${nextChange} WHERE id = ? AND name IS NOT NULL`;
    const { id, plan, burst, quota, webhook, webhook_secret } = account;
    const { webhook_old_secret, webhook_old_secret_until, email } = account;
    const hook = [webhook, webhook_secret, webhook_old_secret, webhook_old_secret_until];
    this.#change(sql, plan, burst, quota, ...hook, email, id);
  }

  /** From when on an account's keys don't work; null lets them work. */
  suspendAccount(id: number, at: number | null): void {
    const sql = `UPDATE accounts SET suspended_at = ?, changed = ${nextChange} WHERE id = ? AND name IS NOT NULL`;
    this.#change(sql, at, id);
  }

  /** Deletes an account and all that is its own; its id stays, so that no other gets it. */
  deleteAccount(id: number): void {
    // A trigger deletes what belongs to it, here and in every copy.
    const sql = `UPDATE accounts SET name = NULL, plan = '', burst = 0, quota = 0, webhook = NULL, webhook_secret = NULL,
      webhook_old_secret = NULL, webhook_old_secret_until = NULL, email = NULL, suspended_at = NULL, created_at = 0,
      changed = ${nextChange} WHERE id = ?`;
    this.#change(sql, id);
  }

  /** Keys that changed since a count, and that count now. */
  keysSince(changed: number): (StoredKey & { changed: number })[] {
    return this.#all("SELECT * FROM keys WHERE changed > ? ORDER BY changed", changed);
  }

  /** All keys, with the UTC day on which this server last admitted each, as far as it was saved. */
  keys(): (StoredKey & {
    name: string;
    plan: Plan;
    suspended_at: number | null;
    last_used: string | null;
  })[] {
    return this.#all(
      `SELECT keys.*, name, plan, suspended_at, day AS last_used FROM keys
        JOIN accounts ON accounts.id = keys.account LEFT JOIN key_days ON key = keys.id ORDER BY keys.id`,
    );
  }

  /** The UTC day on which this server last admitted a key, as far as it was saved. */
  lastUsed(key: number): string | null {
    return this.#all<{ day: string }>("SELECT day FROM key_days WHERE key = ?", key)[0]?.day ?? null;
  }

  /** Writes on which day a key was last admitted, unless it is gone. */
  saveKeyDay(key: number, day: string): void {
    const sql = `INSERT INTO key_days SELECT ?, ? WHERE EXISTS (SELECT 1 FROM keys WHERE id = ?)
      ON CONFLICT DO UPDATE SET day = excluded.day`;
    this.#run(sql, key, day, key);
  }

  key(id: number): StoredKey | undefined {
    return this.#all<StoredKey>("SELECT * FROM keys WHERE id = ?", id)[0];
  }

  keyOf(hash: Buffer): StoredKey | undefined {
    return this.#all<StoredKey>("SELECT * FROM keys WHERE hash = ?", hash)[0];
  }

  /** An account's keys, oldest first. */
  keysOfAccount(account: number): StoredKey[] {
    return this.#all("SELECT * FROM keys WHERE account = ? ORDER BY id", account);
  }

  /** @param expires null for never */
  createKey(
    account: number,
    hash: Buffer,
    last4: string,
    expires: number | null,
    now: Date,
    label: string | null = null,
  ): number {
    const sql = `INSERT INTO keys (account, hash, last4, label, created_at, expires_at, changed)
      VALUES (?, ?, ?, ?, ?, ?, ${nextChange})`;
    const result = this.#change(sql, account, hash, last4, label, now.getTime(), expires);
    return Number(result.lastInsertRowid);
  }

  /** A key that was revoked before stays revoked since then. */
  revokeKey(id: number, now: Date): void {
    const sql = `UPDATE keys SET revoked_at = coalesce(revoked_at, ?), changed = ${nextChange} WHERE id = ?`;
    this.#change(sql, now.getTime(), id);
  }

  /** Says which key took the place of one that was rotated. */
  replaceKey(id: number, by: number): void {
    this.#change(`UPDATE keys SET replaced_by = ?, changed = ${nextChange} WHERE id = ?`, by, id);
  }

  /** Sets when a key expires; null is never. */
  expireKey(id: number, at: number | null): void {
    this.#change(`UPDATE keys SET expires_at = ?, changed = ${nextChange} WHERE id = ?`, at, id);
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

  /** When counts were last saved, or a command or the portal changed something; undefined where nothing was. */
  savedAt(): number | undefined {
    return this.#all<{ at: number }>("SELECT at FROM saved")[0]?.at;
  }

  /** Notes when something is saved, in the same transaction. */
  noteSaved(now: Date): void {
    if (this.#run("UPDATE saved SET at = ?", now.getTime()).changes === 0)
      this.#run("INSERT INTO saved (at) VALUES (?)", now.getTime());
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
    const sql = `INSERT INTO usage (account, month, used) SELECT ?, ?, ? WHERE ${isThere}
      ON CONFLICT DO UPDATE SET used = excluded.used`;
    for (const [account, count] of used) this.#run(sql, account, month, count, account);
  }

  /** What this server may count of each account's quota in a month, `YYYY-MM`, by what it was granted. */
  leases(month: string): Map<number, number> {
    const sql = "SELECT account, granted FROM leases WHERE month = ?";
    const rows = this.#all<{ account: number; granted: number }>(sql, month);
    return new Map(rows.map(({ account, granted }) => [account, granted]));
  }

  saveLease(month: string, account: number, granted: number): void {
    const sql = `INSERT INTO leases (account, month, granted) SELECT ?, ?, ? WHERE ${isThere}
      ON CONFLICT DO UPDATE SET granted = excluded.granted`;
    this.#run(sql, account, month, granted, account);
  }

  /** Counts a start of this server as one of those that share a Redis. */
  beginReplica(): { id: string; starts: number; members: number } {
    return this.atomically(() => {
      const id = randomBytes(6).toString("base64url");
      this.#run("INSERT INTO replica SELECT ?, 0, 1 WHERE NOT EXISTS (SELECT 1 FROM replica)", id);
      this.#run("UPDATE replica SET starts = starts + 1");
      return this.#one("SELECT * FROM replica");
    });
  }

  saveMembers(members: number): void {
    this.#run("UPDATE replica SET members = ?", members);
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
      const insert = `INSERT INTO days (account, day, used) SELECT ?, ?, ? WHERE ${isThere}`;
      this.#run(insert, account, day, count, account);
      const sql = `DELETE FROM days WHERE account = ? AND day <=
        (SELECT day FROM days WHERE account = ? ORDER BY day DESC LIMIT 1 OFFSET ?)`;
      this.#run(sql, account, account, maxDays);
    }
  }

  /**
   * Enters an event, to be sent by some channels.
   *
   * @returns whether it is new: there is one event per account, month, threshold and quota, and none of a deleted account
   */
  createEvent(event: StoredEvent, channels: readonly Channel[]): boolean {
    const sql = `INSERT INTO events (id, account, month, threshold, quota, payload, created_at)
      SELECT ?, ?, ?, ?, ?, ?, ? WHERE ${isThere} ON CONFLICT (account, month, threshold, quota) DO NOTHING`;
    const { id, account, month, threshold, quota, payload, created_at } = event;
    const values = [id, account, month, threshold, quota, payload, created_at];
    if (this.#change(sql, ...values, account).changes === 0) return false;
    for (const channel of channels)
      this.updateDelivery({
        ...{ id, channel, state: "pending", tries: 0 },
        ...{ next_try_at: created_at, last_answer: null },
      });
    return true;
  }

  /** All events, each as often as it has deliveries; one that has none once, too. */
  events(): (StoredEvent & { name: string } & (Delivery | NoDelivery))[] {
    return this.#all(
      `SELECT events.*, name, channel, coalesce(state, 'none') AS state, coalesce(tries, 0) AS tries, next_try_at,
        last_answer FROM events JOIN accounts ON accounts.id = events.account
        LEFT JOIN deliveries ON event = events.id ORDER BY events.created_at, events.threshold, channel DESC`,
    );
  }

  /**
   * Events of a month, `YYYY-MM`, in rows after one.
   *
   * @returns also the last row of all events; rows of accounts that are deleted may be used again
   */
  eventsSince(
    row: number,
    month: string,
  ): { events: Pick<StoredEvent, "account" | "threshold" | "created_at">[]; last: number } {
    const sql =
      "SELECT account, threshold, created_at FROM events WHERE rowid > ? AND month = ? ORDER BY rowid";
    const { last } = this.#one<{ last: number }>("SELECT coalesce(max(rowid), 0) AS last FROM events");
    return { events: this.#all(sql, row, month), last };
  }

  /** When the last event of an account's month, `YYYY-MM`, was made; 0 where there is none. */
  lastEventAt(account: number, month: string): number {
    const sql = "SELECT coalesce(max(created_at), 0) AS at FROM events WHERE account = ? AND month = ?";
    return this.#all<{ at: number }>(sql, account, month)[0].at;
  }

  event(id: string): StoredEvent | undefined {
    return this.#all<StoredEvent>("SELECT * FROM events WHERE id = ?", id)[0];
  }

  /** An event's, the webhook's first. */
  deliveries(event: string): Delivery[] {
    return this.#all(
      `SELECT event AS id, channel, state, tries, next_try_at, last_answer FROM deliveries
        WHERE event = ? ORDER BY channel DESC`,
      event,
    );
  }

  /**
   * Deliveries by a channel that may be tried now. An account's events are delivered in their order: only its first
   * pending one is ever due, and none while another of its events is under way. A first try is due at once, and comes
   * before all tries that aren't first ones.
   *
   * @param underWay ids of the events whose tries are under way
   */
  dueDeliveries(
    channel: Channel,
    now: Date,
    underWay: readonly string[],
    limit: number,
  ): (StoredEvent & Delivery)[] {
    const sql = `
      WITH pending AS (
        SELECT deliveries.*, account, row_number() OVER (PARTITION BY account ORDER BY ${inOrder}) AS place
        FROM deliveries JOIN events ON id = event WHERE channel = ? AND state = 'pending'
      )
      SELECT events.*, channel, state, tries, next_try_at, last_answer
      FROM pending JOIN events ON id = event
      WHERE place = 1 AND (tries = 0 OR next_try_at <= ?)
        AND events.account NOT IN (SELECT account FROM events WHERE id IN (SELECT value FROM json_each(?)))
      ORDER BY tries > 0, next_try_at, id LIMIT ?`;
    return this.#all(sql, channel, now.getTime(), JSON.stringify(underWay), limit);
  }

  /** The event of an account that its other pending ones by a channel wait for. */
  firstPending(account: number, channel: Channel): string | undefined {
    const sql = `SELECT id FROM deliveries JOIN events ON id = event
      WHERE account = ? AND channel = ? AND state = 'pending' ORDER BY ${inOrder} LIMIT 1`;
    return this.#all<{ id: string }>(sql, account, channel)[0]?.id;
  }

  /** When the oldest event was made that is still to be delivered by a channel. */
  oldestPending(channel: Channel): number | undefined {
    const [{ created_at }] = this.#all<{ created_at: number | null }>(
      `SELECT min(created_at) AS created_at FROM deliveries JOIN events ON id = event
        WHERE channel = ? AND state = 'pending'`,
      channel,
    );
    return created_at ?? undefined;
  }

  /** Moves the times of all tries to come by a channel by so much, and to no later than a time. */
  moveTries(channel: Channel, byMs: number, latest: Date): void {
    const sql = `UPDATE deliveries SET next_try_at = max(0, min(next_try_at + ?, ?))
      WHERE channel = ? AND state = 'pending'`;
    this.#run(sql, Math.round(byMs), latest.getTime(), channel);
  }

  /** Writes how a delivery stands. */
  updateDelivery({ id, channel, state, tries, next_try_at, last_answer }: Delivery): void {
    const sql = `INSERT INTO deliveries (event, channel, state, tries, next_try_at, last_answer)
      VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state, tries = excluded.tries,
      next_try_at = excluded.next_try_at, last_answer = excluded.last_answer`;
    this.#run(sql, id, channel, state, tries, next_try_at, last_answer);
  }

  /** Signups since a time, links that weren't used included: in all, from an address, and for a mailbox. */
  signupsSince(since: Date, { mailbox, address }: Signup): { all: number; address: number; mailbox: number } {
    const sql = `SELECT count(*) AS "all", count(*) FILTER (WHERE address = ?) AS address,
      count(*) FILTER (WHERE mailbox = ?) AS mailbox FROM signups
      WHERE address IS NOT NULL AND created_at > ?`;
    const [counts] = this.#all<ReturnType<Store["signupsSince"]>>(sql, address, mailbox, since.getTime());
    return counts;
  }

  /** Whether somebody has signed up with a mailbox, and made an account. */
  hasSignedUp(mailbox: string): boolean {
    return this.#all("SELECT 1 FROM signups WHERE mailbox = ? AND account IS NOT NULL", mailbox).length > 0;
  }

  /** Enters a signup that has made an account. */
  createSignup({ mailbox, address }: Signup, account: number, now: Date): void {
    const sql = "INSERT INTO signups (created_at, mailbox, address, account) VALUES (?, ?, ?, ?)";
    this.#run(sql, now.getTime(), mailbox, address, account);
  }

  /** Enters a signup that waits for its link to be used. */
  createSignupLink({ mailbox, address }: Signup, link: SignupLink, now: Date): void {
    const sql =
      "INSERT INTO signups (created_at, mailbox, address, token, name, email) VALUES (?, ?, ?, ?, ?, ?)";
    this.#run(sql, now.getTime(), mailbox, address, link.token, link.name, link.email);
  }

  /** The signup whose link has a token and was mailed after a time, unless it was used. */
  signupOfLink(token: Buffer, since: Date): (SignupLink & { id: number; mailbox: string }) | undefined {
    const sql = "SELECT id, mailbox, token, name, email FROM signups WHERE token = ? AND created_at > ?";
    return this.#all<SignupLink & { id: number; mailbox: string }>(sql, token, since.getTime())[0];
  }

  /** Ends a signup's link. @param account what it has made; null where its mailbox has one already */
  useSignupLink(id: number, account: number | null): void {
    this.#run(
      "UPDATE signups SET account = ?, token = NULL, name = NULL, email = NULL WHERE id = ?",
      account,
      id,
    );
  }

  /** Forgets where signups up to a time came from, and links that weren't used. */
  forgetSignups(until: Date): void {
    const old = "address IS NOT NULL AND created_at <= ?";
    this.#run(`DELETE FROM signups WHERE ${old} AND account IS NULL`, until.getTime());
    this.#run(`UPDATE signups SET address = NULL WHERE ${old}`, until.getTime());
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
    this.#run(sql, version, sha256, contentSha256, now.getTime());
  }

  /** Versions that were served when they were last heard of. */
  servedVersions(): string[] {
    const rows = this.#all<StoredVersion>("SELECT * FROM versions WHERE retired IS NULL");
    return rows.map(({ version }) => version);
  }

  retireVersion(version: string, now: Date): void {
    this.#run("UPDATE versions SET retired = ? WHERE version = ?", now.getTime(), version);
  }

  #all<Row>(sql: string, ...values: unknown[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  /** The only row of what always has one. */
  #one<Row>(sql: string): Row {
    return this.#all<Row>(sql)[0];
  }

  /** Writes accounts, keys or events. */
  #change(sql: string, ...values: unknown[]): Database.RunResult {
    this.#ownChanges++;
    return this.#run(sql, ...values);
  }

  #run(sql: string, ...values: unknown[]): Database.RunResult {
    return this.#prepare(sql).run(...values);
  }
}
