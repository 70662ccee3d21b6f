import { monthName } from "../../shared/months.ts";
import type { Script, Told } from "./redis.ts";
import { type Row, Rows } from "./rows.ts";
import {
  Holdings,
  type HoldingsOptions,
  isTightIn,
  type MonthShare,
  minPauseMs,
  newShard,
  type Shard,
  type Share,
  setTaut,
} from "./share.ts";

/** This server's side of shared quotas and rates: what it may admit, and what it asks for. */

/*
 * Time, Redis and the counts are arguments. What `shares.lua` says about the shares holds here too: this side lowers
 * its own bounds before it says so, raises them when it is told to, and believes only the answer to its last call.
 */

/** Milliseconds between calls for a shard with something to report, and between heartbeats of others. */
const defaultTickMs = 100;
const signOfLifeMs = 500;
/** Milliseconds after which an answer counts as lost. */
const maxAnswerMs = 2000;
/** Milliseconds, plus some round trips, without an answer after which the server uses its own part of the rate. */
const aloneMs = 1500;
const aloneTrips = 3;
/** How much longer than recent answers a call may take to reach Redis. */
const lateMs = 100;
/** Milliseconds of silence after which it uses no credit, because others may have it when it stops being a member. */
const creditMs = 30_000;
/**
 * Milliseconds of silence after which it uses the overdraft only. Others get its part after a minute (`goneMs` in
 * shares.lua), and no clock is that exact.
 */
const lapseMs = 50_000;
const maxRowsPerCall = 500;

interface SharesOptions extends HoldingsOptions {
  replica: string;
  shards: number;
  send: Script;
  /** Larger than all sequence numbers of earlier processes: the number of starts times 2^32. */
  firstSequence: number;
  /** The number of servers as of the last run: it sets the part of a server that starts without Redis. */
  members: number;
  /** Milliseconds of a steady clock. */
  clock: () => number;
  tickMs?: number;
}

export class Shares {
  readonly #options: SharesOptions;
  readonly #holdings: Holdings;
  readonly #rows: Rows;
  readonly #shards: Shard[];
  readonly #tickMs: number;
  /** The two months in which requests are counted. */
  #months: readonly [number, number];

