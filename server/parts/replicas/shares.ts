import { monthName } from "../../shared/months.ts";
import type { SharesScript } from "./redis.ts";
import { type Counts, Membership, type Row, type RowAnswer, Share } from "./share.ts";

/**
 * This server's side of shared quotas and rates: what it reports to Redis, and what it is told. Time, Redis and the
 * counts are arguments. This side lowers its own bounds before it reports that, raises them when it is told to, and
 * applies only the answer to its last call. `shares.lua` has the side of Redis.
 */

/** Milliseconds between calls while something changes. */
const tickMs = 100;
const heartbeatMs = 1000;
/** Minimum pause before an urgent call. */
const minPauseMs = 2;
/** An answer that takes longer counts as lost. */
const maxAnswerMs = 2000;
/**
 * Maximum time without `tick` in which requests are admitted: this process may be stopped, or its machine. A share is used
 * for 2 s after the call, and others may get it after 3.5 s.
 */
const maxUntickedMs = 1500;
/** Extra time that a call may take on its way to Redis, beyond the usual round trip. */
const lateMs = 500;
/** Accounts per call, and per read of records. */
const maxRows = 1000;
/** Interval between reads of other servers' counts. */
const hearMs = 5000;
/** How long this server delivers events after it was told to; shorter than `delivererMs` in the script. */
const deliversForMs = 2000;
const never = Number.NEGATIVE_INFINITY;

interface Answer {
  stale?: true;
  gone?: true;
  life: string;
  isLearning: boolean;
  members: number;
  part: number;
  /** Accounts that are active, `ID`, and months that are tight, `ID@YYYY-MM`. An empty list comes as an object. */
  flags: string[] | object;
  read: number;
  delivers: boolean;
  rows: RowAnswer[];
}

/** Reads Redis' records of accounts in a month, `YYYY-MM`; null where there is none. */
type RecordReader = (accounts: readonly number[], month: string) => Promise<(string | null)[]>;

interface SharesOptions {
  /** The server's name among all; each process has another one. */
  server: string;
  counts: Counts;
  script: SharesScript;
  /** Whether the known rest of the quota may be used while Redis is away. */
  isFreeWithoutRedis: boolean;
  /** Number of servers known to the previous process; 0 if there was none. */
  knew: number;
  /** The version of the directory that this server has applied. */
  taken: () => number;
  /** Milliseconds of a steady clock. */
  clock: () => number;
}

export class Shares {
  readonly #options: SharesOptions;
  readonly #member: Membership;
  readonly #shares = new Map<number, Share>();
  /** Accounts that are in use, or hold something. */
  readonly #live = new Set<Share>();
  /** Accounts that have to be reported to a Redis that lost something. */
  #toSay = new Set<Share>();
  #firstMonth: number;
  /** The incarnation of Redis that answered last; "" to join again. */
  #life = "";
  /** Number of servers known before this server has reported everything to that incarnation. */
  #knew: number;
  /** The number of the last flag that was read. */
  #read = 0;
  #sequence = 0;
  #deliversUntilMs = never;
  #isUnderWay = false;
  #isChecking = true;
  #checkedMs = never;
  /** The latest time at which the next call is wanted. */
  #askedMs: number;
  /** When a call was last considered. */
  #lookedMs = never;
  /** When a call was last sent. */
  #sentMs = never;
  #refilledMs = never;
  #wasAway = false;
  /** Number of accounts whose records `hear` has read in the current pass over all accounts. */
  #heard = 0;
  /** When `hear` reads next. */
  #hearsMs = never;

  /** @param firstMonth the earlier of the two months in which requests are counted */
  constructor(options: SharesOptions, firstMonth: number, nowMs: number) {
    const { counts, knew, isFreeWithoutRedis } = options;
    this.#options = options;
    this.#member = new Membership(counts, knew, isFreeWithoutRedis, nowMs);
    this.#knew = knew;
    this.#firstMonth = firstMonth;
    this.#askedMs = nowMs;
    for (const account of counts.accounts()) this.#shareOf(account);
  }

  /** Whether this server has its part, and its buckets are full. */
  get isReady(): boolean {
    const { hasReadAll, hasHeard } = this.#member;
    return hasReadAll && hasHeard && this.#member.isRested(this.#options.clock());
  }

  /** Servers that this one knows of. */
  get members(): number {
    return this.#member.members;
  }

  /** Milliseconds since the last answered call was sent. */
  syncAgeMs(nowMs: number): number {
    return nowMs - this.#member.contactMs;
  }

  isAway(nowMs: number): boolean {
    return this.#member.isAway(nowMs);
  }

