import { StoredAccounts } from "./accounts.ts";
import { Table } from "./connection.ts";
import { accountTables, nextChange, type SharedTable, sharedTables } from "./schema.ts";

/**
 * The directory consists of the rows of `sharedTables`, which servers share through PostgreSQL. This database may have a
 * copy of one version.
 */

export interface Row {
  /** The table and the primary key's values, such as `keys:12`. */
  name: string;
  /** The columns except `changed`, as JSON, with a BLOB as `{"hex":"…"}`; null for a deleted row. */
  content: string | null;
}

class Undo extends Error {}

const nameOf = (table: SharedTable, of = "") =>
  `'${table}' || ${accountTables[table].key.map((column) => `':' || ${of}${column}`).join(" || ")}`;

/** SQL that makes triggers, which record the written and the deleted rows. `rehearse` rolls it back. */
const noting = `CREATE TEMP TABLE touched (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
${sharedTables
  .flatMap((table) =>
    (["INSERT", "UPDATE", "DELETE"] as const).map(
      (event) => `CREATE TEMP TRIGGER ${table}_${event} AFTER ${event} ON main.${table} BEGIN
        INSERT OR IGNORE INTO touched VALUES (${nameOf(table, event === "DELETE" ? "OLD." : "NEW.")}); END;`,
    ),
  )
  .join("\n")}`;

export interface Position {
  version: number;
  /** Identifies the change that made the version. A restored database may use a version number again. */
  id: string;
}

export class DirectoryCopy extends Table {
  readonly #accounts = new StoredAccounts(this.db);
  readonly #columnsOf = new Map<SharedTable, string[]>();

  /** Returns the directory's version that this database copies; undefined if this database isn't a copy. */
  position(): Position | undefined {
    return this.db.first<Position>("SELECT version, id FROM directory");
  }

  /** Writes changed rows, and deletes deleted rows. @param position the version that this database has then */
  take(rows: readonly Row[], position: Position): void {
    this.db.ownChanges++;
    this.db.atomically(() => this.#put(rows, position));
  }

  /**
   * Revokes the keys and deletes the accounts that another history of the directory lacks. Call this before `replace`,
   * and let the server apply it in between: in the other history, other keys may have the same ids.
   * @param rows all rows of the other history
   */
  withdraw(rows: readonly Row[], now: Date): void {
    const of = (table: SharedTable) =>
      rows.flatMap(({ name, content }) =>
        content !== null && name.startsWith(`${table}:`) ? [JSON.parse(content)] : [],
      );
    const hashes = new Set(of("keys").map(({ hash }) => hash.hex));
    const ids = new Set(of("accounts").map(({ id }) => id));
    this.db.ownChanges++;
    this.db.atomically(() => {
      for (const { id, hash } of this.db.all<{ id: number; hash: string }>(
        "SELECT id, lower(hex(hash)) AS hash FROM keys WHERE revoked_at IS NULL",
      ))
        if (!hashes.has(hash))
          this.db.run(
            `UPDATE keys SET revoked_at = ?, changed = ${nextChange} WHERE id = ?`,
            now.getTime(),
            id,
          );
      for (const { id } of this.db.all<{ id: number }>("SELECT id FROM accounts WHERE name IS NOT NULL"))
        if (!ids.has(id)) this.#accounts.delete(id);
    });
  }

  /**
   * Writes the rows of a version, and deletes all other shared rows except those of accounts. So call `withdraw` first.
   */
  replace(rows: readonly Row[], position: Position): void {
    this.db.ownChanges++;
    this.db.atomically(() => {
      const names = new Set(rows.map(({ name }) => name));
      const gone = this.names().filter((name) => !names.has(name) && !name.startsWith("accounts:"));
      this.#put([...gone.map((name) => ({ name, content: null })), ...rows], position);
    });
  }

  names(): string[] {
    return sharedTables.flatMap((table) =>
      this.db.database
        .prepare<[], string>(`SELECT ${nameOf(table)} FROM ${table}`)
        .pluck()
        .all(),
    );
  }

  /** Runs work, and undoes it. Returns its result, and the shared rows that it wrote or deleted. */
  rehearse<Result>(work: () => Result): { result: Result; rows: Row[] } {
    let done: { result: Result; rows: Row[] } | undefined;
    const change = this.db.database.transaction(() => {
      this.db.database.exec(noting);
      const result = work();
      const names = this.db.database.prepare<[], string>("SELECT name FROM touched").pluck().all();
      done = { result, rows: names.map((name) => this.#row(name)) };
      throw new Undo();
    });
    try {
      change.immediate();
    } catch (error) {
      if (!(error instanceof Undo)) throw error;
    }
    if (done === undefined) throw new Error("the work wasn't done");
    return done;
  }

  /** Call this in a transaction, because a row may come before a row that it refers to. */
  #put(rows: readonly Row[], position: Position): void {
    this.db.database.pragma("defer_foreign_keys = ON");
    // A deletion of the latest changes must not give their numbers to other rows, which would then count as applied.
    const { least } = this.db.one<{ least: number }>(`SELECT ${nextChange} AS least`);
    for (const { name, content } of rows) {
      const [table, ...values] = partsOf(name);
      if (content === null) this.#delete(table, values);
      else this.write(table, JSON.parse(content, fromHex), least);
    }
    this.db.run("DELETE FROM directory");
    this.db.run("INSERT INTO directory (version, id) VALUES (?, ?)", position.version, position.id);
  }

  #delete(table: SharedTable, values: string[]): void {
    this.db.run(`DELETE FROM ${table} WHERE ${isNamed(table)}`, ...values);
    if (table !== "keys") return;
    // The key's id must never be reused, not even by a copy that never had the key.
    this.db.run(
      "INSERT INTO sqlite_sequence SELECT 'keys', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'keys')",
    );
    this.db.run("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'keys'", Number(values[0]));
  }

  write(table: SharedTable, row: Record<string, unknown>, least = 0): void {
    const columns = this.#columns(table);
    const { key, isCounted } = accountTables[table];
    const set = [...columns, ...(isCounted ? ["changed"] : [])];
    const values = columns.map(() => "?");
    // An update of the primary key would make SQLite scan all tables that refer to it.
    const names: readonly string[] = key;
    const updates = set.filter((one) => !names.includes(one)).map((one) => `${one} = excluded.${one}`);
    if (isCounted) values.push(`max(${least}, ${nextChange})`);
    this.db.run(
      `INSERT INTO ${table} (${set.join(", ")}) VALUES (${values.join(", ")})
        ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${updates.join(", ")}`,
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
    const found = this.db.first<Record<string, unknown>>(
      `SELECT * FROM ${table} WHERE ${isNamed(table)}`,
      ...values,
    );
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

/** @throws Error if the row's table isn't shared in this release */
function partsOf(name: string): [table: SharedTable, ...values: string[]] {
  const [first, ...values] = name.split(":");
  const table = sharedTables.find((known) => known === first);
  if (table === undefined) throw new Error(`the row ${name} is of no table that this release shares`);
  return [table, ...values];
}

const isNamed = (table: SharedTable) =>
  accountTables[table].key.map((column) => `${column} = ?`).join(" AND ");
