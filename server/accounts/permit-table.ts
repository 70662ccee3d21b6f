import { maxAccounts } from "../shared/plans.ts";
import { burstExceeded, type Ceilings } from "./limits.ts";

/** Admits requests of accounts that several servers share, by permits from the control thread. */

/*
 * A permit is the right to admit one request. The permits of an account, by account slot, are in shared memory, and are
 * used with Atomics. A slot has sixteen 32-bit words, which fill a cache line. Times are milliseconds of a steady clock
 * that all threads share, modulo 2^32.
 */
const slotWords = 16;
const quotaWord = 0;
/** Requests per second. */
const burstWord = 1;
const heldWord = 2;
/**
 * When the oldest permits expire. Afterwards no permit may be used until the control thread has removed the expired ones.
 */
const expiryWord = 3;
/** The month of the permits and of `usedWord`. */
const monthWord = 4;
/** The time until which requests without a permit are refused immediately, unless `reasonWord` is 0. */
const noneUntilWord = 5;
const reasonWord = 6;
/** The requests of all servers in the month, as far as known. The permits held count as used. */
const usedWord = 7;
/** Requests since the start that were admitted or began to wait, modulo 2^32. */
const askedWord = 8;
/** Requests that wait for a permit, in all threads. */
const waitingWord = 9;
/**
 * Permits to uncount: those of failed requests, and those that no waiting request needed. The first word is for even
 * months, the second for odd months.
 */
const failedWords = 10;

/** The word after all slots: the month in which permits are used now. */
const currentMonthWord = maxAccounts * slotWords;
const closedWord = currentMonthWord + 1;

/** Milliseconds until permits expire, from when the database is asked for them. */
export const permitLifeMs = 750;
export const maxWaitMs = 400;
/**
 * Maximum milliseconds of a refusal. If its end seems further away, the refusal is old, and the clock has wrapped around.
 */
const maxRefusalMs = 1000;

// Two numbers that `admit` returns in addition to those of `Limits`.

export const mustWait = -5;
/** No permit can be got in time, for example because the database is away. */
export const databaseAway = -6;

