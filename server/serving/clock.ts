/** Interval between readings of the wall clock. In between, the steady clock is used. */
const wallClockMs = 100;

/** The wall clock. It is read seldom, because reading it takes as long as looking up a key. */
export class WallClock {
  readonly #now: () => number;
  readonly #steadyNow: () => number;
  #readAt = Number.NEGATIVE_INFINITY;
  #ahead = 0;

  /** @param steadyNow milliseconds of a steady clock */
  constructor(now: () => number, steadyNow: () => number) {
    this.#now = now;
    this.#steadyNow = steadyNow;
  }

  /** Returns the wall clock's Unix milliseconds. @param steadyMs milliseconds of the steady clock */
  at(steadyMs: number): number {
    if (steadyMs - this.#readAt >= wallClockMs) {
      this.#readAt = steadyMs;
      this.#ahead = this.#now() - steadyMs;
    }
    return steadyMs + this.#ahead;
  }

  now(): number {
    return this.at(this.#steadyNow());
  }
}
