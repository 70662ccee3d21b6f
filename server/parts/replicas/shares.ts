import { monthName } from "../../shared/months.ts";
import type { SharesScript } from "./redis.ts";
import { type Counts, Membership, type Row, type RowAnswer, Share } from "./share.ts";

/**
 * This server's side of shared quotas and rates: what it reports to Redis, and how it applies the answers. A server
 * lowers its bounds before it reports lower numbers, raises its bounds only after an answer allows it, and applies only
 * the answer to its last call. `shares.lua` has the side of Redis.
 */

/** Milliseconds between calls while accounts are in use, or this server joins. */
const tickMs = 100;
const heartbeatMs = 1000;
/** Minimum milliseconds between checks whether a call is due, even if a call is urgent. */
const minPauseMs = 2;
/** Milliseconds to wait for an answer. A later answer counts as lost. */
const maxAnswerMs = 2000;
/**
 * Milliseconds for which the bounds stay in force after a `tick`. A suspended process can't lower its bounds when its
 * share ends, 2 s after the call for the share. Redis may give the share to other servers 3.5 s after that call, so the
 * bounds end within 1.5 s.
 */
const maxUntickedMs = 1500;
/** Milliseconds that a call may need to reach Redis, in addition to the usual round trip. */
const lateMs = 500;
/** Maximum accounts in a call. A call of this size blocks Redis for some 20 ms. */
const maxRows = 250;
const maxRecords = 1000;
const recordsMs = 5000;
/** Milliseconds for which an answer lets this server deliver events; shorter than `delivererMs` in the script. */
const deliversForMs = 2000;
const never = Number.NEGATIVE_INFINITY;

interface Answer {
  stale?: true;
  gone?: true;
  life: string;
  isLearning: boolean;
  members: number;
  /** `members`, but for a minute after a loss at least the number of servers before it. */
  knew: number;
  /** Servers that are gone, and the sum of their parts. */
  lost: { count: number; part: number };
  part: number;
  /** New flags: `ID` of an active account, `ID@YYYY-MM` of a tight month. An empty list comes as an object. */
  flags: string[] | object;
  read: number;
  delivers: boolean;
  rows: RowAnswer[];
}

/** Reads Redis' records of accounts in a month, `YYYY-MM`; null for an account without a record. */
type RecordReader = (accounts: readonly number[], month: string) => Promise<(string | null)[]>;

interface SharesOptions {
  /** The server's id and the number of its start. */
  server: string;
  counts: Counts;
  script: SharesScript;
  /** Whether this server may use the known rest of the quota while Redis is down. */
  isFreeWithoutRedis: boolean;
  /** Number of servers that the previous process knew; 0 if there was none. */
  knew: number;
  /** The applied version of the directory. */
  taken: () => number;
  /** Milliseconds of a steady clock. */
  clock: () => number;
}

export class Shares {
  readonly #options: SharesOptions;
  readonly #member: Membership;
  readonly #shares = new Map<number, Share>();
  /** Accounts that are in use, or have a lease or a share. */
  readonly #live = new Set<Share>();
  /** Accounts to report again after Redis lost data. */
  #toReport = new Set<Share>();
  #firstMonth: number;
  /** The life of Redis (a period without losses) as of the last answer; "" to join again. */
  #life = "";
  /** Number of servers to reserve parts for if Redis loses its data; fixed while accounts have to be reported. */
  #knew: number;
  /** The number of the last flag that was read. */
  #read = 0;
  /** Accounts that the current report still lacks; the last element is next. A report may take several calls. */
  #round: Share[] = [];
  #roundRead = 0;
  #sequence = 0;
  #answered = 0;
  #deliversUntilMs = never;
  #isUnderWay = false;
  #isChecking = true;
  #checkedMs = never;
  /** The time by which a call was requested; infinity without a request. */
  #askedMs: number;
  #lookedMs = never;
  #sentMs = never;
  #refilledMs = never;
  #wasAway = false;
  /** Accounts read in the current pass over all records. */
  #recordsRead = 0;
  #recordsDueMs = never;

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

  /** Whether this server has its part and full buckets, and has read all flags and records. */
  get isReady(): boolean {
    const { hasReadFlags, hasReadRecords } = this.#member;
    return hasReadFlags && hasReadRecords && this.#member.isRested(this.#options.clock());
  }

  /** Number of servers that share the ceilings, including this server. */
  get members(): number {
    return this.#member.members;
  }

  /** Number of servers to reserve parts for if Redis loses its data; at least 1 if this server has its part. */
  get knew(): number {
    return this.#knew;
  }

