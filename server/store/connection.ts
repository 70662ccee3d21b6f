import Database from "better-sqlite3";
import { DataError } from "../../engine/query.ts";
import { isNoRoom, NoRoom } from "./room.ts";

export function unusable(subject: string, reason: string): DataError {
  const expected = "a database that can be read and written; STATE_DIR may name another folder";
  return new DataError(subject, reason, expected);
}

export class Connection {
  readonly database: Database.Database;
  readonly #statements = new Map<string, Database.Statement<unknown[], unknown>>();
  /** Increases at least when this connection writes to accounts, keys or events. */
  ownChanges = 0;

  constructor(database: Database.Database) {
    this.database = database;
  }

  all<Row>(sql: string, ...values: unknown[]): Row[] {
    return this.#inWords(() => this.#prepare(sql).all(...values)) as Row[];
  }

  first<Row>(sql: string, ...values: unknown[]): Row | undefined {
    return this.#inWords(() => this.#prepare(sql).get(...values)) as Row | undefined;
  }

  /** Returns the row of a query that always has a row. */
  one<Row>(sql: string, ...values: unknown[]): Row {
    return this.all<Row>(sql, ...values)[0];
  }

  run(sql: string, ...values: unknown[]): Database.RunResult {
    return this.#inWords(() => this.#prepare(sql).run(...values));
  }

  /** Runs a statement that may write to accounts, keys or events. */
  change(sql: string, ...values: unknown[]): Database.RunResult {
    this.ownChanges++;
    return this.run(sql, ...values);
  }

  atomically<Result>(work: () => Result): Result {
    return this.#inWords(() => this.database.transaction(work).immediate());
  }

  soon<Result>(work: () => Result): Result {
    this.pragma("synchronous = NORMAL");
    try {
      return this.atomically(work);
    } finally {
      this.pragma("synchronous = FULL");
    }
  }

  pragma(source: string, options?: Database.PragmaOptions): unknown {
    return this.#inWords(() => this.database.pragma(source, options));
  }

  /** Makes SQLite's errors name the file. Errors of constraints stay as they are, because they are about rows. */
  #inWords<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Database.SqliteError) || error.code.startsWith("SQLITE_CONSTRAINT")) throw error;
      const subject = `state database ${this.database.name}`;
      if (error.message.startsWith(subject)) throw error;
      const { message } = isNoRoom(error) ? new NoRoom(subject) : unusable(subject, error.message);
      throw new Database.SqliteError(message, error.code);
    }
  }

  #prepare(sql: string): Database.Statement<unknown[], unknown> {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.database.prepare<unknown[], unknown>(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

export abstract class Table {
  protected readonly db: Connection;

  constructor(db: Connection) {
    this.db = db;
  }
}
