import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { DataError, reasonOf } from "../../../engine/query.ts";
import type { Position, Store, Used } from "../../store/store.ts";
import { Script, type ScriptClient } from "./script.ts";

/** This process's copy of the accounts, keys and events that are in Redis: takes over what changes there, and changes it. */

const maxRowsPerCall = 1000;
/** So often somebody else may be faster. */
const maxTries = 100;
/** A replica that wasn't heard of for so long has died, or serves by its own copy. */
const silentMs = 3000;
const askTakenMs = 10;
/** Less than the lease in the script. */
const deliversForMs = 2000;
/** So long replicas have, from the first one on, to say what a Redis may have lost: a lost connection is made anew in less. */
const learningMs = 2000;
/** A change waits so long for that. */
const maxSettleMs = 6000;
const askSettledMs = 50;

const script = new Script("directory.lua");
/** They lie together in a Cluster. */
const keys = ["meta", "rows", "names", "members", "deliverer", "origins"].map(
  (name) => `hc:{directory}:${name}`,
);

type ReadAnswer = [
  epoch: string,
  version: number,
  /** More rows follow after it, if it is less. */
  upTo: number,
  rows: [version: number, name: string, content: string][],
  delivers: number,
  life: string,
  lastLife: string,
  /** What Redis has of the last life: rows up to this version. */
  kept: number,
  state: State,
];
/** What Redis may have lost was said again; is being said; can be said by nobody who is there. */
type State = 0 | 1 | 2;
type WriteAnswer = [isDone: number, version: number, state: State];

/** Redis doesn't answer, or the change can't be written there. */
export class DirectoryAway extends Error {
  /** What Redis has to be for it. */
  readonly expected: string;

  constructor(message: string, expected = "one that answers, and has the user, password and database in it") {
    super(message);
    this.expected = expected;
  }
}
/** As said by Redis of keys that aren't as the script makes them. */
const isBroken = /^WRONGTYPE|user_script:\d+: /;

export class Directory {
  readonly #store: Store;
  readonly #client: ScriptClient;
  readonly #replica: string;
  readonly #learningMs: number;
  readonly #entered: () => Promise<readonly Used[]>;
  #state: State = 0;
  /** When Redis was found to be told again what it may have lost, until it has been. */
  #unsettledMs: number | undefined;
  /** One thing at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #reading: Promise<void> | undefined;
  /** When this copy was as Redis; before it was so first, when the process began. */
  #syncedMs = 0;
  #deliversUntilMs = Number.NEGATIVE_INFINITY;

  /**
   * @param replica its name among those that are waited for; "" for a command's
   * @param ms so long replicas have to say what Redis may have lost
   * @param entered what accounts had used that were brought to Redis by an export, which this copy may have counted
   */
  constructor(
    store: Store,
    client: ScriptClient,
    replica: string,
    ms = learningMs,
    entered: () => Promise<readonly Used[]> = async () => [],
  ) {
    this.#store = store;
    this.#client = client;
    this.#replica = replica;
    this.#learningMs = ms;
    this.#entered = entered;
  }

  /** Whether Redis has no accounts, as far as was read. */
  get isNew(): boolean {
    return !this.#store.directory.isCopy;
  }

  /** Whether there are accounts here that weren't brought to Redis, nor found there. */
  get isApart(): boolean {
    return this.isNew && this.#store.accounts.exist();
  }

  /** Whether Redis was started anew or emptied, and no server was there since that says what it may have lost. */
  get isUnconfirmed(): boolean {
    return this.#state === 2;
  }

