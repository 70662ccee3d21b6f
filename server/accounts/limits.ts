/** Admits requests by their accounts' ceilings, and counts them. */

/*
 * Ceilings and counts by account slot, in shared memory, changed with Atomics by all serving threads. An account
 * stays in its slot as long as the process lives. A slot has sixteen 32-bit words, a cache line:
 */
const slotWords = 16;
const quotaWord = 0;
/** Requests per second. */
const burstWord = 1;
/** When the bucket is full again, on a clock that runs `burst` ticks per millisecond, modulo 2^32. */
const fullAtWord = 2;
/** The second in which the bucket was last used: tells a recent `fullAt` from one that wrapped around. */
const usedAtWord = 3;
/** Requests refused for a month's bound. */
const refusedWord = 4;
/** Whether something was counted since the last sweep, and whether that is urgent. */
const markWord = 5;
const [counted, urgent] = [1, 2];
/** Two counters, for an even and an odd month. */
const monthWords = 6;
const counterWords = 5;
/** Of a counter: its month comes first. */
const usedWord = 1;
/** As many requests are admitted. */
const boundWord = 2;
/** Whether it is the quota that the bound is for, and not the burst. */
const isForQuotaWord = 3;
/** The quota less what other servers have used of it, as far as is known. */
const leftWord = 4;

export const maxAccounts = 1_000_000;
/** Before the slots there is a byte for so many of them: whether one of these is marked. */
const groupSlots = 16;
const groupBytes = Math.ceil(maxAccounts / groupSlots / 64) * 64;
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
/** The quota isn't used up as far as is known, but what is left of it isn't this server's to give. */
export const leaseExceeded = -4;

export class Limits {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #groups: Buffer;
  readonly #isShared: boolean;

