import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { keyOf, scriptIn } from "./redis.ts";
import type { ScriptClient } from "./script.ts";

/** Requests of the month that are counted in Redis, for who is no replica: reads them, and enters those of accounts that come. */

/** What is used of a client of `ioredis`. */
export interface CountsClient extends ScriptClient {
  hget(key: string, field: string): Promise<string | null>;
  zcount(key: string, from: string, to: string): Promise<number>;
  hmget(key: string, ...fields: string[]): Promise<(string | null)[]>;
}

/** Replicas that don't answer are gone after so long, or serve by what they hold. */
const maxWaitMs = 4000;
const askMs = 50;

export interface Counted {
  account: number;
  burst: number;
  quota: number;
  used: number;
}

function byShard<Item>(items: readonly Item[], shards: number, accountOf: (item: Item) => number) {
  return Map.groupBy(items, (item) => accountOf(item) % shards);
}

/** What each account has used of a month, `YYYY-MM`, in all; without those that have used nothing. */
export async function usedIn(
  client: CountsClient,
  accounts: readonly number[],
  month: string,
  shards: number,
): Promise<[account: number, used: number][]> {
  const found = [...byShard(accounts, shards, (account) => account)].map(async ([shard, ids]) => {
    const entries = await client.hmget(keyOf(shard, "usage", month), ...ids.map(String));
    // In all, granted, and what was heard of in all when replicas counted less.
    return ids.map((account, i): [number, number] => {
      const [inAll, , heard, counted] = (entries[i] ?? "0 0 0 0").split(" ").map(Number);
      return [account, inAll + Math.max(0, heard - counted)];
    });
  });
  return (await Promise.all(found)).flat().filter(([, used]) => used > 0);
}

/**
 * Enters what was used elsewhere, as a replica that comes and leaves, and waits until all replicas know which of the
 * accounts have little left: after that their keys may be told.
 */
export async function enterUsed(
  client: CountsClient,
  counted: readonly Counted[],
  months: readonly [month: string, next: string],
  shards: number,
): Promise<void> {
  const script = scriptIn(client);
  const replica = `import-${randomBytes(6).toString("base64url")}`;
  const enter = async (shard: number, rows: readonly Counted[]) => {
    const values = rows.flatMap(({ account, burst, quota, used }) => [
      ...[account, 1, burst, quota, "hold", used],
      ...[0, 0, used, 0, "", "", "", 0],
    ]);
    let boot = "";
    let sequence = 0;
    const head = (step: string) => [replica, ++sequence, boot, 0, step, maxWaitMs, 0, ...months];
    for (const end = performance.now() + maxWaitMs; performance.now() < end; await delay(askMs)) {
      const told = await script(shard, months, [...head("tick"), ...values]);
      if (told[0] === "stale") continue;
      boot = told[1];
      // While replicas say again what they hold, nothing is known to be short.
      if (!told[2]) break;
    }
    await script(shard, months, head("leave"));
    const [read, meta] = [keyOf(shard, "read"), keyOf(shard, "meta")];
    const version = Number(await client.hget(meta, "version"));
    for (const end = performance.now() + maxWaitMs; performance.now() < end; await delay(askMs)) {
      if ((await client.zcount(read, "-inf", `(${version}`)) === 0) return;
    }
  };
  await Promise.all(
    [...byShard(counted, shards, ({ account }) => account)].map(([shard, rows]) => enter(shard, rows)),
  );
}
