import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { DatabaseError } from "pg";
import { reasonOf } from "../../../engine/query.ts";
import { PermitTable, permitLifeMs } from "../../accounts/permit-table.ts";
import type { PartContext, SharedState } from "../../part.ts";
import { channels, maxTryMs } from "../../shared/channels.ts";
import type { Metrics } from "../../shared/metrics.ts";
import { monthOf } from "../../shared/months.ts";
import { steadyClock } from "../../shared/runtime.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import { Alone } from "./alone.ts";
import { Database } from "./connection.ts";
import { Contact } from "./contact.ts";
import { Counts } from "./counts.ts";
import { SharedDirectory } from "./directory.ts";
import { type Asked, type PermitMeter, Permits, type Taken, tickMs } from "./permits.ts";
import { takeTurn } from "./turns.ts";

/**
 * Shares accounts and ceilings with other servers through PostgreSQL. While PostgreSQL is away, this server admits requests
 * alone until `graceMs` are over.
 */

/** Milliseconds between reads of accounts and keys. A call for permits may bring changes sooner. */
const directoryMs = 250;
const usageMs = 10_000;
const recordMs = 1000;
const saveMs = 1000;
const lookMs = 100;
export const maxStartMs = 5000;
const startStepMs = 100;
/** Seconds of a turn to deliver events. A try begins only while `maxTryMs` of the turn are left. */
const turnSeconds = 20;
const turnMs = 2000;
const maxLeaveMs = 2000;
/** Upper bounds of the wait histogram's buckets, in seconds. */
const waitBounds = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4];

interface Options {
  urls: readonly string[];
  graceMs: number;
}

const takeSql = "SELECT * FROM hcqs.take($1, $2, $3, $4, $5)";

interface TakeRow {
  account: string;
  granted: number;
  used: number;
  wait_ms: number;
  version: string | null;
  month: number;
}

function takeValues(asked: readonly Asked[], id: string | null): unknown[] {
  return [
    asked.map(({ account }) => account),
    asked.map(({ want }) => want),
    asked.map(({ back }) => back),
    asked.map(({ backMonth }) => backMonth),
    id,
  ];
}

/**
 * Reads the accounts, and waits for the database for at most about `maxStartMs`. No permits are granted before `begin` is
 * called.
 * @throws DataError when an operator has to change something
 */
