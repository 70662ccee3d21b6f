/** Admits requests by their accounts' ceilings, and counts them. */

/*
 * Ceilings and counts by account slot, in shared memory, changed with Atomics by all serving threads. An account
 * stays in its slot as long as the process lives. A slot has eight 32-bit words:
 */
const slotWords = 8;
const quotaWord = 0;
/** Requests per second. */
const burstWord = 1;
/** Two counters, for an even and an odd month, each a month and what was used in it. */
const monthWords = 2;
/** When the bucket is full again, on a clock that runs `burst` ticks per millisecond, modulo 2^32. */
const fullAtWord = 6;
/** The second in which the bucket was last used: tells a recent `fullAt` from one that wrapped around. */
const usedAtWord = 7;

export const maxAccounts = 1_000_000;
const longIdleSeconds = 10;

/** In place of a counter's month while it is given from one month to another. */
const noMonth = 0;

/** A request takes this many ticks, a full bucket holds `burst` requests: one second. */
const ticksPerRequest = 1000;

/** What `admit` returns in place of the requests left. */
export const burstExceeded = -1;
export const quotaExceeded = -2;
/** What was used in the month isn't known here: see `Limits.enter`. */
export const monthUnknown = -3;

export class Limits {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(buffer = new SharedArrayBuffer(maxAccounts * slotWords * 4)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  /** Sets an account's ceilings, from the next request on. */
  configure(slot: number, burst: number, quota: number): void {
    if (slot >= maxAccounts) throw new RangeError(`account slot is ${slot}, expected below ${maxAccounts}`);
    const base = slot * slotWords;
    Atomics.store(this.#words, base + quotaWord, quota);
    if (Atomics.exchange(this.#words, base + burstWord, burst) === burst) return;
    // Other ticks: what is in the bucket means nothing any more. As if long ago, it is full.
    Atomics.sub(this.#words, base + usedAtWord, longIdleSeconds);
  }

  /**
   * Gives one of an account's two counters to a month, with what was used in that month before; the other counter
   * stays as it is. The control thread alone does this, because it knows what was saved, and serving threads admit
   * requests of the two months that are there and of no others. So a clock may jump as it likes: a month's count goes
   * on where it ended, whenever the month comes back, and a counter never goes above the quota.
   *
   * @returns the month that had the counter, and what was used in it up to its end here
   */
  enter(slot: number, month: number, used: number): { month: number; used: number } {
    const at = this.#monthOf(slot, month);
    const before = Atomics.exchange(this.#words, at, noMonth);
    // In one step, so that no request is lost: one whose thread has found the counter just before counts here or there.
    const counted = Atomics.exchange(this.#words, at + 1, used);
    Atomics.store(this.#words, at, month);
    return { month: before, used: counted };
  }

  /**
   * Takes one request from the account's bucket and from its month. The bucket holds one second's worth and fills
   * steadily; a refused request takes nothing.
   *
   * @param month from `monthOf` the wall clock
   * @param steadyMs milliseconds of a clock that never steps, the same in all threads
   * @returns requests left in the month, or why it is refused
   */
  admit(slot: number, month: number, steadyMs: number): number {
    const words = this.#words;
    const base = slot * slotWords;
    if (!this.#takeFromBucket(base, steadyMs)) return burstExceeded;
    const counter = this.#monthOf(slot, month) + 1;
    if (Atomics.load(words, counter - 1) !== month) {
      Atomics.sub(words, base + fullAtWord, ticksPerRequest);
      return monthUnknown;
    }
    const quota = Atomics.load(words, base + quotaWord);
    for (let used = Atomics.load(words, counter); used < quota; ) {
      const found = Atomics.compareExchange(words, counter, used, used + 1);
      if (found === used) return quota - used - 1;
      used = found;
    }
    Atomics.sub(words, base + fullAtWord, ticksPerRequest);
    return quotaExceeded;
  }

  /** Gives back a request that failed by our fault. */
  giveBack(slot: number, month: number): void {
    const counter = this.#monthOf(slot, month) + 1;
    if (Atomics.load(this.#words, counter - 1) !== month) return;
    for (let used = Atomics.load(this.#words, counter); used > 0; ) {
      const found = Atomics.compareExchange(this.#words, counter, used, used - 1);
      if (found === used) return;
      used = found;
    }
  }

  /** Requests counted in a month; undefined when the account has no counter for it. */
  used(slot: number, month: number): number | undefined {
    const at = this.#monthOf(slot, month);
    return Atomics.load(this.#words, at) === month ? Atomics.load(this.#words, at + 1) : undefined;
  }

  /** An account's ceilings. */
  ceilings(slot: number): { burst: number; quota: number } {
    const base = slot * slotWords;
    return {
      burst: Atomics.load(this.#words, base + burstWord),
      quota: Atomics.load(this.#words, base + quotaWord),
    };
  }

  /** Whole requests left in a month. */
  remaining(slot: number, month: number): number {
    const quota = Atomics.load(this.#words, slot * slotWords + quotaWord);
    return Math.max(0, quota - (this.used(slot, month) ?? 0));
  }

  /** Milliseconds until a request that is refused for the burst now would be admitted. */
  burstWaitMs(slot: number, steadyMs: number): number {
    const words = this.#words;
    const base = slot * slotWords;
    const burst = Atomics.load(words, base + burstWord);
    const ahead = (Atomics.load(words, base + fullAtWord) - Math.imul(steadyMs | 0, burst)) | 0;
    return Math.max(0, Math.ceil((ahead + ticksPerRequest - ticksPerRequest * burst) / burst));
  }

  /**
   * The generic cell rate algorithm: the bucket is the time at which it would be full again. All in whole ticks, so
   * no rate is rounded. A clock that steps back admits nothing that it wouldn't have admitted before.
   */
  #takeFromBucket(base: number, steadyMs: number): boolean {
    const words = this.#words;
    const burst = Atomics.load(words, base + burstWord);
    const second = Math.floor(steadyMs / 1000) | 0;
    for (;;) {
      // `fullAt` before `usedAt`: whoever sees what another thread took sees that it was used just now, too.
      const fullAt = Atomics.load(words, base + fullAtWord);
      const usedAt = Atomics.load(words, base + usedAtWord);
      const idle = (second - usedAt) | 0;
      const now = Math.imul(idle < 0 ? usedAt * 1000 : steadyMs | 0, burst);
      if (idle > 1) {
        // Full again, and perhaps wrapped around since: it starts anew, and only then counts as used.
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

  /** Where the counter for a month says which month it has; what was used in it comes next. */
  #monthOf(slot: number, month: number): number {
    return slot * slotWords + monthWords + (month & 1) * 2;
  }
}
