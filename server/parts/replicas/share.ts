import { monthName } from "../../shared/months.ts";

/** What a server holds of the accounts' quotas and rates, and the bounds of its counts that follow. */

export interface Ceilings {
  /** Requests per second. */
  burst: number;
  /** Requests per month. */
  quota: number;
}

/** The counts by which requests are admitted; only `Holdings` sets their bounds. */
export interface Counts {
  accounts(): Iterable<number>;
  ceilings(account: number): Ceilings;
  /** Requests that this server admitted in a month, in all its processes. */
  used(account: number, month: number): number;
  /** Requests refused by `admitUpTo` since the start. */
  refused(account: number): number;
  /**
   * Sets the bound of a month: requests are admitted while fewer than `count` were.
   * @param reason why others are refused
   */
  admitUpTo(account: number, month: number, count: number, reason: "burst" | "quota"): void;
  /** Adds requests that this server had admitted and lost. */
  raise(account: number, month: number, by: number): void;
}

export interface MonthShare {
  month: number;
  name: string;
  /** Requests that Redis has granted this server. */
  granted: number;
  /** The granted requests that are on the disk for the next process; no fewer are given back. */
  saved: number;
  /** More are asked for when fewer than this are left; none when nobody has any. */
  low: number;
  /** The count when the process started. */
  base: number;
  /** The count that was sent last, which Redis may know. */
  sent: number;
  /** Whether unused leased requests are called back. */
  isCalledBack: boolean;
  /** Whether the count that Redis knew from before is included. */
  isKnown: boolean;
  /** This server's count and the total, as of the last answer. */
  told: { used: number; granted: number; inAll: number } | undefined;
}

export interface Share {
  account: number;
  months: MonthShare[];
  /** Tokens besides the resting part when `heldAt` requests were counted; a negative number is a debt. */
  held: number;
  heldAt: number;
  /** The tokens that Redis knows of. */
  toldHeld: number;
  /** Tokens that accrued while Redis gave none, up to a time. */
  spare: number;
  spareMs: number;
  /** Requests counted as of the last look. */
  counted: number;
  refused: number;
  lookedMs: number;
  usedMs: number;
  sentMs: number;
  /** Averages of incoming and of admitted requests per second. */
  rate: number;
  admitted: number;
  /** The largest recent number of requests between two looks. */
  peak: number;
  /** Whether unused tokens are called back. */
  isCalledBack: boolean;
  /** Whether requests were refused for want of tokens since the last report. */
  isShort: boolean;
  /** When a request was last refused for want of a lease, if none was admitted since. */
  dryMs: number;
  /** Whether the last answer granted less than was asked for. */
  isStarved: boolean;
  /** The pause after answers that leased nothing; it grows. */
  retryMs: number;
  pauseMs: number;
}

export interface Shard {
  index: number;
  sequence: number;
  /** The run of Redis that knows what is held here, and the one that is being told. */
  boot: string;
  bootToTell: string;
  toTell: Set<Share>;
  /** Accounts whose changes were just read; their use until then is reported along with the confirmation. */
  changed: Set<Share>;
  /** The version of the last change that was read. */
  read: number;
  members: number;
  hasStarted: boolean;
  /** Whether this server has a member's resting part and credit. */
  isResting: boolean;
  hasCredit: boolean;
  isAlone: boolean;
  /** Whether Redis is still being told what it may have lost. */
  learnsFromMs: number;
  learnsUntilMs: number;
  /** Whether others may have this server's part, so that only the overdraft is left. */
  hasLapsed: boolean;
  /** Months in which an account is tight, and "" if it is scarce; and the list that is being read again. */
  taut: Map<number, Set<string>>;
  tautAnew: Map<number, Set<string>> | undefined;
  shares: Map<number, Share>;
  /** Accounts that have something to report or to be looked at. */
  active: Set<Share>;
  sentMs: number;
  isUnderWay: boolean;
  askedMs: number;
  /** When the last answered call was sent. */
  contactMs: number;
  /** The longest recent time of an answer. */
  tripMs: number;
}

/** @param firstSequence larger than all sequence numbers of earlier processes */
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

/** The shortest time between calls, for what can't wait for the next regular one. */
export const minPauseMs = 2;

/** Tokens that each server may use beyond what it holds, a tenth of its part of the burst; they are repaid first. */
function overdraft(burst: number, members: number): number {
  return Math.max(1, Math.floor(burst / members / 10));
}

/** A server's credit: requests of a month that it may admit of an account without asking. */
function creditOf({ burst, quota }: Ceilings, members: number): number {
  return Math.min(Math.floor(quota / members / 2), Math.floor(burst / members) + overdraft(burst, members));
}

