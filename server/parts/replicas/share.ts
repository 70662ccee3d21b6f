import { monthName } from "../../shared/months.ts";

/** One server's use of an account: a token bucket for its share of the rate, and its lease of the quota. */

/** Redis counts as away after these milliseconds and three round trips without an answer. */
const awayMs = 1500;
/**
 * Milliseconds without an answer after which no request is admitted, unless QUOTA_WITHOUT_REDIS is `free`. After 60 s
 * without a call, Redis gives this server's part to other servers.
 */
const lapseMs = 50_000;
/** Minimum milliseconds without a request after which an account is idle: its lease and share are given back. */
const minIdleMs = 1000;
/** An account with a low rate is idle after the time in which this server's part allows this many requests. */
const idleRequests = 3;
/**
 * For `comesBackMs * (servers + 1)` after a refusal for lack of a lease, a server keeps a leased request. The client
 * retries after a second, perhaps on another server.
 */
const comesBackMs = 2000;
const maxAwaitedMs = 30_000;
/** A lease covers the demand of this many seconds. */
const leaseSeconds = 10;
/** Milliseconds from the sending of a call to the end of the share that the answer grants. */
const shareMs = 2000;
/** Milliseconds without demand before a server proposes that an account be at rest. Exceeds the script's `restMs`. */
const restMs = 5500;
const proposeMs = 5000;
/** Age in milliseconds from which a record is copied again. */
const copyMs = 1000;
const never = Number.NEGATIVE_INFINITY;

export interface Counts {
  /** Returns the ids of all accounts. */
  accounts(): Iterable<number>;
  /** Returns the account's requests per second. */
  burst(account: number): number;
  /** Returns the requests of a month that all servers together may admit. */
  quota(account: number, month: number): number;
  /** Returns the requests of a month that this server's present and earlier processes admitted. */
  used(account: number, month: number): number;
  /** Returns the requests that were refused since the start because of `admitUpTo`. */
  refused(account: number): number;
  /**
   * Sets the bound of a month: a request is admitted while `used` is below `count`.
   * @param reason why further requests are refused
   * @param left the quota minus other servers' counts
   */
  admitUpTo(account: number, month: number, count: number, reason: "burst" | "quota", left: number): void;
  /** Keeps all bounds in force until a time. Later requests aren't admitted. */
  keepBounds(untilMs: number): void;
}

interface MonthRow {
  quota: number;
  /** The count of this server's earlier processes. `used`, `granted` and `wanted` don't include it. */
  base: number;
  used: number;
  granted: number;
  wanted: number;
  copy?: string | undefined;
  /** Whether the answer has to contain a copy of the record. */
  fresh: boolean;
}

/** A report about an account. */
export interface Row {
  id: number;
  /** Requests per second. */
  burst: number;
  /** The account's counts by month, `YYYY-MM`. */
  months: Record<string, MonthRow>;
  /** Incoming requests per second, if the account needs a share of the rate or has one. */
  demand?: number;
  /** The share that this server holds, in requests per second; present with `demand`. */
  share?: number;
}

/** The answer to a report. */
export interface RowAnswer {
  active?: true;
  /** The share that this server holds, in requests per second; present if the report has `demand`. */
  share?: number;
  months: Record<string, { granted: number; total: number; tight?: true; copy?: string }>;
}

/** This server's relation to the other servers and to Redis. It is the same for all accounts. */
export class Membership {
  readonly counts: Counts;
  /** Number of servers that this server's previous process knew; 0 if there was none. */
  readonly knew: number;
  readonly #isFreeWithoutRedis: boolean;
  members = 1;
  /** Servers that are gone, and the sum of their parts. They may have used credit without reporting it. */
  lost = { count: 0, part: 0 };
  /** This server's part of all accounts, from 0 to 1. */
  part = 0;
  /** When this server's part last rose from 0. */
  joinedMs: number;
  /** Whether this server has read all flags, which say which accounts are active or tight. */
  hasReadFlags = false;
  hasReadRecords = false;
  isLearning = true;
  isLeaving = false;
  /** When this server sent the last call that Redis answered. */
  contactMs: number;
  tripMs = 0;

  constructor(counts: Counts, knew: number, isFreeWithoutRedis: boolean, nowMs: number) {
    this.counts = counts;
    this.knew = knew;
    this.#isFreeWithoutRedis = isFreeWithoutRedis;
    this.joinedMs = nowMs;
    this.contactMs = nowMs;
  }

