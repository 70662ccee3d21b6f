import { randomBytes } from "node:crypto";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { DataError, reasonOf } from "../../../engine/query.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import type { Row } from "../../store/directory.ts";
import type { Position, Store, TakenRow } from "../../store/store.ts";
import { notRedis, type ScriptClient, scriptIn } from "./redis.ts";

/** Keeps a copy of the accounts, keys and events in Redis: reads changes from Redis, and writes changes to it. */

const maxRowsPerCall = 1000;
/** Minimum rows to apply in a slice. Whole accounts are applied, and between slices the thread does other work. */
const maxRowsPerSlice = 200;
/** Maximum tries of a change. A try fails if another server has written, or while servers resend lost rows. */
const maxTries = 100;
const checkMs = 1000;
/** Milliseconds from a server's first read in which servers resend lost rows. Servers reconnect in less time. */
const learningMs = 2000;
const askSettledMs = 50;

const script = scriptIn("directory.lua");
/** Redis keys with the same hash tag. So a Cluster keeps them on one node. */
const keys = ["rows", "names"].map((name) => `hc:{directory}:${name}`);

type ReadAnswer = [
  epoch: string,
  version: number,
  /** The version up to which the answer has all changed rows. If it is below `version`, there are more rows. */
  upTo: number,
  rows: [version: number, name: string, content: string][],
  life: string,
  /** 1 if servers have had time to resend lost rows, or have no rows to resend; else 0. */
  isSettled: number,
];

/** Matches Redis' errors for keys that have another form than the script expects. */
const isBroken = /^WRONGTYPE|user_script:\d+: /;

export class Directory {
  readonly #store: Store;
  readonly #client: ScriptClient;
  readonly #isServer: boolean;
  readonly #learningMs: number;
  #isSettled = true;
  /** Resolves when the newest read or change has ended. Reads and changes run in turn. */
  #turn: Promise<unknown> = Promise.resolve();
  #reading: Promise<void> | undefined;
  /** When this copy last equalled Redis, by `performance.now()`; 0 until the first read. */
  #syncedMs = 0;
  #checkedMs = Number.NEGATIVE_INFINITY;
  /** Called with each slice of rows after it was written to this copy. An empty slice comes last. */
  onTaken: (rows: readonly TakenRow[]) => void = () => {};

  /**
   * @param isServer whether the copy is a server's, which can restore rows that Redis loses; false for a command's copy
   * @param ms milliseconds that servers have to resend rows that Redis may have lost
   */
  constructor(store: Store, client: ScriptClient, isServer: boolean, ms = learningMs) {
    this.#store = store;
    this.#client = client;
    this.#isServer = isServer;
    this.#learningMs = ms;
  }

  /** Whether this database isn't a copy of Redis, because Redis had no accounts or wasn't read. */
  get isNew(): boolean {
    return !this.#store.directory.isCopy;
  }

  /** Whether this copy has accounts that were neither read from Redis nor written to it. */
  get isApart(): boolean {
    return this.isNew && this.#store.accounts.exist();
  }

  /** Whether this copy has no accounts because Redis hasn't been read yet. */
  get isUnread(): boolean {
    return this.#syncedMs === 0 && !this.#store.accounts.exist();
  }