  /** @param isShared whether other servers admit requests of the same accounts: then `admitUpTo` says how many this one may */
  constructor(buffer = new SharedArrayBuffer(groupBytes + maxAccounts * slotWords * 4), isShared = false) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, groupBytes);
    this.#groups = Buffer.from(buffer, 0, groupBytes);
    this.#isShared = isShared;
  }

  /** Sets an account's ceilings, from the next request on. */
  configure(slot: number, burst: number, quota: number): void {
    if (slot >= maxAccounts) throw new RangeError(`account slot is ${slot}, expected below ${maxAccounts}`);
    const base = slot * slotWords;
    Atomics.store(this.#words, base + quotaWord, quota);
    if (!this.#isShared) for (const odd of [0, 1]) this.#bind(this.#counterOf(slot, odd), quota, true, quota);
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
    const at = this.#counterOf(slot, month);
    const before = Atomics.exchange(this.#words, at, noMonth);
    // Until it is said how many may be.
    if (this.#isShared) this.#bind(at, used, true, this.ceilings(slot).quota);
    // In one step, so that no request is lost: one whose thread has found the counter just before counts here or there.
    const usedBefore = Atomics.exchange(this.#words, at + usedWord, used);
    Atomics.store(this.#words, at, month);
    return { month: before, used: usedBefore };
  }

  /**
   * Says how many requests of a month may be counted here, where several servers share the ceilings.
   *
   * @param reason why more are refused
   * @param left the quota less what others have used of it
   */
  admitUpTo(slot: number, month: number, count: number, reason: "burst" | "quota", left: number): void {
    const at = this.#counterOf(slot, month);
    if (Atomics.load(this.#words, at) === month) this.#bind(at, count, reason === "quota", left);
  }

  #bind(at: number, count: number, isForQuota: boolean, left: number): void {
    Atomics.store(this.#words, at + boundWord, count);
    Atomics.store(this.#words, at + isForQuotaWord, isForQuota ? 1 : 0);
    Atomics.store(this.#words, at + leftWord, left);
  }

  /** Counts requests of a month that were admitted before. */
  raise(slot: number, month: number, by: number): void {
    const at = this.#counterOf(slot, month);
    if (Atomics.load(this.#words, at) === month) Atomics.add(this.#words, at + usedWord, by);
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
    const at = this.#counterOf(slot, month);
    if (Atomics.load(words, at) !== month) {
      Atomics.sub(words, base + fullAtWord, ticksPerRequest);
      return monthUnknown;
    }
    const bound = Atomics.load(words, at + boundWord);
    let used = Atomics.load(words, at + usedWord);
    while (used < bound) {
      const found = Atomics.compareExchange(words, at + usedWord, used, used + 1);
      if (found === used) {
        this.#mark(slot, used + 1 < bound ? counted : urgent);
        return Math.max(0, Atomics.load(words, at + leftWord) - used - 1);
      }
      used = found;
    }
    Atomics.sub(words, base + fullAtWord, ticksPerRequest);
    Atomics.add(words, base + refusedWord, 1);
    this.#mark(slot, urgent);
    if (used >= Atomics.load(words, at + leftWord)) return quotaExceeded;
    return Atomics.load(words, at + isForQuotaWord) === 0 ? burstExceeded : leaseExceeded;
  }

  /** Leaves word for `sweep`, after counting; only who shares ceilings sweeps. */
  #mark(slot: number, mark: number): void {
    if (!this.#isShared) return;
    const at = slot * slotWords + markWord;
    if (Atomics.load(this.#words, at) >= mark) return;
    Atomics.store(this.#words, at, mark);
    Atomics.store(this.#groups, Math.floor(slot / groupSlots), 1);
  }

  /** Tells of the accounts that requests were counted of since the last sweep, and whether one may not be admitted. */
  sweep(tell: (slot: number, isUrgent: boolean) => void): void {
    for (let group = this.#groups.indexOf(1); group >= 0; group = this.#groups.indexOf(1, group + 1)) {
      // First the marks are taken back and then the counts are read: what is counted meanwhile is marked anew.
      Atomics.store(this.#groups, group, 0);
      for (let slot = group * groupSlots; slot < (group + 1) * groupSlots; slot++) {
        if (Atomics.load(this.#words, slot * slotWords + markWord) === 0) continue;
        tell(slot, Atomics.exchange(this.#words, slot * slotWords + markWord, 0) === urgent);
      }
    }
  }

  /** Gives back a request that failed by our fault. */
  giveBack(slot: number, month: number): void {
    const at = this.#counterOf(slot, month);
    if (Atomics.load(this.#words, at) !== month) return;
    for (let used = Atomics.load(this.#words, at + usedWord); used > 0; ) {
      const found = Atomics.compareExchange(this.#words, at + usedWord, used, used - 1);
      if (found === used) {
        this.#mark(slot, counted);
        return;
      }
      used = found;
    }
  }

  /** Requests counted here in a month; undefined when the account has no counter for it. */
  used(slot: number, month: number): number | undefined {
    const at = this.#counterOf(slot, month);
    return Atomics.load(this.#words, at) === month ? Atomics.load(this.#words, at + usedWord) : undefined;
  }

  /** Requests of a month that other servers have counted, as far as is known. */
  usedByOthers(slot: number, month: number): number {
    const at = this.#counterOf(slot, month);
    if (Atomics.load(this.#words, at) !== month) return 0;
    return this.ceilings(slot).quota - Atomics.load(this.#words, at + leftWord);
  }

  /** Requests refused for want of what this server may admit, since the start, modulo 2^32. */
  refused(slot: number): number {
    return Atomics.load(this.#words, slot * slotWords + refusedWord);
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
    const used = (this.used(slot, month) ?? 0) + this.usedByOthers(slot, month);
    return Math.max(0, this.ceilings(slot).quota - used);
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

  /** Where the counter for a month is. */
  #counterOf(slot: number, month: number): number {
    return slot * slotWords + monthWords + (month & 1) * counterWords;
  }
}
