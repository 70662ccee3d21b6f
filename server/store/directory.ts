import { Table } from "./connection.ts";
import { nextChange } from "./schema.ts";

/** The directory: table rows that all servers share through Redis, and the version of this database's copy. */

const tables = {
  accounts: ["id"],
  keys: ["id"],
  imported: ["account", "month"],
  days: ["account", "day"],
  events: ["id"],
  deliveries: ["event", "channel"],
  signups: ["id"],
} as const;
type SharedTable = keyof typeof tables;
const tableNames = Object.keys(tables) as SharedTable[];

export interface Row {
  /** The table and the values of the primary key, such as `keys:12`. */
  name: string;
  /** The columns except `changed`, as JSON; null for a deleted row. */
  content: string | null;
}

export interface TakenRow extends Row {
  /** The version of the shared directory in which the row was last changed. */
  version: number;
}

/** Tables with a column `changed`. Each database has its own numbers in this column. */
const counted: readonly string[] = ["accounts", "keys"];

class Undo extends Error {}

const nameOf = (table: SharedTable, of = "") =>
  `'${table}' || ${tables[table].map((column) => `':' || ${of}${column}`).join(" || ")}`;

/** SQL that records which rows are written. The transaction is rolled back, which removes the triggers. */
const noting = `CREATE TEMP TABLE touched (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
${tableNames
  .flatMap((table) =>
    (["INSERT", "UPDATE", "DELETE"] as const).map(
      (event) => `CREATE TEMP TRIGGER ${table}_${event} AFTER ${event} ON main.${table} BEGIN
        INSERT OR IGNORE INTO touched VALUES (${nameOf(table, event === "DELETE" ? "OLD." : "NEW.")}); END;`,
    ),
  )
  .join("\n")}`;

export interface Position {
  /** Identifies the shared directory; "" if this database isn't a copy. */
  epoch: string;
  /** The version of the shared directory up to which this database has all rows; 0 if this database isn't a copy. */
  version: number;
  /** The life of Redis (a period without losses) in which this server last resent its rows. */
  life: string;
}

export class Directory extends Table {
  readonly #columnsOf = new Map<SharedTable, string[]>();

  /** Whether this database is a copy of accounts in Redis, even if opened without REDIS_URL. */
  get isCopy(): boolean {
    return this.position().epoch !== "";
  }

  position(): Position {
    const [position] = this.db.all<Position>("SELECT epoch, version, life FROM directory");
    return position ?? { epoch: "", version: 0, life: "" };
  }

  /** Writes shared rows and, if given, the position up to which this copy then has all rows. */
  take(rows: readonly TakenRow[], position?: Position): void {
    this.db.ownChanges++;
    this.db.atomically(() => {
      this.#put(rows);
      if (position === undefined) return;
      // A database with its own accounts becomes a copy after these accounts were imported into Redis. Redis counts the
      // requests before the import in the table `imported`, so `usage` must not count these requests, too.
      if (!this.isCopy)
        this.db.run(
          `UPDATE usage SET used = max(0, usage.used - imported.used) FROM imported
            WHERE imported.account = usage.account AND imported.month = usage.month`,
        );
      const { epoch, version, life } = position;
      this.db.run("DELETE FROM directory");
      this.db.run("INSERT INTO directory (epoch, version, life) VALUES (?, ?, ?)", epoch, version, life);
    });
  }

