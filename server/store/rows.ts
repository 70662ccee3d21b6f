import type Database from "better-sqlite3";
import { preparing } from "./database.ts";
import { nextChange } from "./schema.ts";

/** Rows of the tables that several servers have in common, as texts, and what a piece of work would change of them. */

/** By the columns that name a row. */
const tables = {
  accounts: ["id"],
  keys: ["id"],
  days: ["account", "day"],
  events: ["id"],
  deliveries: ["event", "channel"],
  signups: ["id"],
} as const;
type Table = keyof typeof tables;
const tableNames = Object.keys(tables) as Table[];

export interface Row {
  /** The table and what names the row in it, such as `keys:12`. */
  name: string;
  /** Its columns as JSON; null for one that is gone. */
  content: string | null;
}

/** With the version in which it changed last, where it is taken from. */
export interface TakenRow extends Row {
  version: number;
}

/** Each counts its own changes. */
const counted: readonly string[] = ["accounts", "keys"];

class Undo extends Error {}

const nameOf = (table: Table, of = "") =>
  `'${table}' || ${tables[table].map((column) => `':' || ${of}${column}`).join(" || ")}`;

/** Notes which rows are written; it goes with the transaction that is undone. */
const noting = `CREATE TEMP TABLE touched (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
${tableNames
  .flatMap((table) =>
    (["INSERT", "UPDATE", "DELETE"] as const).map(
      (event) => `CREATE TEMP TRIGGER ${table}_${event} AFTER ${event} ON main.${table} BEGIN
        INSERT OR IGNORE INTO touched VALUES (${nameOf(table, event === "DELETE" ? "OLD." : "NEW.")}); END;`,
    ),
  )
  .join("\n")}`;

export class Rows {
  readonly #database: Database.Database;
  readonly #prepare: ReturnType<typeof preparing>;
  readonly #columnsOf = new Map<Table, string[]>();

  constructor(database: Database.Database) {
    this.#database = database;
    this.#prepare = preparing(database);
  }

  /** Does a piece of work, notes the rows that it writes, and undoes it. */
  rehearse<Result>(work: () => Result): { result: Result; rows: Row[] } {
    let done: { result: Result; rows: Row[] } | undefined;
    const attempt = this.#database.transaction(() => {
      this.#database.exec(noting);
      const result = work();
      const names = this.#database.prepare<[], string>("SELECT name FROM touched").pluck().all();
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

  all(): Row[] {
    return tableNames.flatMap((table) =>
      this.#database
        .prepare<[], string>(`SELECT ${nameOf(table)} FROM ${table}`)
        .pluck()
        .all()
        .map((name) => this.#row(name)),
    );
  }

  /** The next of those that were put, in the order of their versions, what is gone too. */
  taken(after: number, limit: number): TakenRow[] {
    const sql = "SELECT name, version FROM directory_rows WHERE version > ? ORDER BY version LIMIT ?";
    const known = this.#prepare(sql).all(after, limit) as {
      name: string;
      version: number;
    }[];
    return known.map(({ name, version }) => ({ ...this.#row(name), version }));
  }

  /** Writes rows, whether there are some of their names or not. In a transaction: a row may come before one that it needs. */
  put(rows: readonly TakenRow[]): void {
    this.#database.pragma("defer_foreign_keys = ON");
    for (const { name, content, version } of rows) {
      const [table, ...values] = partsOf(name);
      // Otherwise it is of a later release.
      if (table !== undefined && content !== null) {
        const row = JSON.parse(content, fromHex);
        this.#write(table, table === "accounts" ? this.#named(row) : row);
      }
      if (table !== undefined && content === null) this.#delete(table, values);
      this.#prepare("INSERT OR REPLACE INTO directory_rows (name, version) VALUES (?, ?)").run(name, version);
    }
  }

  #delete(table: Table, values: string[]): void {
    this.#prepare(`DELETE FROM ${table} WHERE ${isNamed(table)}`).run(...values);
    // A key's id isn't given again, in a copy neither that never had it.
    if (
      table === "keys" &&
      this.#prepare("SELECT 1 FROM sqlite_sequence WHERE name = 'keys'").get() === undefined
    )
      this.#prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('keys', 0)").run();
    if (table === "keys")
      this.#prepare("UPDATE sqlite_sequence SET seq = max(seq, CAST(? AS INTEGER)) WHERE name = 'keys'").run(
        Number(values[0]),
      );
  }

  /**
   * An account, under a name of its own: two may have got the same one where Redis lost one of them. The later one's id
   * is added to it, whichever comes first, so that all copies are the same.
   */
  #named(row: Record<string, unknown>): Record<string, unknown> {
    const other = this.#prepare("SELECT id FROM accounts WHERE name = ? AND id <> ?").get(row.name, row.id) as
      | { id: number }
      | undefined;
    if (other === undefined) return row;
    const ownName = (id: number) => `${row.name}-${id}`;
    if (other.id < Number(row.id)) return { ...row, name: ownName(Number(row.id)) };
    this.#prepare("UPDATE accounts SET name = ? WHERE id = ?").run(ownName(other.id), other.id);
    return row;
  }

  #write(table: Table, row: Record<string, unknown>): void {
    const columns = this.#columns(table);
    const isCounted = counted.includes(table);
    const set = [...columns, ...(isCounted ? ["changed"] : [])];
    const values = columns.map(() => "?");
    // Not what names it: SQLite would look for rows that refer to it, in each table from end to end.
    const names: readonly string[] = tables[table];
    const updates = set.filter((one) => !names.includes(one)).map((one) => `${one} = excluded.${one}`);
    if (isCounted) values.push(`${nextChange}`);
    this.#prepare(
      `INSERT INTO ${table} (${set.join(", ")}) VALUES (${values.join(", ")})
        ON CONFLICT (${tables[table].join(", ")}) DO UPDATE SET ${updates.join(", ")}`,
    ).run(...columns.map((column) => row[column] ?? null));
  }

  /** Those that mean the same elsewhere. */
  #columns(table: Table): string[] {
    const known = this.#columnsOf.get(table);
    if (known !== undefined) return known;
    const sql = "SELECT name FROM pragma_table_info(?) WHERE name <> 'changed'";
    const columns = this.#database.prepare<[string], string>(sql).pluck().all(table);
    this.#columnsOf.set(table, columns);
    return columns;
  }

  #row(name: string): Row {
    const [table, ...values] = partsOf(name);
    const found =
      table === undefined
        ? undefined
        : (this.#prepare(`SELECT * FROM ${table} WHERE ${isNamed(table)}`).get(...values) as
            | Record<string, unknown>
            | undefined);
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

function partsOf(name: string): [table: Table | undefined, ...values: string[]] {
  const [table, ...values] = name.split(":");
  return [tableNames.find((known) => known === table), ...values];
}

const isNamed = (table: Table) => tables[table].map((column) => `${column} = ?`).join(" AND ");
