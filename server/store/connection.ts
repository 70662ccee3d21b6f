import Database from "better-sqlite3";
import { isNoRoom, NoRoom } from "./room.ts";

/** Runs SQL on the state database. */

export class Connection {
  readonly database: Database.Database;
  readonly #statements = new Map<string, Database.Statement<unknown[], unknown>>();
  /** Increases with each write to accounts, keys or events by this connection. */
  ownChanges = 0;

  constructor(database: Database.Database) {
    this.database = database;
  }

  all<Row>(sql: string, ...values: unknown[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  first<Row>(sql: string, ...values: unknown[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  /** Returns the row of a query that always has a row. */
  one<Row>(sql: string, ...values: unknown[]): Row {
    return this.all<Row>(sql, ...values)[0];
  }

  run(sql: string, ...values: unknown[]): Database.RunResult {
    return this.#inWords(() => this.#prepare(sql).run(...values));
  }

  /** Runs a statement that writes to accounts, keys or events, and counts the write in `ownChanges`. */
  change(sql: string, ...values: unknown[]): Database.RunResult {
    this.ownChanges++;
    return this.run(sql, ...values);
  }

  /** Runs work in a transaction. If the work throws, nothing is written. */
  atomically<Result>(work: () => Result): Result {
    return this.#inWords(() => this.database.transaction(work).immediate());
  }

  pragma(source: string): unknown {
    return this.#inWords(() => this.database.pragma(source));
  }

  /** Runs work. If the disk is full, SQLite's error gets a message that names the file and says what to do. */
  #inWords<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Database.SqliteError) || !isNoRoom(error)) throw error;
      throw new Database.SqliteError(new NoRoom(`state database ${this.database.name}`).message, error.code);
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
