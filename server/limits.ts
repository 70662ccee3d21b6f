/*
 * Ceilings and counts by account slot, in shared memory. A slot is an account's place in the table; it stays the
 * account's as long as the process lives.
 */
const maxAccounts = 100_000;

export const admitted = 0;
export const burstExceeded = 1;
export const quotaExceeded = 2;
export type Admission = typeof admitted | typeof burstExceeded | typeof quotaExceeded;

const monthMs = (month: number) => Date.UTC(Math.floor(month / 12), month % 12);

/** UTC calendar months since year 0. */
export function monthOf(nowMs: number): number {
  const date = new Date(nowMs);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** Unix milliseconds of a month's first instant. */
export const startOfMonth = monthMs;

/** `YYYY-MM` */
export function monthName(month: number): string {
  return new Date(monthMs(month)).toISOString().slice(0, 7);
}

export class Limits {
  readonly buffer: SharedArrayBuffer;
  readonly #quota: Int32Array;
  readonly #burst: Int32Array;
  readonly #month: Int32Array;
  readonly #used: Int32Array;
  /** When the bucket is full again, in Unix milliseconds. */
  readonly #fullAt: Float64Array;

  constructor(buffer = new SharedArrayBuffer(maxAccounts * 24)) {
    this.buffer = buffer;
    this.#quota = new Int32Array(buffer, 0, maxAccounts);
    this.#burst = new Int32Array(buffer, 4 * maxAccounts, maxAccounts);
    this.#month = new Int32Array(buffer, 8 * maxAccounts, maxAccounts);
    this.#used = new Int32Array(buffer, 12 * maxAccounts, maxAccounts);
    this.#fullAt = new Float64Array(buffer, 16 * maxAccounts, maxAccounts);
  }

  /** Sets an account's ceilings. */
  configure(slot: number, burst: number, quota: number): void {
    if (slot >= maxAccounts) throw new RangeError(`account slot is ${slot}, expected below ${maxAccounts}`);
    this.#burst[slot] = burst;
    this.#quota[slot] = quota;
  }

  /** Sets what an account has used in a month, as it was saved. */
  restore(slot: number, month: number, used: number): void {
    this.#month[slot] = month;
    this.#used[slot] = used;
  }

  /**
   * Takes one request from the account's bucket and its month, or says which of them has none left. The bucket holds
   * one second's worth and fills steadily. A refused request takes nothing.
   */
  admit(slot: number, nowMs: number): Admission {
    const interval = 1000 / this.#burst[slot];
    const fullAt = Math.max(this.#fullAt[slot], nowMs) + interval;
    // Half a microsecond of leave: sums of fractions must not cost a request.
    if (fullAt - nowMs > 1000 + 0.0005) return burstExceeded;
    const month = monthOf(nowMs);
    if (this.#month[slot] !== month) this.restore(slot, month, 0);
    if (this.#used[slot] >= this.#quota[slot]) return quotaExceeded;
    this.#used[slot]++;
    this.#fullAt[slot] = fullAt;
    return admitted;
  }

  /** Gives back a request that failed by our fault. */
  giveBack(slot: number, nowMs: number): void {
    if (this.#month[slot] === monthOf(nowMs) && this.#used[slot] > 0) this.#used[slot]--;
  }

  /** Requests counted in a month; undefined when the account's counter is of another month. */
  used(slot: number, month: number): number | undefined {
    return this.#month[slot] === month ? this.#used[slot] : undefined;
  }

  /** Whole requests left in the month. */
  remaining(slot: number, nowMs: number): number {
    return Math.max(0, this.#quota[slot] - (this.used(slot, monthOf(nowMs)) ?? 0));
  }

  /** Unix milliseconds from which a request that finds the bucket empty now will be admitted. */
  nextAdmissionMs(slot: number, nowMs: number): number {
    return Math.max(nowMs, this.#fullAt[slot] + 1000 / this.#burst[slot] - 1000);
  }
}
