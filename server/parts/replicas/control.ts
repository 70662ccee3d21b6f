import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { DataError, reasonOf } from "../../../engine/query.ts";
import type { Limits } from "../../accounts/limits.ts";
import { recordEvent } from "../../accounts/quota-events.ts";
import type { Accounts } from "../../accounts/sync.ts";
import { closers, log, repeat, unlessStopping } from "../../control/running.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import type { Settings } from "../../shared/settings.ts";
import type { Store, StoredEvent } from "../../store/store.ts";
import { connectRedis, type RedisClient } from "./client.ts";
import { enteredIn, usedIn } from "./counts.ts";
import { crossings, forget } from "./crossings.ts";
import { Directory, DirectoryAway } from "./directory.ts";
import { scriptIn } from "./redis.ts";
import { Sharing, shards } from "./sharing.ts";

/** This server as one of several: takes part in accounts and ceilings that they share, while Redis is there and while not. */

/** Of looking what was counted, where ceilings are shared. */
const shareMs = 10;
/** And what other servers have counted of accounts that nobody asks this one for. */
const lookUpMs = 1000;
/** A start waits so long at most for its part of what is shared. */
const maxShareWaitMs = 6000;
const shareWaitStepMs = 20;
/** And for accounts and keys. */
const maxDirectoryWaitMs = 3000;
/** And a stop so long for giving it back. */
const maxLeaveMs = 1500;
/** That Redis is away is said so much later at most, if why isn't known: longer than an answer is waited for. */
const maxReasonWaitMs = 2500;
const redisAway =
  "Redis is away: requests are admitted by what this server holds, and keys by its own copy, until it is back";

/** What servers have in common; nothing for one that is alone. */
export interface Shared {
  client?: RedisClient;
  directory?: Directory;
}

/** Takes over accounts, keys and events that servers have in common. */
export async function startDirectory({ redis }: Settings, store: Store): Promise<Shared> {
  if (redis === undefined) return {};
  let reason = "no answer";
  // One of its own: what is much to read doesn't hold up the ceilings.
  const client = await connectRedis(redis, (fault) => {
    reason = fault;
  });
  let isStarting = true;
  const entered = async () => {
    const month = monthOf(Date.now());
    const months = [month - 1, month].map((each) => enteredIn(client, monthName(each), shards));
    const found = (await Promise.all(months)).flat();
    // By now it goes by what it counted, with what was entered.
    if (found.length > 0 && !isStarting) throw countedTwice();
    return found;
  };
  const name = randomBytes(6).toString("base64url");
  const directory = new Directory(store, client, name, undefined, entered);
  closers.push(async () => {
    await Promise.race([directory.leave().catch(() => {}), delay(maxLeaveMs)]);
    client.disconnect();
  });
  for (
    const end = performance.now() + maxDirectoryWaitMs;
    performance.now() < end;
    await delay(shareWaitStepMs)
  )
    try {
      await unlessStopping(directory.read());
      // Somebody else was faster to bring accounts there.
      if (directory.isApart) continue;
      await warnOfEviction(client);
      isStarting = false;
      return { client, directory };
    } catch (error) {
      if (!(error instanceof DirectoryAway)) throw error;
      if (isConnected(client)) reason = error.message;
    }
  isStarting = false;
  log.warn(
    { reason, accounts: store.accounts.ids().length },
    "accounts and keys can't be read from Redis: this server's copy holds until they can",
  );
  return { client, directory };
}

const countedTwice = () =>
  new DataError(
    "REDIS_URL",
    "accounts that were brought there from this STATE_DIR, with requests that would count twice",
    "a restart of this server: it was started while Redis was away",
  );

/** Without a connection a call says no more than that there is none; why is what the client is told. */
const isConnected = ({ status }: RedisClient) => status === "ready";

/** What Redis drops by itself to make room may be counts: then quotas aren't kept until that is noticed. */
async function warnOfEviction(client: RedisClient): Promise<void> {
  const memory = await client.info("memory").catch(() => "");
  const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1] ?? "noeviction";
  if (policy !== "noeviction")
    log.warn({ policy }, "Redis may drop counts and accounts: its maxmemory-policy has to be noeviction");
}

/** Records events of thresholds that were crossed by what all servers have counted; one of them does it at a time. */
export async function recordCrossings({ client, directory }: Shared, store: Store): Promise<StoredEvent[]> {
  if (client === undefined || directory === undefined) return [];
  const found = await crossings(client, shards);
  if (found.length === 0) return [];
  const now = new Date();
  const events = await directory.change(() =>
    found.flatMap(({ account: id, month, threshold, quota, used }) => {
      const account = store.accounts.byId(id);
      if (account === undefined) return [];
      return recordEvent(store, { ...account, quota }, month, threshold, used, now) ?? [];
    }),
  );
  await forget(client, found);
  return events;
}

/** Shares ceilings with other servers from now on, as long as this one answers; undefined for one that is alone. */
export async function startSharing(
  { redis, isFreeWithoutRedis }: Settings,
  { directory }: Shared,
  tables: { store: Store; accounts: Accounts; limits: Limits },
  save: () => void,
): Promise<Sharing | undefined> {
  if (redis === undefined) return undefined;
  let reason: string | undefined;
  const client = await connectRedis(redis, (fault) => {
    reason = fault;
  });
  const script = scriptIn(client);
  let isApart = true;
  const sharing = new Sharing({
    ...tables,
    usedInAll: (accounts, month) => usedIn(client, accounts, month, shards),
    isFreeWithoutRedis,
    nowMs: performance.now(),
    async send(...call) {
      try {
        // What is counted here may be of accounts that were brought there.
        isApart &&= directory?.isApart === true;
        if (isApart) throw new DirectoryAway("this server hasn't read accounts from it yet");
        const told = await script(...call);
        reason = undefined;
        return told;
      } catch (error) {
        if (isConnected(client)) reason = reasonOf(error);
        throw error;
      }
    },
  });
  closers.push(async () => {
    await Promise.race([sharing.leave(performance.now(), save), delay(maxLeaveMs)]);
    client.disconnect();
  });
  let isAway: boolean | undefined;
  const untilMs = performance.now() + maxShareWaitMs;
  // A start is given time to connect.
  let reasonUntilMs = untilMs;
  repeat("sharing ceilings", shareMs, () => {
    const nowMs = performance.now();
    sharing.step(nowMs, Date.now());
    const isLost = sharing.isAway;
    if (isAway === false && !isLost) reasonUntilMs = nowMs + maxReasonWaitMs;
    if (isLost === isAway || (isLost && reason === undefined && nowMs < reasonUntilMs)) return;
    if (isLost) log.warn({ reason: reason ?? "no answer" }, redisAway);
    else if (isAway) log.info({ replicas: sharing.members }, "Redis is back");
    isAway = isLost;
    reason = undefined;
  });
  repeat("looking up what other servers count", lookUpMs, () =>
    sharing.lookUp(monthOf(Date.now())).catch((error) => {
      // That Redis is away is said already.
      if (isConnected(client) && !sharing.isAway) throw error;
    }),
  );
  // Until this server has its part of what is shared, or Redis is found to be away.
  while (!sharing.isReady && isAway !== true && performance.now() < untilMs)
    await unlessStopping(delay(shareWaitStepMs));
  return sharing;
}
