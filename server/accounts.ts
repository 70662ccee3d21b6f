import type { Directory } from "./directory.ts";
import { reached, recordEvents } from "./events.ts";
import type { KeyTable } from "./keys.ts";
import { type Limits, monthName, monthOf } from "./limits.ts";
import type { Account, Changes, Store, StoredEvent } from "./store.ts";

interface Known {
  account: Account;
  slot: number;
  /** What the database holds, for an even and an odd month; and the threshold that events are recorded up to. */
  saved: { month: number; used: number; recorded: number }[];
}

/** Keeps the shared tables of keys and limits in step with the database, in the control thread. */
export class Accounts {
  readonly #store: Store;
  readonly #keys: KeyTable;
  readonly #limits: Limits;
  readonly #directory: Directory;
  readonly #known = new Map<number, Known>();
  #changes = "";
  #taken: Changes = { accounts: 0, keys: 0 };
  /** Whether the database has this server's word on what it has taken over. */
  #gaveWord = false;

  constructor(store: Store, keys: KeyTable, limits: Limits, directory: Directory, nowMs: number) {
    this.#store = store;
    this.#keys = keys;
    this.#limits = limits;
    this.#directory = directory;
    this.refresh();
    const thisMonth = monthOf(nowMs);
    for (const month of [thisMonth - 1, thisMonth])
      for (const [id, used] of store.usage(monthName(month))) {
        const known = this.#known.get(id);
        if (known === undefined) continue;
        limits.restore(known.slot, month, used);
        known.saved[month & 1] = { month, used, recorded: 0 };
      }
  }

  /** Takes over what other processes have written since the last call, and gives them the word that it has. */
  refresh(): void {
    const changes = this.#store.changes();
    if (changes !== this.#changes) {
      this.#store.consistently(() => this.#read());
      this.#changes = changes;
      this.#gaveWord = false;
    }
    if (this.#gaveWord) return;
    this.#store.obey(this.#taken);
    this.#gaveWord = true;
  }

  #read(): void {
    for (const { changed, ...account } of this.#store.accountsSince(this.#taken.accounts)) {
      const known = this.#known.get(account.id);
      const slot = known?.slot ?? this.#known.size;
      const saved = known?.saved ?? [0, 1].map(() => ({ month: 0, used: 0, recorded: 0 }));
      // Other ceilings reach other thresholds.
      for (const month of saved) month.recorded = 0;
      this.#known.set(account.id, { account, slot, saved });
      this.#limits.configure(slot, account.burst, account.quota);
      this.#directory.put(slot, account.name, account.plan);
      this.#taken.accounts = changed;
    }
    for (const { changed, ...key } of this.#store.keysSince(this.#taken.keys)) {
      const known = this.#known.get(key.account);
      if (known !== undefined) this.#keys.put(key, known.slot);
      this.#taken.keys = changed;
    }
  }

  /**
   * Writes the counts that changed since the last call, of this month and the one before, and the events they bring.
   * When it fails, nothing is taken for written, and the next call does it all.
   *
   * @returns the new events
   */
  save(nowMs: number): StoredEvent[] {
    const thisMonth = monthOf(nowMs);
    return [thisMonth - 1, thisMonth].flatMap((month) =>
      this.#saveMonth(month, new Date(nowMs), month < thisMonth),
    );
  }

  #saveMonth(month: number, now: Date, isOver: boolean): StoredEvent[] {
    const due: { known: Known; used: number; before: Known["saved"][number] }[] = [];
    for (const known of this.#known.values()) {
      const used = this.#limits.used(known.slot, month);
      if (used === undefined) continue;
      const last = known.saved[month & 1];
      const before = last.month === month ? last : { month, used: 0, recorded: 0 };
      // Of a month that is over, other ceilings say nothing any more.
      if (used !== before.used || (!isOver && reached(used, known.account.quota) > before.recorded))
        due.push({ known, used, before });
    }
    if (due.length === 0) return [];
    const name = monthName(month);
    const events = this.#store.atomically(() => {
      const changed = due.filter(({ used, before }) => used !== before.used);
      this.#store.saveUsage(
        name,
        changed.map(({ known, used }) => [known.account.id, used]),
      );
      return due.flatMap(({ known, used, before }) =>
        reached(used, known.account.quota) > before.recorded
          ? recordEvents(this.#store, known.account, name, used, now)
          : [],
      );
    });
    for (const { known, used, before } of due)
      known.saved[month & 1] = {
        month,
        used,
        recorded: Math.max(before.recorded, reached(used, known.account.quota)),
      };
    return events;
  }
}
