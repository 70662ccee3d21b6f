import { Table } from "./connection.ts";
import { nextChange } from "./schema.ts";

export interface StoredKey {
  id: number;
  account: number;
  /** SHA-256 of the key. */
  hash: Buffer;
  last4: string;
  label: string | null;
  created_at: number;
  /** Unix milliseconds; null for never. */
  expires_at: number | null;
  revoked_at: number | null;
  /** The id of the key that a rotation made in place of this key; null without a rotation. */
  replaced_by: number | null;
}

export class StoredKeys extends Table {
  since(changed: number): (StoredKey & { changed: number })[] {
    return this.db.all("SELECT * FROM keys WHERE changed > ? ORDER BY changed", changed);
  }

  /**
   * Lists all keys by id. `last_used` is the UTC day, `YYYY-MM-DD`, of the last use on this server, as last saved; null
   * if none is saved.
   */
  list(): (StoredKey & {
    name: string;
    plan: string;
    suspended_at: number | null;
    last_used: string | null;
  })[] {
    return this.db.all(
      `SELECT keys.*, name, plan, suspended_at, day AS last_used FROM keys
        JOIN accounts ON accounts.id = keys.account LEFT JOIN key_days ON key = keys.id ORDER BY keys.id`,
    );
  }

  /** Writes the day of a key's last use, unless the key is deleted. @param day `YYYY-MM-DD` */
  saveDay(key: number, day: string): void {
    const sql = `INSERT INTO key_days SELECT ?, ? WHERE EXISTS (SELECT 1 FROM keys WHERE id = ?)
      ON CONFLICT DO UPDATE SET day = excluded.day`;
    this.db.run(sql, key, day, key);
  }

  byId(id: number): StoredKey | undefined {
    return this.db.first<StoredKey>("SELECT * FROM keys WHERE id = ?", id);
  }

  byHash(hash: Buffer): StoredKey | undefined {
    return this.db.first<StoredKey>("SELECT * FROM keys WHERE hash = ?", hash);
  }

  ofAccount(account: number): StoredKey[] {
    return this.db.all("SELECT * FROM keys WHERE account = ? ORDER BY id", account);
  }

  /** Returns the new key's id. @param expires Unix milliseconds; null for never */
  create(
    account: number,
    hash: Buffer,
    last4: string,
    expires: number | null,
    now: Date,
    label: string | null = null,
  ): number {
    const sql = `INSERT INTO keys (account, hash, last4, label, created_at, expires_at, changed)
      VALUES (?, ?, ?, ?, ?, ?, ${nextChange})`;
    const result = this.db.change(sql, account, hash, last4, label, now.getTime(), expires);
    return Number(result.lastInsertRowid);
  }

  revoke(id: number, now: Date): void {
    const sql = `UPDATE keys SET revoked_at = coalesce(revoked_at, ?), changed = ${nextChange} WHERE id = ?`;
    this.db.change(sql, now.getTime(), id);
  }

  replace(id: number, by: number): void {
    this.db.change(`UPDATE keys SET replaced_by = ?, changed = ${nextChange} WHERE id = ?`, by, id);
  }

  /** @param at Unix milliseconds; null for never */
  expire(id: number, at: number | null): void {
    this.db.change(`UPDATE keys SET expires_at = ?, changed = ${nextChange} WHERE id = ?`, at, id);
  }
}