  /** Waits until what Redis may have lost was said again, for a time. */
  settle(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#read();
      while (this.#state > 0 && !this.#hasWaited()) {
        await delay(askSettledMs);
        await this.#read();
      }
    });
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
      throw new DirectoryAway("others change accounts all the time");
    });
  }

  /**
   * Waits until all replicas that are heard of have taken over what this copy has.
   *
   * @returns how many haven't within the time
   */
  async taken(maxMs: number): Promise<number> {
    const { version } = this.#store.directory.position();
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
    let [epoch, version, upTo, rows, , life, lastLife, kept] = await this.#page(
      this.#replica,
      before,
      before.version,
    );
    if (before.epoch === "" && this.#store.accounts.exist() && epoch === "") return this.#begin(life);
    if (epoch !== "" && before.epoch !== "" && epoch !== before.epoch) throw otherAccounts();
    if (before.epoch !== "" && before.life !== life) {
      // It was started empty or from a backup, or a primary died before its replicas had all.
      await this.#restore(before, before.life === lastLife && epoch !== "" ? kept : 0);
      this.#store.directory.take([], { ...before, life });
      return this.#read();
    }
    if (epoch === before.epoch && version === before.version) return;
    const all = rows;
    while (upTo < version) {
      [epoch, version, upTo, rows] = await this.#page("", before, upTo);
      for (const row of rows) all.push(row);
    }
    // Nothing yet, or what is left of what was lost.
    if (epoch === "") return;
    const counted = before.epoch === "" && this.#checkOwn(all) ? await this.#enteredElsewhere() : [];
    const taken = all.map(([version, name, content]) => ({ version, name, content: content || null }));
    this.#store.directory.take(taken, { epoch, version, life }, counted);
  }

  /**
   * Whether there are accounts here from before this was a copy.
   *
   * @throws DataError when they, or their keys, aren't the same in Redis
   */
  #checkOwn(rows: ReadAnswer[3]): boolean {
    const there = new Map(rows.map(([, name, content]) => [name, content]));
    const own = this.#store.directory.rows().filter(({ name }) => /^(accounts|keys):/.test(name));
    if (own.some(({ name, content }) => there.get(name) !== content)) throw otherAccounts();
    return own.length > 0;
  }

  async #enteredElsewhere(): Promise<readonly Used[]> {
    try {
      return await this.#entered();
    } catch (error) {
      if (error instanceof DataError) throw error;
      throw new DirectoryAway(reasonOf(error));
    }
  }

  /** What changed since a version. @param replica who goes by the position */
  async #page(replica: string, { version, life }: Position, from: number): Promise<ReadAnswer> {
    const nowMs = performance.now();
    const values = [replica, version, from, maxRowsPerCall, life, this.#learningMs];
    const answer = await this.#call<ReadAnswer>("read", ...values);
    if (!Array.isArray(answer[3])) throw notRedis();
    this.#state = answer[8];
    this.#unsettledMs = this.#state === 0 ? undefined : (this.#unsettledMs ?? nowMs);
    if (answer[4]) this.#deliversUntilMs = nowMs + deliversForMs;
    return answer;
  }

  async #write(epoch: string, version: number, list: string): Promise<WriteAnswer> {
    try {
      return await this.#call<WriteAnswer>("write", epoch, version, newEpoch(), list, 0);
    } catch (error) {
      if (error instanceof DataError) throw error;
      throw new DirectoryAway(`${reasonOf(error)}: whether the change is stored isn't known`);
    }
  }

  /** Brings what is here to a Redis that has nothing yet. */
  async #begin(life: string): Promise<void> {
    const rows = this.#store.directory.rows();
    const list = JSON.stringify(rows.flatMap(({ name, content }) => [name, content ?? ""]));
    const epoch = newEpoch();
    const [isDone, version] = await this.#call<WriteAnswer>("write", "", 0, epoch, list, 1);
    if (!isDone) return;
    const first = version - rows.length + 1;
    const written = rows.map((row, i) => ({ ...row, version: first + i }));
    // Of an import that was interrupted.
    const counted = await this.#enteredElsewhere();
    this.#store.directory.take(written, { epoch, version, life }, counted);
  }

  /** Writes again what Redis has lost of what came after a version. What it has is the same, or newer. */
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
      const answer = await script.run(this.#client, keys, values);
      if (!Array.isArray(answer)) throw notRedis();
      return answer as Answer;
    } catch (error) {
      const reason = reasonOf(error);
      if (isBroken.test(reason))
        throw new DataError(
          "REDIS_URL",
          `what isn't the servers' under hc:{directory}:… (${reason})`,
          "keys that servers alone write; what is deleted of them, servers that run write again",
        );
      throw new DirectoryAway(reason);
    }
  }
}

const otherAccounts = () =>
  new DataError(
    "REDIS_URL",
    "other accounts than those in STATE_DIR",
    "the same, or an empty STATE_DIR; accounts export and import bring accounts from one to the other. Where Redis was emptied and a command began anew there, delete its keys hc:* and start this server first",
  );
const notRedis = () =>
  new DirectoryAway("what answers isn't Redis: found another answer than that of the script");
const notSettled = () =>
  new DirectoryAway(
    "it was started anew or emptied, and no server has said since what it may have lost",
    "one with a server that was there before: start one first",
  );
const newEpoch = () => randomBytes(9).toString("base64url");
