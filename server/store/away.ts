import { Table } from "./connection.ts";

/**
 * Requests of a month that this server admitted while the servers' shared database was away. They are kept until the
 * database has counted them.
 */
export interface AdmittedAlone {
  /** Identifies these requests when they are reported, so that they are counted only once. */
  id: string;
  /** The month's number by `monthOf`. */
  month: number;
  /** When the present outage began, in Unix milliseconds; 0 once the database is back. */
  since: number;
  /** Requests by account id. Negative if more permits were given back than were granted. */
  used: Map<number, number>;
}

export class StoredAway extends Table {
  all(): AdmittedAlone[] {
    const periods = this.db.all<Omit<AdmittedAlone, "used">>(
      "SELECT id, month, since FROM away ORDER BY since, month",
    );
    const sql = "SELECT account, used FROM away_used WHERE away = ?";
    return periods.map((period) => {
      const rows = this.db.all<{ account: number; used: number }>(sql, period.id);
      return { ...period, used: new Map(rows.map(({ account, used }) => [account, used])) };
    });
  }

  /** Saves a month's requests. Sets `since` for all months of the present outage. */
  save({ id, month, since, used }: AdmittedAlone): void {
    this.db.atomically(() => {
      this.db.run("INSERT OR IGNORE INTO away (id, month, since) VALUES (?, ?, ?)", id, month, since);
      this.db.run("UPDATE away SET since = ? WHERE since > 0", since);
      const sql = `INSERT INTO away_used (away, account, used) VALUES (?, ?, ?)
        ON CONFLICT DO UPDATE SET used = excluded.used`;
      for (const [account, count] of used) this.db.run(sql, id, account, count);
    });
  }

  /** Records that the database is back. Requests that aren't reported yet stay. */
  end(): void {
    this.db.run("UPDATE away SET since = 0 WHERE since > 0");
  }

  remove(id: string): void {
    this.db.run("DELETE FROM away WHERE id = ?", id);
  }
}
