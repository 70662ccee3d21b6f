import { hash } from "node:crypto";
import { dayMs } from "../shared/months.ts";
import type { ShareLimits } from "../shared/plans.ts";

/** Gives each client's address a share of the requests of one account. */

/*
 * The shares are in shared memory, so that an address has one share however its connections are spread over threads. A
 * lock guards the shares. Only requests with the visitors' key take the lock, and each request holds it for about a
 * microsecond.
 *
 * An address is known by 48 bits of its hash, which also choose its set. If the set is full, a new address replaces the
 * address that was admitted least recently. The replaced address begins with a whole share when it comes again.
 */

const sets = 2 ** 13;
const entriesOfSet = 8;
/**
 * 64-bit floats of an entry: the address, the requests taken from its bucket, the time and the day of its last admitted
 * request, and the requests admitted on that day.
 */
const [addressWord, spentWord, atWord, dayWord, usedWord] = [0, 1, 2, 3, 4];
const entryWords = 5;
const lockBytes = 8;
const bytes = lockBytes + sets * entriesOfSet * entryWords * Float64Array.BYTES_PER_ELEMENT;

/** Requests that an address with a full bucket may make without a pause. */
export const shareBurst = 40;
/** Milliseconds after which a thread that waits for the lock checks it again, even without a notification. */
const lookAgainMs = 1;

/** Why a request is refused, and the Unix milliseconds from which the next request may be admitted. */
export interface ShareRefusal {
  ceiling: "burst" | "quota";
  nextMs: number;
}

export class AddressShares {
  readonly buffer: SharedArrayBuffer;
  readonly limits: ShareLimits;
  readonly #lock: Int32Array;
  readonly #words: Float64Array;

  constructor(limits: ShareLimits, buffer = new SharedArrayBuffer(bytes)) {
    this.limits = limits;
    this.buffer = buffer;
    this.#lock = new Int32Array(buffer, 0, 1);
    this.#words = new Float64Array(buffer, lockBytes);
  }

  /**
   * Takes a request from an address's share. A refused request takes nothing.
   * @param client the client's name by `clientOf`
   * @param nowMs Unix milliseconds
   * @param steadyMs milliseconds of a steady clock that all threads share
   * @returns undefined for an admitted request
   */
  take(client: string, nowMs: number, steadyMs: number): ShareRefusal | undefined {
    const address = hash("sha256", client, "buffer").readUIntBE(0, 6) + 1;
    while (Atomics.compareExchange(this.#lock, 0, 0, 1) !== 0) Atomics.wait(this.#lock, 0, 1, lookAgainMs);
    try {
      return this.#take(this.#entryOf(address), nowMs, steadyMs);
    } finally {
      Atomics.store(this.#lock, 0, 0);
      Atomics.notify(this.#lock, 0, 1);
    }
  }

  #take(at: number, nowMs: number, steadyMs: number): ShareRefusal | undefined {
    const words = this.#words;
    const { perSecond, perDay } = this.limits;
    const day = Math.floor(nowMs / dayMs);
    const elapsedMs = Math.max(0, steadyMs - words[at + atWord]);
    const spent = Math.max(0, words[at + spentWord] - (elapsedMs * perSecond) / 1000);
    const used = words[at + dayWord] === day ? words[at + usedWord] : 0;
    if (perDay > 0 && used >= perDay) return { ceiling: "quota", nextMs: (day + 1) * dayMs };
    if (perSecond > 0 && spent > shareBurst - 1)
      return { ceiling: "burst", nextMs: nowMs + ((spent + 1 - shareBurst) / perSecond) * 1000 };
    words[at + spentWord] = spent + 1;
    words[at + atWord] = Math.max(steadyMs, words[at + atWord]);
    words[at + dayWord] = day;
    words[at + usedWord] = used + 1;
    return undefined;
  }

  #entryOf(address: number): number {
    const words = this.#words;
    const first = (address % sets) * entriesOfSet * entryWords;
    let oldest = first;
    for (let at = first; at < first + entriesOfSet * entryWords; at += entryWords) {
      if (words[at + addressWord] === address) return at;
      if (words[at + atWord] < words[oldest + atWord]) oldest = at;
    }
    words.fill(0, oldest, oldest + entryWords);
    words[oldest + addressWord] = address;
    return oldest;
  }
}
