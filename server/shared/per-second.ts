/** Lets so many through in a second and no more. */

/** Lets one pass if fewer than so many have in the second before it. */
export class PerSecond {
  /** When the last ones passed, in turn. */
  readonly #passedMs: Float64Array;
  #oldest = 0;

  constructor(max: number) {
    this.#passedMs = new Float64Array(max).fill(Number.NEGATIVE_INFINITY);
  }

  /** @param nowMs of a clock that never steps */
  pass(nowMs: number): boolean {
    // Of none there is no oldest.
    if (!(nowMs - this.#passedMs[this.#oldest] >= 1000)) return false;
    this.#passedMs[this.#oldest] = nowMs;
    this.#oldest = (this.#oldest + 1) % this.#passedMs.length;
    return true;
  }
}
