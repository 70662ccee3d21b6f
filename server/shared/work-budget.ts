/**
 * A budget of time for work that counts against no quota. It fills steadily. Work may overdraw it, because its cost is
 * known only afterwards.
 */
export class WorkBudget {
  readonly #msPerSecond: number;
  readonly #maxMs: number;
  #leftMs: number;
  #atMs = 0;

  /**
   * @param msPerSecond milliseconds of work per second
   * @param maxMs milliseconds of work that may be saved up
   * @param firstMs milliseconds of work at the start, when code that isn't compiled yet is slow
   */
  constructor(msPerSecond: number, maxMs: number, firstMs = maxMs) {
    this.#msPerSecond = msPerSecond;
    this.#maxMs = maxMs;
    this.#leftMs = firstMs;
  }

  /** Returns whether some of the budget is left. @param nowMs milliseconds of a steady clock */
  hasLeft(nowMs: number): boolean {
    const filledMs = ((nowMs - this.#atMs) / 1000) * this.#msPerSecond;
    this.#leftMs = Math.max(this.#leftMs, Math.min(this.#maxMs, this.#leftMs + filledMs));
    this.#atMs = nowMs;
    return this.#leftMs > 0;
  }

  spend(ms: number): void {
    this.#leftMs -= ms;
  }
}
