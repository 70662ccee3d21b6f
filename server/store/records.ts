import { type Account, accountColumns } from "./accounts.ts";
import { Table } from "./connection.ts";
import { Directory } from "./directory.ts";
import { type Delivery, type StoredEvent, StoredEvents } from "./events.ts";
import type { StoredKey } from "./keys.ts";
import { StoredUsage } from "./usage.ts";

/** Reads and writes accounts with everything that exports and imports contain. */

/** An account with all its data except the days of last use of its keys. */
export interface AccountRecord extends Account {
  created_at: number;
  /** The account's keys, with hashes in hexadecimal digits. */
  keys: (Omit<StoredKey, "account" | "hash"> & { hash: string })[];
  /** Saved requests by month, `YYYY-MM`. */
  usage: { month: string; used: number }[];
  /** The running total of a month at the end of each day, `YYYY-MM-DD`. */
  days: { day: string; used: number }[];
  events: (Omit<StoredEvent, "account"> & { deliveries: Omit<Delivery, "id">[] })[];
  /** The mailboxes of the signups that created this account. */
  mailboxes: { mailbox: string; created_at: number }[];
}

export class AccountRecords extends Table {
  readonly #directory = new Directory(this.db);
  readonly #events = new StoredEvents(this.db);
  readonly #usage = new StoredUsage(this.db);

  read(account: number): AccountRecord {
    const { changed: _, ...row } = this.db.all<Omit<AccountRecord, "keys"> & { changed: number }>(
      `SELECT ${accountColumns}, created_at FROM accounts WHERE id = ?`,
      account,
    )[0];
    const keys = `SELECT id, lower(hex(hash)) AS hash, last4, label, created_at, expires_at, revoked_at, replaced_by FROM keys
      WHERE account = ? ORDER BY id`;
    const events = `SELECT id, month, threshold, quota, payload, created_at FROM events
      WHERE account = ? ORDER BY created_at, threshold`;
    return {
      ...row,
      keys: this.db.all(keys, account),
      usage: this.db.all("SELECT month, used FROM usage WHERE account = ? ORDER BY month", account),
      days: this.db.all("SELECT day, used FROM days WHERE account = ? ORDER BY day", account),
      events: this.db.all<StoredEvent>(events, account).map((event) => ({
        ...event,
        deliveries: this.#events.deliveries(event.id).map(({ id: _, ...delivery }) => delivery),
      })),
      mailboxes: this.db.all(
        "SELECT mailbox, created_at FROM signups WHERE account = ? ORDER BY id",
        account,
      ),
    };
  }

  /** Enters the account of a record. The account, its keys and its events keep the ids of the record. */
  enter({ keys, usage, days, events, mailboxes, ...account }: AccountRecord): void {
    this.db.ownChanges++;
    this.#directory.write("accounts", { ...account });
    // The newest key is entered first, because an older key may refer to the key that replaced it.
    for (const key of keys.toReversed())
      this.#directory.write("keys", { ...key, account: account.id, hash: Buffer.from(key.hash, "hex") });
    for (const { month, used } of usage) this.#usage.save(month, [[account.id, used]]);
    for (const { day, used } of days) this.#usage.saveDay(day, [[account.id, used]]);
    for (const { deliveries, ...event } of events) {
      this.#events.create({ ...event, account: account.id }, []);
      for (const delivery of deliveries) this.#events.updateDelivery({ ...delivery, id: event.id });
    }
    const sql = "INSERT INTO signups (created_at, mailbox, account) VALUES (?, ?, ?)";
    for (const { mailbox, created_at } of mailboxes) this.db.run(sql, created_at, mailbox, account.id);
  }
}