  /** Milliseconds since this server sent the last call that Redis answered. */
  syncAgeMs(nowMs: number): number {
    return nowMs - this.#member.contactMs;
  }

  isAway(nowMs: number): boolean {
    return this.#member.isAway(nowMs);
  }

  /** Requests of all accounts that are leased to this server and not used. */
  charged(): number {
    let sum = 0;
    for (const { charged } of this.#shares.values()) sum += charged;
    return sum;
  }

  /** Whether it is this server's turn to deliver events. */
  delivers(nowMs: number): boolean {
    return nowMs < this.#deliversUntilMs && !this.#member.isLeaving;
  }

  /** Makes the next call immediate. The call reports the applied version of the directory, for which commands wait. */
  confirm(): void {
    this.#ask(this.#options.clock());
  }

  /** Makes the next call check whether Redis was restarted. Call it for each new connection. */
  check(): void {
    this.#isChecking = true;
  }

  /** Adds an account, or applies an account's new ceilings. */
  enter(account: number): void {
    const nowMs = this.#options.clock();
    const share = this.#shareOf(account);
    share.bind(nowMs);
    if (!share.isUnconfirmed) return;
    this.#live.add(share);
    this.#ask(nowMs);
  }

  /** Moves to the months in which requests are counted now. @param firstMonth the earlier of the two months */
  enterMonths(firstMonth: number): void {
    if (firstMonth === this.#firstMonth) return;
    this.#firstMonth = firstMonth;
    for (const share of this.#shares.values()) {
      share.enterMonths(firstMonth);
      share.bind(this.#options.clock());
    }
  }

  /**
   * Reads other servers' counts in a month from Redis' records, if a read is due: at first of all accounts, later of
   * the next `maxRecords`. For accounts in use here, the answers to calls have the same counts.
   */
  async readRecords(nowMs: number, month: number, read: RecordReader): Promise<void> {
    // After a loss of Redis' data, records may be incomplete until all servers have reported their leases.
    if (this.#member.isLearning || nowMs < this.#recordsDueMs) return;
    this.#recordsDueMs = Number.POSITIVE_INFINITY;
    try {
      do await this.#readNextRecords(month, read);
      while (!this.#member.hasReadRecords && !this.#member.isLearning);
    } finally {
      this.#recordsDueMs = this.#member.hasReadRecords ? nowMs + recordsMs : nowMs;
    }
  }

  async #readNextRecords(month: number, read: RecordReader): Promise<void> {
    const all = [...this.#shares.values()];
    const shares = all.slice(this.#recordsRead, this.#recordsRead + maxRecords);
    const isLast = this.#recordsRead + maxRecords >= all.length;
    const records = await read(
      shares.map(({ account }) => account),
      monthName(month),
    );
    for (const [i, record] of records.entries())
      shares[i].applyRecord(month, record, this.#live.has(shares[i]), this.#life, this.#options.clock());
    this.#recordsRead = isLast ? 0 : this.#recordsRead + maxRecords;
    if (isLast && !this.#member.hasReadRecords && !this.#member.isLearning) {
      this.#member.hasReadRecords = true;
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

  /** Returns the time of the steady clock at which `tick` has something to do next. */
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
    this.#options.counts.keepBounds(nowMs + maxUntickedMs);
    if (nowMs >= this.#dueMs() && !this.#member.isLeaving) void this.#report(nowMs, month);
  }

  /**
   * Stops admitting requests, and gives back leases and shares. Returns whether Redis has answered all calls.
   * @param save saves the counts
   */
  async leave(nowMs: number, save: () => void): Promise<boolean> {
    this.#member.isLeaving = true;
    for (const share of this.#shares.values()) share.bind(nowMs);
    save();
    const rows = [...this.#shares.values()].flatMap((share) => share.lastReport() ?? []);
    for (let from = 0; from === 0 || from < rows.length; from += maxRows) {
      const content = { rows: rows.slice(from, from + maxRows), hasMore: from + maxRows < rows.length };
      if ((await this.#send(nowMs, { ...content, isLeaving: true })) === undefined) return false;
    }
    return true;
  }

  #ask(nowMs: number): void {
    this.#askedMs = Math.min(this.#askedMs, Math.max(nowMs, this.#lookedMs + minPauseMs));
  }

  #dueMs(): number {
    if (this.#isUnderWay) return this.#lookedMs + maxAnswerMs;
    const isBusy = this.#live.size > 0 || this.#isJoining;
    return Math.min(this.#askedMs, this.#lookedMs + (isBusy ? tickMs : heartbeatMs));
  }

  get #isJoining(): boolean {
    return this.#toReport.size > 0 || this.#member.part === 0 || !this.#member.hasReadFlags;
  }

  async #report(nowMs: number, month: number): Promise<void> {
    const wasAsked = nowMs >= this.#askedMs;
    this.#lookedMs = nowMs;
    this.#askedMs = Number.POSITIVE_INFINITY;
    if (this.#round.length === 0) {
      this.#round = [...new Set([...this.#toReport, ...this.#live])].reverse();
      this.#roundRead = this.#read;
    }
    const reported: [Share, Row][] = [];
    for (let share = this.#round.pop(); share !== undefined; share = this.#round.pop()) {
      share.look(nowMs);
      const row = share.report(nowMs, month, this.#toReport.has(share));
      if (row !== undefined) reported.push([share, row]);
      else {
        this.#toReport.delete(share);
        if (share.isOver(nowMs)) this.#live.delete(share);
      }
      if (reported.length === maxRows) break;
    }
    if (reported.length === 0 && !wasAsked && !this.#isJoining && nowMs < this.#sentMs + heartbeatMs) return;
    this.#sentMs = nowMs;
    this.#isUnderWay = true;
    // The report continues only after an answer. Without an answer it begins again.
    const others = this.#round;
    this.#round = [];
    const rows = reported.map(([, row]) => row);
    const answer = await this.#send(nowMs, { rows, hasMore: others.length > 0, isLeaving: false });
    if (answer === undefined) return;
    this.#round = others;
    this.#applyAnswer(answer, reported, nowMs);
    if (others.length > 0) this.#ask(nowMs);
  }

  /** @returns undefined if there is no valid answer, or a later call was sent in the meantime */
  async #send(
    nowMs: number,
    content: { rows: Row[]; hasMore: boolean; isLeaving: boolean },
  ): Promise<Answer | undefined> {
    const check = this.#isChecking || nowMs >= this.#checkedMs + heartbeatMs;
    if (check) this.#checkedMs = nowMs;
    this.#isChecking = false;
    const { contactMs, tripMs, lapsesMs, part } = this.#member;
    const { server } = this.#options;
    const sequence = ++this.#sequence;
    const call = {
      ...{ op: "tick", server, seq: sequence, answered: this.#answered, check, ...content },
      // While accounts have to be reported again, an empty life makes Redis count no flag as read.
      ...{
        life: this.#toReport.size > 0 && !content.isLeaving ? "" : this.#life,
        knew: this.#knew,
        read: this.#roundRead,
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
      // Redis counts this server as gone, so it joins again.
      this.#life = "";
      Object.assign(this.#member, { part: 0, hasReadFlags: false });
      this.#ask(nowMs);
    }
    return answer === undefined || answer.gone || answer.stale !== undefined ? undefined : answer;
  }

  #applyAnswer(answer: Answer, reported: readonly [Share, Row][], sentMs: number): void {
    const nowMs = this.#options.clock();
    const member = this.#member;
    this.#answered = this.#sequence;
    const tripMs = nowMs - sentMs;
    member.contactMs = sentMs;
    member.tripMs = Math.max(tripMs, member.tripMs + (tripMs - member.tripMs) / 10);
    member.isLearning = answer.isLearning;
    if (answer.delivers) this.#deliversUntilMs = sentMs + deliversForMs;
    for (const [i, [share, row]] of reported.entries()) {
      this.#toReport.delete(share);
      share.applyAnswer(row, answer.rows[i], sentMs, nowMs);
    }
    if (answer.life !== this.#life) {
      this.#life = answer.life;
      this.#toReport = new Set([...this.#shares.values()].filter(({ needsReport }) => needsReport));
      this.#ask(nowMs);
    } else if (this.#toReport.size === 0) this.#knew = answer.knew;
    this.#read = answer.read;
    const hasReadFlags = member.hasReadFlags || !answer.isLearning;
    const flags = Array.isArray(answer.flags) ? answer.flags : [];
    for (const flag of flags) {
      const [account, month] = flag.split("@");
      const share = this.#shareOf(Number(account));
      share.applyFlag(month, nowMs);
      if (share.isActive) this.#live.add(share);
    }
    if (flags.length > 0 || answer.part < member.part) this.#ask(nowMs);
    Object.assign(member, { members: answer.members, lost: answer.lost });
    if (answer.part === member.part && hasReadFlags === member.hasReadFlags) {
      for (const [share] of reported) share.bind(nowMs);
      return;
    }
    // All buckets have filled at the old part until now, so all bounds are set again.
    for (const share of this.#shares.values()) {
      share.fill(nowMs);
      this.#live.add(share);
    }
    if (member.part === 0) member.joinedMs = nowMs;
    Object.assign(member, { part: answer.part, hasReadFlags });
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
