import { DataError } from "../../engine/query.ts";
import { dayMs } from "../shared/months.ts";
import type { StoredKey } from "../store/store.ts";

/*
 * The table of keys is in shared memory, so that every thread sees a new or a revoked key immediately, and no thread has
 * a copy. It is a hash table with linear probing, in which entries never move or vanish. Only the control thread writes
 * to the table, except for the days of last use and the marks of these days, which serving threads write.
 */

export const maxKeys = 500_000;
const capacity = 2 ** 20;
/**
 * 32-bit words of an entry. The first word has the state and the day of last use, 16 bits each. The next words have the
 * account slot, the expiry in Unix milliseconds as a double (infinity for none), and the first half of the key's SHA-256.
 */
const entryWords = 8;
const [slotWord, expiryWord, hashWord] = [1, 2, 4];
/** States of an entry. A deleted account's keys are `revoked`. */
const [empty, active, revoked, suspended] = [0, 1, 2, 3];
const entriesBytes = capacity * entryWords * 4;
const idsBytes = capacity * Float64Array.BYTES_PER_ELEMENT;
/**
 * Number of entries in a group. The buffer ends with a byte for each group: 1 if a day of last use in the group has
 * changed since the last `sweepDays`.
 */
const groupEntries = 1024;
/** The largest day that 16 bits hold, in the year 2149. Later days are stored as this day. */
const maxDay = 2 ** 16 - 1;

/** Encodes the slot of a key that all visitors of the pages use. `accountSlot` decodes it. */
const visitorsSlot = (slot: number) => -2 - slot;

/** Returns the account's slot for a result of `KeyTable.slotOf` other than −1. */
export const accountSlot = (found: number) => (found < -1 ? visitorsSlot(found) : found);

export type SlotState = "active" | "suspended" | "deleted";

export class KeyTable {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #halves: Uint16Array;
  readonly #expiries: Float64Array;
  readonly #groups: Buffer;
  readonly #ids: Float64Array;
  #reportedDays: Uint16Array | undefined;
  #count = 0;

  constructor(buffer = new SharedArrayBuffer(entriesBytes + idsBytes + capacity / groupEntries)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, entriesBytes / 4);
    this.#halves = new Uint16Array(buffer, 0, entriesBytes / 2);
    this.#expiries = new Float64Array(buffer, 0, entriesBytes / 8);
    this.#ids = new Float64Array(buffer, entriesBytes, capacity);
    this.#groups = Buffer.from(buffer, entriesBytes + idsBytes);
  }

  /** Number of entries in use, including those of deleted accounts' keys. Only the control thread knows it. */
  get count(): number {
    return this.#count;
  }

  /**
   * Adds a key, or replaces the entry of its hash.
   * @param isForVisitors whether all visitors of the pages share the key, with a limit for each address; see `slotOf`
   * @throws DataError when the table has no room for the key
   */
  put(
    key: Pick<StoredKey, "id" | "hash" | "expires_at" | "revoked_at">,
    slot: number,
    isSuspended = false,
    isForVisitors = false,
  ): void {
    const found = this.find(key.hash);
    const at = found < 0 ? ~found : found;
    if (found < 0) {
      if (this.#count >= maxKeys) throw new DataError("keys", `more than ${maxKeys}`, `at most ${maxKeys}`);
      this.#count++;
      for (let i = 0; i < 4; i++) this.#words[at + hashWord + i] = key.hash.readInt32LE(4 * i);
    }
    this.#ids[at / entryWords] = key.id;
    this.#words[at + slotWord] = isForVisitors ? visitorsSlot(slot) : slot;
    // Readers see an aligned store of 64 bits whole or not at all.
    this.#expiries[(at + expiryWord) / 2] = key.expires_at ?? Number.POSITIVE_INFINITY;
    const usable = isSuspended ? suspended : active;
    // The state is stored last, so that a reader that sees a new entry sees all of it.
    Atomics.store(this.#halves, 2 * at, key.revoked_at === null ? usable : revoked);
  }

  /** Suspends, resumes or revokes the unrevoked keys of some slots, in one pass over the table. */
  setSlots(states: ReadonlyMap<number, SlotState>): void {
    if (states.size === 0) return;
    for (let at = 0; at < capacity * entryWords; at += entryWords) {
      const state = this.#halves[2 * at];
      if (state !== active && state !== suspended) continue;
      const wanted = states.get(accountSlot(this.#words[at + slotWord]));
      if (wanted === undefined) continue;
      const next = wanted === "active" ? active : wanted === "suspended" ? suspended : revoked;
      if (next !== state) Atomics.store(this.#halves, 2 * at, next);
    }
  }

  /**
   * Returns the entry of a key by its SHA-256, whatever the key's state. For an unknown key, returns the bitwise
   * complement, a negative number, of the entry that the key would get.
   */
  find(hash: Buffer): number {
    const words = this.#words;
    const first = hash.readInt32LE(0);
    for (let place = first & (capacity - 1); ; place = (place + 1) & (capacity - 1)) {
      const at = place * entryWords;
      if (Atomics.load(this.#halves, 2 * at) === empty) return ~at;
      let same = true;
      for (let i = 0; i < 4 && same; i++) same = words[at + hashWord + i] === hash.readInt32LE(4 * i);
      if (same) return at;
    }
  }

  /** Whether an entry that `find` returned as free has a key now. */
  isTaken(entry: number): boolean {
    return entry < 0 && Atomics.load(this.#halves, 2 * ~entry) !== empty;
  }

  /**
   * Returns the account slot of an entry, and sets the key's day of last use. Returns −1 if the key is revoked, suspended
   * or expired. A result below −1 is for a key of all visitors of the pages, and `accountSlot` gives its slot.
   */
  slotOf(entry: number, nowMs: number): number {
    if (Atomics.load(this.#halves, 2 * entry) !== active) return -1;
    if (this.#expiries[(entry + expiryWord) / 2] <= nowMs) return -1;
    const day = Math.min(maxDay, Math.floor(nowMs / dayMs));
    if (this.#halves[2 * entry + 1] !== day) this.#noteDay(entry, day);
    return this.#words[entry + slotWord];
  }

  #noteDay(entry: number, day: number): void {
    Atomics.store(this.#halves, 2 * entry + 1, day);
    // The group's mark is set after the day, because `sweepDays` clears the mark before it reads the days.
    Atomics.store(this.#groups, Math.floor(entry / entryWords / groupEntries), 1);
  }

  /**
   * Reports the keys whose day of last use has changed since the last call. Only the control thread calls this.
   * @param tell gets the key's id, and the UTC day as a number of days since 1970-01-01
   */
  sweepDays(tell: (key: number, day: number) => void): void {
    this.#reportedDays ??= new Uint16Array(capacity);
    const reportedDays = this.#reportedDays;
    for (let group = this.#groups.indexOf(1); group >= 0; group = this.#groups.indexOf(1, group + 1)) {
      Atomics.store(this.#groups, group, 0);
      for (let place = group * groupEntries; place < (group + 1) * groupEntries; place++) {
        const day = Atomics.load(this.#halves, 2 * place * entryWords + 1);
        if (day === reportedDays[place]) continue;
        reportedDays[place] = day;
        tell(this.#ids[place], day);
      }
    }
  }

  holderOf(entry: number): { slot: number; id: number } {
    return { slot: accountSlot(this.#words[entry + slotWord]), id: this.#ids[entry / entryWords] };
  }
}