  /** Waits until servers have resent rows that Redis may have lost. @returns false if they haven't in some seconds */
  settle(): Promise<boolean> {
    return this.#inTurn(async () => {
      for (let tries = 0; tries < maxTries; tries++) {
        await this.#read();
        if (this.#isSettled) return true;
        await delay(askSettledMs);
      }
      return false;
    });
  }

  /** Milliseconds since this copy last equalled Redis; before the first read, since the process started. */
  syncAgeMs(nowMs: number): number {
    return nowMs - this.#syncedMs;
  }

  /**
   * Reads changed rows into this copy.
   * @throws StateUnavailable when Redis doesn't answer
   * @throws DataError when Redis has other accounts than this copy, or something else in the directory's place
   */
  read(): Promise<void> {
    this.#reading ??= this.#inTurn(async () => {
      this.#reading = undefined;
      const nowMs = performance.now();
      await this.#read();
      this.#syncedMs = nowMs;
    });
    return this.#reading;
  }

  /**
   * Runs work on the copy, writes the changes to Redis, and reads them back. If Redis refuses the changes, because
   * another server has written in between or servers resend lost rows, the work runs again.
   * @param prepare called with the changed rows before they are written to Redis
   * @throws StateUnavailable when Redis doesn't answer, or doesn't accept the changes in `maxTries` tries
   * @throws DataError when Redis has other accounts than this copy
   */
  change<Result>(work: () => Result, prepare?: (rows: readonly Row[]) => Promise<void>): Promise<Result> {
    return this.#inTurn(async () => {
      for (let tries = 0; tries < maxTries; tries++) {
        const { epoch, version } = this.#store.directory.position();
        const { result, rows } = this.#store.directory.rehearse(work);
        if (rows.length === 0) return result;
        await prepare?.(rows);
        const isDone = await this.#write(epoch, version, rows, false).catch((error) => {
          // If the error has a code, such as OOM, Redis has refused the change.
          if (error instanceof DataError || /^[A-Z]+ /.test(reasonOf(error))) throw error;
          throw new StateUnavailable(`${reasonOf(error)}: it isn't known whether the change is stored`);
        });
        await this.#read();
        if (isDone) return result;
        if (!this.#isSettled) await delay(askSettledMs);
      }
      if (!this.#isSettled) throw notSettled();
      throw new StateUnavailable("too many concurrent changes of accounts");
    });
  }

  /** Makes the next call check whether Redis was restarted. Call it for each new connection. */
  check(): void {
    this.#checkedMs = Number.NEGATIVE_INFINITY;
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #read(): Promise<void> {
    const before = this.#store.directory.position();
    let [epoch, version, upTo, rows, life] = await this.#page(before, before.version);
    if (epoch === "" && this.isApart) {
      if (await this.#write("", 0, this.#store.directory.rows(), true)) await this.#read();
      return;
    }
    if (epoch !== "" && before.epoch !== "" && epoch !== before.epoch) throw otherAccounts();
    if (before.epoch !== "" && before.life !== life) {
      // Redis may have lost rows: it was restarted, or a primary died before its replicas had all rows.
      await this.#restore(before);
      this.#store.directory.take([], { ...before, life });
      return this.#read();
    }
    if (epoch === before.epoch && version === before.version) return;
    const all = new RowsByAccount();
    all.add(rows);
    while (upTo < version) {
      [epoch, version, upTo, rows] = await this.#page(before, upTo);
      all.add(rows);
    }
    // Without an epoch Redis has at most the rest of a lost directory, which isn't applied.
    if (epoch === "") return;
    if (this.isApart) this.#checkOwn(all);
    for (const slice of all.slices()) {
      this.#store.directory.take(slice);
      this.onTaken(slice);
      await nextTurn();
    }
    this.#store.directory.take([], { epoch, version, life });
    this.onTaken([]);
  }

  /** @throws DataError when Redis lacks an account or a key of this database, or has it with other content */
  #checkOwn(all: RowsByAccount): void {
    const own = this.#store.directory.rows().filter(({ name }) => /^(accounts|keys):/.test(name));
    const there = new Map([...all.slices()].flat().map(({ name, content }) => [name, content]));
    if (own.some(({ name, content }) => there.get(name) !== content)) throw otherAccounts();
  }

  async #page({ version, life }: Position, from: number): Promise<ReadAnswer> {
    const values = [this.#isServer ? 1 : "", version, from, maxRowsPerCall, life, this.#learningMs];
    const answer = await this.#call<ReadAnswer>("read", ...values);
    if (!Array.isArray(answer[3])) throw notRedis();
    this.#isSettled = answer[5] === 1;
    return answer;
  }

  /** @returns false if Redis refused the rows, because another server has written or servers resend lost rows */
  async #write(epoch: string, version: number, rows: readonly Row[], isFounding: boolean): Promise<boolean> {
    const list = JSON.stringify(rows.flatMap(({ name, content }) => [name, content ?? ""]));
    const values = [epoch, version, randomBytes(9).toString("base64url"), list, isFounding ? 1 : 0];
    return (await this.#call<[isDone: number]>("write", ...values))[0] === 1;
  }

  /** Resends all rows. Redis takes rows that it lacks or has only in an older version. */
  async #restore({ epoch }: Position): Promise<void> {
    let rows = this.#store.directory.taken(0, maxRowsPerCall);
    do {
      const list = JSON.stringify(
        rows.flatMap(({ version, name, content }) => [version, name, content ?? ""]),
      );
      rows = this.#store.directory.taken(rows.at(-1)?.version ?? 0, maxRowsPerCall);
      const waitMs = rows.length > 0 ? this.#learningMs : 0;
      const [isDone] = await this.#call<[isDone: number]>("restore", epoch, list, waitMs);
      if (!isDone) throw otherAccounts();
    } while (rows.length > 0);
  }

  async #call<Answer>(...values: (string | number)[]): Promise<Answer> {
    const nowMs = performance.now();
    const isDue = nowMs >= this.#checkedMs + checkMs;
    if (isDue) this.#checkedMs = nowMs;
    try {
      const answer = await script(this.#client, keys, ...values, isDue ? "check" : "");
      if (!Array.isArray(answer)) throw notRedis();
      return answer as Answer;
    } catch (error) {
      this.check();
      if (!isBroken.test(reasonOf(error))) throw error;
      throw new DataError(
        "REDIS_URL",
        `keys under hc:{directory}:… that the servers didn't write (${reasonOf(error)})`,
        "only keys that the servers wrote; delete the others, and running servers write theirs again",
      );
    }
  }
}

