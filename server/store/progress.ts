import { Table } from "./connection.ts";

/** The numbers (`changed`) of the last change of an account and of a key. */
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

  /**
   * Returns when counts were last saved, or a command or the portal changed the state, in Unix milliseconds. Returns
   * undefined before the first save.
   */
  savedAt(): number | undefined {
    return this.db.first<{ at: number }>("SELECT at FROM saved")?.at;
  }

  /** Records the time of a save. Call this in the transaction that saves. */
  noteSaved(now: Date): void {
    if (this.db.run("UPDATE saved SET at = ?", now.getTime()).changes === 0)
      this.db.run("INSERT INTO saved (at) VALUES (?)", now.getTime());
  }
}
