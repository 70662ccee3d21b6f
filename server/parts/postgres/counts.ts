import type { PermitTable } from "../../accounts/permit-table.ts";
import { logEvents, reached, recordEvents } from "../../accounts/quota-events.ts";
import type { Accounts } from "../../accounts/sync.ts";
import type { PartContext } from "../../part.ts";
import { monthName } from "../../shared/months.ts";
import type { Database } from "./connection.ts";
import type { SharedDirectory } from "./directory.ts";

/** Keeps what all servers have counted, and records the events of thresholds. */

/** Seconds before the last row from which the use of accounts is read again, because commits may come late. */
const overlapSeconds = 5;

/** What all servers count, as far as this server knows, and the events of thresholds that were crossed. */
export class Counts {
  readonly #accounts: Pick<Accounts, "of" | "slotOf" | "putDay">;
  readonly #context: Pick<PartContext, "store" | "log">;
  readonly #directory: Pick<SharedDirectory, "change">;
  readonly #table: PermitTable;
  /** The permits granted in a month, by account, and the highest threshold whose event is recorded for a quota. */
  readonly #known = new Map<number, { month: number; used: number; quota: number; recorded: number }>();
  /** Thresholds that were crossed, by account and month: the counts before and after. Replaced, never changed. */
  readonly #crossed = new Map<string, { id: number; month: number; before: number; used: number }>();
  /** The UTC day of the last call before an account's days were read, by account. */
  readonly #daysReadOn = new Map<string, string>();
  #readTo = "-infinity";

  constructor(
    accounts: Pick<Accounts, "of" | "slotOf" | "putDay">,
    context: Pick<PartContext, "store" | "log">,
    directory: Pick<SharedDirectory, "change">,
    table: PermitTable,
  ) {
    this.#accounts = accounts;
    this.#context = context;
    this.#directory = directory;
    this.#table = table;
    for (const [account, used] of context.store.usage.ofMonth(monthName(table.month)))
      this.#known.set(account, { month: table.month, used, quota: 0, recorded: 0 });
  }

  /** Returns the permits granted in a month; undefined if the number was never read. */
  of(account: number, month: number): number | undefined {
    const known = this.#known.get(account);
    if (known === undefined || known.month > month) return undefined;
    return known.month === month ? known.used : 0;
  }

  /** Notes an account's permits granted in a month to all servers. */
  note(slot: number, month: number, used: number): void {
    const { id, quota } = this.#accounts.of(slot);
    const known = this.#known.get(id);
    const isSame = known?.month === month;
    const recorded = isSame && known.quota === quota ? known.recorded : 0;
    const highest = reached(used, quota);
    if (highest > recorded) {
      const key = `${id} ${month}`;
      const before = this.#crossed.get(key)?.before ?? (isSame ? known.used : 0);
      this.#crossed.set(key, { id, month, before, used });
    }
    this.#known.set(id, { month, used, quota, recorded: Math.max(recorded, highest) });
  }

  /** Stores the counts, so that a restart knows them if the database is away then. */
  save(): void {
    const { store } = this.#context;
    store.atomically(() => {
      for (const [account, { month, used }] of this.#known)
        store.usage.save(monthName(month), [[account, used]]);
    });
  }

  /** Records the events of crossed thresholds. The database keeps each event once. */
  async record(): Promise<void> {
    if (this.#crossed.size === 0) return;
    const crossed = [...this.#crossed];
    const now = new Date();
    const { store, log } = this.#context;
    const events = await this.#directory.change(() =>
      crossed.flatMap(([, { id, month, before, used }]) => {
        const account = store.accounts.byId(id);
        if (account === undefined) return [];
        return recordEvents(store, account, { month: monthName(month), before, used }, now);
      }),
    );
    // A further threshold may have been crossed meanwhile.
    for (const [key, one] of crossed) if (this.#crossed.get(key) === one) this.#crossed.delete(key);
    logEvents(log, events);
  }

  /** Reads the counts that have changed since the last read, for /usage and lists. */
  async read(database: Database): Promise<void> {
    const rows = await database.query<{
      account: string;
      month: number;
      used: number;
      used_before: number;
      at: string;
      today: string;
    }>(
      `SELECT account, month, used, used_before, at::text, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS today
        FROM hcqs.limits WHERE at >= $1::timestamptz - make_interval(secs => ${overlapSeconds}) ORDER BY at`,
      [this.#readTo],
    );
    // An account's days change with its first call of a day: the days from the last call before are new.
    const changed = rows.filter(({ account, today }) => this.#daysReadOn.get(account) !== today);
    const days = await database.query<{ account: string; day: string; used: number }>(
      `SELECT account, to_char(day, 'YYYY-MM-DD') AS day, used FROM hcqs.days
        JOIN unnest($1::bigint[], $2::date[]) AS a (account, since) USING (account) WHERE day >= since`,
      [
        changed.map(({ account }) => account),
        changed.map(({ account }) => this.#daysReadOn.get(account) ?? "-infinity"),
      ],
    );
    const { store } = this.#context;
    store.atomically(() => {
      for (const { account: id, day, used } of days) {
        const slot = this.#accounts.slotOf(Number(id));
        if (slot === undefined) continue;
        store.usage.saveDay(day, [[Number(id), used]]);
        this.#accounts.putDay(slot, day, used);
      }
      for (const { account: id, month, used, used_before } of rows) {
        const account = Number(id);
        const slot = this.#accounts.slotOf(account);
        if (slot === undefined) continue;
        store.usage.save(monthName(month), [[account, used]]);
        if (used_before > 0) store.usage.save(monthName(month - 1), [[account, used_before]]);
        this.note(slot, month, used);
        if (month !== this.#table.month) continue;
        if (this.#table.monthOf(slot) !== month && this.#table.held(slot) === 0)
          this.#table.enter(slot, month);
        if (this.#table.monthOf(slot) === month) this.#table.count(slot, used);
      }
    });
    for (const { account, today } of changed)
      if (this.#accounts.slotOf(Number(account)) !== undefined) this.#daysReadOn.set(account, today);
    this.#readTo = rows.at(-1)?.at ?? this.#readTo;
  }
}
