import { burstExceeded, quotaExceeded } from "../../accounts/limits.ts";
import { databaseAway, maxWaitMs, type PermitTable, permitLifeMs } from "../../accounts/permit-table.ts";
import type { PermitAnswer, Wait } from "../../shared/messages.ts";

/**
 * Gets permits for the accounts in use, in batches, and gives unused permits back. This module does no I/O, and its clock
 * is an argument.
 */

export const tickMs = 10;
/** Minimum milliseconds between two calls to the database. */
const minCallMs = 10;
const maxCalls = 3;
/** Half-life of the mean demand, in milliseconds. */
const halfLifeMs = 200;
/** Fewer permits than this aren't got in advance. */
const leastAhead = 2;
/** Maximum permits to get in advance, as a share of what is left of the quota. */
const mostAhead = 1 / 8;
/** Milliseconds after which an account without demand, permits or waiting requests is forgotten. */
const idleMs = 5000;
/** Maximum milliseconds for which requests without a permit are refused immediately. */
const maxRefusalMs = 1000;

export interface Asked {
  account: number;
  want: number;
  /**
   * Number of unused permits to give back, and their month by `monthOf`. A negative number counts requests that had no
   * permit.
   */
  back: number;
  backMonth: number;
}

export interface Granted {
  account: number;
  granted: number;
  /** Permits granted in the month to all servers, as far as known. */
  used: number;
  /** Milliseconds until the account's bucket has a token. */
  waitMs: number;
}

export interface Taken {
  month: number;
  /** One entry for each account whose requests can be counted. */
  grants: readonly Granted[];
}

export interface PermitMeter {
  called(accounts: number): void;
  /** Permits have expired unused, and are given back. */
  expired(permits: number): void;
  /** Permits may have been granted by a call that has failed. */
  lost(permits: number): void;
  waited(requests: number, ms: number): void;
}

export interface PermitsOptions {
  table: PermitTable;
  accountOf(slot: number): number;
  /** Gets permits. If it rejects, permits may have been granted. */
  take(asked: readonly Asked[]): Promise<Taken>;
  answer(thread: number, answers: PermitAnswer[]): void;
  /** The steady clock of the table, in milliseconds. */
  now(): number;
  meter?: PermitMeter;
}

interface Batch {
  permits: number;
  expiryMs: number;
}

class Pool {
  readonly slot: number;
  readonly account: number;
  /** Permits held, oldest first, as of the last check. */
  batches: Batch[] = [];
  /** Requests that wait, oldest first. */
  readonly waits: { thread: number; count: number; sinceMs: number }[] = [];
  /** Number of requests that have begun to wait. `answered` is the number of these that were answered. */
  arrived = 0;
  answered = 0;
  /** Number of requests that had begun to wait when the last call for this account was sent. */
  called = 0;
  asked = 0;
  /** Unused permits to give back, by month. */
  readonly backs = new Map<number, number>();
  /** Mean requests per millisecond. */
  demand = 0;
  askedBefore: number;
  usedMs: number;
  /** The time until which no permits are got in advance, because the last answer granted too few. */
  noneUntilMs = 0;
  /** Requests left of the quota, by the last answer. */
  left = Number.POSITIVE_INFINITY;

  constructor(slot: number, account: number, asked: number, nowMs: number) {
    this.slot = slot;
    this.account = account;
    this.askedBefore = asked;
    this.usedMs = nowMs;
  }

  get waiting(): number {
    return this.arrived - this.answered;
  }

  giveBack(month: number, permits: number): void {
    if (permits > 0) this.backs.set(month, (this.backs.get(month) ?? 0) + permits);
  }
}

export class Permits {
  readonly #options: PermitsOptions;
  readonly #table: PermitTable;
  readonly #pools = new Map<number, Pool>();
  #calls = 0;
  #calledMs = Number.NEGATIVE_INFINITY;
  #tickedMs: number;
  /** Mean milliseconds of a call. It begins with a high guess, so that the first requests don't use up all calls. */
  #roundTripMs = 100;
  /** Number of answers in the mean `#roundTripMs`, at most 8. */
  #measured = 0;
  readonly #answers = new Map<number, PermitAnswer[]>();

  constructor(options: PermitsOptions) {
    this.#options = options;
    this.#table = options.table;
    this.#tickedMs = options.now();
  }

  wait(thread: number, waits: readonly Wait[]): void {
    const nowMs = this.#options.now();
    for (const { slot, count } of waits) {
      const pool = this.#poolOf(slot);
      pool.waits.push({ thread, count, sinceMs: nowMs });
      pool.arrived += count;
      this.#useHeld(pool, nowMs);
    }
    this.#send();
    this.#callIfDue(nowMs);
  }

  #poolOf(slot: number): Pool {
    let pool = this.#pools.get(slot);
    if (pool === undefined) {
      const { accountOf, now } = this.#options;
      pool = new Pool(slot, accountOf(slot), this.#table.asked(slot), now());
      this.#pools.set(slot, pool);
    }
    return pool;
  }

