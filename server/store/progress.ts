import { Table } from "./connection.ts";

/** How far a running server has applied changes that commands made. */

/** The highest `changed` of the tables of accounts and keys. */
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
}
