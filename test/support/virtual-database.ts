import { PGlite } from "@electric-sql/pglite";
import { installation } from "../../server/parts/postgres/schema.ts";

/** The servers' database in PostgreSQL as WebAssembly. */

/** The files of a database with the schema. To make them takes far longer than to read them. */
let template: Promise<File | Blob> | undefined;

async function makeTemplate(): Promise<File | Blob> {
  const database = await PGlite.create();
  await database.transaction(async (transaction) => {
    await transaction.exec(installation);
  });
  const files = await database.dumpDataDir("none");
  await database.close();
  return files;
}

/** Makes a database of its own with the schema. Its clock is real. */
export async function newDatabase(): Promise<PGlite> {
  template ??= makeTemplate();
  return PGlite.create({ loadDataDir: await template });
}

let common: Promise<PGlite> | undefined;

/** The database that the test files of one process share, because each takes 0.6 s to make. It ends with the process. */
export function commonDatabase(): Promise<PGlite> {
  common ??= newDatabase();
  return common;
}

/** A database with the schema and with a clock that tests set. */
export class VirtualDatabase {
  readonly #database: PGlite;

  private constructor(database: PGlite) {
    this.#database = database;
  }

  static async create(): Promise<VirtualDatabase> {
    const database = await newDatabase();
    // A function of the first schema in the path takes the place of PostgreSQL's own.
    await database.exec(`CREATE SCHEMA virtual; CREATE TABLE virtual.clock (now timestamptz);
      INSERT INTO virtual.clock VALUES (now());
      CREATE FUNCTION virtual.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT now FROM virtual.clock';
      SET search_path = virtual, pg_catalog, public; SET timezone = 'UTC'`);
    return new VirtualDatabase(database);
  }

  async query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#database.query<Row>(text, [...values])).rows;
  }

  async setClock(wallMs: number): Promise<void> {
    await this.query("UPDATE virtual.clock SET now = $1::timestamptz", [new Date(wallMs).toISOString()]);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
