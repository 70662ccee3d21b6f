import { maxAccounts } from "../shared/plans.ts";

/** Admits requests within their accounts' ceilings, and counts the admitted requests. */

/*
 * The ceilings and counts of accounts, by account slot, are in shared memory, and are changed with Atomics. An account
 * stays in its slot as long as the process lives. A slot has sixteen 32-bit words, which fill a cache line, so that no
 * two accounts share a cache line.
 */
const slotWords = 16;
const quotaWord = 0;
/** Requests per second. */
const burstWord = 1;
/** When the bucket is full again, in ticks modulo 2^32. A millisecond has `burst` ticks. */
const fullAtWord = 2;
/**
 * The second in which the bucket was last used, or an earlier one after `burst` was changed. If it is long ago, `fullAt`
 * may have wrapped around.
 */
const usedAtWord = 3;
/** The first word of the two counters: one for even months, one for odd months. */
const monthWords = 4;
const counterWords = 2;
/** The word of a counter with its requests. Word 0 has its month. */
const usedWord = 1;

const longIdleSeconds = 10;

/** Marks a counter that has no month yet, or whose month is being changed. */
const noMonth = 0;

/** Ticks per request. A full bucket holds `burst` requests, one second's worth. */
const ticksPerRequest = 1000;

// `Limits.admit` returns one of the three numbers below if it refuses a request.

export const burstExceeded = -1;
export const quotaExceeded = -2;
/** The month has no counter in shared memory; see `Limits.enter`. */
export const monthUnknown = -3;

export interface Ceilings {
  /** @returns the requests left in the month, or a negative number that says why the request isn't admitted */
  admit(slot: number, month: number, steadyMs: number): number;
  /** Uncounts an admitted request. */
  giveBack(slot: number, month: number): void;
  /** Returns the requests of a month; undefined if the month isn't in memory. */
  used(slot: number, month: number): number | undefined;
  remaining(slot: number, month: number): number;
  ceilings(slot: number): { burst: number; quota: number };
  /** Returns the milliseconds to wait after `admit` has returned `burstExceeded`. */
  burstWaitMs(slot: number, steadyMs: number): number;
  configure(slot: number, burst: number, quota: number): void;
}

