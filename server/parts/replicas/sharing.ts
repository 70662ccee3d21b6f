import type { Limits } from "../../accounts/limits.ts";
import type { Accounts } from "../../accounts/sync.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import type { Store } from "../../store/store.ts";
import type { SharesScript } from "./redis.ts";
import type { Ceilings, Counts } from "./share.ts";
import { Shares } from "./shares.ts";

/** Applies what Redis grants this server to the counts by which it admits requests. */

const refillMs = 100;
/** Accounts per batch when reading other servers' counts. */
const heardAtOnce = 1000;

interface SharingOptions {
  store: Store;
  accounts: Accounts;
  /** Limits whose bounds may be below the quota. */
  limits: Limits;
  script: SharesScript;
  shards: number;
  /** Redis' records of accounts in a month; undefined for a missing one. */
  records(accounts: readonly number[], month: string): Promise<(MonthRecord | undefined)[]>;
  isFreeWithoutRedis: boolean;
  /** Milliseconds of a steady clock. */
  nowMs: number;
}

export interface MonthRecord {
  total: number;
  text: string;
}

export class Sharing implements Counts {
  readonly #options: SharingOptions;
  readonly #shares: Shares;
  #refilledMs = Number.NEGATIVE_INFINITY;
  #savedMembers: number;
  /** Iterates over the accounts to hear of next. */
  #next: Iterator<number> | undefined;

  constructor(options: SharingOptions) {
    this.#options = options;
    const { store, accounts, nowMs, script, shards, isFreeWithoutRedis } = options;
    const { id, starts, members } = store.replica.begin();
    this.#savedMembers = members;
    this.#shares = new Shares(
      {
        ...{ server: `${id}.${starts}`, knew: members },
        ...{ counts: this, script, shards, isFreeWithoutRedis, clock: () => performance.now() },
      },
      accounts.firstMonth,
      nowMs,
    );
    accounts.onChange = (account) => this.#shares.enter(account);
  }

  /** Whether this server has its part in all shards. */
  get isReady(): boolean {
    return this.#shares.isReady;
  }

  get members(): number {
    return this.#shares.members;
  }

  syncAgeMs(nowMs: number): number {
    return this.#shares.syncAgeMs(nowMs);
  }

  isAway(nowMs: number): boolean {
    return this.#shares.isAway(nowMs);
  }

  /** Requests of quotas that are leased to this server and not used. */
  charged(): number {
    return this.#shares.charged();
  }

  /** Notes that the connection to Redis is a new one. */
  check(): void {
    this.#shares.check();
  }

  /** Reports what was counted, and asks Redis for what is due. Call it every few milliseconds. */
  step(nowMs: number, wallMs: number): void {
    const { accounts, limits, store } = this.#options;
    this.#shares.enterMonths(accounts.firstMonth);
    limits.sweep((slot) => this.#shares.touch(accounts.idOf(slot), nowMs));
    if (nowMs >= this.#refilledMs + refillMs) {
      this.#refilledMs = nowMs;
      this.#shares.refill(nowMs);
    }
    if (nowMs >= this.#shares.nextMs()) this.#shares.tick(nowMs, monthOf(wallMs));
    if (this.#shares.isReady && this.members !== this.#savedMembers) {
      this.#savedMembers = this.members;
      store.replica.saveMembers(this.members);
    }
  }

  /**
   * Reads other servers' counts for the next batch of accounts. For accounts in use here, answers to calls contain
   * them.
   */
  async hear(month: number): Promise<void> {
    this.#next ??= this.#options.accounts.ids()[Symbol.iterator]();
    const accounts: number[] = [];
    for (let one = this.#next.next(); !one.done; one = this.#next.next())
      if (accounts.push(one.value) === heardAtOnce) break;
    if (accounts.length < heardAtOnce) this.#next = undefined;
    if (accounts.length === 0) return;
    const records = await this.#options.records(accounts, monthName(month));
    for (const [i, record] of records.entries())
      if (record !== undefined) this.#shares.hear(accounts[i], month, record.total, record.text);
  }

  /** Gives everything back, after the last answer. @param save saves the counts */
  async leave(nowMs: number, save: () => void): Promise<void> {
    await this.#shares.leave(nowMs, save);
  }

  accounts(): Iterable<number> {
    return this.#options.accounts.ids();
  }

  ceilings(account: number): Ceilings {
    return this.#options.limits.ceilings(this.#slotOf(account));
  }

  used(account: number, month: number): number {
    return this.#options.accounts.used(account, month);
  }

  refused(account: number): number {
    return this.#options.limits.refused(this.#slotOf(account));
  }

  admitUpTo(account: number, month: number, count: number, reason: "burst" | "quota", left: number): void {
    this.#options.limits.admitUpTo(this.#slotOf(account), month, count, reason, left);
  }

  #slotOf(account: number): number {
    return this.#options.accounts.slotOf(account);
  }
}
