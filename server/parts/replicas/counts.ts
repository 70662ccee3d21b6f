import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Used } from "../../store/store.ts";
import { keyOf, scriptIn } from "./redis.ts";
import type { ScriptClient } from "./script.ts";

/** Reads the requests that Redis has counted, and enters those of imported accounts. */

/** The part of an `ioredis` client that is used here. */
interface CountsClient extends ScriptClient {
  hget(key: string, field: string): Promise<string | null>;
  zcount(key: string, from: string, to: string): Promise<number>;
  hmget(key: string, ...fields: string[]): Promise<(string | null)[]>;
  hscan(
    key: string,
    cursor: string,
    ...options: ["MATCH", string, "COUNT", number]
  ): Promise<[cursor: string, elements: string[]]>;
}

/** Milliseconds after which a server that doesn't answer is gone, or goes on by what it holds. */
const maxWaitMs = 4000;
const askMs = 50;
/** The name of the server under which imported counts are entered. */
const importedBy = "import-";
const scanCount = 1000;

interface Counted {
  account: number;
  burst: number;
  quota: number;
  used: number;
}

function byShard<Item>(items: readonly Item[], shards: number, accountOf: (item: Item) => number) {
  return Map.groupBy(items, (item) => accountOf(item) % shards);
}

/** Requests of each account in a month (`YYYY-MM`), as all servers counted them; without accounts that used nothing. */
export async function usedIn(
  client: Pick<CountsClient, "hmget">,
  accounts: readonly number[],
  month: string,
  shards: number,
): Promise<[account: number, used: number][]> {
  const found = [...byShard(accounts, shards, (account) => account)].map(async ([shard, ids]) => {
    const entries = await client.hmget(keyOf(shard, "usage", month), ...ids.map(String));
    return ids.map((account, i): [number, number] => {
      // Total, granted, and the total that was known when servers counted less.
      const [inAll, , heard, counted] = (entries[i] ?? "0 0 0 0").split(" ").map(Number);
      return [account, inAll + Math.max(0, heard - counted)];
    });
  });
  return (await Promise.all(found)).flat().filter(([, used]) => used > 0);
}

/** Entered counts of imported accounts in a month (`YYYY-MM`). */
export async function enteredIn(client: CountsClient, month: string, shards: number): Promise<Used[]> {
  const found: Used[] = [];
  for (let shard = 0; shard < shards; shard++) {
    // HSCAN may return a field twice.
    const records = new Map<string, string>();
    let cursor = "0";
    do {
      const options = ["MATCH", `*:${importedBy}*`, "COUNT", scanCount] as const;
      const [next, elements] = await client.hscan(keyOf(shard, "usage", month), cursor, ...options);
      for (let i = 0; i < elements.length; i += 2) records.set(elements[i], elements[i + 1]);
      cursor = next;
    } while (cursor !== "0");
    for (const [field, record] of records)
      found.push({ account: Number.parseInt(field, 10), month, used: Number.parseInt(record, 10) });
  }
  return found;
}

/**
 * Enters imported counts as a server that joins and leaves, and waits until all servers know which of the accounts
 * have little left. After that their keys may be used.
 */
export async function enterUsed(
  client: CountsClient,
  counted: readonly Counted[],
  months: readonly [month: string, next: string],
  shards: number,
): Promise<void> {
  const script = scriptIn(client);
  // An import that was interrupted entered the same, so nothing counts twice.
  const replica = importedBy + createHash("sha256").update(JSON.stringify(counted)).digest("base64url");
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
      if (told[0] === "stale") {
        sequence = told[1];
        continue;
      }
      boot = told[1];
      // While servers report again what they hold, no shortage is known.
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
