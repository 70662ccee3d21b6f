/** Lets so many through in a second and no more. */

/** Lets the first ones of each second pass. */
export class PerSecond {
  readonly #max: number;
  #second = Number.NaN;
  #passed = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @param nowMs of a clock that never steps */
  pass(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#passed = 0;
    }
    return ++this.#passed <= this.#max;
  }
}
