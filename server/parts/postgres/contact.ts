/** Tells whether the database is away, by the answers to reads and to calls for permits. */

/** Milliseconds without a success, while reads or calls were due, after which the database is away. */
export const awayMs = 2000;
/**
 * Maximum milliseconds between two looks that count as silence. After a longer pause, as when the machine was busy or the
 * process was stopped, this thread hasn't read the answers that came meanwhile.
 */
const maxLookMs = 500;

/** Times are milliseconds of a steady clock. */
export class Contact {
  /** Why the last read or call failed. */
  reason = "no answer";
  #readMs = Number.NEGATIVE_INFINITY;
  /** Since when calls fail, one after the other; undefined after a success. */
  #failingMs: number | undefined;
  #calledMs = Number.NEGATIVE_INFINITY;
  #lookedMs = Number.POSITIVE_INFINITY;

  /** Whether no read has succeeded. */
  get isNone(): boolean {
    return this.#readMs === Number.NEGATIVE_INFINITY;
  }

  /** Notes a read that succeeded. The time of the last success never goes back. */
  read(sentMs: number): void {
    this.#readMs = Math.max(this.#readMs, sentMs);
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

  /** Whether reads or calls were due and none succeeded for a while in which this thread ran. */
  isLost(nowMs: number): boolean {
    this.#leaveOut(nowMs - this.#lookedMs - maxLookMs, nowMs);
    this.#lookedMs = nowMs;
    if (nowMs - this.#readMs > awayMs) return true;
    if (this.#failingMs === undefined || nowMs - this.#failingMs <= awayMs) return false;
    return this.#calledMs > this.#failingMs && nowMs - this.#calledMs < awayMs;
  }

  /**
   * Moves all times later by milliseconds in which this thread didn't run, so that they don't count as silence. No time
   * is moved into the future.
   */
  #leaveOut(pausedMs: number, nowMs: number): void {
    if (pausedMs <= 0) return;
    const moved = (ms: number) => Math.min(nowMs, ms + pausedMs);
    this.#readMs = moved(this.#readMs);
    this.#calledMs = moved(this.#calledMs);
    if (this.#failingMs !== undefined) this.#failingMs = moved(this.#failingMs);
  }
}
