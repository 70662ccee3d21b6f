import type { Bounds } from "./bounds.ts";
import {
  hasSomething,
  type MonthRow,
  type MonthShare,
  type Row,
  type Shard,
  type Share,
  type SharesOptions,
} from "./share.ts";

/** Builds this server's reports to Redis about accounts. */

/** Without demand for this long it is proposed to be at rest, longer than `restMs` in the script. */
const restMs = 5500;
const leaseSeconds = 10;
/** Maximum age of a record's copy before it is requested again. */
const copyMs = 1000;

export class Saying {
  readonly #options: SharesOptions;
  readonly #bounds: Bounds;

  constructor(options: SharesOptions, bounds: Bounds) {
    this.#options = options;
    this.#bounds = bounds;
  }

  /** The report about an account, after lowering its bounds; undefined if there is nothing to report. */
  dueRow(shard: Shard, share: Share, nowMs: number, month: number): Row | undefined {
    const isIdle = nowMs - share.usedMs >= this.#bounds.idleMs(shard, share);
    if (isIdle && share.rate > 0) {
      this.#bounds.fill(shard, share, nowMs);
      share.rate = 0;
    }
    const isSaying = shard.toSay.has(share);
    const row = this.rowOf(share, []);
    for (const each of share.months) {
      if (isIdle || each.isTight) {
        const kept = this.#keptOf(shard, share, each, nowMs);
        each.granted = Math.min(each.granted, this.#bounds.used(share, each) + kept);
      }
    }
    this.#bounds.bind(shard, share, nowMs);
    for (const each of share.months) {
      // Read after the bound was lowered, because requests were admitted until then.
      const said = this.#monthRow(share, each);
      const isOver = each.others + this.#bounds.used(share, each) >= row.quota;
      const demand = Math.max(
        this.#bounds.soon(shard, share),
        Math.ceil(share.demand * leaseSeconds * (each.isTight ? 0 : 1)),
      );
      const isWanting =
        each.month === month &&
        !isIdle &&
        !isOver &&
        this.#bounds.leased(shard, share, each, nowMs) - each.base - said.used < demand / 2;
      const isAwaiting =
        each.month === month &&
        !isOver &&
        this.#bounds.awaited(shard, share, nowMs) > said.granted - said.used;
      if (isWanting || isAwaiting) said.wanted = said.used + Math.max(1, isWanting ? demand : 0);
      const { told } = each;
      const isNew = told === undefined ? said.used > 0 || said.granted > said.used : false;
      const isChanged =
        told !== undefined &&
        (told.used !== said.used + each.base || told.granted !== said.granted + each.base);
      if (!isNew && !isChanged && said.wanted === 0 && !(isSaying && hasSomething(each))) continue;
      if (isSaying && each.copy !== undefined) said.copy = each.copy;
      if (nowMs - each.copiedMs >= copyMs) said.fresh = true;
      row.months[each.name] = said;
    }
    this.#sayRate(shard, share, row, nowMs, isIdle);
    return Object.keys(row.months).length > 0 || row.demand !== undefined ? row : undefined;
  }

  #sayRate(shard: Shard, share: Share, row: Row, nowMs: number, isIdle: boolean): void {
    const rest = row.burst * shard.part;
    if (!share.isActive) {
      const isShort = share.isShort || (share.demand > 0.8 * rest && share.level < (rest + 1) / 2);
      // A bucket that has just begun to fill after the start doesn't show a lack of rate.
      if (!isShort || isIdle || shard.part >= 1 || !this.#bounds.isRested(shard)) return;
      row.asks = true;
    }
    const rests = share.isActive && !share.isProposed && isIdle && nowMs - share.usedMs >= restMs;
    if (isIdle && !share.isListed && !rests) return;
    if (rests) {
      row.rests = true;
      share.isProposed = true;
    }
    row.demand = isIdle ? 0 : Math.min(row.burst, share.demand);
    row.share = share.isActive ? share.rate : 0;
  }

  rowOf(share: Share, months: readonly MonthShare[]): Row {
    const { burst, quota } = this.#options.counts.ceilings(share.account);
    const said = months.map((each) => [each.name, this.#monthRow(share, each)]);
    return { id: share.account, burst, quota, months: Object.fromEntries(said) };
  }

  #monthRow(share: Share, each: MonthShare): MonthRow {
    const used = this.#bounds.used(share, each);
    const granted = Math.max(each.granted, used) - each.base;
    return {
      used: used - each.base,
      granted,
      wanted: 0,
      ...(!each.told && each.base > 0 && { base: each.base }),
    };
  }

  /** Requests of a lease that an idle or tight account keeps. */
  #keptOf(shard: Shard, share: Share, { isTight }: MonthShare, nowMs: number): number {
    const awaited = this.#bounds.awaited(shard, share, nowMs);
    return isTight && nowMs - share.usedMs < this.#bounds.idleMs(shard, share)
      ? Math.max(awaited, this.#bounds.soon(shard, share))
      : awaited;
  }
}
