import { accountExists } from "./accounts.ts";
import { Table } from "./connection.ts";

/** Maximum days kept per account: the most that two months have. */
const maxDays = 62;

export class StoredUsage extends Table {
  /** @param month `YYYY-MM` @returns the saved requests by account id */
  ofMonth(month: string): Map<number, number> {
    const sql = "SELECT account, used FROM usage WHERE month = ?";
    const rows = this.db.all<{ account: number; used: number }>(sql, month);
    return new Map(rows.map(({ account, used }) => [account, used]));
  }

  of(account: number, month: string): number {
    const sql = "SELECT used FROM usage WHERE account = ? AND month = ?";
    return this.db.first<{ used: number }>(sql, account, month)?.used ?? 0;
  }

  months(account: number): { month: string; used: number }[] {
    return this.db.all("SELECT month, used FROM usage WHERE account = ? ORDER BY month DESC", account);
  }

  /** Returns the known days, `YYYY-MM-DD`, in order, each with the month's total as last saved for that day. */
  days(account: number): { day: string; used: number }[] {
    return this.db.all("SELECT day, used FROM days WHERE account = ? ORDER BY day", account);
  }

  /** Writes accounts' totals of a month, `YYYY-MM`. Drops those of deleted accounts. */
  save(month: string, used: readonly (readonly [account: number, used: number])[]): void {
    const sql = `INSERT INTO usage (account, month, used) SELECT ?, ?, ? WHERE ${accountExists()}
      ON CONFLICT DO UPDATE SET used = excluded.used`;
    for (const [account, count] of used) this.db.run(sql, account, month, count, account);
  }

  /**
   * Returns the known days of a month by account id, each with the month's total as last saved for that day. Days count
   * from 1.
   * @param month `YYYY-MM`
   */
  daysOfMonth(month: string): Map<number, [day: number, used: number][]> {
    const sql = "SELECT account, day, used FROM days WHERE day BETWEEN ? || '-01' AND ? || '-31'";
    const rows = this.db.all<{ account: number; day: string; used: number }>(sql, month, month);
    const ends = new Map<number, [day: number, used: number][]>();
    for (const { account, day, used } of rows) {
      const known = ends.get(account) ?? [];
      known.push([Number(day.slice(8)), used]);
      ends.set(account, known);
    }
    return ends;
  }

  /**
   * Writes accounts' totals of the month up to a day, `YYYY-MM-DD`. Keeps an account's last `maxDays` days. Days aren't
   * deleted by age, because a clock may be far ahead for a moment.
   */
  saveDay(day: string, used: readonly (readonly [account: number, used: number])[]): void {
    for (const [account, count] of used) {
      const update = "UPDATE days SET used = ? WHERE account = ? AND day = ?";
      if (this.db.run(update, count, account, day).changes > 0) continue;
      const insert = `INSERT INTO days (account, day, used) SELECT ?, ?, ? WHERE ${accountExists()}`;
      this.db.run(insert, account, day, count, account);
      const sql = `DELETE FROM days WHERE account = ? AND day <=
        (SELECT day FROM days WHERE account = ? ORDER BY day DESC LIMIT 1 OFFSET ?)`;
      this.db.run(sql, account, account, maxDays);
    }
  }
}
