/** Tells whether the database is away, by the answers to reads and to calls for permits. */

/** Milliseconds without a success, while reads or calls were due, after which the database is away. */
export const awayMs = 2000;

/** Times are milliseconds of a steady clock. */
export class Contact {
  /** Why the last read or call failed. */
  reason = "no answer";
  #readMs = Number.NEGATIVE_INFINITY;
  /** Since when calls fail, one after the other; undefined after a success. */
  #failingMs: number | undefined;
  #calledMs = Number.NEGATIVE_INFINITY;

  /** Whether no read has succeeded. */
  get isNone(): boolean {
    return this.#readMs === Number.NEGATIVE_INFINITY;
  }

  /** Notes a read that succeeded. */
  read(sentMs: number): void {
    this.#readMs = sentMs;
  }

  /** Notes that a call is sent. */
  calling(nowMs: number): void {
    // A call that failed tells nothing if no further one was due.
    if (this.#failingMs === undefined || nowMs - this.#calledMs > awayMs) this.#failingMs = nowMs;
    this.#calledMs = nowMs;
  }

  /** Notes that a call has succeeded. */
  answered(): void {
    this.#failingMs = undefined;
  }

  /** Whether reads or calls were due and none succeeded for a while. */
  isLost(nowMs: number): boolean {
    if (nowMs - this.#readMs > awayMs) return true;
    if (this.#failingMs === undefined || nowMs - this.#failingMs <= awayMs) return false;
    return this.#calledMs > this.#failingMs && nowMs - this.#calledMs < awayMs;
  }
}
