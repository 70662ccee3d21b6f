import { Script as LuaScript, type ScriptClient } from "./script.ts";

/** Runs the script of the shares in Redis. */

const shares = new LuaScript("shares.lua");

/** The answer: see the script's last line. Numbers in place of booleans, as Redis has none. */
export type Told = [
  state: "ok",
  boot: string,
  /** So many milliseconds more nothing is granted. */
  learningMs: number,
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

const keyNames = ["meta", "read", "seen", "scarce", "calm", "tokens", "events"] as const;
const monthKeyNames = ["usage", "tight", "former"] as const;

/** One key of a shard; those of a shard lie together in a Cluster. */
export function keyOf(shard: number, name: (typeof keyNames)[number]): string;
export function keyOf(shard: number, name: (typeof monthKeyNames)[number], month: string): string;
export function keyOf(shard: number, name: string, month?: string): string {
  return month === undefined ? `hc:{${shard}}:${name}` : `hc:{${shard}}:${name}:${month}`;
}

/** A shard's keys in the script's order. */
export function keysOf(shard: number, months: readonly string[]): string[] {
  const ofMonths = monthKeyNames.flatMap((name) => months.map((month) => keyOf(shard, name, month)));
  return [...keyNames.map((name) => keyOf(shard, name)), ...ofMonths];
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
    const told = await shares.run(client, keys, [ms, boot, ...values]);
    const isWhole =
      Array.isArray(told) && (told[0] === "stale" || (told[0] === "ok" && Array.isArray(told[9])));
    if (!isWhole) throw new Error("what answers isn't Redis: found another answer than that of the script");
    return told as Told;
  };
}