  /** Requests of quotas that are leased to this server and not used. */
  charged(): number {
    let sum = 0;
    for (const { charged } of this.#shares.values()) sum += charged;
    return sum;
  }

  /** Whether it is this server's turn to deliver events. */
  delivers(nowMs: number): boolean {
    return nowMs < this.#deliversUntilMs && !this.#member.isLeaving;
  }

  /** Makes the next call come at once, so that Redis knows what this server has applied, for which commands wait. */
  confirm(): void {
    this.#ask(this.#options.clock());
  }

  /** Makes the next call check whether Redis was restarted. Call it for each new connection. */
  check(): void {
    this.#isChecking = true;
  }

  /** Adds an account, or applies its new ceilings. */
  enter(account: number): void {
    const nowMs = this.#options.clock();
    const share = this.#shareOf(account);
    share.bind(nowMs);
    if (!share.isLowered) return;
    this.#live.add(share);
    this.#ask(nowMs);
  }

  /** Moves to the months in which requests are counted now. */
  enterMonths(firstMonth: number): void {
    if (firstMonth === this.#firstMonth) return;
    this.#firstMonth = firstMonth;
    for (const share of this.#shares.values()) {
      share.enterMonths(firstMonth);
      share.bind(this.#options.clock());
    }
  }

  /**
   * Reads what other servers have counted in a month from Redis' records, if it is due: of all accounts after the
   * start, later of the next accounts. For accounts in use here, the answers to calls contain these counts.
   */
  async hear(nowMs: number, month: number, read: RecordReader): Promise<void> {
    // Until Redis has learned what servers hold, its records may be incomplete.
    if (this.#member.isLearning || nowMs < this.#hearsMs) return;
    this.#hearsMs = nowMs + hearMs;
    do await this.#hearNext(month, read);
    while (!this.#member.hasHeard && !this.#member.isLearning);
  }

  async #hearNext(month: number, read: RecordReader): Promise<void> {
    const all = [...this.#shares.values()];
    const shares = all.slice(this.#heard, this.#heard + maxRows);
    const isLast = this.#heard + maxRows >= all.length;
    this.#heard = isLast ? 0 : this.#heard + maxRows;
    const records = await read(
      shares.map(({ account }) => account),
      monthName(month),
    );
    for (const [i, record] of records.entries())
      if (record) shares[i].hear(month, record, this.#live.has(shares[i]), this.#life, this.#options.clock());
    if (isLast && !this.#member.hasHeard && !this.#member.isLearning) {
      this.#member.hasHeard = true;
      for (const share of this.#shares.values()) share.bind(this.#options.clock());
    }
  }

  /** Notes that requests of an account were admitted or refused. */
  touch(account: number, nowMs: number): void {
    const share = this.#shareOf(account);
    this.#live.add(share);
    share.look(nowMs);
    if (!this.#member.isLearning && !this.#member.isAway(nowMs) && share.isUrgent(nowMs)) this.#ask(nowMs);
  }

  /** When `tick` has something to do next. */
  nextMs(): number {
    const refillMs = this.#live.size > 0 ? this.#refilledMs + tickMs : Number.POSITIVE_INFINITY;
    return Math.min(refillMs, this.#dueMs());
  }

  /** Refills the buckets of accounts in use, and calls the script if it is due. @param month the current month */
  tick(nowMs: number, month: number): void {
    const isAway = this.#member.isAway(nowMs);
    const isChanged = isAway !== this.#wasAway;
    if (isChanged) for (const share of this.#shares.values()) this.#live.add(share);
    this.#wasAway = isAway;
    if (isChanged || nowMs >= this.#refilledMs + tickMs) {
      this.#refilledMs = nowMs;
      for (const share of this.#live) share.look(nowMs);
    }
    // Called after all bounds that change with time were set again.
    this.#options.counts.keepBounds(nowMs + maxUntickedMs);
    if (nowMs >= this.#dueMs() && !this.#member.isLeaving) void this.#report(nowMs, month);
  }

  /** Gives everything back and ends: no request is admitted any more. @param save saves the counts */
  async leave(nowMs: number, save: () => void): Promise<void> {
    this.#member.isLeaving = true;
    for (const share of this.#shares.values()) share.bind(nowMs);
    save();
    const rows = [...this.#shares.values()].flatMap((share) => share.lastReport() ?? []);
    for (let from = 0; from === 0 || from < rows.length; from += maxRows) {
      const said = { rows: rows.slice(from, from + maxRows), hasMore: from + maxRows < rows.length };
      if ((await this.#send(nowMs, { ...said, isLeaving: true })) === undefined) return;
    }
  }

  #ask(nowMs: number): void {
    this.#askedMs = Math.min(this.#askedMs, Math.max(nowMs, this.#lookedMs + minPauseMs));
  }

  #dueMs(): number {
    if (this.#isUnderWay) return this.#lookedMs + maxAnswerMs;
    const isBusy = this.#live.size > 0 || this.#isJoining;
    return Math.min(this.#askedMs, this.#lookedMs + (isBusy ? tickMs : heartbeatMs));
  }

  /** Whether this server has still to report or read something, or to get its part. */
  get #isJoining(): boolean {
    return this.#toSay.size > 0 || this.#member.part === 0 || !this.#member.hasReadAll;
  }

  /** Reports what has to be reported, and applies the answer. */
  async #report(nowMs: number, month: number): Promise<void> {
    const wasAsked = nowMs >= this.#askedMs;
    this.#lookedMs = nowMs;
    this.#askedMs = Number.POSITIVE_INFINITY;
    const due: [Share, Row][] = [];
    for (const share of new Set([...this.#toSay, ...this.#live])) {
      if (due.length > maxRows) break;
      share.look(nowMs);
      const row = share.report(nowMs, month, this.#toSay.has(share));
      if (row !== undefined) due.push([share, row]);
      else {
        this.#toSay.delete(share);
        if (share.isOver(nowMs)) this.#live.delete(share);
      }
    }
    if (due.length === 0 && !wasAsked && !this.#isJoining && nowMs < this.#sentMs + heartbeatMs) return;
    this.#sentMs = nowMs;
    this.#isUnderWay = true;
    const hasMore = due.length > maxRows;
    const said = due.slice(0, maxRows);
    // Moves the reported accounts to the end, so that the others come first in the next call.
    if (hasMore) for (const [share] of said) if (this.#live.delete(share)) this.#live.add(share);
    const answer = await this.#send(nowMs, { rows: said.map(([, row]) => row), hasMore, isLeaving: false });
    if (answer === undefined) return;
    this.#take(answer, said, nowMs);
    if (hasMore) this.#ask(nowMs);
  }

  /** @returns undefined without a valid answer to the last call */
  async #send(
    nowMs: number,
    said: { rows: Row[]; hasMore: boolean; isLeaving: boolean },
  ): Promise<Answer | undefined> {
    const check = this.#isChecking || nowMs >= this.#checkedMs + heartbeatMs;
    if (check) this.#checkedMs = nowMs;
    this.#isChecking = false;
    const { contactMs, tripMs, lapsesMs, part } = this.#member;
    const sequence = ++this.#sequence;
    const call = {
      ...{ op: "tick", server: this.#options.server, seq: sequence, check, ...said },
      // While something has still to be reported again, Redis takes no flag as read by this server.
      ...{
        life: this.#toSay.size > 0 && !said.isLeaving ? "" : this.#life,
        knew: this.#knew,
        read: this.#read,
      },
      part: nowMs >= lapsesMs ? 0 : part,
      // Sent as text, because Lua would round a large number.
      taken: String(this.#options.taken()),
      elapsed: Math.ceil(nowMs - contactMs + tripMs + lateMs),
    };
    const months = [this.#firstMonth, this.#firstMonth + 1].map(monthName);
    const answer = await this.#options.script<Answer>(months, call).catch(() => undefined);
    if (answer === undefined) this.#isChecking = true;
    if (sequence !== this.#sequence) return undefined;
    this.#isUnderWay = false;
    if (answer?.gone) {
      // Redis doesn't count this server among the others any more, so this server joins again.
      this.#life = "";
      Object.assign(this.#member, { part: 0, hasReadAll: false });
      this.#ask(nowMs);
    }
    return answer === undefined || answer.gone || answer.stale !== undefined ? undefined : answer;
  }

  #take(told: Answer, said: readonly [Share, Row][], sentMs: number): void {
    const nowMs = this.#options.clock();
    const member = this.#member;
    const tripMs = nowMs - sentMs;
    member.contactMs = sentMs;
    member.tripMs = Math.max(tripMs, member.tripMs + (tripMs - member.tripMs) / 10);
    member.isLearning = told.isLearning;
    if (told.delivers) this.#deliversUntilMs = sentMs + deliversForMs;
    for (const [i, [share, row]] of said.entries()) {
      this.#toSay.delete(share);
      share.take(row, told.rows[i], sentMs, nowMs);
    }
    if (told.life !== this.#life) {
      this.#life = told.life;
      this.#toSay = new Set([...this.#shares.values()].filter(({ hasSomething }) => hasSomething));
      this.#ask(nowMs);
    } else if (this.#toSay.size === 0) this.#knew = told.members;
    this.#read = told.read;
    const hasReadAll = member.hasReadAll || !told.isLearning;
    const flags = Array.isArray(told.flags) ? told.flags : [];
    for (const flag of flags) {
      const [account, month] = flag.split("@");
      const share = this.#shareOf(Number(account));
      share.flag(month, nowMs);
      if (share.isActive) this.#live.add(share);
    }
    if (flags.length > 0 || told.part < member.part) this.#ask(nowMs);
    member.members = told.members;
    if (told.part === member.part && hasReadAll === member.hasReadAll) {
      for (const [share] of said) share.bind(nowMs);
      return;
    }
    // The buckets of all accounts refill at the new part, and their bounds must be set again.
    for (const share of this.#shares.values()) {
      share.fill(nowMs);
      this.#live.add(share);
    }
    if (member.part === 0) member.joinedMs = nowMs;
    Object.assign(member, { part: told.part, hasReadAll });
    for (const share of this.#live) share.bind(nowMs);
  }

  #shareOf(account: number): Share {
    const known = this.#shares.get(account);
    if (known !== undefined) return known;
    const share = new Share(account, this.#member, this.#firstMonth, this.#options.clock());
    this.#shares.set(account, share);
    if (share.count > 0) this.#live.add(share);
    return share;
  }
}
