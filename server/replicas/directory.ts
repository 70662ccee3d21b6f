import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { DataError, reasonOf } from "../../engine/query.ts";
import type { Position, Store } from "../store/store.ts";
import { Script, type ScriptClient } from "./script.ts";

/** This process's copy of the accounts, keys and events that are in Redis: takes over what changes there, and changes it. */

const maxRowsPerCall = 1000;
/** So often somebody else may be faster. */
const maxTries = 100;
/** A replica that wasn't heard of for so long has died, or serves by its own copy. */
const silentMs = 1000;
const askTakenMs = 10;
/** Less than the lease in the script. */
const deliversForMs = 2000;

const script = new Script("directory.lua");
/** They lie together in a Cluster. */
const keys = ["meta", "rows", "names", "members", "deliverer"].map((name) => `hc:{directory}:${name}`);

type ReadAnswer = [
  epoch: string,
  version: number,
  /** More rows follow after it, if it is less. */
  upTo: number,
  rows: [version: number, name: string, content: string][],
  delivers: number,
];
type WriteAnswer = [isDone: number, version: number];

/** Redis doesn't answer, or the change can't be written there. */
export class DirectoryAway extends Error {}

export class Directory {
  readonly #store: Store;
  readonly #client: ScriptClient;
  readonly #replica: string;
  /** One thing at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #reading: Promise<void> | undefined;
  #heardMs = Number.NEGATIVE_INFINITY;
  /** When this copy was as Redis; before it was so first, when the process began. */
  #syncedMs = 0;
  #deliversUntilMs = Number.NEGATIVE_INFINITY;

  /** @param replica its name among those that are waited for; "" for a command's */
  constructor(store: Store, client: ScriptClient, replica: string) {
    this.#store = store;
    this.#client = client;
    this.#replica = replica;
  }

  /** Whether Redis has ever answered. */
  get hasBegun(): boolean {
    return this.#heardMs > Number.NEGATIVE_INFINITY;
  }

  /** Since Redis was asked when this copy was last brought up to it; since the process began, where it never was. */
  syncAgeMs(nowMs: number): number {
    return nowMs - this.#syncedMs;
  }

  /** Whether this replica delivers events, as one at a time does. */
  delivers(nowMs: number): boolean {
    return nowMs < this.#deliversUntilMs;
  }

