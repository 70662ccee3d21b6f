/** Reads the wall clock seldom, because a reading costs as much as a look-up. */

/** Milliseconds for which a reading of the wall clock serves. In between, the steady clock is added to it. */
const wallClockMs = 100;

export class WallClock {
  readonly #now: () => number;
  readonly #steadyNow: () => number;
  #readAt = Number.NEGATIVE_INFINITY;
  /** Milliseconds by which the wall clock is ahead of the steady one. */
  #ahead = 0;

  /**
   * @param now Unix milliseconds
   * @param steadyNow milliseconds of a clock that never steps
   */
  constructor(now: () => number, steadyNow: () => number) {
    this.#now = now;
    this.#steadyNow = steadyNow;
  }

  /** Unix milliseconds. @param steadyMs what the steady clock says now */
  at(steadyMs: number): number {
    if (steadyMs - this.#readAt >= wallClockMs) {
      this.#readAt = steadyMs;
      this.#ahead = this.#now() - steadyMs;
    }
    return steadyMs + this.#ahead;
  }

  /** Unix milliseconds. */
  now(): number {
    return this.at(this.#steadyNow());
  }
}
