import { monthName } from "../../shared/months.ts";
import type { SharesScript } from "./redis.ts";

/**
 * This server's side of shared quotas and rates: what it may admit, and what it asks for. Time, Redis and the counts are
 * arguments. This side lowers its own bounds before it says so, raises them when it is told to, and believes only the
 * answers to its last round of calls; `shares.lua` has the other half.
 */

/** Milliseconds between rounds while something changes, and between signs of life. */
const tickMs = 100;
const signOfLifeMs = 1000;
/** The shortest pause before a round that can't wait for the next one. */
const minPauseMs = 2;
/** An answer that takes longer counts as lost. */
const maxAnswerMs = 2000;
/** A share is in force for this long from when the call was sent. */
const shareMs = 2000;
/** Without an answer for this long, and three round trips, Redis counts as away. */
const awayMs = 1500;
/** Without an answer for this long nothing is admitted but leases have room for; others get this server's part after 60 s. */
const lapseMs = 50_000;
/** How much longer than its server a call may have been on the way. */
const lateMs = 500;
/** An account that isn't used for this long gives back what it holds: longer where the rate is low. */
const idleMs = 1000;
const idleRequests = 3;
/** Without demand for this long it is proposed to be at rest, longer than `restMs` in the script. */
const restMs = 5500;
const leaseSeconds = 10;
/** A client that was refused for want of a lease comes again in a second, perhaps to another server. */
const comesBackMs = 2000;
const maxAwaitedMs = 30_000;
/** Between proposals of accounts that are active without demand here: who had it last may have died. */
const proposeMs = 10_000;
/** Age of a copy of a record that is asked for again. */
const copyMs = 1000;
const mostRows = 500;
const never = Number.NEGATIVE_INFINITY;

export interface Ceilings {
  /** Requests per second. */
  burst: number;
  /** Requests per month. */
  quota: number;
}

/** The counts by which requests are admitted. */
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
   * @param left the quota minus other servers' counts
   */
  admitUpTo(account: number, month: number, count: number, reason: "burst" | "quota", left: number): void;
}

interface MonthShare {
  month: number;
  name: string;
  /** The count that Redis has under other names than this process's: that of earlier processes. */
  base: number;
  /** The count up to which Redis has granted requests. */
  granted: number;
  /** This server's count and what it was granted, as of the last answer. */
  told: { used: number; granted: number } | undefined;
  /** Requests that other servers counted, as far as known. */
  others: number;
  isTight: boolean;
  /** Redis' record, which a Redis that has lost it is given back. */
  copy: string | undefined;
  copiedMs: number;
}

interface Share {
  account: number;
  months: MonthShare[];
  /** Requests that the rate allows now. */
  level: number;
  levelMs: number;
  isActive: boolean;
  /** Requests per second while active, in force up to a time. */
  rate: number;
  untilMs: number;
  counted: number;
  refused: number;
  /** Whether requests were refused for want of the rate since the last call. */
  isShort: boolean;
  /** Requests per second that come. */
  demand: number;
  lookedMs: number;
  usedMs: number;
  /** When a request was last refused for want of a lease, if none was admitted since. */
  dryMs: number;
  /** Whether Redis may have a share for this server. */
  isListed: boolean;
  /** Whether it was proposed to be at rest since it was used. */
  isProposed: boolean;
}

interface Shard {
  index: number;
  /** This server's name in the shard, and how often it joined again after it was taken for gone. */
  server: string;
  rejoined: number;
  sequence: number;
  /** The life of Redis in which all was said, and the one in which it is being said. */
  life: number;
  nextLife: number;
  /** Servers that this one knew before that. */
  knew: number;
  toSay: Set<Share>;
  read: number;
  hasReadAll: boolean;
  members: number;
  /** This server's part of all accounts. */
  part: number;
  /** What an account at rest that wasn't used has in its bucket, of a rate of 1. */
  rested: number;
  restedMs: number;
  joinedMs: number;
  shares: Map<number, Share>;
  /** Accounts that are in use, or hold something. */
  live: Set<Share>;
  askedMs: number;
  /** When the last round was made, and when something was sent last. */
  lookedMs: number;
  sentMs: number;
  /** Rounds so far: answers to earlier ones count as lost. */
  round: number;
  isUnderWay: boolean;
  isLearning: boolean;
  /** When the last answered call was sent. */
  contactMs: number;
  tripMs: number;
  checkedMs: number;
  wasAway: boolean;
  proposedMs: number;
}

