import { DataError } from "../../engine/query.ts";
import type { StoredKey } from "../store/store.ts";

/*
 * The table of keys lies in shared memory, so that every thread sees a new or a revoked key at once and no thread has a
 * copy. It is a hash table with linear probing; entries never move or vanish. Only the control thread writes to it.
 */

export const maxKeys = 500_000;
const capacity = 2 ** 20;
/**
 * An entry has eight 32-bit words: state, account slot, expiry in Unix milliseconds (a double; infinity for none), and
 * half of the key's SHA-256.
 */
const entryWords = 8;
const [slotWord, expiryWord, hashWord] = [1, 2, 4];
/** Keys of a deleted account have the state of revoked ones. */
const [empty, active, revoked, suspended] = [0, 1, 2, 3];
const entriesBytes = capacity * entryWords * 4;
/** The entries are followed by the keys' ids, as 64-bit floats. */
const idsBytes = capacity * Float64Array.BYTES_PER_ELEMENT;

export type SlotState = "active" | "suspended" | "deleted";

export class KeyTable {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #expiries: Float64Array;
  readonly #ids: Float64Array;
  #count = 0;

  constructor(buffer = new SharedArrayBuffer(entriesBytes + idsBytes)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, entriesBytes / 4);
    this.#expiries = new Float64Array(buffer, 0, entriesBytes / 8);
    this.#ids = new Float64Array(buffer, entriesBytes, capacity);
  }

  /** Entries in use, those of deleted keys included. Known in the writing thread only. */
  get count(): number {
    return this.#count;
  }

  put(
    key: Pick<StoredKey, "id" | "hash" | "expires_at" | "revoked_at">,
    slot: number,
    isSuspended = false,
  ): void {
    const at = this.#locate(key.hash);
    if (this.#words[at] === empty) {
      if (this.#count >= maxKeys) throw new DataError("keys", `more than ${maxKeys}`, `at most ${maxKeys}`);
      this.#count++;
      for (let i = 0; i < 4; i++) this.#words[at + hashWord + i] = key.hash.readInt32LE(4 * i);
    }
    this.#ids[at / entryWords] = key.id;
    this.#words[at + slotWord] = slot;
    // An aligned store of 64 bits, which readers see whole or not at all.
    this.#expiries[(at + expiryWord) / 2] = key.expires_at ?? Number.POSITIVE_INFINITY;
    const usable = isSuspended ? suspended : active;
    // Stored last: a reader that sees the state sees the rest.
    Atomics.store(this.#words, at, key.revoked_at === null ? usable : revoked);
  }

  /** Suspends or resumes all keys of some slots, in one pass over the table. Called by one thread only. */
  setSlots(states: ReadonlyMap<number, SlotState>): void {
    if (states.size === 0) return;
    for (let at = 0; at < capacity * entryWords; at += entryWords) {
      const state = this.#words[at];
      if (state !== active && state !== suspended) continue;
      const wanted = states.get(this.#words[at + slotWord]);
      if (wanted === undefined) continue;
      const next = wanted === "active" ? active : wanted === "suspended" ? suspended : revoked;
      if (next !== state) Atomics.store(this.#words, at, next);
    }
  }

  /** The entry of a key, whatever its state; −1 where there is none. */
  find(hash: Buffer): number {
    const at = this.#locate(hash);
    return Atomics.load(this.#words, at) === empty ? -1 : at;
  }

  /** The account slot of an entry; −1 when the key is revoked, suspended or expired. */
  slotOf(entry: number, nowMs: number): number {
    if (Atomics.load(this.#words, entry) !== active) return -1;
    if (this.#expiries[(entry + expiryWord) / 2] <= nowMs) return -1;
    return this.#words[entry + slotWord];
  }

  /** The account slot and the id of an entry's key, whatever its state. */
  holderOf(entry: number): { slot: number; id: number } {
    return { slot: this.#words[entry + slotWord], id: this.#ids[entry / entryWords] };
  }

  /** The place of a hash in the table, or the free place for it. */
  #locate(hash: Buffer): number {
    const words = this.#words;
    const first = hash.readInt32LE(0);
    for (let place = first & (capacity - 1); ; place = (place + 1) & (capacity - 1)) {
      const at = place * entryWords;
      if (Atomics.load(this.#words, at) === empty) return at;
      let same = true;
      for (let i = 0; i < 4 && same; i++) same = words[at + hashWord + i] === hash.readInt32LE(4 * i);
      if (same) return at;
    }
  }
}