  /** Removes expired permits, and sends a call if one is due. Called every `tickMs`. */
  tick(): void {
    const nowMs = this.#options.now();
    const passedMs = nowMs - this.#tickedMs;
    this.#tickedMs = nowMs;
    for (const pool of this.#pools.values()) this.#look(pool, nowMs, passedMs);
    this.#send();
    this.#callIfDue(nowMs);
  }

  #callIfDue(nowMs: number): void {
    const isDue = nowMs - this.#calledMs >= Math.max(minCallMs, this.#roundTripMs / 3);
    if (isDue && this.#calls < maxCalls) this.#call(nowMs);
  }

  #look(pool: Pool, nowMs: number, passedMs: number): void {
    const { slot } = pool;
    const asked = this.#table.asked(slot);
    const requests = (asked - pool.askedBefore) >>> 0;
    pool.askedBefore = asked;
    const kept = 0.5 ** (passedMs / halfLifeMs);
    pool.demand *= kept;
    if (requests > 0) {
      pool.demand += (requests * (1 - kept)) / Math.max(1, passedMs);
      pool.usedMs = nowMs;
    }
    const { month } = this.#table;
    for (const each of [month - 1, month]) pool.giveBack(each, this.#table.takeFailed(slot, each));
    this.#useHeld(pool, nowMs);
    while (pool.waits.length > 0 && nowMs - pool.waits[0].sinceMs >= maxWaitMs)
      this.#answerWaits(pool, pool.waits[0].count, databaseAway);
    const isIdle = nowMs - pool.usedMs > idleMs && pool.batches.length === 0 && pool.asked === 0;
    if (isIdle && pool.waiting === 0 && pool.backs.size === 0) this.#pools.delete(slot);
  }

  /** Gives permits that the table holds to requests that wait. Such permits arrived while the requests began to wait. */
  #useHeld(pool: Pool, nowMs: number): void {
    this.#expire(pool, nowMs);
    if (pool.waiting === 0) return;
    const { slot } = pool;
    const kept = Math.max(0, this.#table.held(slot) - pool.waiting);
    this.#answerWaits(pool, this.#table.keep(slot, kept), this.#table.monthOf(slot));
    this.#forgetUsed(pool);
  }

  /** Removes the permits that expire before the next tick, and the permits of another month. */
  #expire(pool: Pool, nowMs: number): void {
    this.#forgetUsed(pool);
    const month = this.#table.monthOf(pool.slot);
    if (month !== this.#table.month) {
      pool.giveBack(month, this.#table.keep(pool.slot, 0));
      pool.batches = [];
      this.#table.enter(pool.slot, this.#table.month);
      return;
    }
    while (pool.batches.length > 0 && pool.batches[0].expiryMs <= nowMs + tickMs) pool.batches.shift();
    const kept = pool.batches.reduce((sum, { permits }) => sum + permits, 0);
    const expired = this.#table.keep(pool.slot, kept);
    pool.giveBack(month, expired);
    if (expired > 0) this.#options.meter?.expired(expired);
    // The oldest batch may have been used up, too.
    if (pool.batches.length > 0) this.#table.expireAt(pool.slot, pool.batches[0].expiryMs);
  }

  /** Removes used permits from the batches. Requests use the oldest permits first. */
  #forgetUsed(pool: Pool): void {
    const sum = pool.batches.reduce((sum, { permits }) => sum + permits, 0);
    let used = sum - this.#table.held(pool.slot);
    while (used > 0 && pool.batches.length > 0) {
      const [oldest] = pool.batches;
      const part = Math.min(used, oldest.permits);
      oldest.permits -= part;
      used -= part;
      if (oldest.permits === 0) pool.batches.shift();
    }
  }

