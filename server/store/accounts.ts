import { Table } from "./connection.ts";
import { nextChange } from "./schema.ts";

export interface Account {
  id: number;
  name: string;
  /** A plan's name. An account may have a plan that this release doesn't know. */
  plan: string;
  /** Requests per second. */
  burst: number;
  /** Requests per month. */
  quota: number;
  webhook: string | null;
  webhook_secret: string | null;
  /** The secret before a rotation. It also signs until `webhook_old_secret_until`. */
  webhook_old_secret: string | null;
  /** Unix milliseconds. */
  webhook_old_secret_until: number | null;
  email: string | null;
  /** When the account was suspended, in Unix milliseconds; null if it isn't suspended. */
  suspended_at: number | null;
}
export type NewAccount = Omit<
  Account,
  "id" | "webhook_old_secret" | "webhook_old_secret_until" | "email" | "suspended_at"
> & {
  email?: string | null;
};

export const accountColumns =
  "id, name, plan, burst, quota, webhook, webhook_secret, webhook_old_secret, webhook_old_secret_until, email, suspended_at, changed";
/** SQL condition for inserts, so that rows of a deleted account are dropped. @param id SQL for the account's id */
export const accountExists = (id = "?") =>
  `EXISTS (SELECT 1 FROM accounts WHERE id = ${id} AND name IS NOT NULL)`;

export class StoredAccounts extends Table {
  /** Returns the accounts with a higher `changed`, ordered by it. For a deleted account, `account` is undefined. */
  since(changed: number): { id: number; account: Account | undefined; changed: number }[] {
    const sql = `SELECT ${accountColumns} FROM accounts WHERE changed > ? ORDER BY changed`;
    const rows = this.db.all<Account & { name: string | null; changed: number }>(sql, changed);
    return rows.map(({ changed, ...account }) => {
      return { id: account.id, account: account.name === null ? undefined : account, changed };
    });
  }

  /**
   * Lists the accounts by name. `used` has the saved requests of `month`, `YYYY-MM`. `keys` counts the keys that work at
   * `now`.
   */
  list(month: string, now: Date): (Account & { used: number; keys: number })[] {
    return this.db.all(
      `SELECT accounts.*, coalesce(used, 0) AS used, count(keys.id) AS keys FROM accounts
        LEFT JOIN usage ON usage.account = accounts.id AND month = ?
        LEFT JOIN keys ON keys.account = accounts.id AND revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > ?) AND suspended_at IS NULL
        WHERE name IS NOT NULL GROUP BY accounts.id ORDER BY name`,
      month,
      now.getTime(),
    );
  }

  /** Whether any account exists or ever existed. */
  exist(): boolean {
    return this.db.all("SELECT 1 FROM accounts LIMIT 1").length > 0;
  }

  byName(name: string): Account | undefined {
    return this.db.first<Account>(`SELECT ${accountColumns} FROM accounts WHERE name = ?`, name);
  }

  byId(id: number): Account | undefined {
    const sql = `SELECT ${accountColumns} FROM accounts WHERE id = ? AND name IS NOT NULL`;
    return this.db.first<Account>(sql, id);
  }

  ids(): number[] {
    const sql = "SELECT id FROM accounts WHERE name IS NOT NULL ORDER BY id";
    return this.db.all<{ id: number }>(sql).map(({ id }) => id);
  }

  wasDeleted(id: number): boolean {
    return this.db.all("SELECT 1 FROM accounts WHERE id = ? AND name IS NULL", id).length > 0;
  }

  create(account: NewAccount, now: Date): Account {
    const sql = `INSERT INTO accounts (name, plan, burst, quota, webhook, webhook_secret, email, created_at, changed)
      VALUES (@name, @plan, @burst, @quota, @webhook, @webhook_secret, @email, @now, ${nextChange})`;
    const unset = { webhook_old_secret: null, webhook_old_secret_until: null, suspended_at: null };
    const row = { email: null, ...account, ...unset };
    return { id: Number(this.db.change(sql, { ...row, now: now.getTime() }).lastInsertRowid), ...row };
  }

  /** Writes all fields except `name` and `suspended_at`. Does nothing if the account was deleted. */
  update(account: Omit<Account, "suspended_at">): void {
    const sql = `UPDATE accounts SET plan = @plan, burst = @burst, quota = @quota, webhook = @webhook,
      webhook_secret = @webhook_secret, webhook_old_secret = @webhook_old_secret,
      webhook_old_secret_until = @webhook_old_secret_until, email = @email,
      changed = ${nextChange} WHERE id = @id AND name IS NOT NULL`;
    this.db.change(sql, account);
  }

  /** @param at when the account was suspended, in Unix milliseconds; null resumes the account */
  suspend(id: number, at: number | null): void {
    const sql = `UPDATE accounts SET suspended_at = ?, changed = ${nextChange} WHERE id = ? AND name IS NOT NULL`;
    this.db.change(sql, at, id);
  }

  /** Deletes an account. Its id is never reused. */
  delete(id: number): void {
    // A trigger deletes the account's rows in other tables, in this database and in every copy of it. Only requests
    // that the shared database hasn't counted yet stay in `away_used`.
    const sql = `UPDATE accounts SET name = NULL, plan = '', burst = 0, quota = 0, webhook = NULL, webhook_secret = NULL,
      webhook_old_secret = NULL, webhook_old_secret_until = NULL, email = NULL, suspended_at = NULL, created_at = 0,
      changed = ${nextChange} WHERE id = ?`;
    this.db.change(sql, id);
  }
}