interface MonthRow {
  used: number;
  granted: number;
  wanted: number;
  base?: number;
  copy?: string;
  fresh?: true;
}
interface Row {
  id: number;
  burst: number;
  quota: number;
  months: Record<string, MonthRow>;
  demand?: number;
  share?: number;
  asks?: true;
  rests?: true;
}
interface Told {
  stale?: number;
  gone?: true;
  life: number;
  learning: number;
  members: number;
  part: number;
  changes: { name: string; on: boolean }[];
  read: number;
  isComplete: boolean;
  rows: {
    active?: true;
    share?: number;
    months: Record<string, { granted: number; total: number; tight?: true; copy?: string }>;
  }[];
}

interface SharesOptions {
  /** The server's name among all; each process has another one. */
  server: string;
  shards: number;
  counts: Counts;
  script: SharesScript;
  /** Whether the known rest of the quota is admitted while Redis is away. */
  isFreeWithoutRedis: boolean;
  /** Servers as of the last process; 0 before the first one. */
  knew: number;
  /** Milliseconds of a steady clock. */
  clock: () => number;
}

/** Requests that a server may admit of an account without a lease; the same in `shares.lua`. */
function creditOf({ burst, quota }: Ceilings, part: number): number {
  if (part <= 0) return 0;
  return Math.min(Math.floor((quota * part) / 4), Math.max(1, Math.floor(burst * part + 1e-6)));
}

export class Shares {
  readonly #options: SharesOptions;
  readonly #shards: Shard[];
  #months: readonly number[];
  #isLeaving = false;
  #isChecking = true;