export class PermitTable implements Ceilings {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(buffer = new SharedArrayBuffer((closedWord + 1) * 4)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  get month(): number {
    return Atomics.load(this.#words, currentMonthWord);
  }

  set month(month: number) {
    Atomics.store(this.#words, currentMonthWord, month);
  }

  /** Whether requests may not wait for a permit. */
  set isClosed(isClosed: boolean) {
    Atomics.store(this.#words, closedWord, isClosed ? 1 : 0);
  }

  /**
   * Sets an account's requests per second (`burst`) and per month (`quota`). Ends the account's present refusal.
   * @throws RangeError when the slot is too high
   */
  configure(slot: number, burst: number, quota: number): void {
    if (slot >= maxAccounts) throw new RangeError(`account slot is ${slot}, expected below ${maxAccounts}`);
    const base = slot * slotWords;
    Atomics.store(this.#words, base + quotaWord, quota);
    Atomics.store(this.#words, base + burstWord, burst);
    Atomics.store(this.#words, base + reasonWord, 0);
  }

  /**
   * Uses one of the account's permits.
   * @param month the month's number by `monthOf`
   * @returns the requests left in the month, or a negative number that says why there is no permit
   */
  admit(slot: number, month: number, steadyMs: number): number {
    const words = this.#words;
    const base = slot * slotWords;
    const isValid = ((Atomics.load(words, base + expiryWord) - steadyMs) | 0) > 0;
    if (isValid && Atomics.load(words, base + monthWord) === month) {
      let held = Atomics.load(words, base + heldWord);
      while (held > 0) {
        const found = Atomics.compareExchange(words, base + heldWord, held, held - 1);
        if (found === held) {
          Atomics.add(words, base + askedWord, 1);
          const left = Atomics.load(words, base + quotaWord) - Atomics.load(words, base + usedWord);
          return Math.max(0, left + held - 1);
        }
        held = found;
      }
    }
    const reason = Atomics.load(words, base + reasonWord);
    if (reason !== 0 && this.#refusalMs(base, steadyMs) > 0) return reason;
    if (Atomics.load(words, closedWord) === 1) return databaseAway;
    return Atomics.load(words, base + waitingWord) > Atomics.load(words, base + burstWord)
      ? burstExceeded
      : mustWait;
  }

  #refusalMs(base: number, steadyMs: number): number {
    const ms = (Atomics.load(this.#words, base + noneUntilWord) - steadyMs) | 0;
    return ms > maxRefusalMs ? 0 : Math.max(0, ms);
  }

  /** Counts requests that begin to wait. @param count negative for requests that wait no longer */
  wait(slot: number, count: number): void {
    Atomics.add(this.#words, slot * slotWords + waitingWord, count);
    if (count > 0) Atomics.add(this.#words, slot * slotWords + askedWord, count);
  }

  /** Uncounts an admitted request that failed with a server error, or a permit that no waiting request needed. */
  giveBack(slot: number, month: number): void {
    Atomics.add(this.#words, slot * slotWords + failedWords + (month & 1), 1);
  }

  used(slot: number, month: number): number | undefined {
    const base = slot * slotWords;
    if (Atomics.load(this.#words, base + monthWord) !== month) return undefined;
    return Math.max(
      0,
      Atomics.load(this.#words, base + usedWord) - Atomics.load(this.#words, base + heldWord),
    );
  }

  remaining(slot: number, month: number): number {
    return Math.max(0, this.ceilings(slot).quota - (this.used(slot, month) ?? 0));
  }

  ceilings(slot: number): { burst: number; quota: number } {
    const base = slot * slotWords;
    return {
      burst: Atomics.load(this.#words, base + burstWord),
      quota: Atomics.load(this.#words, base + quotaWord),
    };
  }

  burstWaitMs(slot: number, steadyMs: number): number {
    return this.#refusalMs(slot * slotWords, steadyMs);
  }

  // The control thread alone calls the methods below.

  held(slot: number): number {
    return Atomics.load(this.#words, slot * slotWords + heldWord);
  }

  asked(slot: number): number {
    return Atomics.load(this.#words, slot * slotWords + askedWord) >>> 0;
  }

  monthOf(slot: number): number {
    return Atomics.load(this.#words, slot * slotWords + monthWord);
  }

  /**
   * Assigns an account's permits and counts to a month, and ends its refusal. Call this when the account holds no
   * permits.
   */
  enter(slot: number, month: number): void {
    const base = slot * slotWords;
    Atomics.store(this.#words, base + reasonWord, 0);
    Atomics.store(this.#words, base + usedWord, 0);
    Atomics.store(this.#words, base + monthWord, month);
  }

  /** @param expiryMs when the oldest permits of the account expire */
  add(slot: number, permits: number, expiryMs: number): void {
    const base = slot * slotWords;
    Atomics.store(this.#words, base + expiryWord, expiryMs);
    Atomics.add(this.#words, base + heldWord, permits);
  }

  expireAt(slot: number, expiryMs: number): void {
    Atomics.store(this.#words, slot * slotWords + expiryWord, expiryMs);
  }

  /** Leaves at most `kept` permits. @returns the number of removed permits */
  keep(slot: number, kept: number): number {
    const at = slot * slotWords + heldWord;
    for (let held = Atomics.load(this.#words, at); held > kept; ) {
      const found = Atomics.compareExchange(this.#words, at, held, kept);
      if (found === held) return held - kept;
      held = found;
    }
    return 0;
  }

  /**
   * Refuses requests without a permit immediately, until a time.
   * @param untilMs at most `maxRefusalMs` from now
   * @param reason what `admit` returns
   */
  refuse(slot: number, untilMs: number, reason: number): void {
    const base = slot * slotWords;
    Atomics.store(this.#words, base + noneUntilWord, untilMs);
    Atomics.store(this.#words, base + reasonWord, reason);
  }

  /** @param used requests of the account's month, including the permits held */
  count(slot: number, used: number): void {
    Atomics.store(this.#words, slot * slotWords + usedWord, used);
  }

  takeFailed(slot: number, month: number): number {
    return Atomics.exchange(this.#words, slot * slotWords + failedWords + (month & 1), 0);
  }
}
