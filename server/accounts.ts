import type { KeyTable } from "./keys.ts";
import { type Limits, monthName, monthOf } from "./limits.ts";
import type { Store } from "./store.ts";

/** Keeps the shared tables of keys and limits in step with the database, in the control thread. */
export class Accounts {
  readonly #store: Store;
  readonly #keys: KeyTable;
  readonly #limits: Limits;
  readonly #slots = new Map<number, number>();
  readonly #saved = new Map<number, number>();
  #month: number;
  #changes = -1;

  constructor(store: Store, keys: KeyTable, limits: Limits, nowMs: number) {
    this.#store = store;
    this.#keys = keys;
    this.#limits = limits;
    this.#month = monthOf(nowMs);
    this.refresh();
    for (const [account, used] of store.usage(monthName(this.#month))) {
      const slot = this.#slots.get(account);
      if (slot !== undefined) limits.restore(slot, this.#month, used);
      this.#saved.set(account, used);
    }
  }

  /** Takes over what other processes have written since the last call. */
  refresh(): void {
    const changes = this.#store.changes();
    if (changes === this.#changes) return;
    this.#changes = changes;
    for (const { id, burst, quota } of this.#store.accounts()) {
      const slot = this.#slots.get(id) ?? this.#slots.size;
      this.#slots.set(id, slot);
      this.#limits.configure(slot, burst, quota);
    }
    for (const key of this.#store.keys()) {
      const slot = this.#slots.get(key.account);
      if (slot !== undefined) this.#keys.put(key, slot);
    }
  }

  /** Writes the counts that changed since the last call. */
  save(nowMs: number): void {
    this.#saveMonth();
    const month = monthOf(nowMs);
    if (month === this.#month) return;
    this.#month = month;
    this.#saved.clear();
    this.#saveMonth();
  }

  #saveMonth(): void {
    const changed: [account: number, used: number][] = [];
    for (const [account, slot] of this.#slots) {
      const used = this.#limits.used(slot, this.#month);
      if (used !== undefined && used !== (this.#saved.get(account) ?? 0)) changed.push([account, used]);
    }
    if (changed.length === 0) return;
    this.#store.saveUsage(monthName(this.#month), changed);
    for (const [account, used] of changed) this.#saved.set(account, used);
  }
}
