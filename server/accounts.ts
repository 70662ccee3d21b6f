import type { Directory } from "./directory.ts";
import type { KeyTable } from "./keys.ts";
import { type Limits, monthName, monthOf } from "./limits.ts";
import type { Store } from "./store.ts";

/** Keeps the shared tables of keys and limits in step with the database, in the control thread. */
export class Accounts {
  readonly #store: Store;
  readonly #keys: KeyTable;
  readonly #limits: Limits;
  readonly #directory: Directory;
  readonly #slots = new Map<number, number>();
  /** What the database holds, for an even and an odd month. */
  readonly #saved = [0, 1].map((month) => ({ month, used: new Map<number, number>() }));
  #changes = -1;

  constructor(store: Store, keys: KeyTable, limits: Limits, directory: Directory, nowMs: number) {
    this.#store = store;
    this.#keys = keys;
    this.#limits = limits;
    this.#directory = directory;
    this.refresh();
    const month = monthOf(nowMs);
    const used = store.usage(monthName(month));
    this.#saved[month & 1] = { month, used };
    for (const [account, count] of used) {
      const slot = this.#slots.get(account);
      if (slot !== undefined) limits.restore(slot, month, count);
    }
  }

  /** Takes over what other processes have written since the last call. */
  refresh(): void {
    const changes = this.#store.changes();
    if (changes === this.#changes) return;
    this.#changes = changes;
    for (const { id, name, plan, burst, quota } of this.#store.accounts()) {
      const slot = this.#slots.get(id) ?? this.#slots.size;
      this.#slots.set(id, slot);
      this.#limits.configure(slot, burst, quota);
      this.#directory.put(slot, name, plan);
    }
    for (const key of this.#store.keys()) {
      const slot = this.#slots.get(key.account);
      if (slot !== undefined) this.#keys.put(key, slot);
    }
  }

  /** Writes the counts that changed since the last call, of this month and the one before. */
  save(nowMs: number): void {
    const month = monthOf(nowMs);
    this.#saveMonth(month - 1);
    this.#saveMonth(month);
  }

  #saveMonth(month: number): void {
    const saved = this.#saved[month & 1];
    const changed: [account: number, used: number][] = [];
    for (const [account, slot] of this.#slots) {
      const used = this.#limits.used(slot, month);
      if (used !== undefined && (saved.month !== month || used !== saved.used.get(account)))
        changed.push([account, used]);
    }
    if (changed.length === 0) return;
    this.#store.saveUsage(monthName(month), changed);
    if (saved.month !== month) this.#saved[month & 1] = { month, used: new Map(changed) };
    else for (const [account, used] of changed) saved.used.set(account, used);
  }
}