export async function shareState({ urls, graceMs }: Options, context: PartContext): Promise<SharedState> {
  const { store, log, metrics, atEnd, unlessStopping } = context;
  /** Skips a run if the last run isn't done. */
  const repeat = (what: string, everyMs: number, work: () => Promise<void>) => {
    let isRunning = false;
    context.repeat(what, everyMs, async () => {
      if (isRunning) return;
      isRunning = true;
      try {
        await work();
      } finally {
        isRunning = false;
      }
    });
  };
  // Calls for permits have a connection of their own, so that they don't wait for reads and changes of accounts.
  const mayInstall = () => store.directory.position() === undefined;
  const [calls, database] = [new Database(urls, mayInstall), new Database(urls, mayInstall)];
  atEnd(() => {
    calls.close();
    database.close();
  });
  const directory = new SharedDirectory(store, database, context.withRoom);
  const holder = randomUUID();
  const steadyNow = steadyClock();
  const table = new PermitTable();
  table.month = monthOf(Date.now());

  const contact = new Contact();
  await readAtStart();
  let alone: Alone | undefined;
  let permits: Permits | undefined;
  /** The accounts of the last call that failed. */
  let failed: readonly Asked[] = [];
  let turnUntilMs = 0;

  async function readAtStart(): Promise<void> {
    for (const startMs = performance.now(); performance.now() < startMs + maxStartMs; ) {
      const sentMs = performance.now();
      try {
        await unlessStopping(directory.read());
        log.info({ accounts: store.accounts.ids().length }, "the accounts are those of the database");
        contact.read(sentMs);
        return;
      } catch (error) {
        if (!(error instanceof StateUnavailable)) throw error;
        contact.reason = error.message;
      }
      await unlessStopping(delay(startStepMs));
    }
    log.warn(
      { reason: contact.reason, accounts: store.accounts.ids().length },
      "the accounts can't be read from the database",
    );
  }

  /** Runs work that needs the database. Ignores a cancelled statement, and an outage, which is logged elsewhere. */
  async function unlessAway(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      contact.reason = reasonOf(error);
      // A statement is cancelled if it waits too long, for example for a standby.
      const isCancelled = error instanceof DatabaseError && error.code === "57014";
      if (!(error instanceof StateUnavailable || isCancelled)) throw error;
    }
  }

  const isGraceOver = () => alone !== undefined && alone.awayMs(performance.now()) >= graceMs;
  /** Whether this server may admit requests. A copy that is known to lack changes may have keys that were revoked. */
  const mayAdmit = () => !directory.isBehind && !isGraceOver();
  const save = () => alone?.save(Date.now(), performance.now());

  return {
    permits: table,
    change: (work) => directory.change(work),
    settle: () => delay(permitLifeMs),
    delivers: () => performance.now() < turnUntilMs - maxTryMs,
    isUnread: () => directory.isBehind || (contact.isNone && directory.version === 0),
    wait: (thread, waits) => permits?.wait(thread, waits),
    async begin(accounts, answer) {
      const counts = new Counts(accounts, context, directory, table);
      await unlessAway(() => counts.read(database, performance.now()));

      const take = async (asked: readonly Asked[]): Promise<Taken> => {
        const nowMs = performance.now();
        if (!mayAdmit()) return { month: table.month, grants: [] };
        if (alone !== undefined) return alone.take(asked, table.month, nowMs);
        contact.calling(nowMs);
        const sentVersion = directory.version;
        const quotas = new Map(asked.map(({ account }) => [account, accounts.quotaOf(account)]));
        const rows = await calls.query<TakeRow>(takeSql, takeValues(asked, null)).catch((error) => {
          contact.reason = reasonOf(error);
          failed = asked;
          throw error;
        });
        contact.answered();
        // Permits are used only after all changes were read that were in force when they were granted.
        const version = Number(rows[0]?.version ?? 0);
        if (version > directory.version) {
          await directory.read();
          contact.read(nowMs);
        }
        for (const { account: id, month, used } of rows) {
          const account = Number(id);
          // The quota may have been raised after the call was sent. Then the count belongs to the old quota.
          const quota = version === sentVersion ? quotas.get(account) : accounts.quotaOf(account);
          if (quota !== undefined) counts.note(account, month, used, quota);
        }
        return {
          month: rows[0]?.month ?? table.month,
          grants: rows.map(({ account, granted, used, wait_ms }) => ({
            ...{ account: Number(account), granted, used, waitMs: wait_ms },
          })),
        };
      };
      const sharing = new Permits({
        table,
        accountOf: (slot) => accounts.of(slot).id,
        take,
        answer,
        now: steadyNow,
        meter: meterOf(metrics),
      });
      permits = sharing;
      directory.onRead = () => accounts.refresh();
      accounts.refresh();

      const goAlone = () => {
        alone = new Alone(
          {
            store,
            ceilingsOf: (account) => store.accounts.byId(account),
            usedOf: (account, month) => counts.of(account, month),
          },
          table.month,
          Date.now(),
          performance.now(),
        );
        const leftMs = Math.max(0, graceMs - alone.awayMs(performance.now()));
        log.warn({ reason: contact.reason, seconds: Math.round(leftMs / 1000) }, databaseIsAway);
        context.withRoom(() => {
          save();
          counts.save();
        });
      };
      const comeBack = async () => {
        await confirm();
        await directory.read();
        save();
        store.away.end();
        alone = undefined;
        contact.read(performance.now());
        contact.answered();
        failed = [];
        table.isClosed = false;
        log.info("the database is back");
        await report();
        await counts.read(database, performance.now());
      };
      /**
       * Checks that the database is back by trying what failed. Other checks aren't enough: reads succeed while commits
       * hang, and calls for other accounts succeed while an account's row is locked.
       */
      const confirm = async () => {
        await takeTurn(calls, "alive", holder, 0);
        const tried = failed.map(({ account }) => ({ account, want: 0, back: 0, backMonth: table.month }));
        await calls.query(takeSql, takeValues(tried, null));
      };
      /** Reports what was admitted alone. A report is removed when the database has counted it. */
      const report = async () => {
        for (const { id, month, used } of store.away.all()) {
          const rows = Array.from(used, ([account, count]) => ({
            account,
            want: 0,
            back: -count,
            backMonth: month,
          }));
          rows.sort((a, b) => a.account - b.account);
          // A report without requests is removed only when the database is back, too.
          await (rows.length > 0 ? calls.query(takeSql, takeValues(rows, id)) : confirm());
          store.away.remove(id);
        }
      };
      // Connects and reads now. So the first request doesn't wait for a connection, and finds current accounts.
      await unlessAway(async () => {
        await calls.query("SELECT 1");
        await directory.read();
        contact.read(performance.now());
      });
      atEnd(async () => {
        const backs = sharing.close();
        if (alone !== undefined) {
          alone.take(backs, table.month, performance.now());
          save();
        } else if (backs.length > 0) {
          // A call may have only one row for each account.
          const byMonth = [...Map.groupBy(backs, ({ backMonth }) => backMonth).values()];
          const given = byMonth.map((rows) => calls.query(takeSql, takeValues(rows, null)));
          await Promise.race([Promise.allSettled(given), delay(maxLeaveMs)]);
        }
      });
      context.repeat("getting permits", tickMs, () => sharing.tick());
      repeat("looking for the database", lookMs, async () => {
        const nowMs = performance.now();
        if (alone === undefined && contact.isLost(nowMs) && !directory.isBehind) goAlone();
        table.isClosed = !mayAdmit();
        if (!mayAdmit()) sharing.refuseAll();
        if (alone === undefined) return;
        // While the database is away, the month is that of this server's clock.
        table.month = monthOf(Date.now());
        await unlessAway(comeBack);
      });
      repeat("saving what is admitted alone, and reporting it", saveMs, async () => {
        if (alone === undefined) await unlessAway(report);
        else save();
      });
      repeat("reading accounts and keys from the database", directoryMs, async () => {
        if (alone !== undefined) return;
        const sentMs = performance.now();
        await unlessAway(async () => {
          await directory.read();
          contact.read(sentMs);
        });
      });
      repeat("reading what all servers count", usageMs, async () => {
        if (alone === undefined) await unlessAway(() => counts.read(database, performance.now()));
      });
      repeat("recording events of all servers", recordMs, async () => {
        if (alone === undefined) await unlessAway(() => counts.record());
      });
      repeat("taking turns to deliver events", turnMs, async () => {
        const isDue = () =>
          channels.some((channel) => store.events.due(channel, new Date(), [], 1).length > 0);
        // Only a server that can deliver takes the turn or renews it. A server that can't use its state can't record a
        // delivery.
        if (alone !== undefined || context.fault() !== undefined || !isDue()) return;
        store.progress.noteSaved(new Date());
        await unlessAway(async () => {
          const sentMs = performance.now();
          const isOurs = await takeTurn(database, "deliver", holder, turnSeconds);
          turnUntilMs = isOurs ? sentMs + 1000 * turnSeconds : 0;
        });
      });
      metrics.gauge(
        "hcqs_database_away_seconds",
        "Seconds since the shared database went away; 0 while it answers",
        () => (alone === undefined ? 0 : alone.awayMs(performance.now()) / 1000),
      );
    },
  };
}

function meterOf(metrics: Metrics): PermitMeter {
  const calls = metrics.counter("hcqs_permit_calls_total", "Calls to the database for permits");
  const rows = metrics.counter("hcqs_permit_rows_total", "Accounts in these calls");
  const expired = metrics.counter(
    "hcqs_permits_expired_total",
    "Permits that weren't used in their life, and went back",
  );
  const lost = metrics.counter(
    "hcqs_permits_lost_total",
    "Permits asked for by calls that failed. The database may count them as used",
  );
  const waits = metrics.histogram(
    "hcqs_permit_wait_seconds",
    "Time that requests without a permit waited in this server's control thread",
    waitBounds,
  );
  return {
    called(accounts) {
      calls.inc();
      rows.inc(accounts);
    },
    expired: (permits) => expired.inc(permits),
    lost: (permits) => lost.inc(permits),
    waited(requests, ms) {
      for (let i = 0; i < requests; i++) waits.observe(ms / 1000);
    },
  };
}

const databaseIsAway =
  "the database is away; for these seconds of DATABASE_GRACE this server admits requests alone, then it answers 503";
