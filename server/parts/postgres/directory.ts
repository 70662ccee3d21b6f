import { randomUUID } from "node:crypto";
import { DatabaseError } from "pg";
import { DataError } from "../../../engine/query.ts";
import type { PartContext } from "../../part.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import type { Position, Row, Store } from "../../store/store.ts";
import type { Database } from "./connection.ts";

/** Keeps a local copy of PostgreSQL's directory: accounts, keys, events and so on. Reads changes, and makes changes. */

const rowsPerPage = 1000;
const maxTries = 100;
/** Maximum attempts to send the same change while the database doesn't answer. */
const maxAsks = 5;

export interface ImportedUse {
  months: { account: number; month: number; used: number; used_before: number }[];
  days: { account: number; day: string; used: number }[];
}

interface PageRow {
  newest: string | null;
  newest_id: string | null;
  /** The id of the database's change with the copy's version number. */
  own_id: string | null;
  name: string | null;
  version: string;
  content: string | null;
}

export class SharedDirectory {
  readonly #store: Store;
  readonly #database: Pick<Database, "query">;
  readonly #withRoom: PartContext["withRoom"];
  /** Whether the database has changes that couldn't be written to the copy. */
  isBehind = false;
  /** Resolves when the newest read or change has ended. Reads and changes run in turn. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Called when rows were written to the copy. */
  onRead: () => void = () => {};

  /** @param withRoom runs work that writes to the copy. A server makes room for it: a change may revoke a key */
  constructor(store: Store, database: Pick<Database, "query">, withRoom: PartContext["withRoom"]) {
    this.#store = store;
    this.#database = database;
    this.#withRoom = withRoom;
  }

  /** 0 as long as nothing was read. */
  get version(): number {
    return this.#store.directory.position()?.version ?? 0;
  }

  /**
   * Reads changed rows into the copy.
   * @throws the errors of `Database.query`, and Error when the copy can't be written
   * @throws StateUnavailable while a backup seems to be restored
   * @throws DataError when an operator has to change something
   */
  read(): Promise<void> {
    return this.#inTurn(() => this.#read());
  }

  /**
   * Runs work on the copy, makes the changes in the database, and reads them back. If another server makes a change at the
   * same time, the work may run again.
   * @param useOf returns the use of accounts that the work has imported
   * @throws StateUnavailable when the change can't be made or read back now, or it isn't known whether it was made;
   *   otherwise the errors of `work` and `read`
   */
  change<Result>(work: () => Result, useOf?: (result: Result) => ImportedUse | undefined): Promise<Result> {
    return this.#inTurn(async () => {
      for (let tries = 0; tries < maxTries; tries++) {
        await this.#read();
        const { result, rows } = this.#store.directory.rehearse(work);
        if (rows.length === 0) return result;
        if (!(await this.#write(rows, useOf?.(result)))) continue;
        await this.#read();
        return result;
      }
      throw new StateUnavailable("too many concurrent changes of accounts");
    });
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** @returns false if the change wasn't made and has to be tried again */
  async #write(rows: readonly Row[], use: ImportedUse | undefined): Promise<boolean> {
    const { version, id: before } = this.#store.directory.position() ?? { version: 0, id: null };
    const values = [
      version,
      before,
      randomUUID(),
      rows.map(({ name }) => name),
      rows.map(({ content }) => content),
      use === undefined ? null : JSON.stringify(use),
    ];
    // A lost answer doesn't say whether the change was made. A repeated call with the same id doesn't make it again.
    for (let asks = 1; ; asks++)
      try {
        const sql = "SELECT hcqs.change($1, $2, $3, $4, $5, $6) AS version";
        const [made] = await this.#database.query<{ version: string | null }>(sql, values);
        return made.version !== null;
      } catch (error) {
        // A change that waited too long for another change is cancelled and undone.
        if (error instanceof DatabaseError && /^(57014|40)/.test(error.code ?? "")) return false;
        if (!(error instanceof StateUnavailable)) throw error;
        if (asks === maxAsks)
          throw new StateUnavailable(`${error.message}: it isn't known whether the change is stored`);
      }
  }

  async #read(): Promise<void> {
    const position = this.#store.directory.position();
    if (position === undefined && this.#store.accounts.exist()) throw ownAccounts();
    const own = position?.version ?? 0;
    const first = await this.#page(own, own + 1, "");
    const [{ newest, own_id }] = first;
    if (newest === null && position !== undefined) throw emptied();
    if (newest === null) return;
    // After a restore, the database has another history than this copy.
    const isRestored = position !== undefined && own_id !== position.id;
    if (!isRestored && Number(newest) === own) return;
    const { rows, end } = await this.#rest(own, isRestored ? await this.#page(own, 0, "") : first);
    this.isBehind = true;
    const copy = this.#store.directory;
    if (isRestored) {
      this.#withRoom(() => copy.withdraw(rows, new Date()));
      this.onRead();
      this.#withRoom(() => copy.replace(rows, end));
    } else this.#withRoom(() => copy.take(rows, end));
    this.isBehind = false;
    this.onRead();
  }

  /** Reads all further pages. Later versions of a row replace earlier versions, so all rows are as of the last page. */
  async #rest(own: number, first: PageRow[]): Promise<{ rows: Row[]; end: Position }> {
    const rows = new Map<string, Row>();
    let page = first;
    let last = page.at(-1);
    for (;;) {
      const found = page.filter(({ name }) => name !== null);
      for (const { name, content } of found) if (name !== null) rows.set(name, { name, content });
      last = found.at(-1) ?? last;
      if (last === undefined || found.length < rowsPerPage) break;
      page = await this.#page(own, Number(last.version), last.name ?? "");
    }
    const [{ newest, newest_id }] = page;
    if (newest === null || newest_id === null) throw emptied();
    // Each change has rows. While a backup is restored, the rows may come after the change.
    if (last?.version !== newest)
      throw new StateUnavailable("the newest change has no rows: is a backup being restored?");
    return { rows: [...rows.values()], end: { version: Number(newest), id: newest_id } };
  }

  /**
   * Reads a page of rows. Each row also tells the database's newest version. An empty page is returned as one row whose
   * `name` is null.
   */
  #page(own: number, version: number, name: string): Promise<PageRow[]> {
    return this.#database.query<PageRow>(
      `SELECT c.version AS newest, c.id AS newest_id, (SELECT id FROM hcqs.changes WHERE version = $1) AS own_id,
        r.name, r.version, r.content
        FROM (SELECT 1) AS one
        LEFT JOIN (SELECT version, id FROM hcqs.changes ORDER BY version DESC LIMIT 1) AS c ON true
        LEFT JOIN (SELECT name, version, content FROM hcqs.rows WHERE (version, name) > ($2, $3)
          ORDER BY version, name LIMIT ${rowsPerPage}) AS r ON true
        ORDER BY r.version, r.name`,
      [own, version, name],
    );
  }
}

const emptied = () =>
  new DataError(
    "DATABASE_URL",
    "an empty database, though this server has a copy of shared accounts",
    "the database of those accounts, restored from a backup if it was lost; to begin anew, use an empty STATE_DIR",
  );

const ownAccounts = () =>
  new DataError(
    "STATE_DIR",
    "accounts of its own, which the database of DATABASE_URL doesn't have",
    "an empty STATE_DIR: move the accounts by accounts export without DATABASE_URL, and accounts import with it",
  );
