import { DataError } from "../../engine/query.ts";
import type { StoredKey } from "../store/store.ts";

/*
 * The table of keys lies in shared memory, so that every thread sees a new or a revoked key at once and no thread
 * has a copy. It is a hash table with linear probing, written by one thread only; entries never move or vanish.
 */

export const maxKeys = 500_000;
const capacity = 2 ** 20;
/** An entry: state, account slot, expiry in Unix seconds (0 for none), unused, and half of the SHA-256. */
const entryWords = 8;
const [stateWord, slotWord, expiryWord, hashWord] = [0, 1, 2, 4];
const entriesBytes = capacity * entryWords * 4;
/** In the year 2106; a later one is as good. */
const maxExpiry = 2 ** 32 - 1;
const [empty, active, revoked] = [0, 1, 2];

export class KeyTable {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  /** The keys' ids, behind the entries and in their order. */
  readonly #ids: Float64Array;
  #count = 0;

  constructor(buffer = new SharedArrayBuffer(entriesBytes + capacity * Float64Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, entriesBytes / 4);
    this.#ids = new Float64Array(buffer, entriesBytes);
  }

  /** Adds a stored key or brings its entry up to date. One thread only. */
  put(key: Pick<StoredKey, "id" | "hash" | "expires_at" | "revoked_at">, slot: number): void {
    const at = this.#locate(key.hash);
    if (this.#words[at + stateWord] === empty) {
      if (this.#count >= maxKeys) throw new DataError("keys", `more than ${maxKeys}`, `at most ${maxKeys}`);
      this.#count++;
      for (let i = 0; i < 4; i++) this.#words[at + hashWord + i] = key.hash.readInt32LE(4 * i);
    }
    this.#words[at + slotWord] = slot;
    this.#ids[at / entryWords] = key.id;
    const expiry =
      key.expires_at === null ? 0 : Math.min(maxExpiry, Math.floor(Date.parse(key.expires_at) / 1000));
    Atomics.store(this.#words, at + expiryWord, expiry);
    // Last: a reader that sees the state sees the rest.
    Atomics.store(this.#words, at + stateWord, key.revoked_at === null ? active : revoked);
  }

  /** The entry of a key, whether it is usable or not; −1 where there is none. */
  find(hash: Buffer): number {
    const at = this.#locate(hash);
    return Atomics.load(this.#words, at + stateWord) === empty ? -1 : at;
  }

  /** The account slot of an entry; −1 when the key is revoked or expired. */
  slotOf(entry: number, nowSeconds: number): number {
    if (Atomics.load(this.#words, entry + stateWord) !== active) return -1;
    const expiry = Atomics.load(this.#words, entry + expiryWord) >>> 0;
    return expiry !== 0 && expiry <= nowSeconds ? -1 : this.#words[entry + slotWord];
  }

  /** The account slot and the id of an entry's key, also when the key is revoked or expired. */
  holderOf(entry: number): { slot: number; id: number } {
    return { slot: this.#words[entry + slotWord], id: this.#ids[entry / entryWords] };
  }

  /** Where a hash is, or the free place where it would be. */
  #locate(hash: Buffer): number {
    const words = this.#words;
    const first = hash.readInt32LE(0);
    for (let place = first & (capacity - 1); ; place = (place + 1) & (capacity - 1)) {
      const at = place * entryWords;
      if (Atomics.load(words, at + stateWord) === empty) return at;
      let same = true;
      for (let i = 0; i < 4 && same; i++) same = words[at + hashWord + i] === hash.readInt32LE(4 * i);
      if (same) return at;
    }
  }
}