class RowsByAccount {
  readonly #rows = new Map<string, TakenRow[]>();
  readonly #accountOfEvent = new Map<string, string>();

  add(rows: ReadAnswer[3]): void {
    for (const [version, name, content] of rows) {
      const account = this.#accountOf(name, content);
      const known = this.#rows.get(account) ?? [];
      known.push({ version, name, content: content || null });
      this.#rows.set(account, known);
    }
  }

  /**
   * Returns all rows of an account in the same slice: other rows refer to the account's own row, and imported requests
   * have to count as soon as the account exists. Rows without an account come last.
   */
  *slices(): Iterable<TakenRow[]> {
    let slice: TakenRow[] = [];
    const { "": others = [], ...accounts } = Object.fromEntries(this.#rows);
    for (const rows of [...Object.values(accounts), others]) {
      slice.push(...rows);
      if (slice.length < maxRowsPerSlice) continue;
      yield slice;
      slice = [];
    }
    yield slice;
  }

  #accountOf(name: string, content: string): string {
    const [table, id] = name.split(":");
    if (/^(accounts|imported|days)$/.test(table)) return id;
    if (table === "deliveries") return this.#accountOfEvent.get(id) ?? "";
    const account = /"account":(\d+)/.exec(content)?.[1] ?? "";
    if (table === "events") this.#accountOfEvent.set(id, account);
    return account;
  }
}

const otherAccounts = () =>
  new DataError(
    "REDIS_URL",
    "other accounts than those in STATE_DIR",
    "the same accounts, or an empty STATE_DIR; accounts export and accounts import move accounts. If Redis was emptied and a command then began a new set of accounts there, delete its keys hc:* and start this server first",
  );
const notSettled = () =>
  new StateUnavailable(
    "it was restarted or emptied, and no server has resent its data yet",
    "one to which a server has resent its data: start a server that used it before, or wait",
  );
