import type { Channel } from "../shared/channels.ts";
import { accountExists } from "./accounts.ts";
import { Table } from "./connection.ts";

/** SQL order of an account's events. Events of several quotas may have the same time. */
const inOrder = "created_at, threshold, month, quota";

export interface StoredEvent {
  id: string;
  account: number;
  /** `YYYY-MM` */
  month: string;
  /** Percent of the quota. */
  threshold: number;
  /** The quota whose threshold was reached, in requests per month. */
  quota: number;
  /** The body of the event's webhook posts, as JSON. */
  payload: string;
  /** Unix milliseconds. */
  created_at: number;
}

export interface Delivery {
  id: string;
  channel: Channel;
  state: "pending" | "delivered" | "failed";
  tries: number;
  /** Unix milliseconds; null if no try is planned. */
  next_try_at: number | null;
  last_answer: string | null;
}

type NoDelivery = Record<"channel" | "next_try_at" | "last_answer", null> & { state: "none"; tries: 0 };

export class StoredEvents extends Table {
  /**
   * Adds an event, and a pending delivery for each channel. Adds nothing and returns false if the account is deleted, or
   * has an event with the same month, threshold and quota.
   */
  create(event: StoredEvent, channels: readonly Channel[]): boolean {
    const sql = `INSERT INTO events (id, account, month, threshold, quota, payload, created_at)
      SELECT @id, @account, @month, @threshold, @quota, @payload, @created_at WHERE ${accountExists("@account")}
      ON CONFLICT (account, month, threshold, quota) DO NOTHING`;
    if (this.db.change(sql, event).changes === 0) return false;
    const delivery = { id: event.id, next_try_at: event.created_at, last_answer: null };
    for (const channel of channels) this.updateDelivery({ ...delivery, channel, state: "pending", tries: 0 });
    return true;
  }

  /**
   * Lists all events by time, with a row for each delivery, or one row with state `none` for an event without deliveries.
   */
  list(): (StoredEvent & { name: string } & (Delivery | NoDelivery))[] {
    return this.db.all(
      `SELECT events.*, name, channel, coalesce(state, 'none') AS state, coalesce(tries, 0) AS tries, next_try_at,
        last_answer FROM events JOIN accounts ON accounts.id = events.account
        LEFT JOIN deliveries ON event = events.id ORDER BY events.created_at, events.threshold, channel DESC`,
    );
  }

  /**
   * Returns the month's events with a row number above `row`. `last` is the highest row number of all events. A new event
   * may get the row number of a deleted event.
   * @param month `YYYY-MM`
   */
  since(
    row: number,
    month: string,
  ): { events: Pick<StoredEvent, "account" | "threshold" | "created_at">[]; last: number } {
    const sql =
      "SELECT account, threshold, created_at FROM events WHERE rowid > ? AND month = ? ORDER BY rowid";
    const { last } = this.db.one<{ last: number }>("SELECT coalesce(max(rowid), 0) AS last FROM events");
    return { events: this.db.all(sql, row, month), last };
  }

  /**
   * Returns the time of an account's last event in a month, in Unix milliseconds; 0 if there is none.
   * @param month `YYYY-MM`
   */
  lastAt(account: number, month: string): number {
    const sql = "SELECT coalesce(max(created_at), 0) AS at FROM events WHERE account = ? AND month = ?";
    return this.db.one<{ at: number }>(sql, account, month).at;
  }

  byId(id: string): StoredEvent | undefined {
    return this.db.first<StoredEvent>("SELECT * FROM events WHERE id = ?", id);
  }

  /** Returns an event's deliveries, the webhook's first. */
  deliveries(event: string): Delivery[] {
    return this.db.all(
      `SELECT event AS id, channel, state, tries, next_try_at, last_answer FROM deliveries
        WHERE event = ? ORDER BY channel DESC`,
      event,
    );
  }

  /**
   * Returns a channel's deliveries that may be tried now, first tries before retries. An account's events are delivered
   * in order: only its first pending event can be due, and only while none of its events is under way.
   * @param underWay ids of the events that are being sent, or whose results are being stored
   */
  due(channel: Channel, now: Date, underWay: readonly string[], limit: number): (StoredEvent & Delivery)[] {
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
    return this.db.all(sql, channel, now.getTime(), JSON.stringify(underWay), limit);
  }

  /** Returns the id of the account's event that a channel delivers next; undefined if no event is pending. */
  firstPending(account: number, channel: Channel): string | undefined {
    const sql = `SELECT id FROM deliveries JOIN events ON id = event
      WHERE account = ? AND channel = ? AND state = 'pending' ORDER BY ${inOrder} LIMIT 1`;
    return this.db.first<{ id: string }>(sql, account, channel)?.id;
  }

  /** Returns the time of a channel's oldest pending event, in Unix milliseconds; undefined if there is none. */
  oldestPending(channel: Channel): number | undefined {
    const { created_at } = this.db.one<{ created_at: number | null }>(
      `SELECT min(created_at) AS created_at FROM deliveries JOIN events ON id = event
        WHERE channel = ? AND state = 'pending'`,
      channel,
    );
    return created_at ?? undefined;
  }

  moveTries(channel: Channel, byMs: number): void {
    const sql = `UPDATE deliveries SET next_try_at = max(0, next_try_at + ?)
      WHERE channel = ? AND state = 'pending'`;
    this.db.run(sql, Math.round(byMs), channel);
  }

  /**
   * Moves each retry that is further away than its pause to one pause from now. A clock that was ahead planned such a
   * retry.
   * @param pausesMs the pauses after the first try, after the second try, and so on
   */
  shortenPauses(channel: Channel, now: Date, pausesMs: readonly number[]): void {
    const latest = "(? + json_extract(?, '$[' || (tries - 1) || ']'))";
    const isLate = `channel = ? AND state = 'pending' AND tries > 0 AND next_try_at > ${latest}`;
    const values = [now.getTime(), JSON.stringify(pausesMs)];
    // An update would wait for a command that writes, even if it changes nothing.
    if (this.db.all(`SELECT 1 FROM deliveries WHERE ${isLate} LIMIT 1`, channel, ...values).length > 0)
      this.db.run(
        `UPDATE deliveries SET next_try_at = ${latest} WHERE ${isLate}`,
        ...values,
        channel,
        ...values,
      );
  }

  updateDelivery(delivery: Delivery): void {
    const sql = `INSERT OR REPLACE INTO deliveries (event, channel, state, tries, next_try_at, last_answer)
      VALUES (@id, @channel, @state, @tries, @next_try_at, @last_answer)`;
    this.db.run(sql, delivery);
  }
}
