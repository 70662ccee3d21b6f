import { maxAccounts } from "./limits.ts";

/** Requests by UTC day of one month, by account slot, in shared memory, for answers that show them. */

/**
 * A slot has 32 words: the month, and for each of its days what the account had used of the month at the end of that
 * day; 0 where nothing was saved then. What isn't a sum can't add up to more or less than the month's count.
 */
const slotWords = 32;
/** In place of the month while a slot is given to another. */
const noMonth = 0;

export class UsageDays {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(buffer = new SharedArrayBuffer(maxAccounts * slotWords * 4)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  /** Gives a slot to a month, with what is known of its days. */
  enter(slot: number, month: number, ends: readonly (readonly [day: number, used: number])[]): void {
    const base = slot * slotWords;
    Atomics.store(this.#words, base, noMonth);
    this.#words.fill(0, base + 1, base + slotWords);
    for (const [day, used] of ends) this.#words[base + day] = used;
    Atomics.store(this.#words, base, month);
  }

  /** Says what an account had used of its slot's month at the end of a day, from 1. */
  put(slot: number, day: number, used: number): void {
    Atomics.store(this.#words, slot * slotWords + day, used);
  }

  /**
   * Requests of each day of a month up to one of them: what isn't said to be of an earlier day is of that one.
   *
   * @param used in the month: what the days add up to
   */
  of(slot: number, month: number, today: number, used: number): number[] {
    const base = slot * slotWords;
    const isKnown = Atomics.load(this.#words, base) === month;
    let end = 0;
    return Array.from({ length: today }, (_, i) => {
      const said = isKnown ? Atomics.load(this.#words, base + 1 + i) : 0;
      const start = end;
      // A clock that was set back, or a request that was given back, must not make a day's count negative.
      end = i + 1 === today ? used : Math.min(used, Math.max(start, said));
      return end - start;
    });
  }
}
