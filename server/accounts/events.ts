import { maxAccounts } from "../shared/plans.ts";

/** The quota events of a month, per account slot, in shared memory. */

/** Maximum events per slot. The newest are kept. Each quota that an account has in a month has up to three events. */
export const maxEvents = 15;
/** 64-bit words of a slot: the month, then the events. An unused word is 0. */
const slotWords = 1 + maxEvents;
/** Marks a slot that has no month yet, or whose month is being changed. */
const noMonth = 0n;
/**
 * An event is one word, so that it is written atomically: its Unix milliseconds times this factor, plus the threshold.
 */
const timeUnit = 128n;

export interface UsageEvent {
  /** Percent of the quota. */
  threshold: number;
  /** Unix milliseconds. */
  created_at: number;
}

export class UsageEvents {
  readonly buffer: SharedArrayBuffer;
  readonly #words: BigInt64Array;

  constructor(buffer = new SharedArrayBuffer(maxAccounts * slotWords * 8)) {
    this.buffer = buffer;
    this.#words = new BigInt64Array(buffer);
  }

  enter(slot: number, month: number): void {
    const base = slot * slotWords;
    Atomics.store(this.#words, base, noMonth);
    this.#words.fill(0n, base + 1, base + slotWords);
    Atomics.store(this.#words, base, BigInt(month));
  }

  /**
   * Adds an event to a slot, in place of the oldest event if the slot is full. Does nothing if the slot has an event with
   * the same time and threshold, or is full of newer events.
   */
  put(slot: number, { threshold, created_at }: UsageEvent): void {
    const word = BigInt(created_at) * timeUnit + BigInt(threshold);
    let oldest = slot * slotWords + 1;
    for (let at = oldest; at < (slot + 1) * slotWords; at++) {
      if (this.#words[at] === word) return;
      if (this.#words[at] < this.#words[oldest]) oldest = at;
    }
    if (word > this.#words[oldest]) Atomics.store(this.#words, oldest, word);
  }

  /** Returns a slot's events of a month, sorted by time; none if the slot has another month. */
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
