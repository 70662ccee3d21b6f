import type { PermitTable } from "../../accounts/permit-table.ts";
import { logEvents, reached, recordEvents } from "../../accounts/quota-events.ts";
import type { Accounts } from "../../accounts/sync.ts";
import type { PartContext } from "../../part.ts";
import { monthName } from "../../shared/months.ts";
import type { Database } from "./connection.ts";
import type { SharedDirectory } from "./directory.ts";

/** Keeps what all servers have counted, and records the events of thresholds. */

/** Each read also covers this many seconds before the previous read, because commits may come late. */
const overlapSeconds = 5;
/**
 * If the database's clock has lost more seconds than this since the last read, it was set back, and all counts are read.
 * Smaller steps are within the overlap.
 */
const maxLostSeconds = 2;
/** Maximum months known of an account. The limit keeps a clock that jumps from filling the memory. */
const maxMonths = 3;

/**
 * SQL that reads the counts that may have changed since the last read. After the clock was set back, it reads all
 * counts.
 */
const changedCounts = `
  WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
  SELECT clock.now::text, hcqs.month_of(clock.now) AS now_month, l.account, l.month, l.used, l.used_before,
    to_char(l.at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, hcqs.month_of(l.at) AS at_month
  FROM clock LEFT JOIN hcqs.limits l ON l.at >= CASE
    WHEN clock.now < $1::timestamptz + make_interval(secs => $2::double precision - ${maxLostSeconds})
      THEN '-infinity'
    ELSE $1::timestamptz - make_interval(secs => ${overlapSeconds}) END`;

/**
 * SQL that stores days of accounts whose row has the next month, because the database's clock was ahead. Until that
 * month, `take` stores no days for these accounts. Each read stores the day of the last request, so some requests before
 * midnight may count for the next day.
 */
const storeDays = `
  INSERT INTO hcqs.days AS d SELECT account, (at AT TIME ZONE 'UTC')::date, used_before FROM hcqs.limits
    WHERE account = ANY ($1::bigint[]) AND month = hcqs.month_of(at) + 1 ORDER BY account
  ON CONFLICT ON CONSTRAINT days_pkey DO UPDATE SET used = excluded.used WHERE d.used < excluded.used`;

interface ChangedCount {
  now: string;
  now_month: number;
  /** Null if no count has changed. Then there is only this row. */
  account: string | null;
  /** The newest month counted. It may be in the future if the clock was ahead. */
  month: number;
  used: number;
  used_before: number;
  /** The day and the month of the last call for permits. */
  day: string;
  at_month: number;
}

interface Known {
  /** Permits granted to all servers. */
  used: number;
  /** The account's quota when `used` was read; 0 if not known. */
  quota: number;
  /** The highest threshold of `quota` that was entered in `#crossed`; 0 for none. */
  recorded: number;
}

/** The counts before and after requests that crossed thresholds of a quota. A crossing is replaced, never changed. */
interface Crossing {
  id: number;
  month: number;
  quota: number;
  before: number;
  used: number;
}

/**
 * What all servers have counted, as far as this server knows, and the crossed thresholds whose events aren't recorded
 * yet.
 */
export class Counts {
  readonly #accounts: Pick<Accounts, "quotaOf" | "slotOf" | "putDay">;
  readonly #context: Pick<PartContext, "store" | "log">;
  readonly #directory: Pick<SharedDirectory, "change">;
  readonly #table: PermitTable;
  readonly #known = new Map<number, Map<number, Known>>();
  /** Crossings whose events aren't recorded yet, by account, month and quota. */
  readonly #crossed = new Map<string, Crossing>();
  /** By account, the UTC day of its last call for permits when its days were last read. */
  readonly #daysReadOn = new Map<string, string>();
  /** The time of the last read: `#readTo` by the database's clock, `#readMs` by the steady clock. */
  #readTo = "-infinity";
  #readMs = 0;

  constructor(
    accounts: Pick<Accounts, "quotaOf" | "slotOf" | "putDay">,
    context: Pick<PartContext, "store" | "log">,
    directory: Pick<SharedDirectory, "change">,
    table: PermitTable,
  ) {
    this.#accounts = accounts;
    this.#context = context;
    this.#directory = directory;
    this.#table = table;
    // This server's clock may be ahead or behind.
    for (const month of [table.month - 1, table.month, table.month + 1])
      for (const [account, used] of context.store.usage.ofMonth(monthName(month)))
        this.#put(account, month, { used, quota: 0, recorded: 0 });
  }

  #put(account: number, month: number, known: Known): void {
    const months = this.#known.get(account) ?? new Map<number, Known>();
    this.#known.set(account, months.set(month, known));
    if (months.size <= maxMonths) return;
    const distance = (each: number) => Math.abs(each - this.#table.month);
    const [farthest] = [...months.keys()].sort((a, b) => distance(b) - distance(a));
    months.delete(farthest);
  }

  /** Returns the permits granted in a month. If they aren't known: 0 if an earlier month is known, else undefined. */
  of(account: number, month: number): number | undefined {
    const months = this.#known.get(account);
    const known = months?.get(month);
    if (known !== undefined) return known.used;
    // If an earlier month is known, this month had no requests when the counts were read.
    const isLater = [...(months?.keys() ?? [])].some((each) => each < month);
    return isLater ? 0 : undefined;
  }

