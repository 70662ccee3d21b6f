import { creditOf, type MonthShare, never, type Shard, type Share, type SharesOptions } from "./share.ts";

/** Limits what this server may admit: a token bucket for its share of the rate, and its lease of the quota. */

/** Redis counts as away after this long, plus three round trips, without an answer. */
const awayMs = 1500;
/**
 * After this long without an answer only leased requests are admitted. After 60 s other servers get this server's part.
 */
const lapseMs = 50_000;
/** An account unused for this long gives back what it holds. Accounts with a low rate wait longer. */
const idleMs = 1000;
const idleRequests = 3;
/** A client that was refused for lack of a lease retries after a second, perhaps on another server. */
const comesBackMs = 2000;
const maxAwaitedMs = 30_000;

export class Bounds {
  readonly #options: SharesOptions;
  isLeaving = false;

  constructor(options: SharesOptions) {
    this.#options = options;
  }

  /** Whether this server has its part, and its buckets have had time to fill. */
  isRested({ part, rested }: Shard): boolean {
    return part > 0 && rested > 0.999 * part;
  }

  isShardAway({ contactMs, tripMs }: Shard, nowMs: number): boolean {
    return nowMs > contactMs + awayMs + 3 * tripMs;
  }

  /**
   * Milliseconds without a request after which an account is idle: the time of a few requests at this server's part of
   * the rate.
   */
  idleMs({ members }: Shard, { account }: Share): number {
    return Math.max(idleMs, (1000 * idleRequests * members) / this.#options.counts.ceilings(account).burst);
  }

  /** Requests expected within two round trips, at least one. */
  soon(shard: Shard, share: Share): number {
    return Math.max(1, Math.ceil(share.demand * 2 * ((shard.tripMs + 20) / 1000)));
  }

  awaited(shard: Shard, share: Share, nowMs: number): number {
    const awaitedMs = Math.min(maxAwaitedMs, comesBackMs * (shard.members + 1));
    return nowMs - share.dryMs < awaitedMs ? 1 : 0;
  }

  isLow(shard: Shard, share: Share, each: MonthShare, nowMs: number): boolean {
    const used = this.used(share, each);
    if (
      nowMs - share.usedMs >= this.idleMs(shard, share) ||
      each.others + used >= this.#options.counts.ceilings(share.account).quota
    )
      return false;
    // When the quota is nearly used up, asking again immediately is useless.
    const isVain = each.told !== undefined && each.told.granted <= used && each.isTight;
    return !isVain && this.leased(shard, share, each, nowMs) - used < Math.ceil(this.soon(shard, share) / 2);
  }

  /** Updates the demand and the bucket with the requests since the last call, then the bounds. */
  look(shard: Shard, share: Share, nowMs: number): void {
    const { counts } = this.#options;
    this.fill(shard, share, nowMs);
    const count = this.countOf(share);
    const refused = counts.refused(share.account);
    const admitted = count - share.counted;
    const came = Math.max(0, admitted) + refused - share.refused;
    const passedMs = Math.max(1, nowMs - share.lookedMs);
    share.demand +=
      (came / (passedMs / 1000) - share.demand) * (1 - Math.exp((-2 * passedMs) / this.idleMs(shard, share)));
    share.level -= admitted;
    if (came > 0) Object.assign(share, { usedMs: nowMs, isProposed: false });
    if (admitted > 0) share.dryMs = never;
    if (refused > share.refused) {
      if (share.level < 1) share.isShort = true;
      else share.dryMs = nowMs;
    }
    Object.assign(share, { counted: count, refused, lookedMs: nowMs });
    this.bind(shard, share, nowMs);
  }

  isLapsed({ contactMs }: Shard, nowMs: number): boolean {
    return nowMs - contactMs >= lapseMs;
  }

  /** This server's part of all accounts' rates, from 0 to 1. */
  partOf(shard: Shard, nowMs: number): number {
    const { isFreeWithoutRedis, knew } = this.#options;
    if (!isFreeWithoutRedis) return this.isLapsed(shard, nowMs) ? 0 : shard.part;
    return shard.part === 0 && this.isShardAway(shard, nowMs) ? 1 / Math.max(1, knew) : shard.part;
  }

  /** Requests per second that the rate allows an account now. */
  rateOf(shard: Shard, share: Share, nowMs: number): number {
    const part = this.partOf(shard, nowMs);
    const rest = this.#options.counts.ceilings(share.account).burst * part;
    if (part === 0) return 0;
    if (!share.isActive) return rest;
    return nowMs < share.untilMs ? share.rate : Math.min(share.rate, rest);
  }

  /** Refills an account's bucket, which holds one second's worth plus one request. */
  fill(shard: Shard, share: Share, nowMs: number): void {
    const lapsesMs = this.#options.isFreeWithoutRedis ? nowMs : Math.min(nowMs, shard.contactMs + lapseMs);
    const cutMs = share.isActive ? Math.min(Math.max(share.untilMs, share.levelMs), lapsesMs) : share.levelMs;
    for (const toMs of [cutMs, lapsesMs]) {
      if (toMs <= share.levelMs) continue;
      share.level += (this.rateOf(shard, share, toMs - 1e-3) * (toMs - share.levelMs)) / 1000;
      share.levelMs = toMs;
    }
    share.levelMs = nowMs;
    share.level = Math.min(share.level, this.rateOf(shard, share, nowMs) + 1);
  }

  /** Refills the bucket of unused accounts at rest. */
  rest(shard: Shard, nowMs: number): void {
    const part = this.partOf(shard, nowMs);
    shard.rested = Math.min(part, shard.rested + (part * (nowMs - shard.restedMs)) / 1000);
    shard.restedMs = nowMs;
  }

  /** The count up to which a month is leased. */
  leased(shard: Shard, share: Share, each: MonthShare, nowMs: number): number {
    const hasCredit = shard.hasReadAll && !each.isTight && !this.isLapsed(shard, nowMs);
    return (
      each.granted + (hasCredit ? creditOf(this.#options.counts.ceilings(share.account), shard.part) : 0)
    );
  }

  /** Sets the bounds of an account's counts to what this server holds. */
  bind(shard: Shard, share: Share, nowMs: number): void {
    const { counts, isFreeWithoutRedis } = this.#options;
    const { quota } = counts.ceilings(share.account);
    const used = share.months.map((each) => this.used(share, each));
    const isFree = isFreeWithoutRedis && this.isShardAway(shard, nowMs);
    const isStopped = this.partOf(shard, nowMs) === 0;
    const level = isStopped ? 0 : share.level;
    const rate = Math.max(0, Math.floor(level)) + share.counted - used[0] - used[1];
    for (const [i, each] of share.months.entries()) {
      const leased = this.leased(shard, share, each, nowMs);
      // A lowered quota applies immediately, whatever is leased.
      const left = quota - Math.max(0, each.others);
      const bound = isFree ? left : Math.min(leased, left);
      const most = this.isLeaving ? used[i] : Math.min(Math.max(used[i], bound), used[i] + Math.max(0, rate));
      const isForQuota = isStopped || bound <= used[i] || bound < used[i] + rate;
      counts.admitUpTo(share.account, each.month, most, isForQuota ? "quota" : "burst", left);
    }
  }

  used({ account }: Share, { month }: MonthShare): number {
    return this.#options.counts.used(account, month);
  }

  countOf(share: Share): number {
    return share.months.reduce((sum, each) => sum + this.used(share, each), 0);
  }
}