/** The ceilings of accounts that only this server serves. */
export class Limits implements Ceilings {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(buffer = new SharedArrayBuffer(maxAccounts * slotWords * 4)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  /**
   * Sets an account's requests per second (`burst`) and per month (`quota`).
   * @throws RangeError when the slot is too high
   */
  configure(slot: number, burst: number, quota: number): void {
    if (slot >= maxAccounts) throw new RangeError(`account slot is ${slot}, expected below ${maxAccounts}`);
    const base = slot * slotWords;
    Atomics.store(this.#words, base + quotaWord, quota);
    if (Atomics.exchange(this.#words, base + burstWord, burst) === burst) return;
    // A new `burst` changes the length of a tick, so `fullAt` isn't valid any more. The last use is moved to the past,
    // because a bucket that wasn't used for long counts as full.
    Atomics.sub(this.#words, base + usedAtWord, longIdleSeconds);
  }

  /**
   * Assigns one of an account's two counters to a month. Only requests of a month with a counter are admitted.
   * @param used the requests that are already counted in `month`
   * @returns the month that had the counter (0 for none), and its count
   */
  enter(slot: number, month: number, used: number): { month: number; used: number } {
    const at = this.#counterOf(slot, month);
    const before = Atomics.exchange(this.#words, at, noMonth);
    // The count is exchanged in one atomic step, so that no concurrent request is lost.
    const usedBefore = Atomics.exchange(this.#words, at + usedWord, used);
    Atomics.store(this.#words, at, month);
    return { month: before, used: usedBefore };
  }

  /**
   * Takes one request from the account's bucket and from its month. A refused request takes nothing.
   *
   * @param month the wall clock's month, numbered by `monthOf`
   * @param steadyMs milliseconds of a monotonic clock that all threads share
   * @returns the requests left in the month, or a negative number that says why the request is refused
   */
  admit(slot: number, month: number, steadyMs: number): number {
    const words = this.#words;
    const base = slot * slotWords;
    if (!this.#takeFromBucket(base, steadyMs)) return burstExceeded;
    const at = this.#counterOf(slot, month);
    if (Atomics.load(words, at) !== month) {
      Atomics.sub(words, base + fullAtWord, ticksPerRequest);
      return monthUnknown;
    }
    const quota = Atomics.load(words, base + quotaWord);
    let used = Atomics.load(words, at + usedWord);
    while (used < quota) {
      const found = Atomics.compareExchange(words, at + usedWord, used, used + 1);
      if (found === used) return quota - used - 1;
      used = found;
    }
    Atomics.sub(words, base + fullAtWord, ticksPerRequest);
    return quotaExceeded;
  }

  giveBack(slot: number, month: number): void {
    const at = this.#counterOf(slot, month);
    if (Atomics.load(this.#words, at) !== month) return;
    for (let used = Atomics.load(this.#words, at + usedWord); used > 0; ) {
      const found = Atomics.compareExchange(this.#words, at + usedWord, used, used - 1);
      if (found === used) return;
      used = found;
    }
  }

  used(slot: number, month: number): number | undefined {
    const at = this.#counterOf(slot, month);
    return Atomics.load(this.#words, at) === month ? Atomics.load(this.#words, at + usedWord) : undefined;
  }

  ceilings(slot: number): { burst: number; quota: number } {
    const base = slot * slotWords;
    return {
      burst: Atomics.load(this.#words, base + burstWord),
      quota: Atomics.load(this.#words, base + quotaWord),
    };
  }

  remaining(slot: number, month: number): number {
    return Math.max(0, this.ceilings(slot).quota - (this.used(slot, month) ?? 0));
  }

  burstWaitMs(slot: number, steadyMs: number): number {
    const words = this.#words;
    const base = slot * slotWords;
    const burst = Atomics.load(words, base + burstWord);
    const ahead = (Atomics.load(words, base + fullAtWord) - Math.imul(steadyMs | 0, burst)) | 0;
    return Math.max(0, Math.ceil((ahead + ticksPerRequest - ticksPerRequest * burst) / burst));
  }

  /** Uses the generic cell rate algorithm. A clock that steps back doesn't refill the bucket. */
  #takeFromBucket(base: number, steadyMs: number): boolean {
    const words = this.#words;
    const burst = Atomics.load(words, base + burstWord);
    const second = Math.floor(steadyMs / 1000) | 0;
    for (;;) {
      // `fullAt` is read before `usedAt`. So a thread that sees in `fullAt` that another thread has taken a request
      // also sees the other thread's `usedAt`.
      const fullAt = Atomics.load(words, base + fullAtWord);
      const usedAt = Atomics.load(words, base + usedAtWord);
      const idle = (second - usedAt) | 0;
      const now = Math.imul(idle < 0 ? usedAt * 1000 : steadyMs | 0, burst);
      if (idle > 1) {
        // The bucket is full after a second without use. `fullAt` may have wrapped around, so it is set to now.
        if (Atomics.compareExchange(words, base + fullAtWord, fullAt, now) === fullAt)
          Atomics.compareExchange(words, base + usedAtWord, usedAt, second);
        continue;
      }
      const ahead = Math.max(0, (fullAt - now) | 0);
      if (ahead + ticksPerRequest > ticksPerRequest * burst) return false;
      if (idle > 0) Atomics.compareExchange(words, base + usedAtWord, usedAt, second);
      const next = (now + ahead + ticksPerRequest) | 0;
      if (Atomics.compareExchange(words, base + fullAtWord, fullAt, next) === fullAt) return true;
    }
  }

  #counterOf(slot: number, month: number): number {
    return slot * slotWords + monthWords + (month & 1) * counterWords;
  }
}