  #wanted(pool: Pool, nowMs: number): number {
    const callMs = this.#roundTripMs + Math.max(minCallMs, this.#roundTripMs / 3);
    const expected = pool.demand * callMs;
    // The square root is for chance, which matters more if few requests are expected.
    const inAdvance = Math.min(
      1.5 * expected + 2 * Math.sqrt(expected) + 1,
      (pool.demand * permitLifeMs) / 2,
      pool.left * mostAhead,
    );
    const prefetch = inAdvance < leastAhead || nowMs < pool.noneUntilMs ? 0 : Math.floor(inAdvance);
    const missing = pool.waiting + prefetch - this.#table.held(pool.slot) - pool.asked;
    // The first call after a request began to wait asks for a permit for it, even if enough permits were asked for in
    // advance.
    return Math.max(0, missing, pool.arrived - Math.max(pool.called, pool.answered));
  }

  #call(nowMs: number): void {
    const asked: (Asked & { pool: Pool; arrived: number })[] = [];
    for (const pool of this.#pools.values()) {
      const want = this.#wanted(pool, nowMs);
      const [backMonth, back] = pool.backs.entries().next().value ?? [0, 0];
      if (want === 0 && back === 0) continue;
      pool.asked += want;
      pool.called = pool.arrived;
      pool.backs.delete(backMonth);
      asked.push({ account: pool.account, want, back, backMonth, pool, arrived: pool.arrived });
    }
    if (asked.length === 0) return;
    this.#calls++;
    this.#calledMs = nowMs;
    this.#options.meter?.called(asked.length);
    const rows = asked.map(({ account, want, back, backMonth }) => ({ account, want, back, backMonth }));
    const end = () => {
      this.#calls--;
      for (const { pool, want } of asked) pool.asked -= want;
    };
    this.#options.take(rows).then(
      (taken) => {
        end();
        this.#use(asked, taken, nowMs);
      },
      // The database may have counted the permits of a lost call. The next call asks again for the requests that wait.
      () => {
        end();
        this.#options.meter?.lost(asked.reduce((sum, { want }) => sum + want, 0));
      },
    );
  }

  #use(
    asked: readonly (Asked & { pool: Pool; arrived: number })[],
    { month, grants }: Taken,
    sentMs: number,
  ): void {
    const nowMs = this.#options.now();
    this.#measured = Math.min(8, this.#measured + 1);
    this.#roundTripMs += (nowMs - sentMs - this.#roundTripMs) / this.#measured;
    this.#table.month = month;
    const granted = new Map(grants.map((grant) => [grant.account, grant]));
    for (const { pool, want, arrived } of asked) {
      const grant = granted.get(pool.account);
      this.#expire(pool, nowMs);
      if (grant === undefined) {
        this.#refuse(pool, arrived, databaseAway, maxRefusalMs, nowMs);
        continue;
      }
      this.#table.count(pool.slot, grant.used);
      pool.left = this.#table.ceilings(pool.slot).quota - grant.used;
      this.#share(pool, grant.granted, month, sentMs + permitLifeMs, nowMs);
      if (grant.granted < want) {
        const isQuota = pool.left <= 0;
        const waitMs = isQuota ? maxRefusalMs : grant.waitMs - this.#roundTripMs;
        this.#refuse(pool, arrived, isQuota ? quotaExceeded : burstExceeded, waitMs, nowMs);
      }
    }
    this.#send();
  }

  #share(pool: Pool, permits: number, month: number, expiryMs: number, nowMs: number): void {
    if (expiryMs <= nowMs) {
      pool.giveBack(month, permits);
      return;
    }
    const used = Math.min(permits, pool.waiting);
    this.#answerWaits(pool, used, month);
    if (permits === used) return;
    pool.batches.push({ permits: permits - used, expiryMs });
    // An answer whose changes had to be read first may be used after a later answer.
    pool.batches.sort((a, b) => a.expiryMs - b.expiryMs);
    this.#table.add(pool.slot, permits - used, pool.batches[0].expiryMs);
  }

  /** Refuses the requests that waited when the call was sent, and for a while new requests that find no permit. */
  #refuse(pool: Pool, arrived: number, reason: number, waitMs: number, nowMs: number): void {
    pool.noneUntilMs = nowMs + Math.min(maxRefusalMs, Math.max(0, waitMs));
    if (waitMs > 0) this.#table.refuse(pool.slot, pool.noneUntilMs, reason);
    this.#answerWaits(pool, Math.max(0, arrived - pool.answered), reason);
  }

  #answerWaits(pool: Pool, count: number, monthOrReason: number): void {
    let left = count;
    while (left > 0) {
      const [first] = pool.waits;
      const part = Math.min(left, first.count);
      const answers = this.#answers.get(first.thread);
      const answer = { slot: pool.slot, count: part, monthOrReason };
      if (answers === undefined) this.#answers.set(first.thread, [answer]);
      else answers.push(answer);
      this.#options.meter?.waited(part, this.#options.now() - first.sinceMs);
      first.count -= part;
      if (first.count === 0) pool.waits.shift();
      left -= part;
    }
    pool.answered += count;
  }

  #send(): void {
    for (const [thread, answers] of this.#answers) this.#options.answer(thread, answers);
    this.#answers.clear();
  }

  /** Answers all requests that wait, because no permits can be got. */
  refuseAll(): void {
    for (const pool of this.#pools.values()) this.#answerWaits(pool, pool.waiting, databaseAway);
    this.#send();
  }

  /** Removes all permits, and returns what is to be given back. Called when the server ends. */
  close(): Asked[] {
    return [...this.#pools.values()].flatMap((pool) => {
      pool.giveBack(this.#table.monthOf(pool.slot), this.#table.keep(pool.slot, 0));
      return Array.from(pool.backs, ([backMonth, back]) => ({
        account: pool.account,
        want: 0,
        back,
        backMonth,
      }));
    });
  }
}
