import { Table } from "./connection.ts";

export interface Signup {
  /** The normalised e-mail address, the same for all spellings. */
  mailbox: string;
  /** The client's name by `clientOf`: an IPv4 address, an IPv6 /64, or `unknown`. */
  address: string;
}

interface SignupLink {
  /** SHA-256 of the link's token. */
  token: Buffer;
  /** The person's name. The account's name is made from it when the link is used. */
  name: string;
  email: string;
}

/** Signups later than this many milliseconds after the asked time count as old: a clock that was ahead made them. */
const maxAfterMs = 2 * 86_400_000;

const after = (time: Date) => [time.getTime(), time.getTime() + maxAfterMs] as const;

export class StoredSignups extends Table {
  /**
   * Counts the signups after a time: all of them, those of the client's address, and those of the mailbox. Leaves out
   * signups without a stored address.
   */
  countsSince(since: Date, { mailbox, address }: Signup): { all: number; address: number; mailbox: number } {
    const sql = `SELECT count(*) AS "all", count(*) FILTER (WHERE address = ?) AS address,
      count(*) FILTER (WHERE mailbox = ?) AS mailbox FROM signups
      WHERE address IS NOT NULL AND created_at > ? AND created_at <= ?`;
    return this.db.one(sql, address, mailbox, ...after(since));
  }

  hasAccount(mailbox: string): boolean {
    return this.accountOf(mailbox) !== undefined;
  }

  accountOf(mailbox: string): number | undefined {
    const sql = "SELECT account FROM signups WHERE mailbox = ? AND account IS NOT NULL";
    return this.db.first<{ account: number }>(sql, mailbox)?.account;
  }

  create({ mailbox, address }: Signup, account: number, now: Date): void {
    const sql = "INSERT INTO signups (created_at, mailbox, address, account) VALUES (?, ?, ?, ?)";
    this.db.run(sql, now.getTime(), mailbox, address, account);
  }

  createLink(signup: Signup, link: SignupLink, now: Date): void {
    const sql = `INSERT INTO signups (created_at, mailbox, address, token, name, email)
      VALUES (@now, @mailbox, @address, @token, @name, @email)`;
    this.db.run(sql, { ...signup, ...link, now: now.getTime() });
  }

  /** Finds an unused link that was created after `since`, by the SHA-256 of its token. */
  byToken(token: Buffer, since: Date): (SignupLink & { id: number; mailbox: string }) | undefined {
    const sql = `SELECT id, mailbox, token, name, email FROM signups
      WHERE token = ? AND created_at > ? AND created_at <= ?`;
    return this.db.all<SignupLink & { id: number; mailbox: string }>(sql, token, ...after(since))[0];
  }

  /** Marks a link as used. @param account the account that the link made; null if the mailbox had an account already */
  useLink(id: number, account: number | null): void {
    const sql = "UPDATE signups SET account = ?, token = NULL, name = NULL, email = NULL WHERE id = ?";
    this.db.run(sql, account, id);
  }

  /**
   * Deletes old signups without an account, and the client's address of other old signups.
   * @param until signups up to this time are old
   */
  forget(until: Date): void {
    const old = "address IS NOT NULL AND (created_at <= ? OR created_at > ?)";
    this.db.run(`DELETE FROM signups WHERE ${old} AND account IS NULL`, ...after(until));
    this.db.run(`UPDATE signups SET address = NULL WHERE ${old}`, ...after(until));
  }
}
