import { monthName } from "../shared/months.ts";
import type { Script, Told } from "./redis.ts";

/** One replica's side of the ceilings that replicas share: what it may admit, and what it asks for. */

/*
 * Time, Redis and the counts are arguments. What `shares.lua` says about the shares holds here too: this side lowers
 * its own bounds before it says so, raises them when it is told to, and believes only the answer to its last call.
 */

/** A shard with something to say is called so often, and others as a sign of life. */
const defaultTickMs = 100;
const signOfLifeMs = 300;
/** What can't wait for the next tick waits so long after the last call. */
const minPauseMs = 2;
/** An answer that takes longer counts as lost. */
const maxAnswerMs = 2000;
/** Without an answer for so long, tokens come at the replica's own share of the rate. */
const aloneMs = 1000;
/** And after so long it uses no credit, which others may have by the time it is no member any more. */
const creditMs = 30_000;
/** An account that isn't used for so long gives back what it holds. */
const idleMs = 1000;
/** A scarce account that was used lately is looked at so often. */
const lookMs = 1000;
const lookedAtMs = 15_000;
/** Tokens for a burst that is larger than this replica's part stay for so long, unless they are called back. */
const keptMs = 10_000;
/** Seconds of its demand that a replica leases, and while the account is tight. */
const leaseSeconds = 10;
const tightLeaseSeconds = 0.3;
const maxRowsPerCall = 500;

export interface Ceilings {
  /** Requests per second. */
  burst: number;
  /** Requests per month. */
  quota: number;
}

/** The counts that requests are admitted by; this class alone writes their bounds. */
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

export interface SharesOptions {
  replica: string;
  shards: number;
  counts: Counts;
  send: Script;
  /** Above all sequences of processes before: the count of starts times 2^32. */
  firstSequence: number;
  /** Members when last heard of: whose share a replica has that starts without Redis. */
  members: number;
  /** What `granted` returned when it was saved last, of processes before. */
  saved: (account: number, month: number) => number;
  tickMs?: number;
  /** Whether the quota's rest, as far as it is known, is admitted while Redis is away. */
  isFreeWithoutRedis?: boolean;
}

interface MonthShare {
  month: number;
  name: string;
  /** What Redis has granted this replica: it may count so many requests. */
  granted: number;
  /** The same on the disk, where a next process finds it: no less is given back. */
  saved: number;
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

interface Share {
  account: number;
  months: MonthShare[];
  /** Tokens beside the rest when `heldAt` requests were counted; below zero is a debt. */
  held: number;
  heldAt: number;
  /** What Redis knows of it. */
  toldHeld: number;
  /** Tokens that came while Redis was away, up to a time. */
  spare: number;
  spareMs: number;
  /** By the last look. */
  counted: number;
  refused: number;
  lookedMs: number;
  usedMs: number;
  sentMs: number;
  /** Requests that come, per second. */
  rate: number;
  /** Requests that came between two looks, at most lately. */
  peak: number;
  /** Whether tokens are called back, if they aren't needed. */
  isCalledBack: boolean;
  /** Whether some were refused for want of tokens since that was last said. */
  isShort: boolean;
  /** Whether the last answer granted less than was wanted. */
  isStarved: boolean;
}

interface Shard {
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
  /** Scarce accounts, and tight ones as `account@month`; and the same list where it is read anew. */
  taut: Set<string>;
  tautAnew: Set<string> | undefined;
  shares: Map<number, Share>;
  /** Those with something to say or to look at. */
  active: Set<Share>;
  sentMs: number;
  isUnderWay: boolean;
  askedMs: number;
  /** When the last call was sent that was answered. */
  contactMs: number;
}

/** What a call says of an account in a month. */
interface Row {
  share: Share;
  month: MonthShare;
  isTight: boolean;
  used: number;
  granted: number;
  wanted: number;
  /** What is said of the tokens, in one row of an account, when this many requests were counted. */
  tokens: { at: number; held: number; given: number; wanted: number; isShort: boolean } | undefined;
}

/** Tokens that each replica may use beyond what it holds, a tenth of its part of the burst: they are repaid first. */
export function overdraft(burst: number, members: number): number {
  return Math.max(1, Math.floor(burst / members / 10));
}

/** Requests of a month that each replica may admit of an account without asking. */
function creditOf({ burst, quota }: Ceilings, members: number): number {
  return Math.min(Math.floor(quota / members / 2), Math.floor(burst / members) + overdraft(burst, members));
}

export class Shares {
  readonly #options: SharesOptions;
  readonly #counts: Counts;
  readonly #shards: Shard[];
  readonly #tickMs: number;
  /** The two months that requests are counted in. */
  #months: readonly [number, number];
  #hasLeft = false;

