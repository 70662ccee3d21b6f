import { maxAccounts } from "./limits.ts";

/** Quota events of one month, by account slot, in shared memory, for answers that show them. */

/** Events that an account's slot holds: the newest ones of the month. A month has three of each quota that is set in it. */
export const maxEvents = 15;
/** A slot has 64-bit words: the month, and an event each; 0 where there is none. */
const slotWords = 1 + maxEvents;
/** In place of the month while a slot is given to another. */
const noMonth = 0n;
/** An event is its time in Unix milliseconds, times this, and its threshold in percent: one word, never half written. */
const timeUnit = 128n;

export interface UsageEvent {
  threshold: number;
  created_at: number;
}

export class UsageEvents {
  readonly buffer: SharedArrayBuffer;
  readonly #words: BigInt64Array;

  constructor(buffer = new SharedArrayBuffer(maxAccounts * slotWords * 8)) {
    this.buffer = buffer;
    this.#words = new BigInt64Array(buffer);
  }

  /** Gives a slot to a month, without events. */
  enter(slot: number, month: number): void {
    const base = slot * slotWords;
    Atomics.store(this.#words, base, noMonth);
    this.#words.fill(0n, base + 1, base + slotWords);
    Atomics.store(this.#words, base, BigInt(month));
  }

  /** Adds an event of the slot's month in place of the oldest one, unless the slot has it or has newer ones alone. */
  put(slot: number, { threshold, created_at }: UsageEvent): void {
    const word = BigInt(created_at) * timeUnit + BigInt(threshold);
    let oldest = slot * slotWords + 1;
    for (let at = oldest; at < (slot + 1) * slotWords; at++) {
      if (this.#words[at] === word) return;
      if (this.#words[at] < this.#words[oldest]) oldest = at;
    }
    if (word > this.#words[oldest]) Atomics.store(this.#words, oldest, word);
  }

  /** A slot's events of a month, by their time and then their threshold. */
  of(slot: number, month: number): UsageEvent[] {
    const base = slot * slotWords;
    const isOfMonth = () => Atomics.load(this.#words, base) === BigInt(month);
    if (!isOfMonth()) return [];
    const words = this.#words.slice(base + 1, base + slotWords).filter((word) => word !== 0n);
    if (!isOfMonth()) return [];
    return [...words.sort()].map((word) => ({
      threshold: Number(word % timeUnit),
      created_at: Number(word / timeUnit),
    }));
  }
}
