import { DataError } from "../../engine/query.ts";
import { dayMs } from "../shared/months.ts";
import type { StoredKey } from "../store/store.ts";

/*
 * The table of keys lies in shared memory, so that every thread sees a new or a revoked key at once and no thread
 * has a copy. It is a hash table with linear probing; entries never move or vanish. The control thread alone writes it,
 * but for the days on which keys were last used: these the serving threads note.
 */

export const maxKeys = 500_000;
const capacity = 2 ** 20;
/**
 * An entry has eight 32-bit words: state and day of the last use (16 bits each), account slot, expiry in Unix
 * milliseconds (a double; infinity for none), and half of the SHA-256.
 */
const entryWords = 8;
const [slotWord, expiryWord, hashWord] = [1, 2, 4];
/** Those of a deleted account are revoked. */
const [empty, active, revoked, suspended] = [0, 1, 2, 3];
const entriesBytes = capacity * entryWords * 4;
/** Behind the entries come the keys' ids, as 64-bit floats. */
const idsBytes = capacity * Float64Array.BYTES_PER_ELEMENT;
/** Last comes a byte for each group of so many entries: whether one of them was used on another day than before. */
const groupEntries = 1024;
/** In the year 2149; a later day is noted as this one. */
const maxDay = 2 ** 16 - 1;

/** How the keys of an account slot stand as a whole. */
export type SlotState = "active" | "suspended" | "deleted";

export class KeyTable {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  /** State and day. */
  readonly #halves: Uint16Array;
  readonly #expiries: Float64Array;
  readonly #groups: Buffer;
  /** The keys' ids, in the order of the entries. */
  readonly #ids: Float64Array;
  /** Of the writer alone: the day of each entry that was told last. */
  #toldDays: Uint16Array | undefined;
  #count = 0;

  constructor(buffer = new SharedArrayBuffer(entriesBytes + idsBytes + capacity / groupEntries)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, entriesBytes / 4);
    this.#halves = new Uint16Array(buffer, 0, entriesBytes / 2);
    this.#expiries = new Float64Array(buffer, 0, entriesBytes / 8);
    this.#ids = new Float64Array(buffer, entriesBytes, capacity);
    this.#groups = Buffer.from(buffer, entriesBytes + idsBytes);
  }

  /** Entries that are taken; those of deleted keys are, too. Known in the writer's thread only. */
  get count(): number {
    return this.#count;
  }

  /** Adds a stored key or brings its entry up to date. One thread only. */
  put(
    key: Pick<StoredKey, "id" | "hash" | "expires_at" | "revoked_at">,
    slot: number,
    isSuspended = false,
  ): void {
    const at = this.#locate(key.hash);
    if (this.#halves[2 * at] === empty) {
      if (this.#count >= maxKeys) throw new DataError("keys", `more than ${maxKeys}`, `at most ${maxKeys}`);
      this.#count++;
      for (let i = 0; i < 4; i++) this.#words[at + hashWord + i] = key.hash.readInt32LE(4 * i);
    }
    this.#ids[at / entryWords] = key.id;
    this.#words[at + slotWord] = slot;
    // One store of 64 bits, which no reader sees in parts: it is aligned.
    this.#expiries[(at + expiryWord) / 2] = key.expires_at ?? Number.POSITIVE_INFINITY;
    const usable = isSuspended ? suspended : active;
    // Last: a reader that sees the state sees the rest.
    Atomics.store(this.#halves, 2 * at, key.revoked_at === null ? usable : revoked);
  }

  /** Has all keys of some slots stand as their accounts do, in one pass over the table. One thread only. */
  setSlots(states: ReadonlyMap<number, SlotState>): void {
    if (states.size === 0) return;
    for (let at = 0; at < capacity * entryWords; at += entryWords) {
      const state = this.#halves[2 * at];
      if (state !== active && state !== suspended) continue;
      const wanted = states.get(this.#words[at + slotWord]);
      if (wanted === undefined) continue;
      const next = wanted === "active" ? active : wanted === "suspended" ? suspended : revoked;
      if (next !== state) Atomics.store(this.#halves, 2 * at, next);
    }
  }

  /** The entry of a key, whether it is usable or not; −1 where there is none. */
  find(hash: Buffer): number {
    const at = this.#locate(hash);
    return Atomics.load(this.#halves, 2 * at) === empty ? -1 : at;
  }

  /** The account slot of an entry, which is noted as used; −1 when the key is revoked, suspended or expired. */
  slotOf(entry: number, nowMs: number): number {
    if (Atomics.load(this.#halves, 2 * entry) !== active) return -1;
    if (this.#expiries[(entry + expiryWord) / 2] <= nowMs) return -1;
    const day = Math.min(maxDay, Math.floor(nowMs / dayMs));
    if (this.#halves[2 * entry + 1] !== day) this.#noteDay(entry, day);
    return this.#words[entry + slotWord];
  }

  #noteDay(entry: number, day: number): void {
    Atomics.store(this.#halves, 2 * entry + 1, day);
    // After the day: `sweepDays` takes the mark back before it reads the days.
    Atomics.store(this.#groups, Math.floor(entry / entryWords / groupEntries), 1);
  }

  /** Tells of the keys that were used on another day than when they were told of last. The writer's thread only. */
  sweepDays(tell: (key: number, day: number) => void): void {
    this.#toldDays ??= new Uint16Array(capacity);
    const toldDays = this.#toldDays;
    for (let group = this.#groups.indexOf(1); group >= 0; group = this.#groups.indexOf(1, group + 1)) {
      Atomics.store(this.#groups, group, 0);
      for (let place = group * groupEntries; place < (group + 1) * groupEntries; place++) {
        const day = Atomics.load(this.#halves, 2 * place * entryWords + 1);
        if (day === toldDays[place]) continue;
        toldDays[place] = day;
        tell(this.#ids[place], day);
      }
    }
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
      if (Atomics.load(this.#halves, 2 * at) === empty) return at;
      let same = true;
      for (let i = 0; i < 4 && same; i++) same = words[at + hashWord + i] === hash.readInt32LE(4 * i);
      if (same) return at;
    }
  }
}