  /** Whether this server has its part, and its buckets have had time to fill. */
  isRested(nowMs: number): boolean {
    return this.part > 0 && nowMs >= this.joinedMs + 1000;
  }

  /** Whether Redis counts as away, because it hasn't answered for some time. */
  isAway(nowMs: number): boolean {
    return nowMs > this.contactMs + awayMs + 3 * this.tripMs;
  }

  /** Whether this server may use all requests that are known to be left of a quota. */
  isFree(nowMs: number): boolean {
    return this.#isFreeWithoutRedis && this.isAway(nowMs);
  }

  /** When this server stops using its part and its shares; infinity if QUOTA_WITHOUT_REDIS is `free`. */
  get lapsesMs(): number {
    return this.#isFreeWithoutRedis ? Number.POSITIVE_INFINITY : this.contactMs + lapseMs;
  }

  /** Returns the part of all accounts that this server may use, from 0 to 1. */
  partAt(nowMs: number): number {
    if (nowMs >= this.lapsesMs) return 0;
    return this.part === 0 && this.isFree(nowMs) ? 1 / Math.max(1, this.knew) : this.part;
  }

  /** Returns the requests of an account that this server may admit without a lease. */
  credit(burst: number, quota: number, nowMs: number): number {
    const mayUse = this.hasReadFlags && this.hasReadRecords && nowMs < this.contactMs + lapseMs;
    return mayUse ? creditOf(burst, quota, this.part) : 0;
  }

  /**
   * The number of requests that must be left of a quota to cover all servers' credits, and credits that gone servers
   * may have used. The script marks an account as tight at about this number.
   * @param highest the highest ceilings of the month, by which gone servers may have used credit
   */
  scarce(burst: number, quota: number, highest: { burst: number; quota: number }): number {
    const { count, part } = this.lost;
    const usedByLost = Math.min((highest.quota * part) / 4, highest.burst * part + count);
    return 2 * creditOf(burst, quota, 1) + this.members + usedByLost;
  }
}

interface HeldRecord {
  left: Record<string, number>;
  servers: Record<string, { used: number; granted: number }>;
}

