import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { DataError, reasonOf } from "../../../engine/query.ts";
import type { Limits } from "../../accounts/limits.ts";
import { logEvents, recordEvent } from "../../accounts/quota-events.ts";
import type { Accounts, SavedBeside } from "../../accounts/sync.ts";
import type { Ground, SharedState } from "../../part.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import type { Store, StoredEvent } from "../../store/store.ts";
import { connectRedis, type RedisClient } from "./client.ts";
import { enteredIn, usedIn } from "./counts.ts";
import { crossings, forget } from "./crossings.ts";
import { Directory } from "./directory.ts";
import { scriptIn } from "./redis.ts";
import type { RedisAddress } from "./redis-url.ts";
import { Sharing, shards } from "./sharing.ts";

/** Makes this server one of several: it shares accounts and ceilings through Redis, and goes on by itself while Redis is down. */

/** Between looks at what was counted. */
const shareMs = 10;
/** Between looks at what other servers have counted of accounts that this one isn't asked for. */
const lookUpMs = 1000;
/** Between reads of accounts and keys. Commands wait for them. */
const directoryMs = 250;
/** Between looks for thresholds that all servers together have crossed. */
const recordMs = 1000;
/** A start waits this long at most for its share of the ceilings. */
const maxShareWaitMs = 6000;
const waitStepMs = 20;
/** A start waits this long at most for accounts and keys. */
const maxDirectoryWaitMs = 3000;
/** A stop waits this long at most to give its share back. */
const maxLeaveMs = 1500;
/** A warning that Redis is down waits this long for the reason; longer than an answer may take. */
const maxReasonWaitMs = 2500;

interface Options {
  address: RedisAddress;
  /** Whether a server admits all that it knows to be left of a quota while Redis is down. */
  isFreeWithoutRedis: boolean;
}

/** Reads accounts, keys and events from Redis, and shares the ceilings from when the core says so. */
export async function shareState(options: Options, ground: Ground): Promise<SharedState> {
  const { store, log, repeat, fault } = ground;
  const { client, directory } = await startDirectory(options.address, ground);
  const delivers = () => fault() === undefined && directory.delivers(performance.now());
  return {
    change: (work) => directory.change(work),
    taken: (maxMs) => directory.taken(maxMs),
    delivers,
    async shareCeilings(accounts, limits, save) {
      const sharing = await startSharing(options, ground, directory, accounts, limits, save);
      repeat("reading accounts and keys from Redis", directoryMs, async () => {
        if (fault() !== undefined) return;
        await directory.read().catch((error) => {
          // The ceilings' connection logs that Redis is down.
          if (!(error instanceof StateUnavailable)) throw error;
        });
      });
      repeat("recording events of all servers", recordMs, async () => {
        if (delivers()) logEvents(log, await recordCrossings(client, directory, store));
      });
      return sharing;
    },
  };
}

async function startDirectory(
  address: RedisAddress,
  { store, log, metrics, atEnd, unlessStopping }: Ground,
): Promise<{ client: RedisClient; directory: Directory }> {
  let reason = "no answer";
  // Apart from the ceilings' connection, which a long read would hold up.
  const client = await connectRedis(address, (fault) => {
    reason = fault;
  });
  let isStarting = true;
  const entered = async () => {
    const month = monthOf(Date.now());
    const months = [month - 1, month].map((each) => enteredIn(client, monthName(each), shards));
    const found = (await Promise.all(months)).flat();
    // After the start this server's counts already contain what was entered.
    if (found.length > 0 && !isStarting) throw countedTwice();
    return found;
  };
  const name = randomBytes(6).toString("base64url");
  const directory = new Directory(store, client, name, undefined, entered);
  atEnd(async () => {
    await Promise.race([directory.leave().catch(() => {}), delay(maxLeaveMs)]);
    client.disconnect();
  });
  metrics.gauge(
    "hcqs_directory_age_seconds",
    "Since accounts and keys were last read from Redis, up to the newest",
    () => directory.syncAgeMs(performance.now()) / 1000,
  );
  const untilMs = performance.now() + maxDirectoryWaitMs;
  for (; performance.now() < untilMs; await delay(waitStepMs))
    try {
      await unlessStopping(directory.read());
      // Another server brought its accounts there first.
      if (directory.isApart) continue;
      await warnOfEviction(client, log);
      isStarting = false;
      return { client, directory };
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
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

/** Without a connection a call only says that there is none; the client is told why. */
const isConnected = ({ status }: RedisClient) => status === "ready";

/** A Redis that evicts keys when its memory is full may lose counts, and quotas with them. */
async function warnOfEviction(client: RedisClient, log: Logger): Promise<void> {
  const memory = await client.info("memory").catch(() => "");
  const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1] ?? "noeviction";
  if (policy !== "noeviction")
    log.warn({ policy }, "Redis may drop counts and accounts: its maxmemory-policy has to be noeviction");
}

/** Records the events of thresholds that all servers together have crossed. */
async function recordCrossings(
  client: RedisClient,
  directory: Directory,
  store: Store,
): Promise<StoredEvent[]> {
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

async function startSharing(
  { address, isFreeWithoutRedis }: Options,
  { store, log, metrics, repeat, atEnd, unlessStopping }: Ground,
  directory: Directory,
  accounts: Accounts,
  limits: Limits,
  save: () => void,
): Promise<SavedBeside> {
  let reason: string | undefined;
  const client = await connectRedis(address, (fault) => {
    reason = fault;
  });
  const script = scriptIn(client);
  let isApart = true;
  const sharing = new Sharing({
    ...{ store, accounts, limits, isFreeWithoutRedis },
    usedInAll: (ids, month) => usedIn(client, ids, month, shards),
    nowMs: performance.now(),
    async send(...call) {
      try {
        // Counts of accounts that Redis doesn't have yet must not reach it.
        isApart &&= directory.isApart;
        if (isApart) throw new StateUnavailable("this server hasn't read accounts from it yet");
        const told = await script(...call);
        reason = undefined;
        return told;
      } catch (error) {
        if (isConnected(client)) reason = reasonOf(error);
        throw error;
      }
    },
  });
  atEnd(async () => {
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
      // That Redis is down is logged already.
      if (isConnected(client) && !sharing.isAway) throw error;
    }),
  );
  metrics.gauge(
    "hcqs_replicas",
    "Servers that share the ceilings, this one among them",
    () => sharing.members,
  );
  metrics.gauge(
    "hcqs_lease_charged_requests",
    "Requests of quotas that are leased to this server and not used yet, of all accounts",
    () => sharing.charged(),
  );
  metrics.gauge(
    "hcqs_sync_age_seconds",
    "Since Redis was asked what it has answered last, of the part of the ceilings that waits longest",
    () => sharing.syncAgeMs(performance.now()) / 1000,
  );
  // Until this server has its share, or Redis is found to be down.
  while (!sharing.isReady && isAway !== true && performance.now() < untilMs)
    await unlessStopping(delay(waitStepMs));
  return sharing;
}

const redisAway =
  "Redis is away: requests are admitted by what this server holds, and keys by its own copy, until it is back";
