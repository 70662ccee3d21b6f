import { setTimeout as delay } from "node:timers/promises";
import type { Account } from "../../store/accounts.ts";
import { monthKey, type ScriptClient, sharesIn } from "./redis.ts";

/** Reads records of accounts and servers in Redis, and changes them for commands. */

const askTakenMs = 10;

interface ServerRow {
  id: string;
  isGone: boolean;
  /** Milliseconds since the last heartbeat. */
  age: number;
  /** The applied version of the directory. */
  taken: string;
}

interface RecordsClient {
  hmget(key: string, ...fields: string[]): Promise<(string | null)[]>;
  hscan(key: string, cursor: string, count: "COUNT", rows: number): Promise<[next: string, page: string[]]>;
}

/**
 * Reads the records of accounts in a month, `YYYY-MM`, in the accounts' order. A record is JSON; null if there is none.
 */
export async function recordsOf(
  client: RecordsClient,
  accounts: readonly number[],
  month: string,
): Promise<(string | null)[]> {
  return accounts.length > 0 ? client.hmget(monthKey(month), ...accounts.map(String)) : [];
}

/** Reads the servers that have joined, and haven't left or been forgotten. */
export async function serversOf(client: ScriptClient): Promise<ServerRow[]> {
  const { servers } = await sharesIn(client)<{ servers: ServerRow[] | object }>([], { op: "servers" });
  // An empty list comes from Lua as an object.
  return Array.isArray(servers) ? servers : [];
}

/**
 * Waits until all servers with a heartbeat in the last minute have applied a version of the directory.
 * @returns ids of the servers that haven't applied it in time
 * @throws StateUnavailable when Redis doesn't answer
 */
export async function serversBehind(client: ScriptClient, version: number, maxMs: number): Promise<string[]> {
  for (const endMs = performance.now() + maxMs; ; await delay(askTakenMs)) {
    const behind = (await serversOf(client)).filter(
      ({ isGone, taken }) => !isGone && Number(taken) < version,
    );
    if (behind.length === 0 || performance.now() >= endMs) return behind.map(({ id }) => id);
  }
}

/** Reads the records of a month in pages. @param month `YYYY-MM` */
async function* recordPages(
  client: RecordsClient,
  month: string,
): AsyncGenerator<{ account: number; record: MonthRecord }[]> {
  let cursor = "0";
  do {
    const [next, page] = await client.hscan(monthKey(month), cursor, "COUNT", 500);
    cursor = next;
    yield Array.from({ length: page.length / 2 }, (_, i) => ({
      account: Number(page[2 * i]),
      record: JSON.parse(page[2 * i + 1]),
    }));
  } while (cursor !== "0");
}

/** Counts the requests that each server has leased and not used, by server id. @param months `YYYY-MM` */
export async function leasesOf(
  client: RecordsClient,
  months: readonly string[],
): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  for (const month of months)
    for await (const page of recordPages(client, month))
      for (const { record } of page)
        for (const [id, { granted, used }] of Object.entries(record.servers))
          sums.set(id, (sums.get(id) ?? 0) + Math.max(0, granted - used));
  return sums;
}

/**
 * Gives back the leases of a server that is gone. @param months `YYYY-MM`
 * @returns the number of requests given back. `shares.lua` keeps `2 * burst + 1` requests of each lease.
 */
export async function forget(
  client: RecordsClient & ScriptClient,
  server: string,
  months: readonly string[],
): Promise<number> {
  let given = 0;
  for (const month of months)
    for await (const page of recordPages(client, month)) {
      const leasing = page.filter(({ record }) => record.servers[server] !== undefined);
      const accounts = leasing.map(({ account }) => account);
      await sharesIn(client)([month], { op: "forget", server, accounts });
      for (const { record } of leasing) {
        const { granted, used } = record.servers[server];
        given += Math.max(0, granted - used - (2 * record.burst + 1));
      }
    }
  return given;
}

/**
 * Keeps the present ceilings in the accounts' records. Call this before a change lowers the ceilings: a server may have
 * used credit by the present ceilings without reporting it. @param months `YYYY-MM`
 */
export async function keepCeilings(
  client: ScriptClient,
  accounts: readonly Account[],
  months: readonly string[],
): Promise<void> {
  const rows = accounts.map(({ id, burst, quota }) => ({ id, burst, quota }));
  if (rows.length > 0) await sharesIn(client)(months, { op: "keep", rows });
}

interface MonthRecord {
  burst: number;
  servers: Record<string, { granted: number; used: number }>;
}
