import { maxAccounts } from "../shared/plans.ts";

/** Counts of requests by UTC day, per account slot, in shared memory. */

/**
 * Words per slot: the month, and for each of its days the month's count as last saved for the day. A day's requests are
 * the difference of two counts, so the days add up to the month's count.
 */
const slotWords = 32;
/** Marks a slot that has no month yet, or whose month is being changed. */
const noMonth = 0;

export class UsageDays {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(buffer = new SharedArrayBuffer(maxAccounts * slotWords * 4)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  /** Assigns a slot to a month. @param ends the month's count for each known day; days count from 1 */
  enter(slot: number, month: number, ends: readonly (readonly [day: number, used: number])[]): void {
    const base = slot * slotWords;
    Atomics.store(this.#words, base, noMonth);
    this.#words.fill(0, base + 1, base + slotWords);
    for (const [day, used] of ends) this.#words[base + day] = used;
    Atomics.store(this.#words, base, month);
  }

  /** @param day counts from 1 @param used requests of the month up to the day's end, or up to now */
  put(slot: number, day: number, used: number): void {
    Atomics.store(this.#words, slot * slotWords + day, used);
  }

  /**
   * Returns the requests of each day of a month, from day 1 to day `today`. Requests of an unknown day count for the next
   * known day, or for today.
   * @param used requests of the whole month
   */
  of(slot: number, month: number, today: number, used: number): number[] {
    const base = slot * slotWords;
    const isKnown = Atomics.load(this.#words, base) === month;
    let end = 0;
    return Array.from({ length: today }, (_, i) => {
      const said = isKnown ? Atomics.load(this.#words, base + 1 + i) : 0;
      const start = end;
      // Keeps a day's count from being negative after the clock was set back or a request was uncounted.
      end = i + 1 === today ? used : Math.min(used, Math.max(start, said));
      return end - start;
    });
  }
}
