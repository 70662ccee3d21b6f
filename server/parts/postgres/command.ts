import { setTimeout as delay } from "node:timers/promises";
import { DatabaseError } from "pg";
import { DataError, reasonOf } from "../../../engine/query.ts";
import { permitLifeMs } from "../../accounts/permit-table.ts";
import type { CommandOutput, SharedCommand } from "../../part.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import { Store } from "../../store/store.ts";
import { Database } from "./connection.ts";
import { type ImportedUse, SharedDirectory } from "./directory.ts";

/** Runs an operator's command on the accounts in PostgreSQL, from any machine. */

const accountsPerRead = 500;

/**
 * Runs a command on a copy of the accounts in memory, and makes its changes in the database. Waits until the changes hold
 * on every server that reaches the database.
 * @throws Error when the database can't be used, or the command fails
 */
export async function runShared(urls: readonly string[], command: SharedCommand): Promise<CommandOutput> {
  const store = Store.inMemory();
  const database = new Database(urls, () => true);
  /** Says which parts of the work are done; undefined before the first part is done. */
  let state: string | undefined;
  try {
    const directory = new SharedDirectory(store, database, (work) => work());
    await directory.read();
    const wasNew = directory.version === 0;
    await readUse(store, database, command.readsDays);
    const before = directory.version;
    let work = command.run;
    let said: CommandOutput;
    for (;;) {
      const run = work;
      const change = () => {
        const output = run(store);
        return { output, use: useOf(store, output, command.now) };
      };
      said = (await directory.change(change, ({ use }) => use)).output;
      if (said.rest === undefined) break;
      state = said.rest.state;
      work = said.rest.run;
    }
    if (directory.version === before) return said;
    // After this wait, all permits that servers got before the change have expired.
    await delay(permitLifeMs);
    return wasNew ? { ...said, note: `${said.note ?? ""}the database had no accounts before\n` } : said;
  } catch (error) {
    const fault = inWords(error);
    throw state === undefined ? fault : new Error(`${reasonOf(fault)}; ${state}`);
  } finally {
    database.close();
    store.close();
  }
}

function inWords(error: unknown): unknown {
  if (error instanceof StateUnavailable)
    return new DataError(
      "DATABASE_URL",
      `a database that can't be used (${reasonOf(error)})`,
      error.expected,
    );
  if (!(error instanceof DatabaseError)) return error;
  const isLate = error.code === "57014";
  return new DataError(
    "DATABASE_URL",
    isLate ? "no answer within 1 s" : `a database that refuses (${reasonOf(error)})`,
    isLate ? "a database whose schema hcqs isn't locked" : "a user and a schema hcqs that allow changes",
  );
}

/** @param withDays whether to read the use of each day, too, for exports */
async function readUse(store: Store, database: Database, withDays: boolean): Promise<void> {
  const limits = await database.query<{ account: string; month: number; used: number; used_before: number }>(
    "SELECT account, month, used, used_before FROM hcqs.limits",
  );
  const days: { account: string; day: string; used: number }[] = [];
  for (let i = 0; withDays && i < limits.length; i += accountsPerRead)
    days.push(
      ...(await database.query<(typeof days)[number]>(
        "SELECT account, to_char(day, 'YYYY-MM-DD') AS day, used FROM hcqs.days WHERE account = ANY ($1)",
        [limits.slice(i, i + accountsPerRead).map(({ account }) => account)],
      )),
    );
  store.atomically(() => {
    for (const { account, month, used, used_before } of limits) {
      if (used_before > 0) store.usage.save(monthName(month - 1), [[Number(account), used_before]]);
      if (used > 0) store.usage.save(monthName(month), [[Number(account), used]]);
    }
    for (const { account, day, used } of days) store.usage.saveDay(day, [[Number(account), used]]);
  });
}

/**
 * Returns the use of imported accounts; undefined if no account was imported. The use has all known days, but only an
 * account's newest known month and the month before it, because the database counts two months. Months after the next
 * month are left out, because they were counted by a clock that was ahead.
 */
function useOf(store: Store, { entered = [] }: CommandOutput, now: Date): ImportedUse | undefined {
  if (entered.length === 0) return undefined;
  const last = monthOf(now.getTime()) + 1;
  return {
    months: entered.flatMap((account) => {
      const [newest, ...others] = store.usage.months(account).filter(({ month }) => numberOf(month) <= last);
      if (newest === undefined) return [];
      const month = numberOf(newest.month);
      const before = others.find((each) => numberOf(each.month) === month - 1);
      return [{ account, month, used: newest.used, used_before: before?.used ?? 0 }];
    }),
    days: entered.flatMap((account) => store.usage.days(account).map((each) => ({ account, ...each }))),
  };
}

/** @param month `YYYY-MM` */
const numberOf = (month: string) => 12 * Number(month.slice(0, 4)) + Number(month.slice(5)) - 1;
