import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** Runs the script of the shares in Redis. */

const source = readFileSync(new URL("shares.lua", import.meta.url), "utf8");
const digest = createHash("sha1").update(source).digest("hex");

/** The answer: see the script's last line. Numbers in place of booleans, as Redis has none. */
export type Told = [
  state: "ok",
  boot: string,
  isLearning: number,
  isNew: number,
  members: number,
  isSettled: number,
  read: number,
  isComplete: number,
  changes: string[],
  rows: [used: number, granted: number, inAll: number, held: number][],
];

/** Runs the script for a shard; the values are its arguments behind time and run id. */
export type Script = (
  shard: number,
  months: readonly string[],
  values: readonly (string | number)[],
) => Promise<Told | ["stale", number]>;

/** What is used of a client of `ioredis`, of a single Redis, of Sentinels or of a Cluster. */
export interface ScriptClient {
  evalsha(digest: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
  eval(source: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
}

/** A shard's keys, which lie together in a Cluster. */
export function keysOf(shard: number, months: readonly string[]): string[] {
  const names = ["meta", "read", "seen", "scarce", "calm", "tokens", "events"];
  const ofMonths = ["usage", "tight"].flatMap((name) => months.map((month) => `${name}:${month}`));
  return [...names, ...ofMonths].map((name) => `hc:{${shard}}:${name}`);
}

/**
 * The script in a Redis.
 *
 * @param clock in place of Redis' own time in milliseconds and run id
 */
export function scriptIn(client: ScriptClient, clock = () => ({ ms: "" as number | "", boot: "" })): Script {
  return async (shard, months, values) => {
    const keys = keysOf(shard, months);
    const { ms, boot } = clock();
    const all = [...keys, ms, boot, ...values];
    try {
      return (await client.evalsha(digest, keys.length, ...all)) as Told;
    } catch (error) {
      // A Redis that was started anew, or a primary that was a replica, doesn't have it.
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return (await client.eval(source, keys.length, ...all)) as Told;
    }
  };
}
