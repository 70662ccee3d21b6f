import type { Told } from "./redis.ts";
import {
  type Holdings,
  isScarceIn,
  isTightIn,
  type MonthShare,
  minPauseMs,
  type Shard,
  type Share,
} from "./share.ts";

/** Makes the rows of a call: what this server keeps of each account, and what it asks for. */

/** An account that isn't used for this long gives back what it holds. */
const idleMs = 1000;
/** Milliseconds between looks at a scarce or tight account in use. */
const lookMs = 1000;
const lookedAtMs = 15_000;
/** Tokens above this server's part are kept for this long, unless they are called back. */
const keptMs = 10_000;
/**
 * A server leases this many seconds of its demand while all leases are a small part of the rest of the quota, and
 * always two round trips' worth.
 */
const leaseSeconds = 10;
const partOfRest = 4;
const beforeTripMs = 20;
/**
 * A client that was refused for want of a lease comes again in a second, perhaps to another server. Its lease waits
 * this long for each server, up to a maximum.
 */
const comesBackMs = 2000;
const maxAwaitedMs = 30_000;
/** Time constant of the averages of incoming and admitted requests. */
const admittedSeconds = 0.3;

/** A row of a call: an account in a month. */
export interface Row {
  share: Share;
  month: MonthShare;
  isTight: boolean;
  used: number;
  granted: number;
  wanted: number;
  /** The tokens' part of a row, when this many requests were counted. */
  tokens:
    | { at: number; held: number; spare: number; given: number; wanted: number; isShort: boolean }
    | undefined;
}

export class Rows {
  readonly #holdings: Holdings;
  readonly #tickMs: number;

  constructor(holdings: Holdings, tickMs: number) {
    this.#holdings = holdings;
    this.#tickMs = tickMs;
  }

  /**
   * Lowers an account's bounds to what this server keeps, and returns the rows for it.
   * @param month the current month
   */
  of(shard: Shard, share: Share, nowMs: number, month: number): Row[] {
    this.#look(shard, share, nowMs);
    const isLooking = nowMs - share.sentMs >= lookMs && nowMs - share.usedMs < lookedAtMs;
    const tokens = this.#keepTokens(shard, share, nowMs, isLooking);
    const rows = share.months.flatMap(
      (each) => this.#keepLease(shard, share, each, nowMs, month, isLooking) ?? [],
    );
    if (tokens !== undefined) this.#bear(shard, share, rows, month, tokens);
    if (rows.length > 0) share.sentMs = nowMs;
    return rows;
  }

  /** Updates the averages with the requests since the last look. */
  #look(shard: Shard, share: Share, nowMs: number): void {
    const { counts } = this.#holdings;
    const { burst } = counts.ceilings(share.account);
    const count = this.#holdings.countOf(share);
    const refused = counts.refused(share.account);
    const admitted = Math.max(0, count - share.counted);
    const came = admitted + refused - share.refused;
    const seconds = Math.max(0.001, (nowMs - share.lookedMs) / 1000);
    share.rate += (Math.min(burst, came / seconds) - share.rate) * (1 - Math.exp(-seconds));
    share.admitted += (admitted / seconds - share.admitted) * (1 - Math.exp(-seconds / admittedSeconds));
    const isLarge = share.peak > (2 * burst) / shard.members;
    share.peak = Math.max(came, share.peak * Math.max(0, 1 - seconds / (isLarge ? 10 : 1)));
    if (came > 0) share.usedMs = nowMs;
    if (admitted > 0) share.dryMs = Number.NEGATIVE_INFINITY;
    if (refused > share.refused) {
      if (this.#holdings.tokensOf(shard, share) < 1) share.isShort = true;
      else share.dryMs = nowMs;
    }
    share.counted = count;
    share.refused = refused;
    share.lookedMs = nowMs;
  }

