import { Table } from "./connection.ts";

/** The highest change numbers (`changed`) of accounts and of keys. */
export interface Changes {
  accounts: number;
  keys: number;
}

export class StoredProgress extends Table {
  latest(): Changes {
    return this.db.one(
      "SELECT (SELECT coalesce(max(changed), 0) FROM accounts) AS accounts, (SELECT coalesce(max(changed), 0) FROM keys) AS keys",
    );
  }

  applied(): Changes {
    return this.db.one("SELECT accounts, keys FROM obeyed");
  }

  saveApplied({ accounts, keys }: Changes): void {
    this.db.run("UPDATE obeyed SET accounts = ?, keys = ?", accounts, keys);
  }

  /** Returns the time of the last `noteSaved` in Unix milliseconds; undefined if there was none. */
  savedAt(): number | undefined {
    return this.db.first<{ at: number }>("SELECT at FROM saved")?.at;
  }

  /** Records that the state is current at a time. For a save or a change, call this in its transaction. */
  noteSaved(now: Date): void {
    if (this.db.run("UPDATE saved SET at = ?", now.getTime()).changes === 0)
      this.db.run("INSERT INTO saved (at) VALUES (?)", now.getTime());
  }
}
