import { monthName } from "../../shared/months.ts";
import { Bounds } from "./bounds.ts";
import { Saying } from "./saying.ts";
import {
  hasSomething,
  type MonthShare,
  never,
  type Row,
  type Shard,
  type Share,
  type SharesOptions,
  type Told,
} from "./share.ts";

/**
 * This server's side of shared quotas and rates: what it may admit, and what it asks for. Time, Redis and the counts are
 * arguments. This side lowers its own bounds before it says so, raises them when it is told to, and believes only the
 * answers to its last round of calls; `shares.lua` has the other half.
 */

/** Milliseconds between rounds while something changes. */
const tickMs = 100;
const signOfLifeMs = 1000;
/** Minimum pause before an urgent round. */
const minPauseMs = 2;
/** An answer that takes longer counts as lost. */
const maxAnswerMs = 2000;
/** A share is valid for this long after the call was sent. */
const shareMs = 2000;
/** How much longer than its server a call may have been on the way. */
const lateMs = 500;
/** Interval for proposing that accounts without demand here be set at rest, in case their last user has died. */
const proposeMs = 10_000;
const mostRows = 500;

export class Shares {
  readonly #options: SharesOptions;
  readonly #bounds: Bounds;
  readonly #saying: Saying;
  readonly #shards: Shard[];
  #months: readonly number[];
  #isChecking = true;

