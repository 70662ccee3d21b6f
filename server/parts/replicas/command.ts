import { setTimeout as delay } from "node:timers/promises";
import { DataError } from "../../../engine/query.ts";
import type { CommandOutput, SharedCommand } from "../../part.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import { Store } from "../../store/store.ts";
import { connectRedis, type RedisClient } from "./client.ts";
import { enterUsed, usedIn } from "./counts.ts";
import { Directory } from "./directory.ts";
import type { RedisAddress } from "./redis-url.ts";
import { shards } from "./sharing.ts";

/** Runs an operator's command on the accounts in Redis, from any machine. */

const maxConnectMs = 3000;
const connectStepMs = 10;
/** A command waits this long for the servers that answer to have its change. */
const maxTakenMs = 1500;

/**
 * Runs a command on a copy in memory of what is in Redis, writes what it changes there, and waits for the servers to
 * have it.
 * @throws DataError when Redis can't be used
 */
export async function runShared(address: RedisAddress, command: SharedCommand): Promise<CommandOutput> {
  let reason = "no answer";
  const client = await connectRedis(address, (fault) => {
    reason = fault;
  });
  const store = Store.inMemory();
  try {
    for (const end = performance.now() + maxConnectMs; client.status !== "ready"; await delay(connectStepMs))
      if (performance.now() > end) throw new StateUnavailable(reason);
    return await runOn(client, store, command);
  } catch (error) {
    if (!(error instanceof StateUnavailable)) throw error;
    throw new DataError("REDIS_URL", `a Redis that can't be used (${error.message})`, error.expected);
  } finally {
    client.disconnect();
    store.close();
  }
}

async function runOn(client: RedisClient, store: Store, command: SharedCommand): Promise<CommandOutput> {
  const directory = new Directory(store, client, "");
  await directory.settle();
  const wasNew = directory.isNew;
  const month = monthOf(command.now.getTime());
  const months = [monthName(month), monthName(month + 1)] as const;
  store.usage.save(months[0], await usedIn(client, store.accounts.ids(), months[0], shards));
  const before = store.directory.position().version;
  const work = () => command.run(store);
  // What imported accounts have used is entered before anybody can use their keys.
  const { entered = [] } = command.brings ? store.directory.rehearse(work).result : {};
  const counted = entered.flatMap(({ id, burst, quota, usage }) =>
    usage.filter((each) => each.month === months[0]).map(({ used }) => ({ account: id, burst, quota, used })),
  );
  if (counted.length > 0) await enterUsed(client, counted, months, shards);
  const said = await directory.change(work);
  const behind = store.directory.position().version === before ? 0 : await directory.taken(maxTakenMs);
  const notes = [said.note ?? ""];
  if (wasNew && !directory.isNew)
    notes.push(
      "Redis had no accounts: this began a new set of them, and a server that has others in its STATE_DIR won't start with it\n",
    );
  if (directory.isUnconfirmed)
    notes.push(
      "Redis was started anew or emptied, and no server has said since what it may have lost: servers may know more\n",
    );
  if (behind > 0)
    notes.push(
      `this is stored, but ${behind} of the running servers ${behind === 1 ? "hasn't" : "haven't"} taken it over within ${maxTakenMs / 1000} s; they will when they can\n`,
    );
  return { ...said, note: notes.join("") };
}
