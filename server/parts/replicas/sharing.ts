import type { Limits } from "../../accounts/limits.ts";
import type { Accounts, SavedBeside } from "../../accounts/sync.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import type { Store } from "../../store/store.ts";
import type { Script } from "./redis.ts";
import type { Ceilings, Counts } from "./share.ts";
import { Shares } from "./shares.ts";

/** This server's part of the ceilings that several servers share: what Redis grants becomes bounds of its counts. */

/** All servers must have as many: the accounts of one lie together in Redis. Each is called twice a second at least. */
export const shards = 16;
/** What a process of this server says comes after all that the ones before have said. */
const sequencesPerStart = 2 ** 32;
/** Whether Redis is away, is looked at so often; and what it brings while it is away comes so often. */
const lookMs = 100;
/** Of so many accounts at a time it is looked up what other servers have counted. */
const lookedUpAtOnce = 1000;

interface Lease {
  account: number;
  month: number;
  granted: number;
}

interface SharingOptions {
  store: Store;
  accounts: Accounts;
  /** With bounds that may be less than the quota. */
  limits: Limits;
  send: Script;
  /** What all servers have counted of accounts in a month, as far as Redis was told; without those that have used nothing. */
  usedInAll(accounts: readonly number[], month: string): Promise<[account: number, used: number][]>;
  isFreeWithoutRedis: boolean;
  /** Of a clock that never steps. */
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
  /** What the disk has of leases, by month and account. */
  readonly #saved = new Map<number, Map<number, number>>();
  /** Accounts whose bounds were set since their leases were last saved. */
  readonly #changed = new Set<number>();
  #due: Lease[] = [];
  /** By account, in both months; without those that have none. */
  readonly #charged = new Map<number, number>();
  readonly #usedInAll: SharingOptions["usedInAll"];
  /** What other servers have counted by month and account, as it was looked up last. */
  readonly #usedByOthers = new Map<number, Map<number, number>>();
  /** The accounts that are looked up next. */
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

  /** Whether Redis was away at the last look. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** Requests that are leased and not used, when they were last saved. */
  charged(): number {
    let sum = 0;
    for (const requests of this.#charged.values()) sum += requests;
    return sum;
  }

  /** Says what was counted, and asks Redis for what is due. To be called every few milliseconds. */
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
   * Looks up what other servers have counted of the next accounts, in turn: of those that are asked for here the answers
   * to calls say it, and of all others nothing would.
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
      // What was counted here and not told yet is told soon: till then it is too little, never too much.
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
        // The next process takes what was counted for granted, at least.
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