export function isScarceIn(shard: Shard, { account }: Share): boolean {
  return shard.taut.get(account)?.has("") ?? false;
}

export function isTightIn(shard: Shard, { account }: Share, { name }: MonthShare): boolean {
  return shard.taut.get(account)?.has(name) ?? false;
}

/** Enters a change in the script's notation: `account`, or `account@month`. */
export function setTaut(taut: Shard["taut"], change: string, isTaut: boolean): void {
  const [account, month = ""] = change.split("@");
  const months = taut.get(Number(account)) ?? new Set();
  isTaut ? months.add(month) : months.delete(month);
  months.size > 0 ? taut.set(Number(account), months) : taut.delete(Number(account));
}

export interface HoldingsOptions {
  counts: Counts;
  /** The stored `lasting` of earlier processes. */
  saved: (account: number, month: number) => number;
  /** Whether the known rest of the quota is admitted while Redis is down. */
  isFreeWithoutRedis: boolean;
}

export class Holdings {
  readonly counts: Counts;
  readonly isFreeWithoutRedis: boolean;
  readonly #saved: (account: number, month: number) => number;
  /** Whether everything was given back, so that nothing is admitted any more. */
  hasLeft = false;

  constructor({ counts, saved, isFreeWithoutRedis }: HoldingsOptions) {
    this.counts = counts;
    this.#saved = saved;
    this.isFreeWithoutRedis = isFreeWithoutRedis;
  }

  /** @param months the two months in which requests are counted */
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

  /**
   * The granted requests that Redis is told: at least what the next process may find, and what was counted on credit.
   */
  claimed(share: Share, each: MonthShare): number {
    return Math.max(each.granted, each.saved, this.used(share, each));
  }

  /** The number of requests of the month that this server may count. */
  #leased(shard: Shard, share: Share, each: MonthShare): number {
    const hasCredit = shard.hasCredit && !isTightIn(shard, share, each);
    return each.granted + (hasCredit ? creditOf(this.counts.ceilings(share.account), shard.members) : 0);
  }

  /** Whether the lease will be used up before an answer arrives. */
  isLow(shard: Shard, share: Share): boolean {
    return share.months.some(
      (each) => each.low > 0 && this.#leased(shard, share, each) - this.used(share, each) < each.low,
    );
  }

  /** Tokens besides the resting part. */
  heldOf(share: Share): number {
    return share.held - (this.countOf(share) - share.heldAt);
  }

  /** The resting part: tokens that this server has without asking. */
  restOf(shard: Shard, share: Share): number {
    if (!shard.isResting || shard.hasLapsed || isScarceIn(shard, share)) return 0;
    return Math.floor(this.counts.ceilings(share.account).burst / shard.members);
  }

  /** Tokens that may be used now, including the overdraft. */
  tokensOf(shard: Shard, share: Share, count = this.countOf(share)): number {
    const { burst } = this.counts.ceilings(share.account);
    const held = share.held - (count - share.heldAt) + share.spare;
    return Math.max(0, Math.floor(held + this.restOf(shard, share) + overdraft(burst, shard.members)));
  }

  /** Drops the tokens that others may have by now. A debt stays. */
  lapse(share: Share, nowMs: number): void {
    share.held = Math.min(0, Math.floor(this.heldOf(share) + share.spare));
    share.heldAt = this.countOf(share);
    share.toldHeld = Math.min(0, share.toldHeld);
    share.spare = 0;
    share.spareMs = nowMs;
  }

  /** Sets the bounds of an account's counts to what this server holds. */
  bind(shard: Shard, share: Share): void {
    const { account, months } = share;
    const ceilings = this.counts.ceilings(account);
    // Read once, because requests are counted meanwhile.
    const [first, second] = [this.used(share, months[0]), this.used(share, months[1])];
    const tokens = this.tokensOf(shard, share, first + second);
    const isFree = shard.isAlone && this.isFreeWithoutRedis;
    for (const each of months) {
      const used = each === months[0] ? first : second;
      const leased = this.#leased(shard, share, each);
      const others = each.told ? each.told.inAll - each.told.used : 0;
      // A lowered quota holds at once, whatever is leased.
      const left = Math.max(used, ceilings.quota - others);
      const quota = isFree ? left : Math.min(leased, left);
      const bound = this.hasLeft ? used : Math.min(quota, used + tokens);
      this.counts.admitUpTo(account, each.month, bound, quota < used + tokens ? "quota" : "burst");
    }
  }
}