  /** Enters the permits that all servers together got in a month. @param quota the quota at that time */
  note(id: number, month: number, used: number, quota: number): void {
    const known = this.#known.get(id)?.get(month);
    const recorded = known?.quota === quota ? known.recorded : 0;
    const highest = reached(used, quota);
    if (highest > recorded) {
      const key = `${id} ${month} ${quota}`;
      const before = this.#crossed.get(key)?.before ?? known?.used ?? 0;
      this.#crossed.set(key, { id, month, quota, before, used });
    }
    this.#put(id, month, { used, quota, recorded: Math.max(recorded, highest) });
  }

  /** Stores the counts, so that a restart knows them if the database is away then. */
  save(): void {
    const { store } = this.#context;
    store.atomically(() => {
      for (const [account, months] of this.#known)
        for (const [month, { used }] of months) store.usage.save(monthName(month), [[account, used]]);
    });
  }

  /** Records the events of crossed thresholds. An event that another server has recorded isn't stored again. */
  async record(): Promise<void> {
    if (this.#crossed.size === 0) return;
    const crossed = [...this.#crossed];
    const now = new Date();
    const { store, log } = this.#context;
    const events = await this.#directory.change(() =>
      crossed.flatMap(([, { id, month, quota, before, used }]) => {
        const account = store.accounts.byId(id);
        if (account === undefined) return [];
        // The account may have another quota by now.
        return recordEvents(store, { ...account, quota }, { month: monthName(month), before, used }, now);
      }),
    );
    // A further threshold may have been crossed meanwhile.
    for (const [key, one] of crossed) if (this.#crossed.get(key) === one) this.#crossed.delete(key);
    logEvents(log, events);
  }

  /**
   * Reads the counts that have changed since the last read.
   * @param steadyMs a steady clock, by which a step of the database's clock is noticed
   */
  async read(database: Pick<Database, "query">, steadyMs: number): Promise<void> {
    const passedSeconds = (steadyMs - this.#readMs) / 1000;
    const found = await database.query<ChangedCount>(changedCounts, [this.#readTo, passedSeconds]);
    const [{ now, now_month }] = found;
    const rows = found.flatMap(({ account, ...row }) => (account === null ? [] : { account, ...row }));
    const early = rows.filter(({ month, at_month }) => month === at_month + 1);
    if (early.length > 0) await database.query(storeDays, [early.map(({ account }) => account)]);
    // An account's days change with its first call of a day. The days since the previous call may be new.
    const changed = rows.filter(({ account, day }) => this.#daysReadOn.get(account) !== day);
    const days = await database.query<{ account: string; day: string; used: number }>(
      `SELECT account, to_char(day, 'YYYY-MM-DD') AS day, used FROM hcqs.days
        JOIN unnest($1::bigint[], $2::date[]) AS a (account, since) USING (account) WHERE day >= since`,
      [changed.map(({ account }) => account), changed.map((row) => this.#daysSince(row))],
    );
    const { store } = this.#context;
    store.atomically(() => {
      for (const { account: id, day, used } of days) {
        const slot = this.#accounts.slotOf(Number(id));
        if (slot === undefined) continue;
        store.usage.saveDay(day, [[Number(id), used]]);
        this.#accounts.putDay(slot, day, used);
      }
      for (const row of rows) this.#take(row, now_month);
    });
    for (const { account, day } of changed)
      if (this.#accounts.slotOf(Number(account)) !== undefined) this.#daysReadOn.set(account, day);
    this.#readTo = now;
    this.#readMs = steadyMs;
  }

  /** Returns the first day that may have changed; `-infinity` if the account's days weren't read before. */
  #daysSince({ account, day }: { account: string; day: string }): string {
    const before = this.#daysReadOn.get(account);
    if (before === undefined) return "-infinity";
    return before < day ? before : day;
  }

  #take({ account, month, used, used_before }: ChangedCount, nowMonth: number): void {
    const id = Number(account);
    const slot = this.#accounts.slotOf(id);
    const quota = this.#accounts.quotaOf(id);
    if (slot === undefined || quota === undefined) return;
    const { store } = this.#context;
    store.usage.save(monthName(month), [[id, used]]);
    if (used_before > 0) store.usage.save(monthName(month - 1), [[id, used_before]]);
    this.note(id, month, used, quota);
    // If the clock was ahead, the row's month is the next month, and this month's requests are in `used_before`.
    if (month === nowMonth + 1) this.note(id, nowMonth, used_before, quota);
    const usedNow = month === nowMonth ? used : month === nowMonth + 1 ? used_before : undefined;
    if (usedNow === undefined || this.#table.month !== nowMonth) return;
    if (this.#table.monthOf(slot) !== nowMonth && this.#table.held(slot) === 0)
      this.#table.enter(slot, nowMonth);
    if (this.#table.monthOf(slot) === nowMonth) this.#table.count(slot, usedNow);
  }
}
