/** Lets at most `max` events pass in any second. */
export class PerSecond {
  readonly #passedMs: Float64Array;
  #oldest = 0;

  constructor(max: number) {
    this.#passedMs = new Float64Array(max).fill(Number.NEGATIVE_INFINITY);
  }

  /** Returns whether an event passes, and counts it if it does. @param nowMs milliseconds of a steady clock */
  pass(nowMs: number): boolean {
    // With a limit of 0 there is no oldest event: the difference is NaN, and nothing passes.
    if (!(nowMs - this.#passedMs[this.#oldest] >= 1000)) return false;
    this.#passedMs[this.#oldest] = nowMs;
    this.#oldest = (this.#oldest + 1) % this.#passedMs.length;
    return true;
  }
}