  /** @param firstMonth the earlier of the two months in which requests are counted */
  constructor(options: SharesOptions, firstMonth: number, nowMs: number) {
    this.#options = options;
    this.#bounds = new Bounds(options);
    this.#saying = new Saying(options, this.#bounds);
    this.#months = [firstMonth, firstMonth + 1];
    this.#shards = Array.from({ length: options.shards }, (_, index) => ({
      ...{
        index,
        server: options.server,
        rejoined: 0,
        sequence: 0,
        life: 0,
        nextLife: 0,
        knew: options.knew,
        read: 0,
        hasReadAll: false,
        members: 1,
        part: 0,
      },
      ...{ toSay: new Set<Share>(), shares: new Map<number, Share>(), live: new Set<Share>() },
      ...{ rested: 0, restedMs: nowMs, joinedMs: nowMs, askedMs: nowMs, lookedMs: never, sentMs: never },
      ...{ round: 0, isUnderWay: false, isLearning: true, contactMs: nowMs, tripMs: 0, checkedMs: never },
      ...{ wasAway: false, proposedMs: nowMs },
    }));
    for (const account of options.counts.accounts()) this.enter(account);
  }

  /** Whether this server has its part in all shards, and its buckets are full. */
  get isReady(): boolean {
    return this.#shards.every((shard) => shard.hasReadAll && this.#bounds.isRested(shard));
  }

  /** Servers that this one knows of. */
  get members(): number {
    return this.#shards[0].members;
  }

  /** Milliseconds since the last answered call was sent, of the shard that waits longest. */
  syncAgeMs(nowMs: number): number {
    return nowMs - Math.min(...this.#shards.map(({ contactMs }) => contactMs));
  }

  isAway(nowMs: number): boolean {
    return this.#shards.some((shard) => this.#bounds.isShardAway(shard, nowMs));
  }

  /** Leased and unused requests. */
  charged(): number {
    let sum = 0;
    for (const { shares } of this.#shards)
      for (const share of shares.values())
        for (const each of share.months) sum += Math.max(0, each.granted - this.#bounds.used(share, each));
    return sum;
  }

  /** Makes the next calls check whether Redis was restarted. Call it for each new connection. */
  check(): void {
    this.#isChecking = true;
  }

  /** Adds an account, or applies its new ceilings. */
  enter(account: number): void {
    const shard = this.#shardOf(account);
    this.#bounds.bind(shard, this.#shareOf(shard, account), this.#options.clock());
  }

  /** Moves to the months in which requests are counted now. */
  enterMonths(firstMonth: number): void {
    if (firstMonth === this.#months[0]) return;
    this.#months = [firstMonth, firstMonth + 1];
    for (const shard of this.#shards)
      for (const share of shard.shares.values()) {
        const before = this.#bounds.countOf(share);
        share.months = this.#months.map(
          (month) =>
            share.months.find((known) => known.month === month) ?? this.#newMonth(share.account, month),
        );
        share.counted += this.#bounds.countOf(share) - before;
        this.#bounds.bind(shard, share, this.#options.clock());
      }
  }

  /** Notes what other servers have counted, and Redis' record. */
  hear(account: number, month: number, total: number, copy: string): void {
    const shard = this.#shardOf(account);
    const share = this.#shareOf(shard, account);
    const each = share.months.find((known) => known.month === month);
    if (each === undefined) return;
    const used = this.#bounds.used(share, each);
    if (shard.live.has(share) && each.told?.used !== used) return;
    // Counts that Redis doesn't know yet make this too small, never too large.
    each.others = Math.max(0, total - used);
    each.copy = copy;
    this.#bounds.bind(shard, share, this.#options.clock());
  }

  /** Notes that requests of an account were admitted or refused. */
  touch(account: number, nowMs: number): void {
    const shard = this.#shardOf(account);
    const share = this.#shareOf(shard, account);
    shard.live.add(share);
    this.#bounds.look(shard, share, nowMs);
    if (shard.isLearning || this.#bounds.isShardAway(shard, nowMs)) return;
    const asks = share.isShort && !share.isActive && shard.part < 1 && this.#bounds.isRested(shard);
    if (asks || share.months.some((each) => this.#bounds.isLow(shard, share, each, nowMs)))
      shard.askedMs = Math.min(shard.askedMs, shard.lookedMs + minPauseMs);
  }

  /** When `tick` has something to do next. */
  nextMs(): number {
    return Math.min(...this.#shards.map((shard) => this.#dueMs(shard)));
  }

  /** Calls the script for the shards that are due. @param month the current month */
  tick(nowMs: number, month: number): void {
    if (this.#bounds.isLeaving) return;
    for (const shard of this.#shards) {
      const isAway = this.#bounds.isShardAway(shard, nowMs);
      for (const share of isAway !== shard.wasAway ? shard.shares.values() : []) shard.live.add(share);
      shard.wasAway = isAway;
      if (nowMs >= this.#dueMs(shard)) void this.#round(shard, nowMs, month);
    }
  }

  /** Refills the buckets of the accounts in use. Call it ten times a second. */
  refill(nowMs: number): void {
    for (const shard of this.#shards) {
      this.#bounds.rest(shard, nowMs);
      for (const share of shard.live) this.#bounds.look(shard, share, nowMs);
    }
  }

  /** Gives everything back and ends: no request is admitted any more. @param save saves the counts */
  async leave(nowMs: number, save: () => void): Promise<void> {
    this.#bounds.isLeaving = true;
    for (const shard of this.#shards)
      for (const share of shard.shares.values()) this.#bounds.bind(shard, share, nowMs);
    save();
    await Promise.all(this.#shards.map((shard) => this.#settle(shard, nowMs)));
  }

  /**
   * Moves this server's counts in Redis to the common total, which belongs to no server. @returns whether all calls
   * were answered
   */
  async #settle(shard: Shard, nowMs: number): Promise<boolean> {
    const shares = [...shard.shares.values()].filter((share) =>
      share.months.some((each) => each.told || this.#bounds.used(share, each) > each.base),
    );
    for (let from = 0; from === 0 || from < shares.length; from += mostRows) {
      const some = shares.slice(from, from + mostRows);
      const rows = some.map((share) => {
        const row = this.#saying.rowOf(share, share.months);
        return share.isListed ? { ...row, demand: 0, share: 0 } : row;
      });
      const used = some.map((share) => share.months.map((each) => this.#bounds.used(share, each)));
      const isLast = from + mostRows >= shares.length;
      if ((await this.#send(shard, nowMs, rows, { leave: true, last: isLast })) === undefined) return false;
      for (const [i, { months }] of some.entries())
        for (const [j, each] of months.entries())
          Object.assign(each, { base: used[i][j], granted: used[i][j], told: undefined });
    }
    return true;
  }

  #dueMs(shard: Shard): number {
    if (shard.isUnderWay) return shard.lookedMs + maxAnswerMs;
    const isBusy = shard.live.size > 0 || this.#isJoining(shard);
    return Math.min(shard.askedMs, shard.lookedMs + (isBusy ? tickMs : signOfLifeMs));
  }

  /** Whether this server has still to report or read something, or to get its part. */
  #isJoining({ toSay, part, hasReadAll, life, nextLife }: Shard): boolean {
    return toSay.size > 0 || part === 0 || !hasReadAll || life !== nextLife;
  }

  /** Sends the due reports of all accounts, in consecutive calls of some rows each, and applies the answers. */
  async #round(shard: Shard, nowMs: number, month: number): Promise<void> {
    const wasAsked = nowMs >= shard.askedMs;
    shard.lookedMs = nowMs;
    shard.askedMs = Number.POSITIVE_INFINITY;
    if (nowMs >= shard.proposedMs + proposeMs) {
      shard.proposedMs = nowMs;
      for (const share of shard.shares.values())
        if (share.isActive) {
          share.isProposed = false;
          shard.live.add(share);
        }
    }
    const due: [Share, Row][] = [];
    for (const share of new Set([...shard.toSay, ...shard.live])) {
      this.#bounds.look(shard, share, nowMs);
      const row = this.#saying.dueRow(shard, share, nowMs, month);
      if (row !== undefined) due.push([share, row]);
      else this.#retire(shard, share, nowMs);
    }
    if (due.length === 0 && !wasAsked && !this.#isJoining(shard) && nowMs < shard.sentMs + signOfLifeMs)
      return;
    shard.sentMs = nowMs;
    shard.isUnderWay = true;
    const [{ nextLife }, round] = [shard, ++shard.round];
    const calls: Promise<boolean>[] = [];
    for (let from = 0; from === 0 || from < due.length; from += mostRows) {
      const some = due.slice(from, from + mostRows);
      const rows = some.map(([, row]) => row);
      calls.push(
        this.#send(shard, nowMs, rows).then((told) => {
          if (told !== undefined && round === shard.round) this.#take(shard, told, some, nowMs);
          return told !== undefined;
        }),
      );
    }
    const answered = await Promise.all(calls);
    if (round !== shard.round) return;
    shard.isUnderWay = false;
    if (!answered.includes(false) && shard.nextLife === nextLife && shard.toSay.size === 0)
      shard.life = nextLife;
  }

  /** @returns undefined without a valid answer */
  async #send(
    shard: Shard,
    nowMs: number,
    rows: readonly Row[],
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<Told | undefined> {
    const check = this.#isChecking || nowMs >= shard.checkedMs + signOfLifeMs;
    if (check) shard.checkedMs = nowMs;
    this.#isChecking = false;
    const { round } = shard;
    const call = {
      ...{ op: "tick", server: shard.server, seq: ++shard.sequence, life: shard.life, read: shard.read },
      part: this.#bounds.isLapsed(shard, nowMs) ? 0 : shard.part,
      // While all is said again, those of the life before.
      knew: shard.life > 0 && shard.life === shard.nextLife ? shard.members : shard.knew,
      elapsed: Math.ceil(nowMs - shard.contactMs + shard.tripMs + lateMs),
      ...{ check, rows, ...more },
    };
    const answer = this.#options.script<Told>(shard.index, this.#months.map(monthName), call);
    const told = await answer.catch(() => undefined);
    if (told === undefined) this.#isChecking = true;
    if (told?.gone && round === shard.round) await this.#rejoin(shard, nowMs);
    return told === undefined || told.gone || told.stale !== undefined ? undefined : told;
  }

  /** Called when this server was declared gone: it settles what it held and rejoins under a new name. */
  async #rejoin(shard: Shard, nowMs: number): Promise<void> {
    if (!(await this.#settle(shard, nowMs))) return;
    shard.rejoined++;
    shard.server = `${this.#options.server}.${shard.rejoined}`;
    Object.assign(shard, { life: 0, nextLife: 0, read: 0, hasReadAll: false, part: 0, sequence: 0 });
  }

  #take(shard: Shard, told: Told, due: readonly [Share, Row][], sentMs: number): void {
    const nowMs = this.#options.clock();
    shard.contactMs = sentMs;
    shard.tripMs = Math.max(nowMs - sentMs, shard.tripMs + (nowMs - sentMs - shard.tripMs) / 10);
    shard.isLearning = told.learning > 0;
    for (const [i, [share, row]] of due.entries())
      this.#takeRow(shard, share, row, told.rows[i], sentMs, nowMs);
    const before = { part: shard.part, members: shard.members, hasReadAll: shard.hasReadAll };
    if (told.life !== shard.nextLife) {
      if (shard.nextLife > 0) shard.knew = shard.members;
      shard.nextLife = told.life;
      shard.read = 0;
      for (const share of shard.shares.values()) if (share.months.some(hasSomething)) shard.toSay.add(share);
      shard.askedMs = nowMs;
    } else {
      shard.read = told.read;
      if (told.isComplete && told.learning === 0) shard.hasReadAll = true;
    }
    const changes = Array.isArray(told.changes) ? told.changes : [];
    for (const { name, on } of changes) this.#flag(shard, name, on, nowMs);
    if (changes.length > 0 || told.part < shard.part)
      shard.askedMs = Math.min(shard.askedMs, nowMs + minPauseMs);
    this.#bounds.rest(shard, nowMs);
    if (told.part > 0 && shard.part === 0) shard.joinedMs = nowMs;
    shard.part = told.part;
    shard.members = told.members;
    const isSame = before.part === shard.part && before.hasReadAll === shard.hasReadAll;
    // The buckets of all accounts refill at the new part, and their bounds must be set again.
    for (const share of isSame ? [] : shard.shares.values()) shard.live.add(share);
    for (const share of isSame ? due.map(([each]) => each) : shard.live)
      this.#bounds.bind(shard, share, nowMs);
  }

  #takeRow(
    shard: Shard,
    share: Share,
    row: Row,
    told: Told["rows"][number],
    sentMs: number,
    nowMs: number,
  ): void {
    shard.toSay.delete(share);
    for (const each of share.months) {
      const [said, answer] = [row.months[each.name], told.months[each.name]];
      if (said === undefined || answer === undefined) continue;
      const granted = answer.granted + each.base;
      // Nothing is granted while Redis learns what servers hold: credit that was used would be given again each time.
      if (!shard.isLearning) each.granted = granted;
      each.told = { used: said.used + each.base, granted };
      each.others = answer.total - each.told.used;
      each.isTight = answer.tight === true;
      if (answer.copy !== undefined) Object.assign(each, { copy: answer.copy, copiedMs: nowMs });
    }
    share.isShort = false;
    if (row.demand === undefined || told.share === undefined) return;
    this.#bounds.fill(shard, share, nowMs);
    share.isActive = told.active === true;
    share.rate = told.share;
    share.untilMs = sentMs + shareMs;
    share.isListed = row.demand > 0 || told.share > 0;
  }

  /** Applies a change: `account` is active or at rest, or `account@month` is tight or isn't. */
  #flag(shard: Shard, name: string, on: boolean, nowMs: number): void {
    const [account, month] = name.split("@");
    const share = this.#shareOf(shard, Number(account));
    const each = share.months.find((known) => known.name === month);
    if (each !== undefined) each.isTight = on;
    if (month === undefined && share.isActive !== on) {
      this.#bounds.fill(shard, share, nowMs);
      Object.assign(share, { isActive: on, rate: 0, untilMs: 0, isListed: false });
      shard.live.add(share);
    }
    this.#bounds.bind(shard, share, nowMs);
  }

  /** Stops tracking an account with nothing to report until it is used again. */
  #retire(shard: Shard, share: Share, nowMs: number): void {
    shard.toSay.delete(share);
    const isFull = share.level >= this.#bounds.rateOf(shard, share, nowMs) + 0.999;
    const isOver = share.isActive
      ? share.isProposed && !share.isListed
      : isFull && nowMs - share.usedMs >= this.#bounds.idleMs(shard, share);
    if (isOver) shard.live.delete(share);
  }

  #shardOf(account: number): Shard {
    return this.#shards[account % this.#shards.length];
  }

  #shareOf(shard: Shard, account: number): Share {
    const known = shard.shares.get(account);
    if (known !== undefined) return known;
    const nowMs = this.#options.clock();
    this.#bounds.rest(shard, nowMs);
    const { burst } = this.#options.counts.ceilings(account);
    const share: Share = {
      ...{ account, months: this.#months.map((month) => this.#newMonth(account, month)) },
      // As full as it could have become since this process joined.
      level: burst * shard.rested + Math.min(1, (burst * shard.part * (nowMs - shard.joinedMs)) / 1000),
      ...{ levelMs: nowMs, isActive: false, rate: 0, untilMs: 0, counted: 0, isShort: false, demand: 0 },
      ...{
        refused: this.#options.counts.refused(account),
        lookedMs: nowMs,
        isListed: false,
        isProposed: true,
      },
      ...{ usedMs: never, dryMs: never },
    };
    share.counted = this.#bounds.countOf(share);
    shard.shares.set(account, share);
    if (share.months.some(({ base, month }) => base > 0 || this.#options.counts.used(account, month) > 0))
      shard.live.add(share);
    return share;
  }

  #newMonth(account: number, month: number): MonthShare {
    const used = this.#options.counts.used(account, month);
    // What was counted before the first process with Redis is this server's own.
    const base = this.#options.knew === 0 ? 0 : used;
    const none = { told: undefined, copy: undefined, copiedMs: never };
    return { month, name: monthName(month), base, granted: used, others: 0, isTight: false, ...none };
  }
}