  /** @param firstMonth the earlier of the two months in which requests are counted */
  constructor(options: SharesOptions, firstMonth: number, nowMs: number) {
    this.#options = options;
    this.#holdings = new Holdings(options);
    this.#tickMs = options.tickMs ?? defaultTickMs;
    this.#rows = new Rows(this.#holdings, this.#tickMs);
    this.#months = [firstMonth, firstMonth + 1];
    this.#shards = Array.from({ length: options.shards }, (_, index) => newShard(index, options, nowMs));
    for (const account of this.#holdings.counts.accounts()) this.enter(account);
  }

  /** Whether all shards have answered and this server has its part of everything. */
  get isReady(): boolean {
    return this.#shards.every(({ isResting }) => isResting);
  }

  /** The number of servers that this one knows of. */
  get members(): number {
    return this.#shards[0].members;
  }

  /** Milliseconds since the last answered call was sent, of the shard that waits longest. */
  syncAgeMs(nowMs: number): number {
    return nowMs - Math.min(...this.#shards.map(({ contactMs }) => contactMs));
  }

  /** Whether an answer for any shard is overdue. */
  isAlone(nowMs: number): boolean {
    return this.#shards.some((shard) => nowMs > this.#aloneAtMs(shard));
  }

  /** Requests of all servers in a month, as far as known; undefined before Redis has answered. */
  inAll(account: number, month: number): number | undefined {
    const told = this.#monthShareOf(account, month)?.told;
    return told && told.inAll - told.used + this.#holdings.counts.used(account, month);
  }

  /** Requests of a month that this server may count, by what it was granted. */
  granted(account: number, month: number): number {
    return this.#monthShareOf(account, month)?.granted ?? this.#holdings.counts.used(account, month);
  }

  /**
   * Granted requests that the next process may count without Redis; they are stored with the counts. None of a tight
   * account, because they must be given back at once.
   */
  lasting(account: number, month: number): number {
    const shard = this.#shardOf(account);
    const share = shard.shares.get(account);
    const each = share?.months.find((known) => known.month === month);
    if (share === undefined || each === undefined || isTightIn(shard, share, each))
      return this.#holdings.counts.used(account, month);
    return each.granted;
  }

  /** Tells that the returned value of `lasting` is on the disk. */
  save(account: number, month: number, granted: number): void {
    const shard = this.#shardOf(account);
    const share = shard.shares.get(account);
    const saved = share?.months.find((each) => each.month === month);
    if (share === undefined || saved === undefined || saved.saved === granted) return;
    saved.saved = granted;
    // What was released meanwhile can be given back now.
    shard.active.add(share);
  }

  #monthShareOf(account: number, month: number): MonthShare | undefined {
    return this.#shardOf(account)
      .shares.get(account)
      ?.months.find((share) => share.month === month);
  }

  /** Adds an account, or applies its new limits. */
  enter(account: number): void {
    const shard = this.#shardOf(account);
    this.#holdings.bind(shard, this.#shareOf(shard, account));
  }

  /** Moves to the months in which requests are counted now. */
  enterMonths(firstMonth: number): void {
    if (firstMonth === this.#months[0]) return;
    this.#months = [firstMonth, firstMonth + 1];
    for (const shard of this.#shards)
      for (const share of shard.shares.values()) {
        const before = this.#holdings.countOf(share);
        share.months = this.#months.map(
          (month) =>
            share.months.find((known) => known.month === month) ??
            this.#holdings.newMonth(share.account, month),
        );
        const difference = this.#holdings.countOf(share) - before;
        share.heldAt += difference;
        share.counted += difference;
        this.#holdings.bind(shard, share);
      }
  }

  /**
   * Notes that requests of an account were admitted or refused.
   * @param isUrgent whether one was refused, or the last one was admitted
   */
  touch(account: number, nowMs: number, isUrgent: boolean): void {
    const shard = this.#shardOf(account);
    const share = this.#shareOf(shard, account);
    if (!shard.active.has(share)) {
      shard.active.add(share);
      share.lookedMs = nowMs - this.#tickMs;
    }
    // A starved account gains no tokens by asking again at once; another server may free a lease.
    const lacksTokens = isUrgent && !share.isStarved && this.#holdings.tokensOf(shard, share) < 1;
    const lacksLease = this.#holdings.isLow(shard, share);
    if (!lacksTokens && !lacksLease) return;
    const soonMs = shard.sentMs + minPauseMs;
    shard.askedMs = Math.min(shard.askedMs, lacksTokens ? soonMs : Math.max(soonMs, share.retryMs));
  }

  /** When `tick` has something to do next. */
  nextMs(): number {
    return Math.min(...this.#shards.map((shard) => this.#dueMs(shard)));
  }

  /** Calls the script for the shards that are due. @param month the current month */
  tick(nowMs: number, month: number): void {
    if (this.#holdings.hasLeft) return;
    for (const shard of this.#shards) {
      this.#goAlone(shard, nowMs);
      if (shard.isResting) this.#fill(shard, shard.learnsFromMs, Math.min(nowMs, shard.learnsUntilMs));
      if (nowMs < this.#dueMs(shard)) continue;
      void this.#call(shard, shard.hasStarted ? "tick" : "start", nowMs, month);
    }
  }

  #aloneAtMs({ contactMs, tripMs }: Shard): number {
    return contactMs + aloneMs + aloneTrips * tripMs;
  }

  #dueMs(shard: Shard): number {
    if (shard.isUnderWay) return shard.sentMs + maxAnswerMs;
    const hasNews = shard.active.size + shard.toTell.size + shard.changed.size > 0;
    return Math.min(shard.askedMs, shard.sentMs + (hasNews ? this.#tickMs : signOfLifeMs));
  }

  /**
   * Gives everything back and ends: no request is admitted any more.
   * @param save saves the counts and what is granted
   */
  async leave(nowMs: number, save: () => void): Promise<void> {
    this.#holdings.hasLeft = true;
    for (const shard of this.#shards)
      for (const share of shard.shares.values()) {
        for (const each of share.months) each.granted = this.#holdings.used(share, each);
        this.#holdings.bind(shard, share);
      }
    save();
    await Promise.all(this.#shards.map((shard) => this.#leaveShard(shard, nowMs)));
  }

  /**
   * Reports everything that was counted, and leaves only after that, so that nobody else gets what was admitted on
   * credit.
   */
  async #leaveShard(shard: Shard, nowMs: number): Promise<void> {
    const isCounted = (share: Share, each: MonthShare) => this.#holdings.used(share, each) > each.base;
    const shares = [...shard.shares.values()].filter((share) =>
      share.months.some((each) => each.told || isCounted(share, each)),
    );
    for (let from = 0; from <= shares.length; from += maxRowsPerCall / 2) {
      const some = shares.slice(from, from + maxRowsPerCall / 2);
      const isLast = from + maxRowsPerCall / 2 > shares.length;
      const isReading = some.some((share) =>
        share.months.some((each) => !each.isKnown && isCounted(share, each)),
      );
      shard.active = new Set(some);
      if (isReading && !(await this.#call(shard, "tick", nowMs, 0))) return;
      shard.active = new Set(some);
      if (!(await this.#call(shard, isLast ? "leave" : "tick", nowMs, 0))) return;
    }
  }

  /** @returns whether Redis answered */
  async #call(
    shard: Shard,
    step: "start" | "tick" | "leave",
    nowMs: number,
    month: number,
  ): Promise<boolean> {
    const sequence = ++shard.sequence;
    shard.isUnderWay = true;
    shard.sentMs = nowMs;
    shard.askedMs = Number.POSITIVE_INFINITY;
    const months = this.#months.map(monthName);
    const rows: Row[] = [];
    for (const share of new Set([...shard.changed, ...shard.toTell, ...shard.active])) {
      if (rows.length > maxRowsPerCall - 2 && !shard.changed.has(share)) break;
      const said = this.#rows.of(shard, share, nowMs, month);
      rows.push(...said);
      if (said.length === 0) this.#rows.rest(shard, share, nowMs);
    }
    const lateAfterMs = shard.tripMs + lateMs;
    const patienceMs = Math.max(0, Math.floor(this.#aloneAtMs(shard) - nowMs - lateAfterMs));
    const elapsedMs = shard.hasStarted ? Math.ceil(nowMs - shard.contactMs + lateAfterMs) : lateMs;
    const times = [patienceMs, elapsedMs];
    const head = [this.#options.replica, sequence, shard.boot, shard.read, step, ...times, ...months];
    const values = [...head, ...rows.flatMap((row) => this.#rows.valuesOf(row))];
    for (const { month, used } of rows) if (month.isKnown) month.sent = used;
    const told = await this.#options.send(shard.index, months, values).catch(() => undefined);
    // Another call was sent since, so this one counts as lost.
    if (shard.sequence !== sequence) return false;
    shard.isUnderWay = false;
    if (told === undefined) return false;
    const tripMs = this.#options.clock() - nowMs;
    shard.tripMs = Math.max(tripMs, shard.tripMs + (tripMs - shard.tripMs) / 10);
    if (told[0] === "stale") {
      shard.sequence = Math.max(sequence, told[1]);
      return false;
    }
    this.#take(shard, told, rows, nowMs);
    return true;
  }

  #take(shard: Shard, told: Told, rows: readonly Row[], sentMs: number): void {
    const [, boot, learningMs, isNew, members, isSettled, read, isComplete, changes, granted] = told;
    const before = { members: shard.members, hasCredit: shard.hasCredit };
    const isLearning = learningMs > 0;
    const nowMs = this.#options.clock();
    if (isLearning && shard.learnsUntilMs < sentMs) shard.learnsFromMs = nowMs;
    shard.learnsUntilMs = isLearning ? sentMs + learningMs : 0;
    shard.contactMs = sentMs;
    shard.hasStarted = true;
    shard.isAlone = false;
    const { hasLapsed } = shard;
    shard.hasLapsed = false;
    if (isNew && !isLearning) shard.isResting = false;
    if (isNew) shard.tautAnew = new Map();
    for (const [i, row] of rows.entries()) this.#rows.take(row, granted[i], nowMs, isLearning);
    const touched = new Set(rows.map(({ share }) => share));
    if (boot !== shard.bootToTell) {
      shard.bootToTell = boot;
      for (const account of this.#holdings.counts.accounts())
        if (this.#shardOf(account) === shard) shard.toTell.add(this.#shareOf(shard, account));
    } else {
      for (const share of touched)
        if (share.months.every((each) => each.told || this.#holdings.used(share, each) === 0))
          shard.toTell.delete(share);
      if (shard.toTell.size === 0) shard.boot = boot;
    }
    const changed: Share[] = [];
    for (let i = 0; i < changes.length; i += 2) {
      const name = changes[i];
      const share = shard.shares.get(Number.parseInt(name, 10));
      if (share) changed.push(share);
      if (name.includes("!")) {
        const month = share?.months.find((each) => name.endsWith(each.name));
        if (month) month.isCalledBack = true;
        else if (share) share.isCalledBack = true;
        continue;
      }
      for (const taut of [shard.taut, shard.tautAnew]) if (taut) setTaut(taut, name, Boolean(changes[i + 1]));
    }
    shard.changed = new Set(changed);
    shard.read = read;
    if (!isLearning) shard.members = members;
    if (isSettled) shard.isResting = true;
    if (isComplete && !isLearning && shard.tautAnew && shard.boot === boot) {
      shard.taut = shard.tautAnew;
      shard.tautAnew = undefined;
      for (const share of shard.shares.values()) this.#holdings.bind(shard, share);
    }
    shard.hasCredit = shard.isResting;
    if (before.members === shard.members && before.hasCredit === shard.hasCredit && !hasLapsed)
      for (const share of [...touched, ...changed]) this.#holdings.bind(shard, share);
    else for (const share of shard.shares.values()) this.#holdings.bind(shard, share);
  }

  /**
   * Without Redis: tokens accrue at this server's part of the rate, up to its part of the burst; credit ends, and
   * then everything.
   */
  #goAlone(shard: Shard, nowMs: number): void {
    const aloneAtMs = this.#aloneAtMs(shard);
    if (nowMs <= aloneAtMs) return;
    const silentMs = nowMs - shard.contactMs;
    const hasCredit = shard.isResting && silentMs < creditMs;
    if (!shard.isAlone || hasCredit !== shard.hasCredit) {
      shard.isAlone = true;
      shard.hasCredit = hasCredit;
      for (const share of shard.shares.values()) this.#holdings.bind(shard, share);
    }
    if (silentMs >= lapseMs && !shard.hasLapsed) this.#lapse(shard, nowMs);
    if (shard.hasLapsed && !this.#holdings.isFreeWithoutRedis) return;
    this.#fill(shard, aloneAtMs, nowMs);
  }

  /** Adds tokens at this server's part of the rate, for a time in which Redis grants none. */
  #fill(shard: Shard, fromMs: number, toMs: number): void {
    if (toMs <= fromMs) return;
    for (const share of shard.active) {
      const sinceMs = Math.max(share.spareMs, fromMs);
      if (toMs <= sinceMs) continue;
      const { burst } = this.#holdings.counts.ceilings(share.account);
      const part = burst / shard.members;
      const room = Math.floor(part) - this.#holdings.restOf(shard, share) - this.#holdings.heldOf(share);
      share.spare = Math.max(0, Math.min(share.spare + (part * (toMs - sinceMs)) / 1000, room));
      share.spareMs = toMs;
      this.#holdings.bind(shard, share);
    }
  }

  #lapse(shard: Shard, nowMs: number): void {
    shard.hasLapsed = true;
    for (const share of shard.shares.values()) {
      if (share.toldHeld > 0) shard.active.add(share);
      this.#holdings.lapse(share, nowMs);
      this.#holdings.bind(shard, share);
    }
  }

  #shardOf(account: number): Shard {
    return this.#shards[account % this.#shards.length];
  }

  #shareOf(shard: Shard, account: number): Share {
    const known = shard.shares.get(account);
    if (known !== undefined) return known;
    const share = this.#holdings.newShare(account, this.#months);
    shard.shares.set(account, share);
    return share;
  }
}
