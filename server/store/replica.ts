import { randomBytes } from "node:crypto";
import { isThere } from "./accounts.ts";
import { Table } from "./connection.ts";

/** The tables of this server as one of several: its identity, and its leases. */

export class StoredReplica extends Table {
  /** What this server may count of each account's quota in a month, `YYYY-MM`. */
  leases(month: string): Map<number, number> {
    const sql = "SELECT account, granted FROM leases WHERE month = ?";
    const rows = this.db.all<{ account: number; granted: number }>(sql, month);
    return new Map(rows.map(({ account, granted }) => [account, granted]));
  }

  saveLease(month: string, account: number, granted: number): void {
    const sql = `INSERT INTO leases (account, month, granted) SELECT ?, ?, ? WHERE ${isThere}
      ON CONFLICT DO UPDATE SET granted = excluded.granted`;
    this.db.run(sql, account, month, granted, account);
  }

  /** Counts a start of this server, and gives it an id at its first. */
  begin(): { id: string; starts: number; members: number } {
    return this.db.atomically(() => {
      const id = randomBytes(6).toString("base64url");
      this.db.run("INSERT INTO replica SELECT ?, 0, 1 WHERE NOT EXISTS (SELECT 1 FROM replica)", id);
      this.db.run("UPDATE replica SET starts = starts + 1");
      return this.db.one("SELECT * FROM replica");
    });
  }

  saveMembers(members: number): void {
    this.db.run("UPDATE replica SET members = ?", members);
  }
}