  /** Gives back the part of a month's lease that isn't needed, and makes its row. */
  #keepLease(
    shard: Shard,
    share: Share,
    each: MonthShare,
    nowMs: number,
    month: number,
    isLooking: boolean,
  ): Row | undefined {
    const { hasLeft, counts } = this.#holdings;
    const { told } = each;
    const isIdle = hasLeft || nowMs - share.usedMs >= idleMs;
    const isTight = isTightIn(shard, share, each);
    const { quota } = counts.ceilings(share.account);
    const soon = this.#soon(shard, share);
    const rest = quota - (told === undefined ? 0 : told.inAll);
    const part = Math.floor(rest / shard.members / partOfRest);
    const demand = Math.max(soon, Math.min(part, Math.ceil(share.rate * leaseSeconds)));
    if (isIdle || isTight) {
      const kept = this.#kept(shard, share, each, nowMs, isIdle, isTight, demand);
      each.granted = Math.min(each.granted, this.#holdings.used(share, each) + kept);
    }
    // The last requests of a quota are useful only to a server that has tokens for them.
    const isOfUse = !each.isCalledBack && (part >= 1 || this.#holdings.tokensOf(shard, share) >= 1);
    each.isCalledBack = false;
    this.#holdings.bind(shard, share);
    // Read after the bound was lowered, because requests were admitted until then.
    const used = this.#holdings.used(share, each);
    const isInVain = isTight && told !== undefined && told.inAll - told.used + used >= quota;
    each.low = isInVain ? 0 : Math.ceil(soon / 2);
    const isWanting =
      each.month === month && !isIdle && !isInVain && isOfUse && each.granted - used < demand / 2;
    // Requests on credit count as granted only after Redis was told, or the credit would be given twice.
    const granted = this.#holdings.claimed(share, each);
    const isTelling = shard.toTell.has(share);
    const isDue =
      isWanting ||
      (told === undefined ? used > 0 || (isTelling && isTight) : used !== told.used) ||
      (told !== undefined && told.granted !== granted) ||
      (isTelling && told !== undefined) ||
      (isLooking && isTight);
    if (!isDue) return undefined;
    return {
      share,
      month: each,
      isTight,
      used,
      granted,
      wanted: isWanting ? used + demand : 0,
      tokens: undefined,
    };
  }

  /** Requests of two round trips, limited by tokens; at least one. */
  #soon(shard: Shard, share: Share): number {
    const seconds = (2 * (shard.tripMs + beforeTripMs)) / 1000;
    const { burst } = this.#holdings.counts.ceilings(share.account);
    const tokens =
      this.#holdings.tokensOf(shard, share) + Math.max(share.admitted, burst / shard.members) * seconds;
    return Math.max(1, Math.ceil(Math.min(tokens, Math.max(share.peak, share.admitted * seconds))));
  }

  /** Requests of a lease that an idle or tight account keeps. */
  #kept(
    shard: Shard,
    share: Share,
    each: MonthShare,
    nowMs: number,
    isIdle: boolean,
    isTight: boolean,
    demand: number,
  ): number {
    if (this.#holdings.hasLeft) return 0;
    const awaitedMs = Math.min(maxAwaitedMs, comesBackMs * (shard.members + 1));
    const awaited = nowMs - share.dryMs < awaitedMs ? 1 : 0;
    if (each.isCalledBack) {
      const left = Math.max(0, each.granted - this.#holdings.used(share, each));
      // Requests without tokens for them are useless here.
      const usable = Math.min(Math.ceil(left / 2), this.#holdings.tokensOf(shard, share));
      return nowMs - share.usedMs < this.#tickMs ? Math.max(usable, awaited) : awaited;
    }
    if (!isTight) return awaited;
    // One stays at the end of a quota; otherwise the next request after a pause would be refused.
    return isIdle ? 1 : demand;
  }

  /** The tokens' part of a row, after giving back those that aren't needed. */
  #keepTokens(shard: Shard, share: Share, nowMs: number, isLooking: boolean): Row["tokens"] {
    const { hasLeft } = this.#holdings;
    const { burst } = this.#holdings.counts.ceilings(share.account);
    const keepsMs = share.peak > (2 * burst) / shard.members ? keptMs : idleMs;
    const isKeeping = !hasLeft && nowMs - share.usedMs < (share.isCalledBack ? this.#tickMs : keepsMs);
    if (share.isCalledBack && !isKeeping) share.peak = 0;
    share.isCalledBack = false;
    const isScarce = isScarceIn(shard, share);
    const target = !isKeeping || !isScarce ? 0 : Math.min(burst, Math.ceil(share.peak));
    const at = this.#holdings.countOf(share);
    const holding = this.#holdings.heldOf(share);
    // Tokens from the time in which Redis gave none repay debts; the rest is lost.
    const spare = Math.floor(share.spare);
    const held = spare > 0 ? Math.min(Math.max(0, share.toldHeld), holding + spare) : holding;
    const given = held > 2 * target ? held - target : 0;
    const wanted = hasLeft ? held - given : Math.max(target, held - given);
    const isDue =
      held !== share.toldHeld ||
      given > 0 ||
      wanted > held ||
      spare > 0 ||
      share.isShort ||
      (shard.toTell.has(share) && held !== 0) ||
      (isLooking && isScarce);
    if (!isDue) return undefined;
    share.held -= given;
    return { at, held: held - given, spare, given, wanted, isShort: share.isShort };
  }

  /** Adds the tokens' part to a row. */
  #bear(shard: Shard, share: Share, rows: Row[], month: number, tokens: NonNullable<Row["tokens"]>): void {
    let bearer = rows.find((row) => row.month.isKnown);
    if (bearer === undefined) {
      const each =
        share.months.find(({ isKnown }) => isKnown) ?? share.months.find((known) => known.month === month);
      if (each === undefined || rows.some((row) => row.month === each)) return;
      bearer = {
        share,
        month: each,
        isTight: isTightIn(shard, share, each),
        used: this.#holdings.used(share, each),
        granted: this.#holdings.claimed(share, each),
        wanted: 0,
        tokens,
      };
      rows.push(bearer);
    }
    bearer.tokens = tokens;
  }

  /** Skips an account for a while when it has nothing to report. */
  rest(shard: Shard, share: Share, nowMs: number): void {
    shard.toTell.delete(share);
    const isTaut = isScarceIn(shard, share) || share.months.some((each) => isTightIn(shard, share, each));
    if (nowMs - share.usedMs >= (isTaut ? lookedAtMs : idleMs) && share.spare < 1) shard.active.delete(share);
  }

  /** A row in the script's form. */
  valuesOf({ share, month, isTight, used, granted, wanted, tokens }: Row): (string | number)[] {
    const { account } = share;
    const { burst, quota } = this.#holdings.counts.ceilings(account);
    const kind = !month.isKnown ? "read" : isTight ? "tight" : "hold";
    return [
      ...[account, share.months.indexOf(month) + 1, burst, quota, kind],
      ...[used, month.told?.inAll ?? 0, month.sent, granted, wanted],
      ...(tokens && month.isKnown ? [tokens.held, tokens.given, tokens.wanted] : ["", "", ""]),
      tokens?.isShort ? 1 : 0,
    ];
  }

  /** Applies the answer to a row. */
  take(row: Row, [used, granted, inAll, held]: Told[9][number], nowMs: number, isLearning: boolean): void {
    const { share, month, tokens } = row;
    if (!month.isKnown) {
      month.isKnown = true;
      this.#remember(share, month, used);
      return;
    }
    const isWanting = row.wanted > 0 && !isLearning;
    // What was given up waits until that is on the disk.
    if (isWanting || granted !== row.granted) month.granted = granted;
    // Nothing is granted while Redis is being told again; requests on credit would be credited each time.
    else if (!isLearning) month.granted = Math.max(month.granted, used);
    month.told = { used, granted, inAll };
    if (isWanting) {
      const hasGained = granted > row.granted;
      share.retryMs = hasGained ? nowMs : nowMs + share.pauseMs;
      share.pauseMs = hasGained ? minPauseMs : Math.min(this.#tickMs, 2 * share.pauseMs);
    }
    if (tokens === undefined) return;
    share.isStarved = held <= tokens.held && held < tokens.wanted;
    share.isShort = false;
    share.held = held;
    share.toldHeld = held;
    share.heldAt = tokens.at;
    share.spare -= tokens.spare;
  }

  /** Adds counts that Redis knew and this server lost. */
  #remember(share: Share, month: MonthShare, used: number): void {
    const forgotten = Math.max(0, used - month.base);
    if (forgotten === 0) return;
    this.#holdings.counts.raise(share.account, month.month, forgotten);
    month.granted = Math.max(month.granted, used);
    month.sent = used;
    share.heldAt += forgotten;
    share.counted += forgotten;
  }
}
