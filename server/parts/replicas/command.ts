import { setTimeout as delay } from "node:timers/promises";
import { DataError, reasonOf, shown } from "../../../engine/query.ts";
import type { CommandOutput, SharedCommand, SharingServer } from "../../part.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import { Store } from "../../store/store.ts";
import { Directory } from "./directory.ts";
import { forget, keepCeilings, leasesOf, recordsOf, serversBehind, serversOf } from "./records.ts";
import { connectRedis, type RedisClient } from "./redis.ts";
import type { RedisAddress } from "./redis-url.ts";

/** Runs an operator's command on the accounts in Redis, from any machine. */

const maxConnectMs = 3000;
/** Maximum milliseconds to wait for Redis if a failover is possible, with Sentinel or Cluster. */
const maxFailoverMs = 20_000;
const connectStepMs = 10;
/** Maximum milliseconds to wait until all servers have applied a change. */
const maxTakenMs = 1500;

/** Runs work with a connection to Redis. @throws DataError that names the Redis that can't be used */
async function withRedis<Result>(
  address: RedisAddress,
  work: (client: RedisClient) => Promise<Result>,
): Promise<Result> {
  let reason = "no answer";
  const client = await connectRedis(address, (fault) => {
    reason = fault;
  });
  // In a Cluster, the two keys may be on different primaries.
  const isThere = () =>
    Promise.all(["hc:{0}:servers", "hc:{directory}:rows"].map((key) => client.exists(key))).then(
      () => true,
      (error) => {
        if (client.status === "ready") reason = reasonOf(error);
        return false;
      },
    );
  try {
    for (const startMs = performance.now(); !(await isThere()); await delay(connectStepMs)) {
      const { kind } = address;
      const mayChange = kind === "sentinel" || (kind === "cluster" && client.status === "ready");
      if (performance.now() > startMs + (mayChange ? maxFailoverMs : maxConnectMs))
        throw new StateUnavailable(reason);
    }
    return await work(client);
  } catch (error) {
    if (error instanceof DataError) throw error;
    const { expected } = error instanceof StateUnavailable ? error : new StateUnavailable("");
    const cause = reasonOf(error);
    throw new DataError(
      "REDIS_URL",
      `a Redis that can't be used (${placeOf(address)}: ${cause})`,
      refusals.find(([prefix]) => cause.startsWith(prefix))?.[1] ??
        `${expected}: see that it runs and can be reached from here`,
    );
  } finally {
    client.disconnect();
  }
}

/** What is expected of a Redis that refuses to write, by the beginning of its error. */
const refusals = [
  ["OOM ", "one with free memory: raise its maxmemory"],
  ["READONLY ", "a primary, because a replica can't be written to"],
  ["NOREPLICAS ", "a primary with the replicas that min-replicas-to-write requires: wait, or start them"],
] as const;

function placeOf({ kind, hosts, primary }: RedisAddress): string {
  const known = hosts.map(({ host, port }) => `${host}:${port}`).join(",");
  if (kind === "sentinel") return `${primary} of the Sentinels ${known}`;
  return kind === "cluster" ? `the Cluster of ${known}` : known;
}

/** Returns the names of this month and the next, `YYYY-MM`. */
function monthsOf(now: Date): [string, string] {
  const month = monthOf(now.getTime());
  return [monthName(month), monthName(month + 1)];
}

/** Lists the servers that share the accounts. @throws DataError when Redis can't be used */
export async function listServers(address: RedisAddress): Promise<SharingServer[]> {
  return withRedis(address, async (client) => {
    const leases = await leasesOf(client, monthsOf(new Date()));
    return (await serversOf(client)).map(({ id, isGone, age }) => {
      const state = isGone ? "gone" : "running";
      return { id, state, heard: Math.round(age / 1000), leased: leases.get(id) ?? 0 };
    });
  });
}

/**
 * Gives back the leases of a server that is gone for good. Returns the command's output.
 * @throws DataError when the server is unknown or running, or Redis can't be used
 */
export async function forgetServer(address: RedisAddress, id: string): Promise<string> {
  return withRedis(address, async (client) => {
    const servers = await serversOf(client);
    const known = servers.filter((server) => server.id === id || server.id.startsWith(`${id}.`));
    const gone = known.filter(({ isGone }) => isGone);
    if (gone.length === 0)
      throw new DataError(
        `server ${shown(id)}`,
        known.length === 0 ? "no such id" : "one with a heartbeat in the last minute",
        "one that accounts servers lists as gone",
      );
    const months = monthsOf(new Date());
    let given = 0;
    for (const server of gone) given += await forget(client, server.id, months);
    return `forgot server ${id}: ${given} requests that it had leased are given back\n`;
  });
}

/**
 * Runs a command on an in-memory copy of the directory, writes its changes to Redis, and waits up to `maxTakenMs` until
 * the servers have applied them. @throws DataError when Redis can't be used
 */
export async function runShared(address: RedisAddress, command: SharedCommand): Promise<CommandOutput> {
  const store = Store.inMemory();
  try {
    return await withRedis(address, (client) => runOn(client, store, command));
  } finally {
    store.close();
  }
}

async function runOn(client: RedisClient, store: Store, command: SharedCommand): Promise<CommandOutput> {
  const directory = new Directory(store, client, false);
  const isSettled = await directory.settle();
  let wasNew = false;
  const months = monthsOf(command.now);
  const [month] = months;
  const ids = store.accounts.ids();
  const records = await recordsOf(client, ids, month);
  const shared = new Map(ids.map((id, i) => [id, records[i] === null ? 0 : JSON.parse(records[i]).total]));
  const before = store.directory.position().version;
  const run = () => {
    // Another command may import accounts between tries.
    const imported = store.usage.imported();
    const used = store.accounts
      .ids()
      .map((id) => [id, (shared.get(id) ?? 0) + (imported.get(`${id} ${month}`) ?? 0)] as const);
    store.usage.save(
      month,
      used.filter(([, count]) => count > 0),
    );
    const said = command.run(store);
    for (const { id, usage } of said.entered ?? [])
      for (const each of usage) if (each.month === month) store.usage.saveImported({ account: id, ...each });
    return said;
  };
  const said = await directory.change(run, (rows) => {
    wasNew = directory.isNew;
    const ids = rows.map(({ name }) => Number(/^accounts:(\d+)$/.exec(name)?.[1]));
    return keepCeilings(
      client,
      ids.flatMap((id) => store.accounts.byId(id) ?? []),
      months,
    );
  });
  const { version } = store.directory.position();
  const behind = version === before ? [] : await serversBehind(client, version, maxTakenMs);
  const notes = [said.note ?? ""];
  if (wasNew && !directory.isNew)
    notes.push(
      "Redis had no accounts, so this began a new set of accounts there. A server with other accounts in its STATE_DIR won't start with this Redis\n",
    );
  if (!isSettled)
    notes.push(
      "Redis was restarted or emptied, and no server has resent its data yet, so accounts and keys may be missing here\n",
    );
  if (behind.length > 0)
    notes.push(
      `this is stored, but not confirmed within ${maxTakenMs / 1000} s by ${behind.length === 1 ? "the server" : "the servers"} ${behind.join(", ")}: until then the earlier accounts and keys are used there\n`,
    );
  return { ...said, note: notes.join("") };
}
