/** Tells whether the database is away, by the answers to reads and to calls for permits. */

/**
 * The database is away after this many milliseconds without a successful read, or without a successful call while calls
 * were due.
 */
export const awayMs = 2000;
/**
 * Milliseconds between two calls of `isLost` after which the thread counts as blocked. Time beyond that doesn't count
 * as time without an answer, because answers may have come that a blocked thread couldn't read.
 */
const maxLookMs = 500;

/** Records which reads and calls succeed. Times are milliseconds of a steady clock. */
export class Contact {
  /** Why a query last failed. */
  reason = "no answer";
  #readMs = Number.NEGATIVE_INFINITY;
  /** The time since which no call has succeeded; undefined before the first call and after a success. */
  #failingMs: number | undefined;
  #calledMs = Number.NEGATIVE_INFINITY;
  #lookedMs = Number.POSITIVE_INFINITY;

  get isNone(): boolean {
    return this.#readMs === Number.NEGATIVE_INFINITY;
  }

  /** Call this when a read has succeeded. @param sentMs when the read was sent */
  read(sentMs: number): void {
    this.#readMs = Math.max(this.#readMs, sentMs);
  }

  /** Call this before each call for permits. */
  calling(nowMs: number): void {
    // A failed call says nothing about the present if no further call was due for a while.
    if (this.#failingMs === undefined || nowMs - this.#calledMs > awayMs) this.#failingMs = nowMs;
    this.#calledMs = nowMs;
  }

  /** Call this when a call has succeeded. */
  answered(): void {
    this.#failingMs = undefined;
  }

  /**
   * Whether the database is away: no read has succeeded for `awayMs`, or no call has for `awayMs` while calls were due.
   * A pause of this thread counts only up to `maxLookMs`.
   */
  isLost(nowMs: number): boolean {
    this.#leaveOut(nowMs - this.#lookedMs - maxLookMs, nowMs);
    this.#lookedMs = nowMs;
    if (nowMs - this.#readMs > awayMs) return true;
    if (this.#failingMs === undefined || nowMs - this.#failingMs <= awayMs) return false;
    return this.#calledMs > this.#failingMs && nowMs - this.#calledMs < awayMs;
  }

  /** Moves all times forward by a pause of this thread, but not into the future. @param pausedMs below 0 for none */
  #leaveOut(pausedMs: number, nowMs: number): void {
    if (pausedMs <= 0) return;
    const moved = (ms: number) => Math.min(nowMs, ms + pausedMs);
    this.#readMs = moved(this.#readMs);
    this.#calledMs = moved(this.#calledMs);
    if (this.#failingMs !== undefined) this.#failingMs = moved(this.#failingMs);
  }
}
