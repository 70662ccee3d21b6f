import { Script as LuaScript, type ScriptClient } from "./script.ts";

/** Runs `shares.lua` in Redis. */

const shares = new LuaScript("shares.lua");

/** The script's answer; its last line explains it. Booleans are numbers, as Redis has none. */
export type Told = [
  state: "ok",
  boot: string,
  /** Milliseconds for which nothing is granted yet. */
  learningMs: number,
  isNew: number,
  members: number,
  isSettled: number,
  read: number,
  isComplete: number,
  changes: string[],
  rows: [used: number, granted: number, inAll: number, held: number][],
];

/** Runs the script for a shard; the values are its arguments after time and run id. */
export type Script = (
  shard: number,
  months: readonly string[],
  values: readonly (string | number)[],
) => Promise<Told | ["stale", number]>;

const keyNames = ["meta", "read", "seen", "scarce", "calm", "tokens", "events"] as const;
const monthKeyNames = ["usage", "tight", "former"] as const;

/** A key of a shard; a Cluster keeps a shard's keys together. */
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
 * Makes a function that runs the script.
 * @param clock replaces Redis' own time in milliseconds and run id, in tests
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
