import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { DataError, reasonOf } from "../../../engine/query.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import type { Position, Store, TakenRow } from "../../store/store.ts";
import { notRedis, type ScriptClient, scriptIn } from "./redis.ts";

/** A copy of the accounts, keys and events in Redis: reads what changes there, and changes it. */

const maxRowsPerCall = 1000;
/** Maximum tries of a change that conflicts with other servers' changes. */
const maxTries = 100;
/** Interval between checks whether Redis was restarted. */
const checkMs = 1000;
/**
 * Milliseconds that servers have to report what Redis may have lost, counted from the first one; reconnecting takes
 * less.
 */
const learningMs = 2000;
/** Maximum wait of a change for those reports. */
const maxSettleMs = 6000;
const askSettledMs = 50;

const script = scriptIn("directory.lua");
/** Keys with one hash tag, so that a Cluster keeps them together. */
const keys = ["meta", "rows", "names", "origins"].map((name) => `hc:{directory}:${name}`);

type ReadAnswer = [
  epoch: string,
  version: number,
  /** The version of the last row returned. If it is below the current version, there are more rows. */
  upTo: number,
  rows: [version: number, name: string, content: string][],
  life: string,
  lastLife: string,
  /** Rows that Redis kept from before its restart, up to this version. */
  kept: number,
  state: State,
];
/** Whether servers have reported what Redis may have lost: 0 yes, 1 in progress, 2 no server is there. */
type State = 0 | 1 | 2;
type WriteAnswer = [isDone: number, version: number, state: State];

/** Redis' error for keys that don't have the script's form. */
const isBroken = /^WRONGTYPE|user_script:\d+: /;

export class Directory {
  readonly #store: Store;
  readonly #client: ScriptClient;
  readonly #isServer: boolean;
  readonly #learningMs: number;
  #state: State = 0;
  /** Since when servers have been reporting what Redis lost. */
  #unsettledMs: number | undefined;
  /** The calls run one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #reading: Promise<void> | undefined;
  /** When this copy last equalled Redis; before the first time, when the process started. */
  #syncedMs = 0;
  #checkedMs = Number.NEGATIVE_INFINITY;
  /** Whether this database's counts are in use, so that imported ones can't be subtracted from them. */
  isServing = false;
  /** Applies rows that are new in this copy. */
  onTaken: (rows: readonly TakenRow[]) => void = () => {};

  /**
   * @param isServer whether a server reads, whose copy outlives Redis; not a command
   * @param ms milliseconds that servers have to report what Redis may have lost
   */
  constructor(store: Store, client: ScriptClient, isServer: boolean, ms = learningMs) {
    this.#store = store;
    this.#client = client;
    this.#isServer = isServer;
    this.#learningMs = ms;
  }

  /** Whether Redis has no accounts, as of the last read. */
  get isNew(): boolean {
    return !this.#store.directory.isCopy;
  }

  /** Whether this copy has accounts that neither came from Redis nor were brought there. */
  get isApart(): boolean {
    return this.isNew && this.#store.accounts.exist();
  }

  /** Whether this copy has nothing, because Redis hasn't been read yet. */
  get isUnread(): boolean {
    return this.#syncedMs === 0 && !this.#store.accounts.exist();
  }

  /** Whether Redis was restarted or emptied, and no server has reported since what it may have lost. */
  get isUnconfirmed(): boolean {
    return this.#state === 2;
  }