  /** Runs some work, collects the shared rows that the work writes, and undoes the work. */
  rehearse<Result>(work: () => Result): { result: Result; rows: Row[] } {
    let done: { result: Result; rows: Row[] } | undefined;
    const attempt = this.db.database.transaction(() => {
      this.db.database.exec(noting);
      const result = work();
      const names = this.db.database.prepare<[], string>("SELECT name FROM touched").pluck().all();
      done = { result, rows: names.map((name) => this.#row(name)) };
      throw new Undo();
    });
    try {
      attempt.immediate();
    } catch (error) {
      if (!(error instanceof Undo)) throw error;
    }
    if (done === undefined) throw new Error("the work wasn't done");
    return done;
  }

  /** Returns all shared rows of this database. */
  rows(): Row[] {
    return tableNames.flatMap((table) =>
      this.db.database
        .prepare<[], string>(`SELECT ${nameOf(table)} FROM ${table}`)
        .pluck()
        .all()
        .map((name) => this.#row(name)),
    );
  }

  /** Returns the next rows after a version of the directory, ordered by version. Deleted rows are included. */
  taken(after: number, limit: number): TakenRow[] {
    const sql = "SELECT name, version FROM directory_rows WHERE version > ? ORDER BY version LIMIT ?";
    const known = this.db.all<{ name: string; version: number }>(sql, after, limit);
    return known.map(({ name, version }) => ({ ...this.#row(name), version }));
  }

  /** Needs a transaction, because a row may come before a row that it refers to. */
  #put(rows: readonly TakenRow[]): void {
    this.db.database.pragma("defer_foreign_keys = ON");
    for (const { name, content, version } of rows) {
      const [table, ...values] = partsOf(name);
      // A later release may share further tables. Rows of an unknown table are only noted by name and version.
      const row = content === null ? undefined : JSON.parse(content, fromHex);
      if (table !== undefined && row !== undefined && !this.#isSecond(table, row))
        this.write(table, table === "accounts" ? this.#named(row) : row);
      else if (table !== undefined) this.#delete(table, values);
      this.db.run("INSERT OR REPLACE INTO directory_rows (name, version) VALUES (?, ?)", name, version);
    }
    for (const { name } of rows) {
      const [table, event] = partsOf(name);
      if (table === "deliveries")
        this.db.run("DELETE FROM deliveries WHERE event = ? AND event NOT IN (SELECT id FROM events)", event);
    }
  }

  /**
   * Returns whether a new row is a duplicate to be dropped. After Redis has lost rows, two servers may record the same
   * event, or make an account for the same mailbox. The row with the lower id stays, so that all copies become equal.
   */
  #isSecond(table: SharedTable, row: Record<string, unknown>): boolean {
    const columns =
      table === "events"
        ? ["account", "month", "threshold", "quota"]
        : table === "signups" && row.account !== null
          ? ["mailbox"]
          : undefined;
    if (columns === undefined) return false;
    const other = this.db.first<{ id: string | number }>(
      `SELECT id FROM ${table} WHERE ${columns.map((column) => `${column} = ?`).join(" AND ")}
        AND account IS NOT NULL AND id <> ?`,
      ...columns.map((column) => row[column]),
      row.id,
    );
    if (other === undefined) return false;
    if (other.id < (row.id as string | number)) return true;
    this.#delete(table, [String(other.id)]);
    return false;
  }

  #delete(table: SharedTable, values: string[]): void {
    if (table === "events") this.db.run("DELETE FROM deliveries WHERE event = ?", ...values);
    this.db.run(`DELETE FROM ${table} WHERE ${isNamed(table)}`, ...values);
    if (table !== "keys") return;
    // A key's id is never reused, not even by a copy that never had the key.
    this.db.run(
      "INSERT INTO sqlite_sequence SELECT 'keys', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'keys')",
    );
    this.db.run("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'keys'", Number(values[0]));
  }

  /**
   * Gives an account a unique name. If Redis has lost an account, another account may get the name. Then the higher id
   * is appended to its account's name, whichever account arrives first, so that all copies are equal.
   */
  #named(row: Record<string, unknown>): Record<string, unknown> {
    const other = this.db.first<{ id: number }>(
      "SELECT id FROM accounts WHERE name = ? AND id <> ?",
      row.name,
      row.id,
    );
    if (other === undefined) return row;
    const ownName = (id: number) => `${row.name}-${id}`;
    if (other.id < Number(row.id)) return { ...row, name: ownName(Number(row.id)) };
    const rename = `UPDATE accounts SET name = ?, changed = ${nextChange} WHERE id = ?`;
    this.db.run(rename, ownName(other.id), other.id);
    return row;
  }

  /** Inserts a row, or updates the row with its primary key. */
  write(table: SharedTable, row: Record<string, unknown>): void {
    const columns = this.#columns(table);
    const isCounted = counted.includes(table);
    const set = [...columns, ...(isCounted ? ["changed"] : [])];
    const values = columns.map(() => "?");
    // An update of the primary key would make SQLite scan all tables that refer to it.
    const names: readonly string[] = tables[table];
    const updates = set.filter((one) => !names.includes(one)).map((one) => `${one} = excluded.${one}`);
    if (isCounted) values.push(`${nextChange}`);
    this.db.run(
      `INSERT INTO ${table} (${set.join(", ")}) VALUES (${values.join(", ")})
        ON CONFLICT (${tables[table].join(", ")}) DO UPDATE SET ${updates.join(", ")}`,
      ...columns.map((column) => row[column] ?? null),
    );
  }

  #columns(table: SharedTable): string[] {
    const known = this.#columnsOf.get(table);
    if (known !== undefined) return known;
    const sql = "SELECT name FROM pragma_table_info(?) WHERE name <> 'changed'";
    const columns = this.db.database.prepare<[string], string>(sql).pluck().all(table);
    this.#columnsOf.set(table, columns);
    return columns;
  }

  #row(name: string): Row {
    const [table, ...values] = partsOf(name);
    const found =
      table === undefined
        ? undefined
        : this.db.first<Record<string, unknown>>(`SELECT * FROM ${table} WHERE ${isNamed(table)}`, ...values);
    if (found === undefined) return { name, content: null };
    const { changed: _, ...row } = found;
    for (const [column, value] of Object.entries(row))
      if (value instanceof Buffer) row[column] = { hex: value.toString("hex") };
    return { name, content: JSON.stringify(row) };
  }
}

function fromHex(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("hex" in value)) return value;
  return Buffer.from(String(value.hex), "hex");
}

function partsOf(name: string): [table: SharedTable | undefined, ...values: string[]] {
  const [table, ...values] = name.split(":");
  return [tableNames.find((known) => known === table), ...values];
}

const isNamed = (table: SharedTable) => tables[table].map((column) => `${column} = ?`).join(" AND ");
