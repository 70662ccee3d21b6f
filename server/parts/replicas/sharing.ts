import type { Limits } from "../../accounts/limits.ts";
import type { Accounts, SavedBeside } from "../../accounts/sync.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import type { Store } from "../../store/store.ts";
import type { Script } from "./redis.ts";
import type { Ceilings, Counts } from "./share.ts";
import { Shares } from "./shares.ts";

/** Applies what Redis grants this server to the counts by which it admits requests. */

/**
 * The number of shards, the same on all servers. Redis keeps a shard's accounts together; each is called at least
 * twice a second.
 */
export const shards = 16;
/** Sequence numbers per start, so that a process's calls come after those of earlier ones. */
const sequencesPerStart = 2 ** 32;
/** Milliseconds between checks whether Redis is down, and between looks while it is. */
const lookMs = 100;
/** Accounts per batch when reading other servers' counts. */
const lookedUpAtOnce = 1000;

interface Lease {
  account: number;
  month: number;
  granted: number;
}

interface SharingOptions {
  store: Store;
  accounts: Accounts;
  /** Limits whose bounds may be below the quota. */
  limits: Limits;
  send: Script;
  /**
   * Requests of accounts in a month as all servers counted them, as far as Redis knows; without accounts that used
   * nothing.
   */
  usedInAll(accounts: readonly number[], month: string): Promise<[account: number, used: number][]>;
  isFreeWithoutRedis: boolean;
  /** Milliseconds of a steady clock. */
  nowMs: number;
}

export class Sharing implements Counts, SavedBeside {
  readonly #store: Store;
  readonly #accounts: Accounts;
  readonly #limits: Limits;
  #shares: Shares | undefined;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #isAway = false;
  #members: number;
  /** Leases on the disk, by month and account. */
  readonly #saved = new Map<number, Map<number, number>>();
  /** Accounts whose bounds changed since their leases were last saved. */
  readonly #changed = new Set<number>();
  #due: Lease[] = [];
  /** Leased and unused requests by account, of both months; without accounts that have none. */
  readonly #charged = new Map<number, number>();
  readonly #usedInAll: SharingOptions["usedInAll"];
  /** Other servers' counts by month and account, as of the last look. */
  readonly #usedByOthers = new Map<number, Map<number, number>>();
  /** Iterates over the accounts to look up next. */
  #next: Iterator<number> | undefined;

  constructor({ store, accounts, limits, send, usedInAll, isFreeWithoutRedis, nowMs }: SharingOptions) {
    this.#store = store;
    this.#accounts = accounts;
    this.#limits = limits;
    const { id, starts, members } = store.replica.begin();
    this.#members = members;
    this.#usedInAll = usedInAll;
    const options = {
      replica: id,
      shards,
      counts: this,
      send,
      firstSequence: starts * sequencesPerStart,
      members,
      saved: (account: number, month: number) => this.#savedOf(month).get(account) ?? 0,
      isFreeWithoutRedis,
      clock: () => performance.now(),
    };
    const shares = new Shares(options, accounts.firstMonth, nowMs);
    this.#shares = shares;
    accounts.onChange = (account) => shares.enter(account);
  }

  get #all(): Shares {
    if (this.#shares === undefined) throw new Error("the shares aren't there yet");
    return this.#shares;
  }

  /** Whether this server has its part of everything. */
  get isReady(): boolean {
    return this.#all.isReady;
  }

  get members(): number {
    return this.#all.members;
  }

  syncAgeMs(nowMs: number): number {
    return this.#all.syncAgeMs(nowMs);
  }

