import { monthName } from "../../shared/months.ts";

/** What a replica has of the accounts' ceilings, and the bounds that requests get by it. */

export interface Ceilings {
  /** Requests per second. */
  burst: number;
  /** Requests per month. */
  quota: number;
}

/** The counts that requests are admitted by; `Holdings` alone writes their bounds. */
export interface Counts {
  accounts(): Iterable<number>;
  ceilings(account: number): Ceilings;
  /** Requests that this replica has admitted in a month, of all its processes. */
  used(account: number, month: number): number;
  /** Requests refused for the bound in both months, since the process started. */
  refused(account: number): number;
  /**
   * Requests of the month are admitted as long as fewer than `count` have been.
   *
   * @param reason why others are refused
   */
  admitUpTo(account: number, month: number, count: number, reason: "burst" | "quota"): void;
  /** Adds what this replica had admitted and forgotten. */
  raise(account: number, month: number, by: number): void;
}

export interface MonthShare {
  month: number;
  name: string;
  /** What Redis has granted this replica: it may count so many requests. */
  granted: number;
  /** The same on the disk, where a next process finds it: no less is given back. */
  saved: number;
  /** With fewer requests left than this, more are asked for before the next tick; none when no more are left to anyone. */
  low: number;
  /** Its count when the process started. */
  base: number;
  /** Its count as it was sent last, and Redis may know it. */
  sent: number;
  /** Whether requests that it has leased are called back, if it doesn't need them. */
  isCalledBack: boolean;
  /** Whether what Redis knew of its count before is in it. */
  isKnown: boolean;
  /** By the last answer: its count, and all replicas' together. */
  told: { used: number; granted: number; inAll: number } | undefined;
}

export interface Share {
  account: number;
  months: MonthShare[];
  /** Tokens beside the rest when `heldAt` requests were counted; below zero is a debt. */
  held: number;
  heldAt: number;
  /** What Redis knows of it. */
  toldHeld: number;
  /** Tokens that came while Redis gave none, up to a time. */
  spare: number;
  spareMs: number;
  /** By the last look. */
  counted: number;
  refused: number;
  lookedMs: number;
  usedMs: number;
  sentMs: number;
  /** Requests that come, per second, and those that are admitted. */
  rate: number;
  admitted: number;
  /** Requests that came between two looks, at most lately. */
  peak: number;
  /** Whether tokens are called back, if they aren't needed. */
  isCalledBack: boolean;
  /** Whether some were refused for want of tokens since that was last said. */
  isShort: boolean;
  /** When one was refused last for want of a lease, and none was admitted since. */
  dryMs: number;
  /** Whether the last answer granted less than was wanted. */
  isStarved: boolean;
  /** After an answer that leased nothing the next call waits, each time longer. */
  retryMs: number;
  pauseMs: number;
}

export interface Shard {
  index: number;
  sequence: number;
  /** The run of Redis that knows all that is held here, and the one that is being told. */
  boot: string;
  bootToTell: string;
  toTell: Set<Share>;
  /** Accounts of changes just read: what was used of them before is said together with having read them. */
  changed: Set<Share>;
  /** The version up to which changes were read. */
  read: number;
  members: number;
  hasStarted: boolean;
  /** Whether it has what members have without asking. */
  isResting: boolean;
  hasCredit: boolean;
  isAlone: boolean;
  /** While Redis learns what it may have lost. */
  learnsFromMs: number;
  learnsUntilMs: number;
  /** Whether others may have what it held: nothing is left to it but the overdraft. */
  hasLapsed: boolean;
  /** Of accounts the months' names in which they are tight, "" where they are scarce; the same where it is read anew. */
  taut: Map<number, Set<string>>;
  tautAnew: Map<number, Set<string>> | undefined;
  shares: Map<number, Share>;
  /** Those with something to say or to look at. */
  active: Set<Share>;
  sentMs: number;
  isUnderWay: boolean;
  askedMs: number;
  /** When the last call was sent that was answered. */
  contactMs: number;
  /** How long answers take, at most lately. */
  tripMs: number;
}

/** @param firstSequence above all that processes before have said */
export function newShard(
  index: number,
  { firstSequence, members }: { firstSequence: number; members: number },
  nowMs: number,
): Shard {
  return {
    index,
    sequence: firstSequence,
    boot: "",
    bootToTell: "",
    toTell: new Set<Share>(),
    changed: new Set<Share>(),
    read: 0,
    members,
    hasStarted: false,
    isResting: false,
    hasCredit: false,
    isAlone: false,
    learnsFromMs: 0,
    learnsUntilMs: 0,
    hasLapsed: false,
    taut: new Map<number, Set<string>>(),
    tautAnew: undefined,
    shares: new Map<number, Share>(),
    active: new Set<Share>(),
    sentMs: Number.NEGATIVE_INFINITY,
    isUnderWay: false,
    askedMs: nowMs,
    contactMs: nowMs,
    tripMs: 0,
  };
}

/** What can't wait for the next tick waits so long after the last call. */
export const minPauseMs = 2;

/** Tokens that each replica may use beyond what it holds, a tenth of its part of the burst: they are repaid first. */
function overdraft(burst: number, members: number): number {
  return Math.max(1, Math.floor(burst / members / 10));
}

/** Requests of a month that each replica may admit of an account without asking. */
function creditOf({ burst, quota }: Ceilings, members: number): number {
  return Math.min(Math.floor(quota / members / 2), Math.floor(burst / members) + overdraft(burst, members));
}

export function isScarceIn(shard: Shard, { account }: Share): boolean {
  return shard.taut.get(account)?.has("") ?? false;
}

