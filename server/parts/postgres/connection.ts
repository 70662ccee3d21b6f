import { Client, DatabaseError } from "pg";
import { DataError, reasonOf } from "../../../engine/query.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import { installation, schemaVersion } from "./schema.ts";

/** Connects to PostgreSQL. A connection that fails is replaced by the next query. */

/**
 * Maximum milliseconds until a connection is open, and for the answer to each query. The database cancels a statement
 * earlier.
 */
const maxAnswerMs = 2000;
const maxStatementMs = 1000;
/**
 * Maximum milliseconds until a host may be tried again after a failure. After a try without an answer, the maximum is
 * `maxHangingPauseMs`, because hanging backends pile up.
 */
const maxPauseMs = 1000;
const maxHangingPauseMs = 30_000;
const minPauseMs = 250;

const noAnswer = "no answer";
/** Error codes of faults that may pass: no connection, too few resources, a standby, or a server that starts or stops. */
const passing = /^(08|53|57P0[1-3]|25006)/;

interface Host {
  readonly url: string;
  /** Failed tries to connect since the last success. */
  failures: number;
  nextTryMs: number;
}

export class Database {
  readonly #hosts: readonly Host[];
  #client: Client | undefined;
  #connecting: Promise<Client> | undefined;
  #isClosed = false;
  #fault: Unusable | undefined;

  readonly #mayInstall: () => boolean;

  /**
   * @param urls one URL for each host; the hosts are tried in turn
   * @param mayInstall whether the tables are to be made in a database without them
   */
  constructor(urls: readonly string[], mayInstall: () => boolean) {
    this.#mayInstall = mayInstall;
    this.#hosts = urls.map((url) => ({ url, failures: 0, nextTryMs: Number.NEGATIVE_INFINITY }));
  }

