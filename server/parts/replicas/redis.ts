import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** Runs the scripts in Redis, and names their keys. */

/** The part of an `ioredis` client that is used here, for one Redis, Sentinels or a Cluster. */
export interface ScriptClient {
  evalsha(digest: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
  eval(source: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
}

type Script = (
  client: ScriptClient,
  keys: readonly string[],
  ...values: (string | number)[]
) => Promise<unknown>;

/** A Lua script of this folder, which is sent again to a Redis that doesn't know it. */
export function scriptIn(file: string): Script {
  const source = readFileSync(new URL(file, import.meta.url), "utf8");
  const digest = createHash("sha1").update(source).digest("hex");
  return async (client, keys, ...values) => {
    try {
      return await client.evalsha(digest, keys.length, ...keys, ...values);
    } catch (error) {
      // A restarted Redis, or a new primary, doesn't know the script.
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return client.eval(source, keys.length, ...keys, ...values);
    }
  };
}

/** The hash of a month, `YYYY-MM`: a record as JSON for each account. A Cluster keeps all keys of ceilings together. */
export const monthKey = (month: string) => `hc:{0}:q:${month}`;

/** The script's keys, in its order. */
const keysOf = (months: readonly string[]) => ["hc:{0}:servers", "hc:{0}:flags", ...months.map(monthKey)];

/** Runs `shares.lua`: the call and the answer are objects with the names that the script has. */
export type SharesScript = <Answer>(
  months: readonly string[],
  call: Readonly<Record<string, unknown>>,
) => Promise<Answer>;

const shares = scriptIn("shares.lua");

export function sharesIn(client: ScriptClient): SharesScript {
  return async <Answer>(months: readonly string[], call: object) => {
    const text = await shares(client, keysOf(months), JSON.stringify({ ...call, months }));
    if (typeof text !== "string" || !text.startsWith("{")) throw notRedis();
    return JSON.parse(text) as Answer;
  };
}

export const notRedis = () =>
  new Error("what answers isn't Redis: found another answer than that of the script");
