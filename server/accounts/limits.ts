/** Admits requests within their accounts' ceilings, and counts the admitted requests. */

/*
 * The ceilings and counts of accounts, by account slot, are in shared memory, and are changed with Atomics. An
 * account stays in its slot as long as the process lives. A slot has sixteen 32-bit words, which fill a cache line.
 */
const slotWords = 16;
const quotaWord = 0;
/** Requests per second. */
const burstWord = 1;
/** When the bucket is full again, in ticks modulo 2^32. A millisecond has `burst` ticks. */
const fullAtWord = 2;
/** The second in which the bucket was last used. An old second means that `fullAt` may be from before a wrap-around. */
const usedAtWord = 3;
const refusedWord = 4;
/** 1 if a count changed, or a bound refused a request, since the last sweep. Always 0 without shared ceilings. */
const markWord = 5;
/** The first word of the two counters. The first counter is for even months, the second for odd months. */
const monthWords = 6;
const counterWords = 5;
/** The number of counted requests. Word 0 of a counter is its month. */
const usedWord = 1;
/** The highest count that this server may reach in the month. */
const boundWord = 2;
/** Whether the bound comes from the quota, and not from the burst. */
const isForQuotaWord = 3;
/** The quota minus the known counts of other servers. */
const leftWord = 4;

export const maxAccounts = 1_000_000;
/** Slots per group. A byte for each group, before all slots, tells whether one of the group's slots is marked. */
const groupSlots = 16;
const groupBytes = Math.ceil(maxAccounts / groupSlots / 64) * 64;
/** The word after all slots. It is the time, in milliseconds modulo 2^32, until which shared ceilings' bounds apply. */
const boundsUntilWord = maxAccounts * slotWords;
const longIdleSeconds = 10;

/** Marks a counter whose month is being changed. */
const noMonth = 0;

/** Ticks per request. A full bucket holds `burst` requests, one second's worth. */
const ticksPerRequest = 1000;

// `admit` returns one of the four numbers below if it refuses a request.

/** The account's token bucket is empty, or this server's share of the rate is used up or has ended. */
export const burstExceeded = -1;
/** The requests of the month are used up, on all servers together. */
export const quotaExceeded = -2;
/** The month has no counter in shared memory. `Limits.enter` assigns the counters. */
export const monthUnknown = -3;
/** This server's lease is used up or has ended. Other servers may still hold requests of the quota. */
export const leaseExceeded = -4;

export class Limits {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #groups: Buffer;
  readonly isShared: boolean;

