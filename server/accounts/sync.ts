import { dayMs, dayName, monthName, monthOf, startOfMonth } from "../shared/months.ts";
import type { Account, Changes, Store, StoredEvent, StoredKey } from "../store/store.ts";
import { UsageDays } from "./days.ts";
import { UsageEvents } from "./events.ts";
import { KeyTable, type SlotState } from "./key-table.ts";
import { Limits } from "./limits.ts";
import { AccountNames } from "./names.ts";
import type { PermitTable } from "./permit-table.ts";
import { reached, recordEvents } from "./quota-events.ts";

/** Keeps the tables in shared memory in step with the database, and saves the counts. */

interface Count {
  month: number;
  /** The count in shared memory when it was last saved or loaded. */
  used: number;
  /** The count in the database, perhaps not on the disk yet. */
  written: number;
  /** The quota for which events are recorded. It doesn't change after the end of the month. */
  quota: number;
  /** The highest threshold of `quota` for which this process has called `recordEvents`; 0 for none. */
  recorded: number;
}

/** A count that reached thresholds of a quota before the quota changed. */
interface Crossing {
  entry: AccountEntry;
  month: number;
  quota: number;
  before: number;
  used: number;
}

interface AccountEntry {
  account: Account;
  slot: number;
  /** The counts of the two months in memory, at the month's number modulo 2; empty if servers share the accounts. */
  counts: Count[];
}

interface Tables {
  keys: KeyTable;
  /** A `PermitTable` if servers share the accounts. */
  ceilings: Limits | PermitTable;
  names: AccountNames;
  days: UsageDays;
  events: UsageEvents;
}

/**
 * Shared memory holds two months: the month of the time `lookBackMs` ago, and the next one. If the clock is changed by
 * less than `lookBackMs`, its month is still one of the two.
 */
export const lookBackMs = 14 * dayMs;

export type IsForVisitors = (key: StoredKey, account: Account) => boolean;

export class Accounts {
  readonly tables: Tables;
  readonly #store: Store;
  /** Undefined if servers share the accounts. */
  readonly #limits: Limits | undefined;
  readonly #entries = new Map<number, AccountEntry>();
  readonly #bySlot: AccountEntry[] = [];
  /** The first of the two months in memory. */
  #month: number;
  /** The month whose days and events are in memory. */
  #monthOfDays = 0;
  /** Unsaved days on which keys were last used, by key id. */
  readonly #keyDays = new Map<number, number>();
  /** Crossings whose events aren't recorded yet. */
  #crossings: Crossing[] = [];
  #eventRow = 0;
  #changes = "";
  #applied: Changes = { accounts: 0, keys: 0 };
  /** Whether `#applied` is in the database, where commands read it. */
  #isAppliedSaved = false;
  /** Whether a key works on this server even after its expiry. Called when the key is read from the database. */
  neverExpires: (key: StoredKey) => boolean = () => false;

  readonly #isForVisitors: IsForVisitors;