  /** @param firstMonth the earlier of the two months in which requests are counted */
  constructor(options: SharesOptions, firstMonth: number, nowMs: number) {
    this.#options = options;
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

  /** Whether this server has its part of everything, and buckets are full. */
  get isReady(): boolean {
    return this.#shards.every((shard) => shard.hasReadAll && this.#isRested(shard));
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
    return this.#shards.some((shard) => this.#isShardAway(shard, nowMs));
  }

  /** Leased and unused requests. */
  charged(): number {
    let sum = 0;
    for (const { shares } of this.#shards)
      for (const share of shares.values())
        for (const each of share.months) sum += Math.max(0, each.granted - this.#used(share, each));
    return sum;
  }

  /** Asks which run of Redis answers: the connection is a new one. */
  check(): void {
    this.#isChecking = true;
  }

  /** Adds an account, or applies its new ceilings. */
  enter(account: number): void {
    const shard = this.#shardOf(account);
    this.#bind(shard, this.#shareOf(shard, account), this.#options.clock());
  }

  /** Moves to the months in which requests are counted now. */
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
        share.counted += this.#countOf(share) - before;
        this.#bind(shard, share, this.#options.clock());
      }
  }

  /** Notes what other servers have counted, and Redis' record. */
  hear(account: number, month: number, total: number, copy: string): void {
    const shard = this.#shardOf(account);
    const share = this.#shareOf(shard, account);
    const each = share.months.find((known) => known.month === month);
    if (each === undefined) return;
    const used = this.#used(share, each);
    if (shard.live.has(share) && each.told?.used !== used) return;
    // Counts that Redis doesn't know yet make this too small, never too large.
    each.others = Math.max(0, total - used);
    each.copy = copy;
    this.#bind(shard, share, this.#options.clock());
  }

  /** Notes that requests of an account were admitted or refused. */
  touch(account: number, nowMs: number): void {
    const shard = this.#shardOf(account);
    const share = this.#shareOf(shard, account);
    shard.live.add(share);
    this.#look(shard, share, nowMs);
    if (shard.isLearning || this.#isShardAway(shard, nowMs)) return;
    const asks = share.isShort && !share.isActive && shard.part < 1 && this.#isRested(shard);
    if (asks || share.months.some((each) => this.#isLow(shard, share, each, nowMs)))
      shard.askedMs = Math.min(shard.askedMs, shard.lookedMs + minPauseMs);
  }

  /** When `tick` has something to do next. */
  nextMs(): number {
    return Math.min(...this.#shards.map((shard) => this.#dueMs(shard)));
  }

  /** Calls the script for the shards that are due. @param month the current month */
  tick(nowMs: number, month: number): void {
    if (this.#isLeaving) return;
    for (const shard of this.#shards) {
      const isAway = this.#isShardAway(shard, nowMs);
      for (const share of isAway !== shard.wasAway ? shard.shares.values() : []) shard.live.add(share);
      shard.wasAway = isAway;
      if (nowMs >= this.#dueMs(shard)) void this.#round(shard, nowMs, month);
    }
  }

  /** Looks at the accounts in use: their buckets fill. Call it ten times a second. */
  refill(nowMs: number): void {
    for (const shard of this.#shards) {
      this.#rest(shard, nowMs);
      for (const share of shard.live) this.#look(shard, share, nowMs);
    }
  }

  /** Gives everything back and ends: no request is admitted any more. @param save saves the counts */
  async leave(nowMs: number, save: () => void): Promise<void> {
    this.#isLeaving = true;
    for (const shard of this.#shards)
      for (const share of shard.shares.values()) this.#bind(shard, share, nowMs);
    save();
    await Promise.all(this.#shards.map((shard) => this.#settle(shard, nowMs)));
  }

  /** Has Redis keep what was counted under no server's name. @returns whether all of it was answered */
  async #settle(shard: Shard, nowMs: number): Promise<boolean> {
    const shares = [...shard.shares.values()].filter((share) =>
      share.months.some((each) => each.told || this.#used(share, each) > each.base),
    );
    for (let from = 0; from === 0 || from < shares.length; from += mostRows) {
      const some = shares.slice(from, from + mostRows);
      const rows = some.map((share) => {
        const row = this.#rowOf(share, share.months);
        return share.isListed ? { ...row, demand: 0, share: 0 } : row;
      });
      const used = some.map((share) => share.months.map((each) => this.#used(share, each)));
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

  /** Whether this server hasn't said and read all yet, and got its part. */
  #isJoining({ toSay, part, hasReadAll, life, nextLife }: Shard): boolean {
    return toSay.size > 0 || part === 0 || !hasReadAll || life !== nextLife;
  }

  /** Whether this server has its part, and buckets had time to fill. */
  #isRested({ part, rested }: Shard): boolean {
    return part > 0 && rested > 0.999 * part;
  }

  #isShardAway({ contactMs, tripMs }: Shard, nowMs: number): boolean {
    return nowMs > contactMs + awayMs + 3 * tripMs;
  }

  /** Sends what is due of all accounts in calls of some rows each, one behind the other, and takes the answers. */
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
      this.#look(shard, share, nowMs);
      const row = this.#dueRow(shard, share, nowMs, month);
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

  /** @returns undefined where there is no answer that counts */
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
      part: this.#isLapsed(shard, nowMs) ? 0 : shard.part,
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

  /** Others took this server for gone: it settles what it held, and comes back as a new one. */
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
    this.#rest(shard, nowMs);
    if (told.part > 0 && shard.part === 0) shard.joinedMs = nowMs;
    shard.part = told.part;
    shard.members = told.members;
    const isSame = before.part === shard.part && before.hasReadAll === shard.hasReadAll;
    // Others fill up, and have to be bound anew meanwhile.
    for (const share of isSame ? [] : shard.shares.values()) shard.live.add(share);
    for (const share of isSame ? due.map(([each]) => each) : shard.live) this.#bind(shard, share, nowMs);
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
    this.#fill(shard, share, nowMs);
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
      this.#fill(shard, share, nowMs);
      Object.assign(share, { isActive: on, rate: 0, untilMs: 0, isListed: false });
      shard.live.add(share);
    }
    this.#bind(shard, share, nowMs);
  }

  /** What is to be said of an account; undefined where nothing is. Lowers its bounds first. */
  #dueRow(shard: Shard, share: Share, nowMs: number, month: number): Row | undefined {
    const isIdle = nowMs - share.usedMs >= this.#idleMs(shard, share);
    if (isIdle && share.rate > 0) {
      this.#fill(shard, share, nowMs);
      share.rate = 0;
    }
    const isSaying = shard.toSay.has(share);
    const row = this.#rowOf(share, []);
    for (const each of share.months) {
      if (isIdle || each.isTight) {
        const kept = this.#keptOf(shard, share, each, nowMs);
        each.granted = Math.min(each.granted, this.#used(share, each) + kept);
      }
    }
    this.#bind(shard, share, nowMs);
    for (const each of share.months) {
      // Read after the bound was lowered, because requests were admitted until then.
      const said = this.#monthRow(share, each);
      const isOver = each.others + this.#used(share, each) >= row.quota;
      const demand = Math.max(
        this.#soon(shard, share),
        Math.ceil(share.demand * leaseSeconds * (each.isTight ? 0 : 1)),
      );
      const isWanting =
        each.month === month &&
        !isIdle &&
        !isOver &&
        this.#leased(shard, share, each, nowMs) - each.base - said.used < demand / 2;
      const isAwaiting =
        each.month === month && !isOver && this.#awaited(shard, share, nowMs) > said.granted - said.used;
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
      // A bucket that only begins to fill after the start says nothing of the demand.
      if (!isShort || isIdle || shard.part >= 1 || !this.#isRested(shard)) return;
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

  #rowOf(share: Share, months: readonly MonthShare[]): Row {
    const { burst, quota } = this.#options.counts.ceilings(share.account);
    const said = months.map((each) => [each.name, this.#monthRow(share, each)]);
    return { id: share.account, burst, quota, months: Object.fromEntries(said) };
  }

  #monthRow(share: Share, each: MonthShare): MonthRow {
    const used = this.#used(share, each);
    const granted = Math.max(each.granted, used) - each.base;
    return {
      used: used - each.base,
      granted,
      wanted: 0,
      ...(!each.told && each.base > 0 && { base: each.base }),
    };
  }

  /** Forgets about an account that has nothing to say until it is used again. */
  #retire(shard: Shard, share: Share, nowMs: number): void {
    shard.toSay.delete(share);
    const isFull = share.level >= this.#rateOf(shard, share, nowMs) + 0.999;
    const isOver = share.isActive
      ? share.isProposed && !share.isListed
      : isFull && nowMs - share.usedMs >= this.#idleMs(shard, share);
    if (isOver) shard.live.delete(share);
  }

  /** Milliseconds without a request after which an account is idle: those of some requests at this server's part. */
  #idleMs({ members }: Shard, { account }: Share): number {
    return Math.max(idleMs, (1000 * idleRequests * members) / this.#options.counts.ceilings(account).burst);
  }

  /** Requests of two round trips, at least one. */
  #soon(shard: Shard, share: Share): number {
    return Math.max(1, Math.ceil(share.demand * 2 * ((shard.tripMs + 20) / 1000)));
  }

  #awaited(shard: Shard, share: Share, nowMs: number): number {
    const awaitedMs = Math.min(maxAwaitedMs, comesBackMs * (shard.members + 1));
    return nowMs - share.dryMs < awaitedMs ? 1 : 0;
  }

  /** Requests of a lease that an idle or tight account keeps. */
  #keptOf(shard: Shard, share: Share, { isTight }: MonthShare, nowMs: number): number {
    const awaited = this.#awaited(shard, share, nowMs);
    return isTight && nowMs - share.usedMs < this.#idleMs(shard, share)
      ? Math.max(awaited, this.#soon(shard, share))
      : awaited;
  }

  #isLow(shard: Shard, share: Share, each: MonthShare, nowMs: number): boolean {
    const used = this.#used(share, each);
    if (
      nowMs - share.usedMs >= this.#idleMs(shard, share) ||
      each.others + used >= this.#options.counts.ceilings(share.account).quota
    )
      return false;
    // At the end of a quota asking again at once gains nothing.
    const isVain = each.told !== undefined && each.told.granted <= used && each.isTight;
    return (
      !isVain && this.#leased(shard, share, each, nowMs) - used < Math.ceil(this.#soon(shard, share) / 2)
    );
  }

  /** Updates the demand and the bucket with the requests since the last look, and the bounds. */
  #look(shard: Shard, share: Share, nowMs: number): void {
    const { counts } = this.#options;
    this.#fill(shard, share, nowMs);
    const count = this.#countOf(share);
    const refused = counts.refused(share.account);
    const admitted = count - share.counted;
    const came = Math.max(0, admitted) + refused - share.refused;
    const passedMs = Math.max(1, nowMs - share.lookedMs);
    share.demand +=
      (came / (passedMs / 1000) - share.demand) *
      (1 - Math.exp((-2 * passedMs) / this.#idleMs(shard, share)));
    share.level -= admitted;
    if (came > 0) Object.assign(share, { usedMs: nowMs, isProposed: false });
    if (admitted > 0) share.dryMs = never;
    if (refused > share.refused) {
      if (share.level < 1) share.isShort = true;
      else share.dryMs = nowMs;
    }
    Object.assign(share, { counted: count, refused, lookedMs: nowMs });
    this.#bind(shard, share, nowMs);
  }

  #isLapsed({ contactMs }: Shard, nowMs: number): boolean {
    return nowMs - contactMs >= lapseMs;
  }

  /** The part of all accounts that this server may use now. */
  #partOf(shard: Shard, nowMs: number): number {
    const { isFreeWithoutRedis, knew } = this.#options;
    if (!isFreeWithoutRedis) return this.#isLapsed(shard, nowMs) ? 0 : shard.part;
    return shard.part === 0 && this.#isShardAway(shard, nowMs) ? 1 / Math.max(1, knew) : shard.part;
  }

  /** Requests per second that the rate allows an account now. */
  #rateOf(shard: Shard, share: Share, nowMs: number): number {
    const part = this.#partOf(shard, nowMs);
    const rest = this.#options.counts.ceilings(share.account).burst * part;
    if (part === 0) return 0;
    if (!share.isActive) return rest;
    return nowMs < share.untilMs ? share.rate : Math.min(share.rate, rest);
  }

  /** Fills an account's bucket, which holds one second's worth and one request. */
  #fill(shard: Shard, share: Share, nowMs: number): void {
    const lapsesMs = this.#options.isFreeWithoutRedis ? nowMs : Math.min(nowMs, shard.contactMs + lapseMs);
    const cutMs = share.isActive ? Math.min(Math.max(share.untilMs, share.levelMs), lapsesMs) : share.levelMs;
    for (const toMs of [cutMs, lapsesMs]) {
      if (toMs <= share.levelMs) continue;
      share.level += (this.#rateOf(shard, share, toMs - 1e-3) * (toMs - share.levelMs)) / 1000;
      share.levelMs = toMs;
    }
    share.levelMs = nowMs;
    share.level = Math.min(share.level, this.#rateOf(shard, share, nowMs) + 1);
  }

  /** Fills the bucket of accounts at rest that aren't used. */
  #rest(shard: Shard, nowMs: number): void {
    const part = this.#partOf(shard, nowMs);
    shard.rested = Math.min(part, shard.rested + (part * (nowMs - shard.restedMs)) / 1000);
    shard.restedMs = nowMs;
  }

  /** The count up to which a month is leased. */
  #leased(shard: Shard, share: Share, each: MonthShare, nowMs: number): number {
    const hasCredit = shard.hasReadAll && !each.isTight && !this.#isLapsed(shard, nowMs);
    return (
      each.granted + (hasCredit ? creditOf(this.#options.counts.ceilings(share.account), shard.part) : 0)
    );
  }

  /** Sets the bounds of an account's counts to what this server holds. */
  #bind(shard: Shard, share: Share, nowMs: number): void {
    const { counts, isFreeWithoutRedis } = this.#options;
    const { quota } = counts.ceilings(share.account);
    const used = share.months.map((each) => this.#used(share, each));
    const isFree = isFreeWithoutRedis && this.#isShardAway(shard, nowMs);
    const isStopped = this.#partOf(shard, nowMs) === 0;
    const level = isStopped ? 0 : share.level;
    const rate = Math.max(0, Math.floor(level)) + share.counted - used[0] - used[1];
    for (const [i, each] of share.months.entries()) {
      const leased = this.#leased(shard, share, each, nowMs);
      // A lowered quota holds at once, whatever is leased.
      const left = quota - Math.max(0, each.others);
      const bound = isFree ? left : Math.min(leased, left);
      const most = this.#isLeaving
        ? used[i]
        : Math.min(Math.max(used[i], bound), used[i] + Math.max(0, rate));
      const isForQuota = isStopped || bound <= used[i] || bound < used[i] + rate;
      counts.admitUpTo(share.account, each.month, most, isForQuota ? "quota" : "burst", left);
    }
  }

  #used({ account }: Share, { month }: MonthShare): number {
    return this.#options.counts.used(account, month);
  }

  #countOf(share: Share): number {
    return share.months.reduce((sum, each) => sum + this.#used(share, each), 0);
  }

  #shardOf(account: number): Shard {
    return this.#shards[account % this.#shards.length];
  }

  #shareOf(shard: Shard, account: number): Share {
    const known = shard.shares.get(account);
    if (known !== undefined) return known;
    const nowMs = this.#options.clock();
    this.#rest(shard, nowMs);
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
    share.counted = this.#countOf(share);
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

const hasSomething = ({ told, base, copy }: MonthShare) =>
  told !== undefined || base > 0 || copy !== undefined;
