import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { DataError } from "../engine/index.ts";
import type { Plan } from "./plans.ts";

const schemaVersion = 1;

const schema = `
  CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    plan TEXT NOT NULL,
    burst INTEGER NOT NULL, -- requests per second
    quota INTEGER NOT NULL, -- requests per UTC calendar month
    created_at TEXT NOT NULL
  ) STRICT;
  CREATE TABLE keys (
    id INTEGER PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (id),
    hash BLOB NOT NULL UNIQUE, -- SHA-256 of the key, which itself is stored nowhere
    last4 TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT
  ) STRICT;
  CREATE TABLE usage (
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL, -- YYYY-MM
    used INTEGER NOT NULL,
    PRIMARY KEY (account, month)
  ) STRICT, WITHOUT ROWID;
`;

export interface Account {
  id: number;
  name: string;
  plan: Plan;
  burst: number;
  quota: number;
}

export interface StoredKey {
  id: number;
  account: number;
  hash: Buffer;
  last4: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
}

/** Accounts, keys and usage in one SQLite database; what is written is on the disk when a call returns. */
export class Store {
  readonly #database: Database.Database;

  /**
   * Opens the database in a folder, and makes both where they are missing.
   *
   * @throws DataError when the folder or the database can't be used
   */
  static open(folder: string): Store {
    const file = join(folder, "state.sqlite");
    try {
      mkdirSync(folder, { recursive: true });
      return new Store(new Database(file, { timeout: 5000 }));
    } catch (error) {
      if (error instanceof DataError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new DataError(`state database ${file}`, reason, "a database that can be read and written");
    }
  }

  private constructor(database: Database.Database) {
    this.#database = database;
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = FULL");
    database.pragma("foreign_keys = ON");
    database.transaction(() => {
      const version = database.pragma("user_version", { simple: true });
      if (version === schemaVersion) return;
      if (version !== 0)
        throw new DataError(
          "state database",
          `schema version ${version}`,
          `version ${schemaVersion} or none`,
        );
      database.exec(schema);
      database.pragma(`user_version = ${schemaVersion}`);
    })();
  }

  close(): void {
    this.#database.close();
  }

  /** A number that changes when another process has written to the database. */
  changes(): number {
    return Number(this.#database.pragma("data_version", { simple: true }));
  }

  /** Runs several reads and writes as one. */
  atomically<Result>(work: () => Result): Result {
    return this.#database.transaction(work).immediate();
  }

  accounts(): Account[] {
    return this.#all<Account>("SELECT id, name, plan, burst, quota FROM accounts ORDER BY id");
  }

  account(name: string): Account | undefined {
    return this.#all<Account>("SELECT id, name, plan, burst, quota FROM accounts WHERE name = ?", name)[0];
  }

  createAccount(account: Omit<Account, "id">, now: Date): Account {
    const id = this.#run(
      "INSERT INTO accounts (name, plan, burst, quota, created_at) VALUES (?, ?, ?, ?, ?)",
      account.name,
      account.plan,
      account.burst,
      account.quota,
      now.toISOString(),
    );
    return { id: Number(id.lastInsertRowid), ...account };
  }

  keys(): StoredKey[] {
    return this.#all<StoredKey>("SELECT * FROM keys ORDER BY id");
  }

  createKey(account: number, hash: Buffer, last4: string, expires: Date | null, now: Date): number {
    const result = this.#run(
      "INSERT INTO keys (account, hash, last4, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
      account,
      hash,
      last4,
      now.toISOString(),
      expires?.toISOString() ?? null,
    );
    return Number(result.lastInsertRowid);
  }

  /** @returns whether there is such a key; one that was revoked before stays revoked since then */
  revokeKey(id: number, now: Date): boolean {
    const sql = "UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?";
    return this.#run(sql, now.toISOString(), id).changes === 1;
  }

  /** Requests counted per account in a month, `YYYY-MM`. */
  usage(month: string): Map<number, number> {
    const rows = this.#all<{ account: number; used: number }>(
      "SELECT account, used FROM usage WHERE month = ?",
      month,
    );
    return new Map(rows.map(({ account, used }) => [account, used]));
  }

  /** Writes absolute counts, so that writing them twice does no harm. */
  saveUsage(month: string, used: Iterable<[account: number, used: number]>): void {
    const upsert = this.#database.prepare(
      "INSERT INTO usage (account, month, used) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET used = excluded.used",
    );
    this.atomically(() => {
      for (const [account, count] of used) upsert.run(account, month, count);
    });
  }

  #all<Row>(sql: string, ...values: unknown[]): Row[] {
    return this.#database.prepare<unknown[], Row>(sql).all(...values);
  }

  #run(sql: string, ...values: unknown[]): Database.RunResult {
    return this.#database.prepare(sql).run(...values);
  }
}