function heldOf({ left, servers }: HeldRecord): number {
  const counts = [
    ...Object.values(left),
    ...Object.values(servers).map((each) => Math.max(each.used, each.granted)),
  ];
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Requests that a server with a part may admit without a lease; must equal `creditOf` in `shares.lua`. */
function creditOf(burst: number, quota: number, part: number): number {
  if (part <= 0) return 0;
  return Math.min(Math.floor((quota * part) / 4), Math.max(1, Math.floor(burst * part + 1e-6)));
}

interface MonthShare {
  month: number;
  name: string;
  /** The count of earlier processes. This server's count includes it. */
  base: number;
  /** The count up to which Redis has granted requests. */
  granted: number;
  /** This server's count and grant in Redis' last answer; undefined before the first answer. */
  known: { used: number; granted: number } | undefined;
  others: number;
  isTight: boolean;
  quota: number;
  burst: number;
  /** Whether Redis doesn't know a lowered quota or a raised rate yet. Meanwhile the server has no credit. */
  isUnconfirmed: boolean;
  /** A copy of Redis' record, which restores it after a loss. */
  copy: string | undefined;
  copiedMs: number;
}

export class Share {
  readonly account: number;
  readonly #member: Membership;
  #months: MonthShare[] = [];
  /** Requests that the bucket held at `#levelMs`. */
  #level = 0;
  #levelMs: number;
  isActive = false;
  /** The share of the rate until `#untilMs`, in requests per second. */
  #rate = 0;
  #untilMs = 0;
  #counted = 0;
  #refused: number;
  /** Whether requests were refused because of the rate since the last answered report. */
  #isShort = false;
  /** Incoming requests per second. */
  #demand = 0;
  #lookedMs: number;
  #usedMs = never;
  /** When a request was last refused for lack of a lease; `never` after an admitted request. */
  #dryMs = never;
  /** Whether Redis may have a share for this server. */
  #isListed = false;
  #proposesMs = 0;

  /** @param firstMonth the earlier of the two months in which requests are counted */
  constructor(account: number, member: Membership, firstMonth: number, nowMs: number) {
    this.account = account;
    this.#member = member;
    this.#refused = member.counts.refused(account);
    this.#lookedMs = nowMs;
    this.enterMonths(firstMonth);
    // The bucket has filled since this server got its part.
    this.#levelMs = member.joinedMs;
    this.bind(nowMs);
  }

  get #burst(): number {
    return this.#member.counts.burst(this.account);
  }

  #used({ month }: MonthShare): number {
    return this.#member.counts.used(this.account, month);
  }

  #quota({ month }: MonthShare): number {
    return this.#member.counts.quota(this.account, month);
  }

  /** Requests that this server counted in the two months together. */
  get count(): number {
    return this.#months.reduce((sum, each) => sum + this.#used(each), 0);
  }

  /** Requests that are leased and not used, in the two months together. */
  get charged(): number {
    return this.#months.reduce((sum, each) => sum + Math.max(0, each.granted - this.#used(each)), 0);
  }

  /** Whether Redis may not know the account's present ceilings. */
  get isUnconfirmed(): boolean {
    return this.#months.some(({ isUnconfirmed }) => isUnconfirmed);
  }

  /** Whether a Redis that has lost everything needs a report about this account. */
  get needsReport(): boolean {
    return this.#months.some(
      ({ known, base, copy }) => known !== undefined || base > 0 || copy !== undefined,
    );
  }

  enterMonths(firstMonth: number): void {
    const before = this.count;
    this.#months = [firstMonth, firstMonth + 1].map(
      (month) => this.#months.find((known) => known.month === month) ?? this.#newMonth(month),
    );
    this.#counted += this.count - before;
  }

  #newMonth(month: number): MonthShare {
    const used = this.#member.counts.used(this.account, month);
    const none = { known: undefined, copy: undefined, copiedMs: never };
    const open = { granted: used, others: 0, isTight: false, isUnconfirmed: false };
    const ceilings = { quota: 0, burst: this.#burst };
    return { month, name: monthName(month), base: used, ...open, ...ceilings, ...none };
  }

  get #idleMs(): number {
    return Math.max(minIdleMs, (1000 * idleRequests * this.#member.members) / this.#burst);
  }

  #isIdle(nowMs: number): boolean {
    return nowMs - this.#usedMs >= this.#idleMs;
  }

  /** Requests expected within two round trips to Redis and 40 ms, at least 1. */
  get #soon(): number {
    return Math.max(1, Math.ceil(this.#demand * 2 * ((this.#member.tripMs + 20) / 1000)));
  }

  #rateAt(nowMs: number): number {
    const rest = this.#burst * this.#member.partAt(nowMs);
    if (!this.isActive || rest === 0) return rest;
    return nowMs < this.#untilMs ? this.#rate : Math.min(this.#rate, rest);
  }

  /** Refills the bucket, which holds the requests of one second plus one. */
  fill(nowMs: number): void {
    const endMs = Math.min(nowMs, this.#member.lapsesMs);
    const cutMs = this.isActive ? Math.min(Math.max(this.#untilMs, this.#levelMs), endMs) : endMs;
    for (const toMs of [cutMs, endMs]) {
      if (toMs <= this.#levelMs) continue;
      this.#level += (this.#rateAt(toMs - 1e-3) * (toMs - this.#levelMs)) / 1000;
      this.#levelMs = toMs;
    }
    this.#levelMs = nowMs;
    this.#level = Math.min(this.#level, this.#rateAt(nowMs) + 1);
  }

  #leased(each: MonthShare, nowMs: number): number {
    if (each.isTight || each.isUnconfirmed) return each.granted;
    return each.granted + this.#member.credit(this.#burst, this.#quota(each), nowMs);
  }

  /** Refills the bucket, and sets the bounds of the counts by leases, credit and rate. */
  bind(nowMs: number): void {
    this.fill(nowMs);
    const used = this.#months.map((each) => this.#used(each));
    const isStopped = this.#member.partAt(nowMs) === 0;
    const level = isStopped ? 0 : this.#level;
    const rate = Math.max(0, Math.max(0, Math.floor(level)) + this.#counted - used[0] - used[1]);
    for (const [i, each] of this.#months.entries()) {
      const quota = this.#quota(each);
      if (quota < each.quota) each.granted = Math.min(each.granted, used[i]);
      if (quota < each.quota || this.#burst > each.burst) each.isUnconfirmed = true;
      each.quota = quota;
      each.burst = this.#burst;
      const left = quota - Math.max(0, each.others);
      const bound = this.#member.isFree(nowMs) ? left : Math.min(this.#leased(each, nowMs), left);
      const most = this.#member.isLeaving ? used[i] : Math.min(Math.max(used[i], bound), used[i] + rate);
      const isForQuota = isStopped || bound <= used[i] || bound < used[i] + rate;
      this.#member.counts.admitUpTo(this.account, each.month, most, isForQuota ? "quota" : "burst", left);
    }
  }

  /** Applies the requests since the last `look` to demand and bucket, and then sets the bounds. */
  look(nowMs: number): void {
    this.fill(nowMs);
    const count = this.count;
    const refused = this.#member.counts.refused(this.account);
    const admitted = count - this.#counted;
    const came = Math.max(0, admitted) + refused - this.#refused;
    const passedMs = Math.max(1, nowMs - this.#lookedMs);
    const weight = 1 - Math.exp((-2 * passedMs) / this.#idleMs);
    this.#demand += (came / (passedMs / 1000) - this.#demand) * weight;
    this.#level -= admitted;
    if (came > 0) {
      this.#usedMs = nowMs;
      this.#proposesMs = nowMs + restMs;
    }
    if (admitted > 0) this.#dryMs = never;
    if (refused > this.#refused) {
      if (this.#level < 1) this.#isShort = true;
      else this.#dryMs = nowMs;
    }
    this.#counted = count;
    this.#refused = refused;
    this.#lookedMs = nowMs;
    this.bind(nowMs);
  }

  /** Whether a report is needed at once, because requests are refused or the lease is nearly used up. */
  isUrgent(nowMs: number): boolean {
    const { part } = this.#member;
    if (this.#isShort && !this.isActive && part < 1 && this.#member.isRested(nowMs)) return true;
    if (this.#isIdle(nowMs)) return false;
    return this.#months.some((each) => {
      const used = this.#used(each);
      // If the quota is used up, or nearly used up, another immediate report is useless.
      const isOver = each.others + used >= this.#quota(each);
      const isVain = isOver || (each.known !== undefined && each.known.granted <= used && each.isTight);
      return !isVain && this.#leased(each, nowMs) - used < Math.ceil(this.#soon / 2);
    });
  }

  /** Whether neither a report nor a refill is needed before the next request. */
  isOver(nowMs: number): boolean {
    const isFull = this.#level >= this.#rateAt(nowMs) + 0.999;
    return !this.isActive && this.#isIdle(nowMs) && isFull && this.charged === 0;
  }

  /**
   * Lowers the bounds to the requests that are needed, and makes a report.
   * @param reportsAll whether to include unchanged numbers
   * @returns undefined if there is nothing to report
   */
  report(nowMs: number, month: number, reportsAll: boolean): Row | undefined {
    const burst = this.#burst;
    const isIdle = this.#isIdle(nowMs);
    if (isIdle && this.#rate > 0) {
      this.fill(nowMs);
      this.#rate = 0;
    }
    const awaitedMs = Math.min(maxAwaitedMs, comesBackMs * (this.#member.members + 1));
    const awaited = nowMs - this.#dryMs < awaitedMs ? 1 : 0;
    for (const each of this.#months) {
      const kept = isIdle ? awaited : Math.max(awaited, this.#soon);
      if (isIdle || each.isTight) each.granted = Math.min(each.granted, this.#used(each) + kept);
    }
    this.bind(nowMs);
    const row: Row = { id: this.account, burst, months: {} };
    for (const each of this.#months) {
      // Reads the count after lowering the bound, because requests are admitted until then.
      const report = this.#monthRow(each);
      const used = report.used + each.base;
      const demand = Math.max(this.#soon, each.isTight ? 0 : Math.ceil(this.#demand * leaseSeconds));
      if (each.month === month && each.others + used < report.quota) {
        if (!isIdle && this.#leased(each, nowMs) - used < demand / 2) report.wanted = report.used + demand;
        else if (awaited > report.granted - report.used) report.wanted = report.used + 1;
      }
      const known = each.known ?? { used: each.base, granted: each.base };
      const isChanged = known.used !== used || known.granted !== report.granted + each.base;
      if (!isChanged && !each.isUnconfirmed && report.wanted === 0 && !(reportsAll && this.needsReport))
        continue;
      if (reportsAll) report.copy = each.copy;
      report.fresh = nowMs - each.copiedMs >= copyMs;
      row.months[each.name] = report;
    }
    if (this.#needsRate(nowMs, isIdle)) {
      if (isIdle) this.#proposesMs = nowMs + proposeMs;
      row.demand = isIdle ? 0 : Math.min(burst, this.#demand);
      row.share = this.isActive ? this.#rate : 0;
    }
    return row.demand !== undefined || Object.keys(row.months).length > 0 ? row : undefined;
  }

  #needsRate(nowMs: number, isIdle: boolean): boolean {
    if (this.isActive) return !isIdle || this.#isListed || nowMs >= this.#proposesMs;
    const rest = this.#burst * this.#member.part;
    const isShort = this.#isShort || (this.#demand > 0.8 * rest && this.#level < (rest + 1) / 2);
    // After this server gets its part, its bucket is low because it is still filling.
    return isShort && !isIdle && this.#member.part < 1 && this.#member.isRested(nowMs);
  }

  /** Makes the last report, which gives everything back; undefined if there is nothing to report or give back. */
  lastReport(): Row | undefined {
    if (!this.#isListed && !this.#months.some((each) => each.known || this.#used(each) > each.base))
      return undefined;
    // Redis may have lost its records just when all servers leave, so the report has copies of them.
    const months = this.#months.map((each) => [each.name, { ...this.#monthRow(each), copy: each.copy }]);
    const row = { id: this.account, burst: this.#burst, months: Object.fromEntries(months) };
    return this.#isListed ? { ...row, demand: 0, share: 0 } : row;
  }

  #monthRow(each: MonthShare): MonthRow {
    const used = this.#used(each);
    const { base } = each;
    const held = { used: used - base, granted: Math.max(each.granted, used) - base };
    return { quota: this.#quota(each), base, ...held, wanted: 0, fresh: false };
  }

  /** Applies the answer to a report. @param row the report @param sentMs the time at which the report was sent */
  applyAnswer(row: Row, answer: RowAnswer, sentMs: number, nowMs: number): void {
    for (const each of this.#months) {
      const [report, lease] = [row.months[each.name], answer.months[each.name]];
      if (report === undefined || lease === undefined) continue;
      const granted = lease.granted + each.base;
      const isOutdated = report.quota > each.quota || row.burst < each.burst;
      each.known = { used: report.used + each.base, granted };
      // While Redis learns, its record may lack the tight flag and the requests of servers that haven't reported yet.
      if (this.#member.isLearning) continue;
      if (!isOutdated) Object.assign(each, { granted, isUnconfirmed: false });
      each.others = lease.total - each.known.used;
      each.isTight = lease.tight === true;
      if (lease.copy !== undefined) Object.assign(each, { copy: lease.copy, copiedMs: nowMs });
    }
    this.#isShort = false;
    if (row.demand === undefined || answer.share === undefined) return;
    this.fill(nowMs);
    this.isActive = answer.active === true;
    this.#rate = answer.share;
    this.#untilMs = sentMs + shareMs;
    this.#isListed = row.demand > 0 || answer.share > 0;
  }

  /** Applies a flag: the quota of `month` is tight. If `month` is undefined, the account is active. */
  applyFlag(month: string | undefined, nowMs: number): void {
    for (const each of this.#months) if (each.name === month) each.isTight = true;
    if (month === undefined && !this.isActive) {
      this.fill(nowMs);
      this.isActive = true;
      this.#rate = 0;
      this.#untilMs = 0;
      this.#proposesMs = nowMs + proposeMs;
    }
    this.bind(nowMs);
  }

  /**
   * Applies Redis' record of a month: whether the quota is tight, and the other servers' count. The count isn't applied
   * in two cases: the account is in use here and has counted requests since the last answer, or this server has a copy
   * and the record may lack requests, because it is of another life or older than the copy. An older record is that of a
   * backup which Redis has just got.
   * @param copy the record as JSON; null if there is none
   * @param isLive whether the account is in use here
   * @param life the life of Redis that this server knows. A record of another life may lack requests.
   */
  applyRecord(month: number, copy: string | null, isLive: boolean, life: string, nowMs: number): void {
    const each = this.#months.find((known) => known.month === month);
    if (each === undefined) return;
    const none = { burst: 0, quota: 0, left: {}, servers: {} };
    const record = copy === null ? none : JSON.parse(copy);
    const used = this.#used(each);
    // The quota may be tight although the record has no flag. Redis may have lost the flag, credits may have grown
    // since the last report, or gone servers may have used requests without reporting them.
    const highest = {
      burst: Math.max(this.#burst, record.burst),
      quota: Math.max(each.quota, record.quota ?? 0),
    };
    const isScarce = each.quota - heldOf(record) < this.#member.scarce(this.#burst, each.quota, highest);
    if (record.tight !== undefined || isScarce) each.isTight = true;
    if (copy === null) return;
    if (isLive && (each.known?.used ?? each.base) !== used) return;
    if (each.copy !== undefined && (record.life !== life || record.n < JSON.parse(each.copy).n)) return;
    // Redis may not know this server's latest requests. Then the difference is too small, never too large.
    each.others = Math.max(0, record.total - used);
    each.copy = copy;
    this.bind(nowMs);
  }
}
