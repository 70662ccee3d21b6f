import type { Directory } from "./directory.ts";
import { reached, recordEvents } from "./events.ts";
import type { KeyTable } from "./keys.ts";
import { type Limits, monthName, monthOf } from "./limits.ts";
import type { Account, Changes, Store, StoredEvent } from "./store.ts";

/** What the database holds of a month; and the threshold that a quota's events are recorded up to. */
interface Saved {
  month: number;
  used: number;
  quota: number;
  recorded: number;
}

interface Known {
  account: Account;
  slot: number;
  /** For an even and an odd month. */
  saved: Saved[];
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
        known.saved[month & 1] = { month, used, quota: known.account.quota, recorded: 0 };
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
      const saved = known?.saved ?? [0, 1].map(() => ({ month: 0, used: 0, quota: 0, recorded: 0 }));
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
    const due: { known: Known; before: Saved; after: Saved; isReached: boolean }[] = [];
    for (const known of this.#known.values()) {
      const used = this.#limits.used(known.slot, month);
      if (used === undefined) continue;
      const last = known.saved[month & 1];
      const before =
        last.month === month ? last : { month, used: 0, quota: known.account.quota, recorded: 0 };
      // Of a month that is over, another quota says nothing any more.
      const quota = isOver ? before.quota : known.account.quota;
      const recorded = quota === before.quota ? before.recorded : 0;
      const highest = reached(used, quota);
      const after = { month, used, quota, recorded: Math.max(recorded, highest) };
      const isReached = highest > recorded;
      if (used !== before.used || isReached) due.push({ known, before, after, isReached });
    }
    if (due.length === 0) return [];
    const name = monthName(month);
    const events = this.#store.atomically(() => {
      const changed = due.filter(({ before, after }) => after.used !== before.used);
      this.#store.saveUsage(
        name,
        changed.map(({ known, after }) => [known.account.id, after.used]),
      );
      return due
        .filter(({ isReached }) => isReached)
        .flatMap(({ known, after }) =>
          recordEvents(this.#store, { ...known.account, quota: after.quota }, name, after.used, now),
        );
    });
    for (const { known, after } of due) known.saved[month & 1] = after;
    return events;
  }
}