  /**
   * Takes over what has changed, and says so.
   *
   * @throws DirectoryAway when Redis doesn't answer
   * @throws DataError when what is there isn't what this is a copy of
   */
  read(): Promise<void> {
    // A call while one waits is that one.
    this.#reading ??= this.#inTurn(async () => {
      this.#reading = undefined;
      const nowMs = performance.now();
      await this.#read();
      this.#syncedMs = nowMs;
    });
    return this.#reading;
  }

  /**
   * Does a piece of work on the copy, and writes what it changes to Redis, and from there to the copy. When somebody
   * else was faster, the work is done again.
   *
   * @throws DirectoryAway when Redis doesn't take it
   */
  async change<Result>(work: () => Result): Promise<Result> {
    return this.#inTurn(async () => {
      for (let tries = 0; tries < maxTries; tries++) {
        const { epoch, version } = this.#store.position();
        const { result, rows } = this.#store.rehearse(work);
        if (rows.length === 0) return result;
        const contents = rows.flatMap(({ name, content }) => [name, content ?? ""]);
        const list = JSON.stringify(contents);
        const isDone = await this.#write(epoch, version, list);
        await this.#read();
        if (isDone) return result;
      }
      throw new DirectoryAway("others change accounts all the time");
    });
  }

  /**
   * Waits until all replicas that are heard of have taken over what this copy has.
   *
   * @returns how many haven't within the time
   */
  async taken(maxMs: number): Promise<number> {
    const { version } = this.#store.position();
    for (const end = performance.now() + maxMs; ; await delay(askTakenMs)) {
      const members = await this.#call<[replica: string, taken: number, ageMs: number][]>("members");
      const behind = members.filter(([, taken, ageMs]) => taken < version && ageMs < silentMs);
      if (behind.length === 0 || performance.now() >= end) return behind.length;
    }
  }

  async leave(): Promise<void> {
    this.#deliversUntilMs = Number.NEGATIVE_INFINITY;
    await this.#inTurn(() => this.#call("leave", this.#replica));
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #read(): Promise<void> {
    const before = this.#store.position();
    let [epoch, version, upTo, rows] = await this.#page(this.#replica, before, before.version);
    if (before.epoch === "" && this.#store.hasAccounts() && epoch === "") return this.#begin();
    if (epoch !== "" && before.epoch !== "" && epoch !== before.epoch) throw otherAccounts();
    // It was started empty or from a backup, or a primary died before its replicas had all.
    if (version < before.version) return this.#restore(before);
    if (epoch === before.epoch && version === before.version) return;
    const all = rows;
    while (upTo < version) {
      [epoch, version, upTo, rows] = await this.#page("", before, upTo);
      for (const row of rows) all.push(row);
    }
    if (before.epoch === "") this.#checkOwn(all);
    const taken = all.map(([version, name, content]) => ({ version, name, content: content || null }));
    this.#store.takeRows(taken, { epoch, version });
  }

  /** @throws DataError when there are accounts or keys here, from before this was a copy, that aren't the same in Redis */
  #checkOwn(rows: ReadAnswer[3]): void {
    const there = new Map(rows.map(([, name, content]) => [name, content]));
    const own = this.#store.allRows().filter(({ name }) => /^(accounts|keys):/.test(name));
    if (own.some(({ name, content }) => there.get(name) !== content)) throw otherAccounts();
  }

  /** What changed since a version. @param replica who goes by the position */
  async #page(replica: string, { version }: Position, from: number): Promise<ReadAnswer> {
    const nowMs = performance.now();
    const answer = await this.#call<ReadAnswer>("read", replica, version, from, maxRowsPerCall);
    this.#heardMs = nowMs;
    if (answer[4]) this.#deliversUntilMs = nowMs + deliversForMs;
    return answer;
  }

  async #write(epoch: string, version: number, list: string): Promise<boolean> {
    try {
      const [isDone] = await this.#call<WriteAnswer>("write", epoch, version, newEpoch(), list);
      return isDone === 1;
    } catch (error) {
      throw new DirectoryAway(`${reasonOf(error)}: whether the change is stored isn't known`);
    }
  }

  /** Brings what is here to a Redis that has nothing yet. */
  async #begin(): Promise<void> {
    const rows = this.#store.allRows().flatMap(({ name, content }) => [name, content ?? ""]);
    const epoch = newEpoch();
    const [isDone, version] = await this.#call<WriteAnswer>("write", "", 0, epoch, JSON.stringify(rows));
    if (!isDone) return;
    const written = this.#store.allRows().map((row, i) => ({ ...row, version: i + 1 }));
    this.#store.takeRows(written, { epoch, version });
  }

  /** Writes again what Redis has lost. What it has is the same, or newer. */
  async #restore({ epoch }: Position): Promise<void> {
    let rows = this.#store.takenRows(0, maxRowsPerCall);
    while (rows.length > 0) {
      const list = rows.flatMap(({ version, name, content }) => [version, name, content ?? ""]);
      await this.#call("restore", epoch, JSON.stringify(list));
      rows = this.#store.takenRows(rows[rows.length - 1].version, maxRowsPerCall);
    }
  }

  async #call<Answer>(...values: (string | number)[]): Promise<Answer> {
    try {
      return (await script.run(this.#client, keys, values)) as Answer;
    } catch (error) {
      throw new DirectoryAway(reasonOf(error));
    }
  }
}

const otherAccounts = () =>
  new DataError(
    "REDIS_URL",
    "other accounts than those in STATE_DIR",
    "the same, or an empty STATE_DIR; accounts export and import bring accounts from one to the other",
  );
const newEpoch = () => randomBytes(9).toString("base64url");