  /** @param firstMonth the earlier one of the two months that requests are counted in */
  constructor(options: SharesOptions, firstMonth: number, nowMs: number) {
    this.#options = options;
    this.#counts = options.counts;
    this.#tickMs = options.tickMs ?? defaultTickMs;
    this.#months = [firstMonth, firstMonth + 1];
    this.#shards = Array.from({ length: options.shards }, (_, index) => ({
      index,
      sequence: options.firstSequence,
      boot: "",
      bootToTell: "",
      toTell: new Set<Share>(),
      changed: new Set<Share>(),
      read: 0,
      members: options.members,
      hasStarted: false,
      isResting: false,
      hasCredit: false,
      isAlone: false,
      taut: new Set<string>(),
      tautAnew: undefined,
      shares: new Map<number, Share>(),
      active: new Set<Share>(),
      sentMs: Number.NEGATIVE_INFINITY,
      isUnderWay: false,
      askedMs: nowMs,
      contactMs: nowMs,
    }));
    for (const account of this.#counts.accounts()) this.enter(account);
  }

  /** Whether all shards have answered and this replica has its part of everything. */
  get isReady(): boolean {
    return this.#shards.every(({ isResting }) => isResting);
  }

  /** Members that this replica knows of. */
  get members(): number {
    return this.#shards[0].members;
  }

  /** How long ago the call was sent that was answered last, of the shard that waits longest. */
  syncAgeMs(nowMs: number): number {
    return nowMs - Math.min(...this.#shards.map(({ contactMs }) => contactMs));
  }

  /** Requests of all replicas in a month, as far as they are known here; undefined before Redis has told. */
  inAll(account: number, month: number): number | undefined {
    const told = this.#monthShareOf(account, month)?.told;
    return told && told.inAll - told.used + this.#counts.used(account, month);
  }

  /** How many requests of a month this replica may count in all by what it was granted: to be kept with its counts. */
  granted(account: number, month: number): number {
    return this.#monthShareOf(account, month)?.granted ?? this.#counts.used(account, month);
  }

  /** Says that this is on the disk of what `granted` returned. */
  save(account: number, month: number, granted: number): void {
    const shard = this.#shardOf(account);
    const share = shard.shares.get(account);
    const saved = share?.months.find((each) => each.month === month);
    if (share === undefined || saved === undefined || saved.saved === granted) return;
    saved.saved = granted;
    // What was given up meanwhile can be given back.
    shard.active.add(share);
  }

  #monthShareOf(account: number, month: number): MonthShare | undefined {
    return this.#shardOf(account)
      .shares.get(account)
      ?.months.find((share) => share.month === month);
  }

  /** Takes up an account that is new, or whose ceilings have changed. */
  enter(account: number): void {
    const shard = this.#shardOf(account);
    this.#bind(shard, this.#shareOf(shard, account));
  }

  /** Follows the calendar. */
  enterMonths(firstMonth: number): void {
    if (firstMonth === this.#months[0]) return;
    this.#months = [firstMonth, firstMonth + 1];
    for (const shard of this.#shards)
      for (const share of shard.shares.values()) {
        const before = this.#countOf(share);
        share.months = this.#months.map(
          (month) =>
            share.months.find((known) => known.month === month) ?? this.#newMonth(share.account, month),
        );
        const difference = this.#countOf(share) - before;
        share.heldAt += difference;
        share.counted += difference;
        this.#bind(shard, share);
      }
  }

  /**
   * Says that requests of an account were admitted or refused.
   *
   * @param isUrgent when one was refused, or the last one admitted that may be: asks before the next tick
   */
  touch(account: number, nowMs: number, isUrgent: boolean): void {
    const shard = this.#shardOf(account);
    const share = this.#shareOf(shard, account);
    if (!shard.active.has(share)) {
      shard.active.add(share);
      share.lookedMs = nowMs - this.#tickMs;
    }
    // What the last call didn't bring, another one at once won't either.
    if (isUrgent && !share.isStarved) shard.askedMs = Math.min(shard.askedMs, shard.sentMs + minPauseMs);
  }

  /** When `tick` has something to do next. */
  nextMs(): number {
    return Math.min(...this.#shards.map((shard) => this.#dueMs(shard)));
  }

  /**
   * Calls the shards that are due.
   *
   * @param month which requests are counted in now
   */
  tick(nowMs: number, month: number): void {
    if (this.#hasLeft) return;
    for (const shard of this.#shards) {
      this.#goAlone(shard, nowMs);
      if (nowMs < this.#dueMs(shard)) continue;
      void this.#call(shard, shard.hasStarted ? "tick" : "start", nowMs, month);
    }
  }

  #dueMs(shard: Shard): number {
    if (shard.isUnderWay) return shard.sentMs + maxAnswerMs;
    const hasNews = shard.active.size + shard.toTell.size + shard.changed.size > 0;
    return Math.min(shard.askedMs, shard.sentMs + (hasNews ? this.#tickMs : signOfLifeMs));
  }

  /**
   * Gives everything back and ends. No request is admitted any more.
   *
   * @param save saves the counts and what is granted, and says so with `save`
   */
  async leave(nowMs: number, save: () => void): Promise<void> {
    this.#hasLeft = true;
    for (const shard of this.#shards)
      for (const share of shard.shares.values()) {
        for (const each of share.months) each.granted = this.#used(share, each);
        this.#bind(shard, share);
      }
    save();
    await Promise.all(
      this.#shards.map(async (shard) => {
        const known = [...shard.shares.values()].filter(({ months }) => months.some(({ told }) => told));
        for (let from = 0; from <= known.length; from += maxRowsPerCall / 2) {
          shard.active = new Set(known.slice(from, from + maxRowsPerCall / 2));
          const isLast = from + maxRowsPerCall / 2 > known.length;
          await this.#call(shard, isLast ? "leave" : "tick", nowMs, 0);
        }
      }),
    );
  }

  async #call(shard: Shard, step: "start" | "tick" | "leave", nowMs: number, month: number): Promise<void> {
    const sequence = ++shard.sequence;
    shard.isUnderWay = true;
    shard.sentMs = nowMs;
    shard.askedMs = Number.POSITIVE_INFINITY;
    const months = this.#months.map(monthName);
    const rows: Row[] = [];
    for (const share of new Set([...shard.changed, ...shard.toTell, ...shard.active])) {
      if (rows.length > maxRowsPerCall - 2 && !shard.changed.has(share)) break;
      this.#look(share, nowMs);
      const said = this.#rowsOf(shard, share, nowMs, month);
      rows.push(...said);
      if (said.length > 0) share.sentMs = nowMs;
      else this.#rest(shard, share, nowMs);
    }
    const head = [this.#options.replica, sequence, shard.boot, shard.read, step, ...months];
    const values = [...head, ...rows.flatMap((row) => this.#valuesOf(row))];
    for (const { month, used } of rows) if (month.isKnown) month.sent = used;
    const told = await this.#options.send(shard.index, months, values).catch(() => undefined);
    // Another call was sent since: this one counts as lost.
    if (shard.sequence !== sequence) return;
    shard.isUnderWay = false;
    if (told === undefined) return;
    if (told[0] === "stale") shard.sequence = Math.max(sequence, told[1]);
    else this.#take(shard, told, rows, nowMs);
  }

  /** What came since the last look. */
  #look(share: Share, nowMs: number): void {
    const { burst } = this.#counts.ceilings(share.account);
    const count = this.#countOf(share);
    const refused = this.#counts.refused(share.account);
    const came = Math.max(0, count - share.counted) + refused - share.refused;
    const seconds = Math.max(0.001, (nowMs - share.lookedMs) / 1000);
    share.rate += (Math.min(burst, came / seconds) - share.rate) * (1 - Math.exp(-seconds));
    const isLarge = share.peak > (2 * burst) / this.#shardOf(share.account).members;
    share.peak = Math.max(came, share.peak * Math.max(0, 1 - seconds / (isLarge ? 10 : 1)));
    if (came > 0) share.usedMs = nowMs;
    if (refused > share.refused && this.#tokensOf(this.#shardOf(share.account), share) < 1)
      share.isShort = true;
    share.counted = count;
    share.refused = refused;
    share.lookedMs = nowMs;
  }

  /** Lowers the bounds to what the replica keeps, and returns what there is to say of that. */
  #rowsOf(shard: Shard, share: Share, nowMs: number, month: number): Row[] {
    const isIdle = this.#hasLeft || nowMs - share.usedMs >= idleMs;
    const isTelling = shard.toTell.has(share);
    const isLooking = nowMs - share.sentMs >= lookMs && nowMs - share.usedMs < lookedAtMs;
    const isKeeping =
      !this.#hasLeft &&
      nowMs - share.usedMs < (share.isCalledBack ? this.#tickMs : this.#keepsMs(shard, share));
    if (share.isCalledBack && !isKeeping) share.peak = 0;
    share.isCalledBack = false;
    const tokens = this.#keepTokens(shard, share, isKeeping, isTelling, isLooking);
    const rows: Row[] = [];
    for (const each of share.months) {
      const isTight = isTightIn(shard, share, each);
      const { quota } = this.#counts.ceilings(share.account);
      const demand = Math.max(1, Math.ceil(share.rate * (isTight ? tightLeaseSeconds : leaseSeconds)));
      // At the quota's end one stays, or the next request after a while would be refused.
      const needed = isIdle ? 0 : 1;
      const isLast = each.isCalledBack || this.#hasLeft;
      const kept = isTight && !isLast ? Math.max(1, needed * demand) : needed;
      if (isIdle || isTight) each.granted = Math.min(each.granted, this.#used(share, each) + kept);
      each.isCalledBack = false;
      this.#bind(shard, share);
      // Only now: until the bound was lowered, requests were admitted by the one before.
      const used = this.#used(share, each);
      const { told } = each;
      const isWanting = each.month === month && !isIdle && each.granted - used < demand / 2;
      const isInVain = isTight && told !== undefined && told.inAll - told.used + used >= quota;
      const isDue =
        (isWanting && !isInVain) ||
        (told === undefined ? used > 0 || (isTelling && isTight) : used !== told.used) ||
        (told !== undefined && told.granted !== Math.max(each.granted, each.saved, used)) ||
        (isTelling && told !== undefined) ||
        (isLooking && isTight);
      const wanted = isWanting ? used + demand : 0;
      // What was counted by credit is granted only when Redis has been told: it would be credited twice.
      const granted = Math.max(each.granted, each.saved, used);
      if (isDue) rows.push({ share, month: each, isTight, used, granted, wanted, tokens: undefined });
    }
    if (tokens === undefined) return rows;
    let bearer = rows.find((row) => row.month.isKnown);
    if (bearer === undefined) {
      const each =
        share.months.find(({ isKnown }) => isKnown) ?? share.months.find((known) => known.month === month);
      if (each === undefined || rows.some((row) => row.month === each)) return rows;
      const used = this.#used(share, each);
      bearer = {
        share,
        month: each,
        isTight: isTightIn(shard, share, each),
        used,
        granted: Math.max(each.granted, each.saved, used),
        wanted: 0,
        tokens: undefined,
      };
      rows.push(bearer);
    }
    bearer.tokens = tokens;
    return rows;
  }

  #keepsMs(shard: Shard, share: Share): number {
    const { burst } = this.#counts.ceilings(share.account);
    return share.peak > (2 * burst) / shard.members ? keptMs : idleMs;
  }

  /** What there is to say of the tokens, of which those are given back that aren't needed. */
  #keepTokens(
    shard: Shard,
    share: Share,
    isKeeping: boolean,
    isTelling: boolean,
    isLooking: boolean,
  ): Row["tokens"] {
    const { burst } = this.#counts.ceilings(share.account);
    const isScarce = shard.taut.has(String(share.account));
    const target = !isKeeping || !isScarce ? 0 : Math.min(burst, Math.ceil(share.peak));
    const at = this.#countOf(share);
    const holding = share.held - (at - share.heldAt);
    // What came while Redis was away was this replica's part of the rate, and isn't anyone's any more.
    const held = share.spareMs > 0 ? Math.min(share.toldHeld, Math.floor(holding + share.spare)) : holding;
    const given = held > 2 * target ? held - target : 0;
    const wanted = this.#hasLeft ? held - given : Math.max(target, held - given);
    const isDue =
      held !== share.toldHeld ||
      given > 0 ||
      wanted > held ||
      share.spareMs > 0 ||
      share.isShort ||
      (isTelling && held !== 0) ||
      (isLooking && isScarce);
    if (!isDue) return undefined;
    share.held -= given;
    return { at, held: held - given, given, wanted, isShort: share.isShort };
  }

  /** Forgets about an account for a while that has nothing to say. */
  #rest(shard: Shard, share: Share, nowMs: number): void {
    shard.toTell.delete(share);
    const isTaut =
      shard.taut.has(String(share.account)) || share.months.some((each) => isTightIn(shard, share, each));
    if (nowMs - share.usedMs >= (isTaut ? lookedAtMs : idleMs) && share.spareMs === 0)
      shard.active.delete(share);
  }

  #valuesOf({ share, month, isTight, used, granted, wanted, tokens }: Row): (string | number)[] {
    const { account } = share;
    const { burst, quota } = this.#counts.ceilings(account);
    const kind = !month.isKnown ? "read" : isTight ? "tight" : "hold";
    return [
      ...[account, share.months.indexOf(month) + 1, burst, quota, kind],
      ...[used, month.told?.inAll ?? 0, month.sent, granted, wanted],
      ...(tokens && month.isKnown ? [tokens.held, tokens.given, tokens.wanted] : ["", "", ""]),
      tokens?.isShort ? 1 : 0,
    ];
  }

  #take(shard: Shard, told: Told, rows: readonly Row[], sentMs: number): void {
    const [, boot, isLearning, isNew, members, isSettled, read, isComplete, changes, granted] = told;
    const before = { members: shard.members, hasCredit: shard.hasCredit };
    shard.contactMs = sentMs;
    shard.hasStarted = true;
    shard.isAlone = false;
    if (isNew && !isLearning) shard.isResting = false;
    if (isNew) shard.tautAnew = new Set();
    for (const [i, row] of rows.entries()) this.#takeRow(row, granted[i]);
    const touched = new Set(rows.map(({ share }) => share));
    if (boot !== shard.bootToTell) {
      shard.bootToTell = boot;
      for (const account of this.#counts.accounts())
        if (this.#shardOf(account) === shard) shard.toTell.add(this.#shareOf(shard, account));
    } else {
      for (const share of touched)
        if (share.months.every((each) => each.told || this.#used(share, each) === 0))
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
      for (const list of [shard.taut, shard.tautAnew]) changes[i + 1] ? list?.add(name) : list?.delete(name);
    }
    shard.changed = new Set(changed);
    shard.read = read;
    if (!isLearning) shard.members = members;
    if (isSettled) shard.isResting = true;
    if (isComplete && !isLearning && shard.tautAnew && shard.boot === boot) {
      shard.taut = shard.tautAnew;
      shard.tautAnew = undefined;
      for (const share of shard.shares.values()) this.#bind(shard, share);
    }
    shard.hasCredit = shard.isResting;
    if (before.members === shard.members && before.hasCredit === shard.hasCredit)
      for (const share of [...touched, ...changed]) this.#bind(shard, share);
    else for (const share of shard.shares.values()) this.#bind(shard, share);
  }

  #takeRow(
    { share, month, wanted, granted: kept, tokens }: Row,
    [used, granted, inAll, held]: Told[9][number],
  ): void {
    if (!month.isKnown) {
      month.isKnown = true;
      const forgotten = Math.max(0, used - month.base);
      if (forgotten === 0) return;
      this.#counts.raise(share.account, month.month, forgotten);
      month.granted = Math.max(month.granted, used);
      month.sent = used;
      share.heldAt += forgotten;
      share.counted += forgotten;
      return;
    }
    // What it has given up waits here until that is on the disk.
    month.granted = wanted > 0 || granted !== kept ? granted : Math.max(month.granted, used);
    month.told = { used, granted, inAll };
    share.isStarved = granted < wanted;
    if (tokens === undefined) return;
    share.isStarved ||= held <= tokens.held && held < tokens.wanted;
    share.isShort = false;
    share.held = held;
    share.toldHeld = held;
    share.heldAt = tokens.at;
    share.spare = 0;
    share.spareMs = 0;
  }

  /** Without Redis tokens come at this replica's part of the rate, up to its part of the burst; credit ends. */
  #goAlone(shard: Shard, nowMs: number): void {
    const silentMs = nowMs - shard.contactMs;
    if (silentMs <= aloneMs) return;
    const hasCredit = shard.isResting && silentMs < creditMs;
    if (!shard.isAlone || hasCredit !== shard.hasCredit) {
      shard.isAlone = true;
      shard.hasCredit = hasCredit;
      for (const share of shard.shares.values()) this.#bind(shard, share);
    }
    for (const share of shard.active) {
      const { burst } = this.#counts.ceilings(share.account);
      const part = burst / shard.members;
      const sinceMs = Math.max(share.spareMs, shard.contactMs + aloneMs);
      const room = Math.floor(part) - this.#restOf(shard, share) - this.#heldOf(share);
      share.spare = Math.max(0, Math.min(share.spare + (part * (nowMs - sinceMs)) / 1000, room));
      share.spareMs = nowMs;
      this.#bind(shard, share);
    }
  }

  /** Sets the bounds of an account's counts to what the replica holds. */
  #bind(shard: Shard, share: Share): void {
    const { account } = share;
    const ceilings = this.#counts.ceilings(account);
    const counts = share.months.map((each) => this.#used(share, each));
    const tokens = this.#tokensOf(shard, share, counts[0] + counts[1]);
    for (const [i, each] of share.months.entries()) {
      const hasCredit = shard.hasCredit && !isTightIn(shard, share, each);
      const leased = each.granted + (hasCredit ? creditOf(ceilings, shard.members) : 0);
      const others = each.told ? each.told.inAll - each.told.used : 0;
      const isFree = shard.isAlone && this.#options.isFreeWithoutRedis;
      const quota = isFree ? Math.max(leased, ceilings.quota - others) : leased;
      const bound = this.#hasLeft ? counts[i] : Math.min(quota, counts[i] + tokens);
      this.#counts.admitUpTo(account, each.month, bound, quota < counts[i] + tokens ? "quota" : "burst");
    }
  }

  /** Tokens that may be used now, with the overdraft. */
  #tokensOf(shard: Shard, share: Share, count = this.#countOf(share)): number {
    const { burst } = this.#counts.ceilings(share.account);
    const held = share.held - (count - share.heldAt) + share.spare;
    return Math.max(0, Math.floor(held + this.#restOf(shard, share) + overdraft(burst, shard.members)));
  }

  #heldOf(share: Share): number {
    return share.held - (this.#countOf(share) - share.heldAt);
  }

  /** Tokens that the replica has without asking. */
  #restOf(shard: Shard, share: Share): number {
    if (!shard.isResting || shard.taut.has(String(share.account))) return 0;
    return Math.floor(this.#counts.ceilings(share.account).burst / shard.members);
  }

  #used(share: Share, { month }: MonthShare): number {
    return this.#counts.used(share.account, month);
  }

  #countOf(share: Share): number {
    return this.#used(share, share.months[0]) + this.#used(share, share.months[1]);
  }

  #shardOf(account: number): Shard {
    return this.#shards[account % this.#shards.length];
  }

  #shareOf(shard: Shard, account: number): Share {
    const known = shard.shares.get(account);
    if (known !== undefined) return known;
    const share: Share = {
      account,
      months: this.#months.map((month) => this.#newMonth(account, month)),
      held: 0,
      heldAt: 0,
      toldHeld: 0,
      spare: 0,
      spareMs: 0,
      counted: 0,
      refused: this.#counts.refused(account),
      lookedMs: 0,
      usedMs: Number.NEGATIVE_INFINITY,
      sentMs: Number.NEGATIVE_INFINITY,
      rate: 0,
      peak: 0,
      isCalledBack: false,
      isShort: false,
      isStarved: false,
    };
    share.heldAt = this.#countOf(share);
    share.counted = share.heldAt;
    shard.shares.set(account, share);
    return share;
  }

  #newMonth(account: number, month: number): MonthShare {
    const base = this.#counts.used(account, month);
    const saved = this.#options.saved(account, month);
    return {
      month,
      name: monthName(month),
      granted: Math.max(base, saved),
      saved,
      base,
      sent: base,
      isCalledBack: false,
      isKnown: false,
      told: undefined,
    };
  }
}

function isTightIn(shard: Shard, share: Share, { name }: MonthShare): boolean {
  return shard.taut.has(`${share.account}@${name}`);
}
