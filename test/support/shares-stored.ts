import { keyOf } from "../../server/parts/replicas/redis.ts";
import { monthName } from "../../server/shared/months.ts";
import type { Simulation } from "./shares-simulation.ts";

/** What Redis says of all accounts at the end of a simulation, against its own sums and what was admitted. */

/**
 * Accounts whose sums in Redis aren't those of their replicas, or are over the quota by more than what died with a
 * process and has credit again, and what silent replicas held when Redis lost it.
 */
export async function wrongSums(simulation: Simulation): Promise<string[]> {
  const { client, accounts, shards } = simulation;
  const month = simulation.month();
  const wrong: string[] = [];
  for (let shard = 0; shard < shards; shard++)
    for (const each of [month - 1, month]) {
      const sums = new Map<string, number[]>();
      const totals = new Map<string, number[]>();
      const all = await client.hgetall(keyOf(shard, "usage", monthName(each)));
      for (const [field, value] of Object.entries(all)) {
        if (field.includes("!")) continue;
        const [account, replica] = field.split(":");
        const [used, granted] = value.split(" ").map(Number);
        if (replica === undefined) totals.set(account, [used, granted]);
        else {
          const sum = sums.get(account) ?? [0, 0];
          sums.set(account, [sum[0] + used, sum[1] + granted]);
        }
      }
      for (const [account, [used, granted]] of totals) {
        const [usedByEach, grantedToEach] = sums.get(account) ?? [0, 0];
        const { quota } = accounts[Number(account)];
        const { lost } = simulation.tally(Number(account), each);
        const most = quota + lost + simulation.allowance(Number(account));
        if (used !== usedByEach || granted !== grantedToEach || granted > most)
          wrong.push(`${account}: ${JSON.stringify({ used, usedByEach, granted, grantedToEach, most })}`);
      }
    }
  return wrong;
}

/** Accounts whose months Redis knows less of than was admitted, but for what died with a process, or more. */
export async function untold(simulation: Simulation): Promise<string[]> {
  const wrong: string[] = [];
  for (const [name, { admitted, lost }] of simulation.tallies) {
    const [month, account] = name.split(" ").map(Number);
    const stored = await simulation.stored(account, month);
    const inAll = stored.used + stored.lost;
    if (inAll > admitted || inAll + lost < admitted)
      wrong.push(`${name}: ${JSON.stringify({ admitted, died: lost, ...stored })}`);
  }
  return wrong;
}