  /**
   * Runs a query. Queries are sent without waiting for the answers to earlier queries.
   * @returns the rows
   * @throws StateUnavailable after a fault that may pass; a change may have been made
   * @throws DatabaseError when the database refuses the query
   * @throws DataError when the database can't be used until an operator changes something
   */
  async query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = this.#client ?? (await this.#connect());
    try {
      const answer = client.query({ text, values: [...values] });
      return (await inTime(answer)).rows as Row[];
    } catch (error) {
      if (error instanceof DatabaseError && !passing.test(error.code ?? "")) throw error;
      this.#drop(client);
      throw new StateUnavailable(reasonOf(error));
    }
  }

  async #connect(): Promise<Client> {
    if (this.#isClosed) throw new StateUnavailable("the connection is closed");
    if (this.#connecting !== undefined) return this.#connecting;
    const nowMs = performance.now();
    const due = this.#hosts.filter(({ nextTryMs }) => nextTryMs <= nowMs);
    if (this.#fault !== undefined && due.length === 0) throw this.#fault.error;
    this.#connecting = this.#try(due).finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #try(hosts: readonly Host[]): Promise<Client> {
    const faults: Unusable[] = [];
    for (const host of hosts)
      try {
        const client = await open(host.url, this.#mayInstall());
        client.once("end", () => this.#drop(client));
        this.#client = client;
        host.failures = 0;
        this.#fault = undefined;
        if (this.#isClosed) this.#drop(client);
        return client;
      } catch (error) {
        if (!(error instanceof Unusable)) throw error;
        faults.push(error);
        // A host that hangs gets longer pauses, so that other hosts rarely wait for it.
        const mostMs = error.message === noAnswer ? maxHangingPauseMs : maxPauseMs;
        host.nextTryMs = performance.now() + Math.min(mostMs, minPauseMs * 2 ** host.failures++);
      }
    // A lasting fault, such as a wrong password, is reported rather than the fault of a host that is away.
    this.#fault = faults.find(({ isLasting }) => isLasting) ?? faults[0];
    throw this.#fault.error;
  }

  #drop(client: Client): void {
    if (this.#client === client) this.#client = undefined;
    // `end` would wait for an answer to what was sent.
    client.connection.stream.destroy();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#client !== undefined) this.#drop(this.#client);
  }
}

class Unusable extends Error {
  readonly isLasting: boolean;
  readonly error: Error;

  constructor(place: string, found: string, expected: string, isLasting: boolean) {
    super(found);
    this.isLasting = isLasting;
    this.error = isLasting
      ? new DataError("DATABASE_URL", `a database that can't be used (${place}: ${found})`, expected)
      : new StateUnavailable(`${place}: ${found}`, expected);
  }
}

async function inTime<Result>(answer: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new StateUnavailable(noAnswer)), maxAnswerMs);
  // A failure after the time limit is ignored.
  answer.catch(() => {});
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The modes for an `sslmode`, as in libpq: the second is tried if the first is refused. Other modes are tried alone. */
const modesOf: Record<string, readonly string[]> = {
  allow: ["disable", "require"],
  prefer: ["require", "disable"],
};

/** @throws Unusable */
async function open(url: string, mayInstall: boolean): Promise<Client> {
  const asked = new URL(url);
  const place = `${asked.hostname}:${asked.port || 5432}`;
  const mode = asked.searchParams.get("sslmode") ?? "prefer";
  const [first, second] = modesOf[mode] ?? [mode];
  try {
    try {
      return await openBy(asked, first, place, mayInstall);
    } catch (error) {
      const isRefused = error instanceof DatabaseError && error.code === "28000";
      if (second === undefined || !(isRefused || isAboutTls(error))) throw error;
      return await openBy(asked, second, place, mayInstall);
    }
  } catch (error) {
    throw error instanceof Unusable ? error : inWords(error, place);
  }
}

async function openBy(asked: URL, mode: string, place: string, mayInstall: boolean): Promise<Client> {
  const url = new URL(asked);
  url.searchParams.set("sslmode", mode);
  // Without this parameter, `pg` reads modes differently from libpq.
  url.searchParams.set("uselibpqcompat", "true");
  const client = new Client({
    connectionString: url.href,
    application_name: "hcqs",
    keepAlive: true,
    pipeline: true,
  });
  // An error ends the connection. The next query makes a new connection.
  client.on("error", () => {});
  try {
    await inTime(client.connect());
    // Time-outs aren't given as startup parameters, because PgBouncer refuses those.
    const [state] = (
      await inTime(
        client.query<{ is_standby: boolean; is_read_only: boolean }>(
          `SELECT set_config('statement_timeout', '${maxStatementMs}', false), pg_is_in_recovery() AS is_standby,
            current_setting('transaction_read_only') = 'on' AS is_read_only`,
        ),
      )
    ).rows;
    if (state.is_standby || state.is_read_only)
      throw new Unusable(
        place,
        state.is_standby ? "it is a standby" : "it is read-only",
        "the primary: name all hosts in DATABASE_URL, with commas between them",
        false,
      );
    await prepare(client, place, mayInstall);
    return client;
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  }
}

/** SQL that tells whether the listed tables exist, and whether the user may read and write them. */
const mayWrite = `SELECT bool_and(t IS NOT NULL) AS is_whole,
    bool_and(has_table_privilege(t, 'SELECT') AND has_table_privilege(t, 'INSERT')
      AND has_table_privilege(t, 'UPDATE') AND has_table_privilege(t, 'DELETE')) AS is_allowed
  FROM unnest(ARRAY['changes', 'rows', 'limits', 'days', 'turns']) AS name, to_regclass(format('hcqs.%s', name)) AS t`;

/** Checks the schema. Makes it if there is none and `mayInstall` is set. */
async function prepare(client: Client, place: string, mayInstall: boolean): Promise<void> {
  const versionOf = async () => {
    const is = await inTime(client.query("SELECT to_regclass('hcqs.installed') IS NOT NULL AS there"));
    if (!is.rows[0].there) return undefined;
    const { rows } = await inTime(client.query("SELECT max(schema_version) AS newest FROM hcqs.installed"));
    return Number(rows[0].newest);
  };
  let version = await versionOf();
  // Tables made here would be in the way of somebody who restores a backup.
  if (version === undefined && !mayInstall)
    throw new Unusable(
      place,
      "it is empty, though this server has a copy of shared accounts",
      "the database of those accounts, restored from a backup if it was lost; to begin anew, use an empty STATE_DIR",
      true,
    );
  if (version === undefined) {
    await inTime(client.query(installation));
    version = await versionOf();
  }
  if (version === schemaVersion) {
    const [{ is_whole, is_allowed }] = (
      await inTime(client.query<{ is_whole: boolean; is_allowed: boolean }>(mayWrite))
    ).rows;
    if (!is_whole) throw incomplete(place);
    if (is_allowed) return;
    const rights = "SELECT, INSERT, UPDATE and DELETE on the tables of the schema hcqs";
    throw new Unusable(place, "the user may not change the tables", rights, true);
  }
  if (version === 0) throw incomplete(place);
  throw new Unusable(
    place,
    `schema version ${version}`,
    `schema version ${schemaVersion}: stop all servers, start one of the newer release, then the others`,
    true,
  );
}

const incomplete = (place: string) =>
  new Unusable(place, "its schema hcqs isn't complete", "a backup that is restored whole", false);

/** What is expected, by a pattern of an error's code and message. */
const refusals: readonly (readonly [pattern: RegExp, expected: string])[] = [
  [/^28| SASL/, "a user and password that the database accepts"],
  [/^3D/, "the name of a database that exists"],
  [/^42501/, "a user that may create the schema hcqs, or that owns it"],
  [/^53300/, "a free connection: raise max_connections, two are needed for each server"],
  [/^57P03/, "a database that has started"],
  [/, open '/, "files of certificates that this program can read"],
  [/SSL|certificate|TLS/i, "a connection with TLS as sslmode and sslrootcert in DATABASE_URL ask for it"],
];

const isAboutTls = (error: unknown) =>
  !(error instanceof DatabaseError) && /SSL|certificate|TLS/i.test(reasonOf(error));

function inWords(error: unknown, place: string): Unusable {
  const reason = reasonOf(error);
  const code = error instanceof DatabaseError ? (error.code ?? "") : "";
  const known = refusals.find(([pattern]) => pattern.test(`${code} ${reason}`));
  return new Unusable(
    place,
    reason,
    known?.[1] ?? "a database that answers: see that it runs and can be reached from here",
    (known !== undefined || code !== "") && !passing.test(code),
  );
}