export function isTightIn(shard: Shard, { account }: Share, { name }: MonthShare): boolean {
  return shard.taut.get(account)?.has(name) ?? false;
}

/** Enters a change as the script names it: `account`, or `account@month`. */
export function setTaut(taut: Shard["taut"], change: string, isTaut: boolean): void {
  const [account, month = ""] = change.split("@");
  const months = taut.get(Number(account)) ?? new Set();
  isTaut ? months.add(month) : months.delete(month);
  months.size > 0 ? taut.set(Number(account), months) : taut.delete(Number(account));
}

export interface HoldingsOptions {
  counts: Counts;
  /** What was `lasting` when it was saved last, of processes before. */
  saved: (account: number, month: number) => number;
  /** Whether the quota's rest, as far as it is known, is admitted while Redis is away. */
  isFreeWithoutRedis: boolean;
}

export class Holdings {
  readonly counts: Counts;
  readonly isFreeWithoutRedis: boolean;
  readonly #saved: (account: number, month: number) => number;
  /** Whether all was given back: no request is admitted any more. */
  hasLeft = false;

  constructor({ counts, saved, isFreeWithoutRedis }: HoldingsOptions) {
    this.counts = counts;
    this.#saved = saved;
    this.isFreeWithoutRedis = isFreeWithoutRedis;
  }

  /** @param months the two that requests are counted in */
  newShare(account: number, months: readonly number[]): Share {
    const share: Share = {
      account,
      months: months.map((month) => this.newMonth(account, month)),
      held: 0,
      heldAt: 0,
      toldHeld: 0,
      spare: 0,
      spareMs: 0,
      counted: 0,
      refused: this.counts.refused(account),
      lookedMs: 0,
      usedMs: Number.NEGATIVE_INFINITY,
      sentMs: Number.NEGATIVE_INFINITY,
      rate: 0,
      admitted: 0,
      peak: 0,
      isCalledBack: false,
      isShort: false,
      dryMs: Number.NEGATIVE_INFINITY,
      isStarved: false,
      retryMs: Number.NEGATIVE_INFINITY,
      pauseMs: minPauseMs,
    };
    share.heldAt = this.countOf(share);
    share.counted = share.heldAt;
    return share;
  }

  newMonth(account: number, month: number): MonthShare {
    const base = this.counts.used(account, month);
    const saved = this.#saved(account, month);
    return {
      month,
      name: monthName(month),
      granted: Math.max(base, saved),
      saved,
      low: 0,
      base,
      sent: base,
      isCalledBack: false,
      isKnown: false,
      told: undefined,
    };
  }

  used(share: Share, { month }: MonthShare): number {
    return this.counts.used(share.account, month);
  }

  countOf(share: Share): number {
    return this.used(share, share.months[0]) + this.used(share, share.months[1]);
  }

  /** What Redis is told to be granted: no less than the next process may find, and what was counted by credit. */
  claimed(share: Share, each: MonthShare): number {
    return Math.max(each.granted, each.saved, this.used(share, each));
  }

  /** Requests of the month up to which this replica may count. */
  #leased(shard: Shard, share: Share, each: MonthShare): number {
    const hasCredit = shard.hasCredit && !isTightIn(shard, share, each);
    return each.granted + (hasCredit ? creditOf(this.counts.ceilings(share.account), shard.members) : 0);
  }

  /** Whether what is leased is used up before an answer would come. */
  isLow(shard: Shard, share: Share): boolean {
    return share.months.some(
      (each) => each.low > 0 && this.#leased(shard, share, each) - this.used(share, each) < each.low,
    );
  }

  /** Tokens beside the rest. */
  heldOf(share: Share): number {
    return share.held - (this.countOf(share) - share.heldAt);
  }

  /** Tokens that the replica has without asking. */
  restOf(shard: Shard, share: Share): number {
    if (!shard.isResting || shard.hasLapsed || isScarceIn(shard, share)) return 0;
    return Math.floor(this.counts.ceilings(share.account).burst / shard.members);
  }

  /** Tokens that may be used now, with the overdraft. */
  tokensOf(shard: Shard, share: Share, count = this.countOf(share)): number {
    const { burst } = this.counts.ceilings(share.account);
    const held = share.held - (count - share.heldAt) + share.spare;
    return Math.max(0, Math.floor(held + this.restOf(shard, share) + overdraft(burst, shard.members)));
  }

  /** Gives up the tokens that others may have by now. A debt stays. */
  lapse(share: Share, nowMs: number): void {
    share.held = Math.min(0, Math.floor(this.heldOf(share) + share.spare));
    share.heldAt = this.countOf(share);
    share.toldHeld = Math.min(0, share.toldHeld);
    share.spare = 0;
    share.spareMs = nowMs;
  }

  /** Sets the bounds of an account's counts to what the replica holds. */
  bind(shard: Shard, share: Share): void {
    const { account, months } = share;
    const ceilings = this.counts.ceilings(account);
    // Read once: requests are counted meanwhile.
    const [first, second] = [this.used(share, months[0]), this.used(share, months[1])];
    const tokens = this.tokensOf(shard, share, first + second);
    const isFree = shard.isAlone && this.isFreeWithoutRedis;
    for (const each of months) {
      const used = each === months[0] ? first : second;
      const leased = this.#leased(shard, share, each);
      const others = each.told ? each.told.inAll - each.told.used : 0;
      // A quota that was lowered holds at once, whatever is leased.
      const left = Math.max(used, ceilings.quota - others);
      const quota = isFree ? left : Math.min(leased, left);
      const bound = this.hasLeft ? used : Math.min(quota, used + tokens);
      this.counts.admitUpTo(account, each.month, bound, quota < used + tokens ? "quota" : "burst");
    }
  }
}