  /** Whether Redis was down at the last look. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** Leased and unused requests, as of the last save. */
  charged(): number {
    let sum = 0;
    for (const requests of this.#charged.values()) sum += requests;
    return sum;
  }

  /** Reports what was counted, and asks Redis for what is due. Call it every few milliseconds. */
  step(nowMs: number, wallMs: number): void {
    const shares = this.#all;
    shares.enterMonths(this.#accounts.firstMonth);
    const isLook = nowMs >= this.#lookedMs + lookMs;
    if (isLook) {
      this.#lookedMs = nowMs;
      this.#isAway = shares.isAlone(nowMs);
    }
    this.#limits.sweep((slot, isUrgent) =>
      shares.touch(this.#accounts.idOf(slot), nowMs, isUrgent && !this.#isAway),
    );
    if (isLook || nowMs >= shares.nextMs()) shares.tick(nowMs, monthOf(wallMs));
  }

  /**
   * Reads other servers' counts of the next accounts, in turn. Answers to calls contain those of accounts in use
   * here; nothing tells those of the others.
   */
  async lookUp(month: number): Promise<void> {
    const first = this.#accounts.firstMonth;
    for (const known of this.#usedByOthers.keys())
      if (known < first || known > first + 1) this.#usedByOthers.delete(known);
    this.#next ??= this.#accounts.ids()[Symbol.iterator]();
    const accounts: number[] = [];
    for (let one = this.#next.next(); !one.done; one = this.#next.next())
      if (accounts.push(one.value) === lookedUpAtOnce) break;
    if (accounts.length < lookedUpAtOnce) this.#next = undefined;
    if (accounts.length === 0) return;
    const byOthers = this.#usedByOthers.get(month) ?? new Map<number, number>();
    this.#usedByOthers.set(month, byOthers);
    for (const [account, inAll] of await this.#usedInAll(accounts, monthName(month))) {
      // Counts that Redis doesn't know yet make this too small, never too large, and not for long.
      const used = Math.max(0, inAll - this.used(account, month));
      if (used === (byOthers.get(account) ?? 0)) continue;
      byOthers.set(account, used);
      this.#all.enter(account);
    }
  }

  /** Gives everything back, after the last answer. */
  async leave(nowMs: number, save: () => void): Promise<void> {
    await this.#all.leave(nowMs, save);
  }

  accounts(): Iterable<number> {
    return this.#accounts.ids();
  }

  ceilings(account: number): Ceilings {
    return this.#limits.ceilings(this.#accounts.slotOf(account));
  }

  used(account: number, month: number): number {
    return this.#accounts.used(account, month);
  }

  refused(account: number): number {
    return this.#limits.refused(this.#accounts.slotOf(account));
  }

  admitUpTo(account: number, month: number, count: number, reason: "burst" | "quota"): void {
    const slot = this.#accounts.slotOf(account);
    const used = this.used(account, month);
    const told = (this.#shares?.inAll(account, month) ?? used) - used;
    const lookedUp = this.#usedByOthers.get(month)?.get(account) ?? 0;
    const left = this.#limits.ceilings(slot).quota - Math.max(told, lookedUp);
    this.#limits.admitUpTo(slot, month, count, reason, left);
    this.#changed.add(account);
  }

  raise(account: number, month: number, by: number): void {
    this.#limits.raise(this.#accounts.slotOf(account), month, by);
  }

  isDue(): boolean {
    this.#due = [];
    const first = this.#accounts.firstMonth;
    for (const account of this.#changed) {
      let charged = 0;
      for (const month of [first, first + 1]) {
        const used = this.used(account, month);
        charged += Math.max(0, this.#all.granted(account, month) - used);
        const granted = this.#all.lasting(account, month);
        const saved = this.#savedOf(month).get(account) ?? 0;
        // The next process takes its counts for granted, at least.
        if (Math.max(saved, used) !== Math.max(granted, used)) this.#due.push({ account, month, granted });
      }
      if (charged > 0) this.#charged.set(account, charged);
      else this.#charged.delete(account);
    }
    return this.#due.length > 0 || this.members !== this.#members;
  }

  write(): void {
    for (const { account, month, granted } of this.#due)
      this.#store.replica.saveLease(monthName(month), account, granted);
    if (this.members !== this.#members) this.#store.replica.saveMembers(this.members);
  }

  written(): void {
    this.#changed.clear();
    this.#members = this.members;
    for (const { account, month, granted } of this.#due) {
      this.#savedOf(month).set(account, granted);
      this.#all.save(account, month, granted);
    }
    this.#due = [];
  }

  #savedOf(month: number): Map<number, number> {
    const known = this.#saved.get(month);
    if (known !== undefined) return known;
    const saved = this.#store.replica.leases(monthName(month));
    this.#saved.set(month, saved);
    return saved;
  }
}
