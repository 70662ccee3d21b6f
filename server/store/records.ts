import { closeSync, openSync, readSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import { DataError, fileReasonOf } from "../../engine/query.ts";
import { Table } from "./connection.ts";
import { begin, databaseInMemory } from "./database.ts";
import { accountTables, type MovedTable, movedTables, nextChange, schemaVersion } from "./schema.ts";

/** Reads and writes rows of accounts, for exports and imports. An export is a database with the state's schema. */

export type MovedRow = Record<string, unknown>;

const [magic, headBytes] = ["SQLite format 3\0", 20];

function columnsOf(database: Database.Database, table: MovedTable): string[] {
  const { moved } = accountTables[table];
  if (moved !== "all") return [...moved];
  const sql = "SELECT name FROM pragma_table_info(?, 'main') WHERE name <> 'changed'";
  return database.prepare<[string], string>(sql).pluck().all(table);
}

export class AccountRecords extends Table {
  /** Writes what is exported of all accounts into an empty file. @throws SqliteError */
  copyTo(file: string): void {
    const copy = new Database(file);
    try {
      begin(copy);
      copy.transaction(() => {
        copy.pragma("defer_foreign_keys = ON");
        for (const table of movedTables) {
          const columns = columnsOf(copy, table);
          if (accountTables[table].isCounted) columns.push("changed");
          const values = columns.map(() => "?").join(", ");
          const insert = copy.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${values})`);
          const left = table === "accounts" ? "name" : columns[0];
          const rows = `SELECT ${columns.join(", ")} FROM ${table} WHERE ${left} IS NOT NULL`;
          for (const row of this.db.database.prepare<[], unknown[]>(rows).raw().iterate()) insert.run(row);
        }
      })();
    } finally {
      copy.close();
    }
  }

  count(table: Exclude<MovedTable, "accounts" | "deliveries">, account: number): number {
    return this.db.one<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE account = ?`, account).n;
  }

  deferReferences(): void {
    this.db.database.pragma("defer_foreign_keys = ON");
  }

  /** @throws SqliteError if a constraint forbids the row */
  insert(table: MovedTable, row: MovedRow): void {
    const columns = Object.keys(row);
    const values = columns.map((column) => `@${column}`);
    if (accountTables[table].isCounted) {
      columns.push("changed");
      values.push(nextChange);
    }
    this.db.change(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${values.join(", ")})`, row);
  }
}

/**
 * Reads the rows of an export or a backup, table by table. Runs no view or trigger of the file.
 * @param take gets each row with the values of the file, whatever their types
 * @throws DataError when the file can't be read as an export or a backup of this version
 */
export function readRows(file: string, take: (table: MovedTable, row: MovedRow) => void): void {
  let database: Database.Database | undefined;
  const model = databaseInMemory();
  try {
    checkHead(file);
    database = new Database(file, { readonly: true, fileMustExist: true });
    database.pragma("trusted_schema = OFF");
    checkContent(file, database);
    for (const table of movedTables) {
      const columns = columnsOf(model, table);
      checkTable(file, database, table, columns);
      // The query uses no indexes, so that all columns of a row come from the table.
      const rows = database.prepare<[], MovedRow>(
        `SELECT ${columns.join(", ")} FROM main.${table} NOT INDEXED`,
      );
      for (const row of rows.iterate()) take(table, row);
    }
  } catch (error) {
    if (error instanceof DataError) throw error;
    const isDamage = error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
    throw unfit(file, isDamage ? `damage (${error.message})` : fileReasonOf(error));
  } finally {
    database?.close();
    model.close();
  }
}

const unfit = (file: string, found: string, expected = "the output of accounts export or state backup") =>
  new DataError(`file ${file}`, found, expected);

/** Checks the kind of a file before SQLite opens it, because opening a FIFO would wait for its writer. */
function checkHead(file: string): void {
  const stat = statSync(file);
  if (!stat.isFile())
    throw unfit(file, stat.isDirectory() ? "a folder" : "something that isn't a regular file");
  const head = headOf(file);
  if (head.length === 0) throw unfit(file, "an empty file");
  if (!head.toString("latin1").startsWith(magic)) throw unfit(file, "no SQLite database");
  // The read version of the file format: https://www.sqlite.org/fileformat2.html. Rows may be in a log beside the file.
  if (head[19] === 2) throw unfit(file, "a database with a write-ahead log, as a server has it open");
}

function headOf(file: string): Buffer {
  const head = Buffer.alloc(headBytes);
  const descriptor = openSync(file, "r");
  try {
    return head.subarray(0, readSync(descriptor, head));
  } finally {
    closeSync(descriptor);
  }
}

function checkContent(file: string, database: Database.Database): void {
  const version = Number(database.pragma("user_version", { simple: true }));
  if (version === 0) throw unfit(file, "a database without a schema of this service");
  if (version !== schemaVersion)
    throw unfit(
      file,
      `schema version ${version}`,
      `schema version ${schemaVersion}: import the file with the release that wrote it, or a later one`,
    );
  const check = database.pragma("quick_check(1)", { simple: true });
  if (check !== "ok") throw unfit(file, `damage (${String(check).split("\n").at(-1)})`);
}

function checkTable(file: string, database: Database.Database, table: string, columns: string[]): void {
  // Virtual tables have no root page.
  const sql = "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ? AND rootpage > 0";
  if (database.prepare(sql).get(table) === undefined) throw unfit(file, `no table ${table}`);
  const names = "SELECT name FROM pragma_table_info(?, 'main')";
  const found = database.prepare<[string], string>(names).pluck().all(table);
  const missing = columns.find((column) => !found.includes(column));
  if (missing !== undefined) throw unfit(file, `no column ${missing} in the table ${table}`);
}
