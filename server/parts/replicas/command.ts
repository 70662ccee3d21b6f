import { setTimeout as delay } from "node:timers/promises";
import { DataError, reasonOf, shown } from "../../../engine/query.ts";
import type { CommandOutput, SharedCommand, SharingServer } from "../../part.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import { Store } from "../../store/store.ts";
import { connectRedis, isReachable, placeOf, type RedisClient } from "./client.ts";
import { Directory } from "./directory.ts";
import { leasesOf, monthsOf, recordsOf, serversBehind, serversOf } from "./records.ts";
import { sharesIn } from "./redis.ts";
import type { RedisAddress } from "./redis-url.ts";

/** Runs an operator's command on the accounts in Redis, from any machine. */

const maxConnectMs = 3000;
/** Maximum wait for a failover, with Sentinel or Cluster. */
const maxFailoverMs = 20_000;
const connectStepMs = 10;
/** Maximum wait for servers with a heartbeat in the last minute to apply a change. */
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
  let expected = new StateUnavailable("").expected;
  try {
    for (const start = performance.now(); !isReachable(client); await delay(connectStepMs)) {
      const mayChange = address.kind === "sentinel" || ("slots" in client && client.slots.length > 0);
      if (performance.now() > start + (mayChange ? maxFailoverMs : maxConnectMs))
        throw new StateUnavailable(reason);
    }
    return await work(client);
  } catch (error) {
    if (error instanceof DataError) throw error;
    if (error instanceof StateUnavailable) expected = error.expected;
    throw new DataError(
      "REDIS_URL",
      `a Redis that can't be used (${placeOf(address, client)}: ${reasonOf(error)})`,
      `${expected}: see that it runs and can be reached from here`,
    );
  } finally {
    client.disconnect();
  }
}

/** The servers that share the accounts, and what each holds. */
export async function listServers(address: RedisAddress): Promise<SharingServer[]> {
  return withRedis(address, async (client) => {
    const leases = await leasesOf(client, monthsOf(new Date()));
    return (await serversOf(client)).map(({ id, isGone, age }) => ({
      ...{
        id,
        state: isGone ? "gone" : "running",
        heard: Math.round(age / 1000),
        leased: leases.get(id) ?? 0,
      },
    }));
  });
}

/** Gives back the leases of a server that is gone for good. @throws DataError when the server is unknown or running */
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
    const leases = await leasesOf(client, monthsOf(new Date()));
    let given = 0;
    for (const { id } of gone) {
      await sharesIn(client)([], { op: "forget", server: id });
      given += leases.get(id) ?? 0;
    }
    return `forgot server ${id}: ${given} requests that it had leased are given back, but for what it may have admitted in its last second\n`;
  });
}

/**
 * Runs a command on an in-memory copy of the directory in Redis, writes its changes to Redis, and waits until the
 * servers have applied them.
 * @throws DataError when Redis can't be used
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
  const wasNew = directory.isNew;
  const [month] = monthsOf(command.now);
  const ids = store.accounts.ids();
  const imported = store.usage.imported();
  const used = (await recordsOf(client, ids, month)).map(
    (record, i) =>
      (record === null ? 0 : JSON.parse(record).total) + (imported.get(`${ids[i]} ${month}`) ?? 0),
  );
  store.usage.save(
    month,
    ids.map((id, i) => [id, used[i]] as const).filter(([, count]) => count > 0),
  );
  const before = store.directory.position().version;
  const work = () => {
    const said = command.run(store);
    for (const { id, usage } of said.entered ?? [])
      for (const each of usage) if (each.month === month) store.usage.saveImported({ account: id, ...each });
    return said;
  };
  const said = await directory.change(work);
  const { version } = store.directory.position();
  const behind = version === before ? [] : await serversBehind(client, version, maxTakenMs);
  const notes = [said.note ?? ""];
  if (wasNew && !directory.isNew)
    notes.push(
      "Redis had no accounts: this began a new set of them, and a server that has others in its STATE_DIR won't start with it\n",
    );
  if (!isSettled)
    notes.push(
      "Redis was started anew or emptied, and no server has said since what it may have lost: servers may know more\n",
    );
  if (behind.length > 0)
    notes.push(
      `this is stored, but not confirmed within ${maxTakenMs / 1000} s by ${behind.length === 1 ? "the server" : "the servers"} ${behind.join(", ")}: until then the accounts and keys from before are used there\n`,
    );
  return { ...said, note: notes.join("") };
}
