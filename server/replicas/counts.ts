import { randomBytes } from "node:crypto";
import { keysOf, scriptIn } from "./redis.ts";
import type { ScriptClient } from "./script.ts";

/** Requests of the month that are counted in Redis, for who is no replica: reads them, and enters those of accounts that come. */

/** What is used of a client of `ioredis`. */
export interface CountsClient extends ScriptClient {
  hmget(key: string, ...fields: string[]): Promise<(string | null)[]>;
}

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
    const key = keysOf(shard, [month]).find((name) => name.endsWith(`:usage:${month}`));
    const entries = await client.hmget(key ?? "", ...ids.map(String));
    // In all, granted, and what was heard of in all when replicas counted less.
    return ids.map((account, i): [number, number] => {
      const [inAll, , heard, counted] = (entries[i] ?? "0 0 0 0").split(" ").map(Number);
      return [account, inAll + Math.max(0, heard - counted)];
    });
  });
  return (await Promise.all(found)).flat().filter(([, used]) => used > 0);
}

/** Enters what was used elsewhere, as by a replica that has left. */
export async function enterUsed(
  client: ScriptClient,
  counted: readonly Counted[],
  months: readonly [month: string, next: string],
  shards: number,
): Promise<void> {
  const script = scriptIn(client);
  const replica = `import-${randomBytes(6).toString("base64url")}`;
  const entering = [...byShard(counted, shards, ({ account }) => account)].map(([shard, rows]) =>
    script(shard, months, [
      ...[replica, 1, "", 0, "leave", ...months],
      ...rows.flatMap(({ account, burst, quota, used }) => [
        ...[account, 1, burst, quota, "hold", used],
        ...[0, 0, used, 0, "", "", "", 0],
      ]),
    ]),
  );
  await Promise.all(entering);
}