  /** Waits, up to a limit, until servers have reported what Redis may have lost. */
  settle(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#read();
      while (this.#state > 0 && !this.#hasWaited()) {
        await delay(askSettledMs);
        await this.#read();
      }
    });
  }

  /** Milliseconds since this copy last equalled Redis, or since the process started. */
  syncAgeMs(nowMs: number): number {
    return nowMs - this.#syncedMs;
  }

  /**
   * Reads what changed.
   * @throws StateUnavailable when Redis doesn't answer
   * @throws DataError when Redis has other accounts than this copy
   */
  read(): Promise<void> {
    // Calls that wait share one read.
    this.#reading ??= this.#inTurn(async () => {
      this.#reading = undefined;
      const nowMs = performance.now();
      await this.#read();
      this.#syncedMs = nowMs;
    });
    return this.#reading;
  }

  /**
   * Runs work on the copy, writes its changes to Redis, and reads them back. The work runs again where another server
   * was faster.
   * @throws StateUnavailable when Redis doesn't answer
   */
  async change<Result>(work: () => Result): Promise<Result> {
    return this.#inTurn(async () => {
      for (let tries = 0; tries < maxTries; ) {
        const { epoch, version } = this.#store.directory.position();
        const { result, rows } = this.#store.directory.rehearse(work);
        if (rows.length === 0) return result;
        const contents = rows.flatMap(({ name, content }) => [name, content ?? ""]);
        const list = JSON.stringify(contents);
        const [isDone, , state] = await this.#write(epoch, version, list);
        await this.#read();
        if (isDone) return result;
        if (state === 0) tries++;
        else if (this.#hasWaited()) throw notSettled();
        else await delay(askSettledMs);
      }
      throw new StateUnavailable("too many concurrent changes of accounts");
    });
  }

  /** Makes the next call check whether Redis was restarted. Call it for each new connection. */
  check(): void {
    this.#checkedMs = Number.NEGATIVE_INFINITY;
  }

  #hasWaited(): boolean {
    return this.#unsettledMs !== undefined && performance.now() > this.#unsettledMs + maxSettleMs;
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #read(): Promise<void> {
    const before = this.#store.directory.position();
    let [epoch, version, upTo, rows, life, lastLife, kept] = await this.#page(before, before.version);
    if (before.epoch === "" && this.#store.accounts.exist() && epoch === "") return this.#begin();
    if (epoch !== "" && before.epoch !== "" && epoch !== before.epoch) throw otherAccounts();
    if (before.epoch !== "" && before.life !== life) {
      // Redis started empty or from a backup, or a primary died before its replicas had everything.
      await this.#restore(before, before.life === lastLife && epoch !== "" ? kept : 0);
      this.#store.directory.take([], { ...before, life });
      return this.#read();
    }
    if (epoch === before.epoch && version === before.version) return;
    const all = rows;
    while (upTo < version) {
      [epoch, version, upTo, rows] = await this.#page(before, upTo);
      for (const row of rows) all.push(row);
    }
    // Redis has nothing, or what is left after a loss.
    if (epoch === "") return;
    if (before.epoch === "") this.#checkOwn(all);
    const taken = all.map(([version, name, content]) => ({ version, name, content: content || null }));
    this.#store.directory.take(taken, { epoch, version, life });
    this.onTaken(taken);
  }

  /** @throws DataError when Redis has other accounts or keys than this database, which isn't a copy yet */
  #checkOwn(rows: ReadAnswer[3]): void {
    const there = new Map(rows.map(([, name, content]) => [name, content]));
    const own = this.#store.directory.rows().filter(({ name }) => /^(accounts|keys):/.test(name));
    if (own.some(({ name, content }) => there.get(name) !== content)) throw otherAccounts();
    if (own.length > 0 && this.isServing && rows.some(([, name]) => name.startsWith("imported:")))
      throw countedTwice();
  }

  /** The rows that changed since a version. */
  async #page({ version, life }: Position, from: number): Promise<ReadAnswer> {
    const nowMs = performance.now();
    const values = [this.#isServer ? 1 : "", version, from, maxRowsPerCall, life, this.#learningMs];
    const answer = await this.#call<ReadAnswer>("read", ...values);
    if (!Array.isArray(answer[3])) throw new StateUnavailable(notRedis().message);
    this.#state = answer[7];
    this.#unsettledMs = this.#state === 0 ? undefined : (this.#unsettledMs ?? nowMs);
    return answer;
  }

  async #write(epoch: string, version: number, list: string): Promise<WriteAnswer> {
    try {
      return await this.#call<WriteAnswer>("write", epoch, version, newEpoch(), list, 0);
    } catch (error) {
      if (error instanceof DataError) throw error;
      throw new StateUnavailable(`${reasonOf(error)}: whether the change is stored isn't known`);
    }
  }

  /** Writes this database's rows to a Redis that has nothing yet, and reads them as a copy. */
  async #begin(): Promise<void> {
    const rows = this.#store.directory.rows().flatMap(({ name, content }) => [name, content ?? ""]);
    const [isDone] = await this.#call<WriteAnswer>("write", "", 0, newEpoch(), JSON.stringify(rows), 1);
    if (isDone) await this.#read();
  }

  /** Writes again the rows that Redis lost after a version. Rows that it has are the same, or newer. */
  async #restore({ epoch }: Position, after: number): Promise<void> {
    let rows = this.#store.directory.taken(after, maxRowsPerCall);
    do {
      const list = rows.flatMap(({ version, name, content }) => [version, name, content ?? ""]);
      const [isDone] = await this.#call<[isDone: number]>("restore", epoch, JSON.stringify(list));
      if (!isDone) throw otherAccounts();
      rows = this.#store.directory.taken(rows.at(-1)?.version ?? after, maxRowsPerCall);
    } while (rows.length > 0);
  }

  async #call<Answer>(...values: (string | number)[]): Promise<Answer> {
    try {
      const nowMs = performance.now();
      const isDue = nowMs >= this.#checkedMs + checkMs;
      if (isDue) this.#checkedMs = nowMs;
      const answer = await script(this.#client, keys, ...values, isDue ? "check" : "");
      if (!Array.isArray(answer)) throw notRedis();
      return answer as Answer;
    } catch (error) {
      this.check();
      const reason = reasonOf(error);
      if (isBroken.test(reason))
        throw new DataError(
          "REDIS_URL",
          `what isn't the servers' under hc:{directory}:… (${reason})`,
          "keys that servers alone write; what is deleted of them, servers that run write again",
        );
      throw new StateUnavailable(reason);
    }
  }
}

const otherAccounts = () =>
  new DataError(
    "REDIS_URL",
    "other accounts than those in STATE_DIR",
    "the same, or an empty STATE_DIR; accounts export and import bring accounts from one to the other. Where Redis was emptied and a command began anew there, delete its keys hc:* and start this server first",
  );
const countedTwice = () =>
  new DataError(
    "REDIS_URL",
    "accounts that were brought there from this STATE_DIR, with requests that would count twice",
    "a restart of this server: it was started while Redis was away",
  );
const notSettled = () =>
  new StateUnavailable(
    "it was started anew or emptied, and no server has said since what it may have lost",
    "one with a server that was there before: start one first",
  );
const newEpoch = () => randomBytes(9).toString("base64url");