  /** @param isShared whether other servers admit requests of the same accounts, so that `admitUpTo` sets the bounds */
  constructor(buffer = new SharedArrayBuffer(groupBytes + (boundsUntilWord + 1) * 4), isShared = false) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, groupBytes);
    this.#groups = Buffer.from(buffer, 0, groupBytes);
    this.isShared = isShared;
  }

  /**
   * Sets an account's requests per second (`burst`) and per month (`quota`).
   * @throws RangeError when the slot is too high
   */
  configure(slot: number, burst: number, quota: number): void {
    if (slot >= maxAccounts) throw new RangeError(`account slot is ${slot}, expected below ${maxAccounts}`);
    const base = slot * slotWords;
    Atomics.store(this.#words, base + quotaWord, quota);
    if (!this.isShared) for (const odd of [0, 1]) this.#bind(this.#counterOf(slot, odd), quota, true, quota);
    if (Atomics.exchange(this.#words, base + burstWord, burst) === burst) return;
    // A new `burst` changes the length of a tick, so `fullAt` isn't valid any more. The last use is moved to the past,
    // because a bucket that wasn't used for long counts as full.
    Atomics.sub(this.#words, base + usedAtWord, longIdleSeconds);
  }

  /**
   * Assigns one of an account's two counters to a month. Only the control thread calls this, because it knows which
   * counts were saved. Serving threads admit requests only of the two months that have a counter. So a month's count
   * continues when a clock returns to the month.
   *
   * @param used the number of requests that are already counted in `month`
   * @returns the month that had the counter, and its final count
   */
  enter(slot: number, month: number, used: number): { month: number; used: number } {
    const at = this.#counterOf(slot, month);
    const before = Atomics.exchange(this.#words, at, noMonth);
    // With shared ceilings, nothing is admitted until `admitUpTo` is called.
    if (this.isShared) this.#bind(at, used, true, this.ceilings(slot).quota);
    // The count is exchanged in one atomic step, so that no concurrent request is lost.
    const usedBefore = Atomics.exchange(this.#words, at + usedWord, used);
    Atomics.store(this.#words, at, month);
    return { month: before, used: usedBefore };
  }

  /**
   * Sets how many requests this server may count in a month, the reason for refusing further requests, and the quota
   * minus other servers' counts. Does nothing if the month has no counter.
   */
  admitUpTo(slot: number, month: number, count: number, reason: "burst" | "quota", left: number): void {
    const at = this.#counterOf(slot, month);
    if (Atomics.load(this.#words, at) === month) this.#bind(at, count, reason === "quota", left);
  }

  /**
   * Keeps all bounds in force until a time of `admit`'s clock. Afterwards nothing is admitted, because other servers
   * take over this server's part of the ceilings if this server's control thread stops.
   */
  keepBounds(steadyMs: number): void {
    Atomics.store(this.#words, boundsUntilWord, steadyMs);
  }

  #bind(at: number, count: number, isForQuota: boolean, left: number): void {
    Atomics.store(this.#words, at + boundWord, count);
    Atomics.store(this.#words, at + isForQuotaWord, isForQuota ? 1 : 0);
    Atomics.store(this.#words, at + leftWord, left);
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
    const isOutdated = this.isShared && ((steadyMs - Atomics.load(words, boundsUntilWord)) | 0) > 0;
    const bound = isOutdated ? 0 : Atomics.load(words, at + boundWord);
    let used = Atomics.load(words, at + usedWord);
    while (used < bound) {
      const found = Atomics.compareExchange(words, at + usedWord, used, used + 1);
      if (found === used) {
        this.#mark(slot);
        return Math.max(0, Atomics.load(words, at + leftWord) - used - 1);
      }
      used = found;
    }
    Atomics.sub(words, base + fullAtWord, ticksPerRequest);
    Atomics.add(words, base + refusedWord, 1);
    this.#mark(slot);
    if (used >= Atomics.load(words, at + leftWord)) return quotaExceeded;
    return Atomics.load(words, at + isForQuotaWord) === 0 ? burstExceeded : leaseExceeded;
  }

  /** Marks the account for `sweep`, which only servers with shared ceilings call. */
  #mark(slot: number): void {
    if (!this.isShared) return;
    const at = slot * slotWords + markWord;
    if (Atomics.load(this.#words, at) !== 0) return;
    Atomics.store(this.#words, at, 1);
    Atomics.store(this.#groups, Math.floor(slot / groupSlots), 1);
  }

  /** Reports the accounts whose count has changed, or whose bound has refused a request, since the last sweep. */
  sweep(tell: (slot: number) => void): void {
    for (let group = this.#groups.indexOf(1); group >= 0; group = this.#groups.indexOf(1, group + 1)) {
      // Marks are cleared before the counts are read, so that a later request sets them again.
      Atomics.store(this.#groups, group, 0);
      for (let slot = group * groupSlots; slot < (group + 1) * groupSlots; slot++) {
        if (Atomics.load(this.#words, slot * slotWords + markWord) === 0) continue;
        Atomics.store(this.#words, slot * slotWords + markWord, 0);
        tell(slot);
      }
    }
  }

  /** Uncounts a request that failed with a server error. */
  giveBack(slot: number, month: number): void {
    const at = this.#counterOf(slot, month);
    if (Atomics.load(this.#words, at) !== month) return;
    for (let used = Atomics.load(this.#words, at + usedWord); used > 0; ) {
      const found = Atomics.compareExchange(this.#words, at + usedWord, used, used - 1);
      if (found === used) {
        this.#mark(slot);
        return;
      }
      used = found;
    }
  }

  /**
   * Returns the requests that this server counted in a month; undefined if the account has no counter for the month.
   */
  used(slot: number, month: number): number | undefined {
    const at = this.#counterOf(slot, month);
    return Atomics.load(this.#words, at) === month ? Atomics.load(this.#words, at + usedWord) : undefined;
  }

  /** Returns the requests of a month that other servers counted, as far as known; 0 if the month has no counter. */
  usedByOthers(slot: number, month: number): number {
    const at = this.#counterOf(slot, month);
    if (Atomics.load(this.#words, at) !== month) return 0;
    return this.ceilings(slot).quota - Atomics.load(this.#words, at + leftWord);
  }

  /** Requests refused since the start because the month's bound was reached, modulo 2^32. */
  refused(slot: number): number {
    return Atomics.load(this.#words, slot * slotWords + refusedWord);
  }

  /** Returns the account's requests per second (`burst`) and requests per month (`quota`). */
  ceilings(slot: number): { burst: number; quota: number } {
    const base = slot * slotWords;
    return {
      burst: Atomics.load(this.#words, base + burstWord),
      quota: Atomics.load(this.#words, base + quotaWord),
    };
  }

  /** Returns the requests left of a month's quota, by all known counts; the whole quota if the month has no counter. */
  remaining(slot: number, month: number): number {
    const used = (this.used(slot, month) ?? 0) + this.usedByOthers(slot, month);
    return Math.max(0, this.ceilings(slot).quota - used);
  }

  /** Returns the milliseconds until the account's bucket has room for a request; 0 if it has room now. */
  burstWaitMs(slot: number, steadyMs: number): number {
    const words = this.#words;
    const base = slot * slotWords;
    const burst = Atomics.load(words, base + burstWord);
    const ahead = (Atomics.load(words, base + fullAtWord) - Math.imul(steadyMs | 0, burst)) | 0;
    return Math.max(0, Math.ceil((ahead + ticksPerRequest - ticksPerRequest * burst) / burst));
  }

  /** Uses the generic cell rate algorithm. A clock that steps back admits no additional requests. */
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