  constructor(
    store: Store,
    nowMs: number,
    tables: Partial<Tables> = {},
    isForVisitors: IsForVisitors = () => false,
  ) {
    this.#store = store;
    this.#isForVisitors = isForVisitors;
    this.tables = {
      keys: tables.keys ?? new KeyTable(),
      ceilings: tables.ceilings ?? new Limits(),
      names: tables.names ?? new AccountNames(),
      days: tables.days ?? new UsageDays(),
      events: tables.events ?? new UsageEvents(),
    };
    this.#limits = this.tables.ceilings instanceof Limits ? this.tables.ceilings : undefined;
    this.#month = firstMonth(nowMs);
    const saved = [this.#month, this.#month + 1].map((month) => store.usage.ofMonth(monthName(month)));
    this.#refresh((account, month) => saved[month - this.#month].get(account) ?? 0);
    this.#enterDays(monthOf(nowMs));
  }

  /**
   * Sets an account's count of the month up to a day. Ignores days of other months than the current one.
   * @param day `YYYY-MM-DD`
   */
  putDay(slot: number, day: string, used: number): void {
    if (day.startsWith(monthName(this.#monthOfDays))) this.tables.days.put(slot, Number(day.slice(8)), used);
  }

  get firstMonth(): number {
    return this.#month;
  }

  slotOf(id: number): number | undefined {
    return this.#entries.get(id)?.slot;
  }

  /** Yields all account slots with their accounts' names, including accounts that were deleted since the start. */
  *names(): Iterable<[slot: number, name: string]> {
    for (const { slot, account } of this.#entries.values()) yield [slot, account.name];
  }

  of(slot: number): Account {
    return this.#bySlot[slot].account;
  }

  quotaOf(id: number): number | undefined {
    return this.#entries.get(id)?.account.quota;
  }

  refresh(): void {
    this.#refresh((account, month) => this.#store.usage.of(account, monthName(month)));
  }

  /** Tells commands that their changes are applied. @param makeLasting makes the changes durable, or throws */
  saveApplied(makeLasting: () => void): void {
    if (this.#isAppliedSaved) return;
    makeLasting();
    this.#store.progress.saveApplied(this.#applied);
    this.#isAppliedSaved = true;
  }

  #refresh(savedUse: (account: number, month: number) => number): void {
    const changes = this.#store.changes();
    if (changes === this.#changes) return;
    this.#store.consistently(() => this.#read(savedUse));
    this.#changes = changes;
    this.#isAppliedSaved = false;
  }

  #read(savedUse: (account: number, month: number) => number): void {
    const changedSlots = new Map<number, SlotState>();
    try {
      this.#readAccounts(savedUse, changedSlots);
    } finally {
      this.tables.keys.setSlots(changedSlots);
    }
    for (const { changed, ...key } of this.#store.keys.since(this.#applied.keys)) {
      const entry = this.#entries.get(key.account);
      const read = this.neverExpires(key) ? { ...key, expires_at: null } : key;
      if (entry !== undefined) {
        const { slot, account } = entry;
        const isSuspended = account.suspended_at !== null;
        this.tables.keys.put(read, slot, isSuspended, this.#isForVisitors(key, account));
      }
      this.#applied.keys = changed;
    }
    this.#readEvents();
  }

  #readEvents(): void {
    const { events, last } = this.#store.events.since(this.#eventRow, monthName(this.#monthOfDays));
    for (const { account, ...event } of events) {
      const entry = this.#entries.get(account);
      if (entry !== undefined) this.tables.events.put(entry.slot, event);
    }
    this.#eventRow = last;
  }

  /** @param changedSlots receives the slots whose keys begin or cease to work */
  #readAccounts(
    savedUse: (account: number, month: number) => number,
    changedSlots: Map<number, SlotState>,
  ): void {
    for (const { id, account, changed } of this.#store.accounts.since(this.#applied.accounts)) {
      const known = this.#entries.get(id);
      if (account === undefined) {
        // The slot stays, but its counts are no longer saved.
        if (known !== undefined) changedSlots.set(known.slot, "deleted");
        // All events are read again, because SQLite may reuse the row numbers of the deleted events.
        this.#eventRow = 0;
        this.#applied.accounts = changed;
        continue;
      }
      const entry = known ?? { account, slot: this.#entries.size, counts: [] };
      const isSuspended = account.suspended_at !== null;
      if (isSuspended !== (entry.account.suspended_at !== null))
        changedSlots.set(entry.slot, isSuspended ? "suspended" : "active");
      const { quota } = entry.account;
      entry.account = account;
      this.tables.ceilings.configure(entry.slot, account.burst, account.quota);
      if (quota !== account.quota) this.#noteCrossings(entry, quota);
      this.tables.names.put(entry.slot, account.name, account.plan);
      if (known === undefined) {
        for (const month of [this.#month, this.#month + 1])
          this.#enter(entry, month, savedUse(account.id, month));
        this.tables.days.enter(entry.slot, this.#monthOfDays, []);
        this.tables.events.enter(entry.slot, this.#monthOfDays);
        this.#entries.set(account.id, entry);
        this.#bySlot.push(entry);
      }
      this.#applied.accounts = changed;
    }
  }

  /** Remembers counts that have reached thresholds of the old `quota` whose events may not be recorded yet. */
  #noteCrossings(entry: AccountEntry, quota: number): void {
    for (const count of entry.counts) {
      // A month that is over keeps its quota.
      if (count.month < this.#monthOfDays) continue;
      // The new quota may have admitted requests beyond the old quota already.
      const used = Math.min(quota, this.#limits?.used(entry.slot, count.month) ?? count.used);
      if (reached(used, quota) > (quota === count.quota ? count.recorded : 0))
        this.#crossings.push({ entry, month: count.month, quota, before: Math.min(used, count.used), used });
    }
  }

  /**
   * Loads what must be in memory now and isn't: the counts of two months, and the days and events of the current month.
   * Saves the counts of months that leave memory.
   * @returns the new events
   * @throws Error when counts can't be read or saved
   */
  enterMonths(nowMs: number): StoredEvent[] {
    if (monthOf(nowMs) !== this.#monthOfDays) this.#enterDays(monthOf(nowMs));
    const first = firstMonth(nowMs);
    const isServed = (month: number) => month === this.#month || month === this.#month + 1;
    const coming = [first, first + 1].filter((month) => !isServed(month));
    if (coming.length === 0) return [];
    const events = this.save(nowMs);
    const saved = coming.map((month) => this.#store.usage.ofMonth(monthName(month)));
    for (const [i, month] of coming.entries())
      for (const entry of this.#entries.values())
        this.#enter(entry, month, saved[i].get(entry.account.id) ?? 0);
    this.#month = first;
    return events;
  }

  #enterDays(month: number): void {
    const ends = this.#store.usage.daysOfMonth(monthName(month));
    for (const { account, slot } of this.#entries.values()) {
      this.tables.days.enter(slot, month, ends.get(account.id) ?? []);
      this.tables.events.enter(slot, month);
    }
    this.#monthOfDays = month;
    this.#eventRow = 0;
    this.#readEvents();
  }

  #enter(entry: AccountEntry, month: number, saved: number): void {
    if (this.#limits === undefined) return;
    const count = { month, used: saved, written: saved, quota: entry.account.quota, recorded: 0 };
    const { used } = this.#limits.enter(entry.slot, month, saved);
    const before: Count | undefined = entry.counts[month & 1];
    entry.counts[month & 1] = count;
    if (before !== undefined && used !== before.used)
      this.#store.usage.save(monthName(before.month), [[entry.account.id, used]]);
  }

  /**
   * Writes changed counts without waiting for the disk, so that a crash of the process loses few requests. If a count has
   * reached a new threshold in a month that isn't over, does `save` instead.
   * @returns the new events
   */
  writeCounts(nowMs: number): StoredEvent[] {
    if (this.#limits === undefined) return [];
    const changed: { id: number; count: Count; used: number }[] = [];
    for (const { account, slot, counts } of this.#entries.values())
      for (const count of counts) {
        const used = this.#limits.used(slot, count.month) ?? count.used;
        if (used === count.written) continue;
        // For a month that is over, `isReached` may be wrong: that month keeps its own quota, by which `save` checks it.
        const isReached = reached(used, account.quota) > (account.quota === count.quota ? count.recorded : 0);
        if (isReached && count.month >= this.#monthOfDays) return this.save(nowMs);
        changed.push({ id: account.id, count, used });
      }
    if (changed.length === 0) return [];
    this.#store.soon(() => {
      for (const { id, count, used } of changed) this.#store.usage.save(monthName(count.month), [[id, used]]);
    });
    for (const { count, used } of changed) count.written = used;
    return [];
  }

  /**
   * Saves changed counts, their events, and the days on which keys were last used. After a failure, the next call saves
   * all changed counts.
   * @returns the new events
   */
  save(nowMs: number): StoredEvent[] {
    const thisMonth = monthOf(nowMs);
    const due: { entry: AccountEntry; count: Count; after: Count; isReached: boolean }[] = [];
    for (const entry of this.#entries.values())
      for (const count of entry.counts) {
        const used = this.#limits?.used(entry.slot, count.month) ?? count.used;
        const quota = count.month < thisMonth ? count.quota : entry.account.quota;
        const recorded = quota === count.quota ? count.recorded : 0;
        const highest = reached(used, quota);
        const isReached = highest > recorded;
        const after = {
          ...count,
          used,
          written: used,
          quota,
          recorded: Math.max(recorded, highest),
        };
        if (used !== count.used || isReached) due.push({ entry, count, after, isReached });
      }
    this.tables.keys.sweepDays((key, day) => this.#keyDays.set(key, day));
    const crossings = this.#crossings;
    if (due.length === 0 && crossings.length === 0 && this.#keyDays.size === 0) return [];
    const now = new Date(nowMs);
    const events = this.#store.atomically(() => {
      for (const [key, day] of this.#keyDays) this.#store.keys.saveDay(key, dayName(day * dayMs));
      this.#store.progress.noteSaved(now);
      const crossed = crossings.flatMap(({ entry, month, quota, before, used }) =>
        recordEvents(
          this.#store,
          { ...entry.account, quota },
          { month: monthName(month), before, used },
          now,
        ),
      );
      const reachedNow = [...Map.groupBy(due, ({ count }) => monthName(count.month))].flatMap(
        ([month, counted]) => {
          const changed = counted
            .filter(({ count, after }) => after.used !== count.used)
            .map(({ entry, after }) => [entry.account.id, after.used] as const);
          this.#store.usage.save(month, changed);
          const day = dayWithin(counted[0].count.month, nowMs);
          if (day !== undefined) this.#store.usage.saveDay(day, changed);
          return counted
            .filter(({ isReached }) => isReached)
            .flatMap(({ entry, count, after }) => {
              const account = { ...entry.account, quota: after.quota };
              return recordEvents(this.#store, account, { month, before: count.used, used: after.used }, now);
            });
        },
      );
      return [...crossed, ...reachedNow];
    });
    this.#crossings = [];
    for (const { entry, count, after } of due) {
      Object.assign(count, after);
      const day = count.month === this.#monthOfDays ? dayWithin(count.month, nowMs) : undefined;
      if (day !== undefined) this.tables.days.put(entry.slot, Number(day.slice(8)), after.used);
    }
    this.#keyDays.clear();
    return events;
  }
}

/**
 * Returns the day, `YYYY-MM-DD`, under which a month's count is saved now: today, or a past month's last day. Returns
 * undefined if the month hasn't begun.
 */
function dayWithin(month: number, nowMs: number): string | undefined {
  if (nowMs < startOfMonth(month)) return undefined;
  return dayName(Math.min(nowMs, startOfMonth(month + 1) - 1));
}

function firstMonth(nowMs: number): number {
  return monthOf(nowMs - lookBackMs);
}
