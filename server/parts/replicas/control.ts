import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { DataError, reasonOf } from "../../../engine/query.ts";
import type { Limits } from "../../accounts/limits.ts";
import { logEvents } from "../../accounts/quota-events.ts";
import type { Accounts } from "../../accounts/sync.ts";
import type { Ground, SharedState } from "../../part.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import { connectRedis, type RedisClient } from "./client.ts";
import { Directory } from "./directory.ts";
import { monthsOf, Records } from "./records.ts";
import { type SharesScript, sharesIn } from "./redis.ts";
import type { RedisAddress } from "./redis-url.ts";
import type { Counts } from "./share.ts";
import { Shares } from "./shares.ts";

/** Shares accounts and ceilings with other servers through Redis, and continues alone while Redis is down. */

/** Interval between checks of local counts. */
const stepMs = 10;
/** Interval between reads of other servers' counts for accounts that aren't in use here. */
const hearMs = 5000;
/** Accounts per batch when reading other servers' counts. */
const heardAtOnce = 1000;
/** Interval between reads of accounts and keys. Commands wait for the next one. */
const directoryMs = 250;
/** Interval between checks for thresholds that were crossed by the sum of all servers' counts. */
const recordMs = 1000;
/** Interval between looks for servers that are gone. */
const goneMs = 5000;
/** Maximum wait at start for this server's share of the ceilings. */
const maxShareWaitMs = 6000;
const waitStepMs = 20;
/** Maximum wait at start for accounts and keys. */
const maxDirectoryWaitMs = 3000;
/** Maximum wait at the end to give back leases and shares. */
const maxLeaveMs = 1500;
/** Maximum delay of the warning that Redis is down, to include the reason. Longer than the wait for an answer. */
const maxReasonWaitMs = 2500;

interface Options {
  address: RedisAddress;
  /** Whether a server may admit the whole known rest of a quota while Redis is down (QUOTA_WITHOUT_REDIS=free). */
  isFreeWithoutRedis: boolean;
  /** Age of the copy of accounts and keys beyond which this server isn't ready; 0 for none. */
  maxAgeMs: number;
}

/** Reads accounts, keys and events from Redis. Ceilings are shared after the core calls `shareCeilings`. */
export async function shareState(options: Options, ground: Ground): Promise<SharedState> {
  const { store, log, repeat, fault } = ground;
  const { directory, records } = await startDirectory(options.address, ground);
  let gone: readonly string[] = [];
  let shares: Shares | undefined;
  return {
    change: (work) => directory.change(work),
    taken: (maxMs) => records.taken(store.directory.position().version, maxMs),
    isBehind: () => options.maxAgeMs > 0 && directory.syncAgeMs(performance.now()) > options.maxAgeMs,
    delivers: () => fault() === undefined && shares?.delivers(performance.now()) === true,
    gone: () => gone,
    async shareCeilings(accounts, limits, save) {
      shares = await startSharing(options, ground, directory, accounts, limits, save);
      repeat("reading accounts and keys from Redis", directoryMs, async () => {
        if (fault() === undefined) await whenThere(() => directory.read());
      });
      repeat("looking for servers that are gone", goneMs, async () => {
        const rows = await records.rows(monthsOf(new Date())).catch(() => undefined);
        // Without Redis the last answer stands; that it is down is logged already.
        if (rows !== undefined) gone = rows.filter(({ isGone }) => isGone).map(({ id }) => id);
      });
      repeat("recording events of all servers", recordMs, async () => {
        if (fault() === undefined)
          await whenThere(async () =>
            logEvents(log, await accounts.recordShared((work) => directory.change(work), new Date())),
          );
      });
    },
  };
}

/** Does work that Redis may be absent for: the ceilings' connection logs that it is. */
async function whenThere(work: () => Promise<void>): Promise<void> {
  await work().catch((error) => {
    if (!(error instanceof StateUnavailable)) throw error;
  });
}

async function startDirectory(
  address: RedisAddress,
  { store, log, metrics, atEnd, unlessStopping }: Ground,
): Promise<{ directory: Directory; records: Records }> {
  let reason = "no answer";
  // A separate connection, because a long read would delay the calls for ceilings.
  const client = await connectRedis(
    address,
    (fault) => {
      reason = fault;
    },
    () => directory?.check(),
  );
  const records = new Records(client);
  let isStarting = true;
  const entered = async () => {
    const month = monthOf(Date.now());
    const found = (
      await Promise.all([month - 1, month].map((each) => records.entered(monthName(each))))
    ).flat();
    // After the start this server's counts already contain imported counts.
    if (found.length > 0 && !isStarting) throw countedTwice();
    return found;
  };
  const directory: Directory = new Directory(store, client, true, undefined, entered);
  atEnd(() => client.disconnect());
  metrics.gauge(
    "hcqs_directory_age_seconds",
    "Since accounts and keys were last read from Redis, up to the newest",
    () => directory.syncAgeMs(performance.now()) / 1000,
  );
  const untilMs = performance.now() + maxDirectoryWaitMs;
  for (; performance.now() < untilMs; await delay(waitStepMs))
    try {
      await unlessStopping(directory.read());
      // Another server was first to write its accounts to Redis.
      if (directory.isApart) continue;
      await warnOfLosses(address, client, log);
      isStarting = false;
      return { directory, records };
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      if (isConnected(client)) reason = error.message;
    }
  isStarting = false;
  log.warn(
    { reason, accounts: store.accounts.ids().length },
    "accounts and keys can't be read from Redis: this server's copy holds until they can",
  );
  return { directory, records };
}

const countedTwice = () =>
  new DataError(
    "REDIS_URL",
    "accounts that were brought there from this STATE_DIR, with requests that would count twice",
    "a restart of this server: it was started while Redis was away",
  );

/** Without a connection, calls fail without a reason, which the client reports to `onFault`. */
const isConnected = ({ status }: RedisClient) => status === "ready";

/** Warns if Redis may lose counts, because it evicts keys or accepts writes without its replicas. */
async function warnOfLosses({ kind }: RedisAddress, client: RedisClient, log: Logger): Promise<void> {
  for (const node of "nodes" in client ? client.nodes("master") : [client]) {
    const info = `${await node.info("memory").catch(() => "")}\n${await node.info("replication").catch(() => "")}`;
    const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1] ?? "noeviction";
    if (policy !== "noeviction")
      log.warn({ policy }, "Redis may drop counts and accounts: its maxmemory-policy has to be noeviction");
    const isReplicated = kind === "sentinel" || Number(/connected_slaves:(\d+)/.exec(info)?.[1] ?? 0) > 0;
    if (isReplicated && info.includes("role:master") && !info.includes("min_slaves_good_slaves"))
      log.warn(
        { primary: `${node.options.host}:${node.options.port}` },
        "Redis may have two primaries at once, and quotas would be exceeded: its min-replicas-to-write has to be 1 or more",
      );
  }
}

async function startSharing(
  { address, isFreeWithoutRedis }: Options,
  { store, log, metrics, repeat, atEnd, unlessStopping }: Ground,
  directory: Directory,
  accounts: Accounts,
  limits: Limits,
  save: () => void,
): Promise<Shares> {
  let reason: string | undefined;
  const client = await connectRedis(
    address,
    (fault) => {
      reason = fault;
    },
    () => shares?.check(),
  );
  const run = sharesIn(client);
  const records = new Records(client);
  let isApart = true;
  const script: SharesScript = async (...call) => {
    try {
      // Counts of accounts that Redis doesn't have yet must not reach it.
      isApart &&= directory.isApart;
      if (isApart) throw new StateUnavailable("this server hasn't read accounts from it yet");
      const told = await run<never>(...call);
      reason = undefined;
      return told;
    } catch (error) {
      if (isConnected(client)) reason = reasonOf(error);
      throw error;
    }
  };
  const { id, starts, members } = store.replica.begin();
  let savedMembers = members;
  let { version: taken } = store.directory.position();
  const shares: Shares = new Shares(
    {
      ...{ server: `${id}.${starts}`, knew: members, counts: countsOf(accounts, limits) },
      ...{ script, isFreeWithoutRedis, taken: () => taken, clock: () => performance.now() },
    },
    accounts.firstMonth,
    performance.now(),
  );
  accounts.onChange = (account) => shares.enter(account);
  directory.onTaken = () => {
    accounts.refresh();
    taken = store.directory.position().version;
    shares.confirm();
  };
  atEnd(async () => {
    await Promise.race([shares.leave(performance.now(), save), delay(maxLeaveMs)]);
    client.disconnect();
  });
  let isAway: boolean | undefined;
  const untilMs = performance.now() + maxShareWaitMs;
  // A start is given time to connect.
  let reasonUntilMs = untilMs;
  repeat("sharing ceilings", stepMs, () => {
    const nowMs = performance.now();
    shares.enterMonths(accounts.firstMonth);
    limits.sweep((slot) => shares.touch(accounts.idOf(slot), nowMs));
    shares.tick(nowMs, monthOf(Date.now()));
    if (shares.isReady && shares.members !== savedMembers) {
      savedMembers = shares.members;
      store.replica.saveMembers(savedMembers);
    }
    const isLost = shares.isAway(nowMs);
    if (isAway === false && !isLost) reasonUntilMs = nowMs + maxReasonWaitMs;
    if (isLost === isAway || (isLost && reason === undefined && nowMs < reasonUntilMs)) return;
    if (isLost) log.warn({ reason: reason ?? "no answer" }, redisAway);
    else if (isAway) log.info({ replicas: shares.members }, "Redis is back");
    isAway = isLost;
    reason = undefined;
  });
  repeat("reading what other servers count", hearMs, () =>
    shares
      .hear(monthOf(Date.now()), heardAtOnce, (ids, month) => records.of(ids, month))
      .catch((error) => {
        // That Redis is down is logged already.
        if (isConnected(client) && !shares.isAway(performance.now())) throw error;
      }),
  );
  metrics.gauge(
    "hcqs_replicas",
    "Servers that share the ceilings, this one among them",
    () => shares.members,
  );
  metrics.gauge(
    "hcqs_lease_charged_requests",
    "Requests of quotas that are leased to this server and not used yet, of all accounts",
    () => shares.charged(),
  );
  metrics.gauge(
    "hcqs_sync_age_seconds",
    "Since the last call for ceilings that Redis has answered was sent",
    () => shares.syncAgeMs(performance.now()) / 1000,
  );
  // Until this server has its share, or Redis is found to be down.
  while (!shares.isReady && isAway !== true && performance.now() < untilMs)
    await unlessStopping(delay(waitStepMs));
  // What was changed before other servers' commands knew of this one.
  if (shares.isReady) await unlessStopping(whenThere(() => directory.read()));
  return shares;
}

/** The counts in shared memory. What Redis says of an account may come before the account itself. */
function countsOf(accounts: Accounts, limits: Limits): Counts {
  return {
    accounts: () => accounts.ids(),
    ceilings: (account) => {
      const slot = accounts.slotOf(account);
      return slot === undefined ? { burst: 0, quota: 0 } : limits.ceilings(slot);
    },
    used: (account, month) => accounts.used(account, month),
    refused: (account) => {
      const slot = accounts.slotOf(account);
      return slot === undefined ? 0 : limits.refused(slot);
    },
    admitUpTo: (account, ...bound) => {
      const slot = accounts.slotOf(account);
      if (slot !== undefined) limits.admitUpTo(slot, ...bound);
    },
  };
}

const redisAway =
  "Redis is away: requests are admitted by what this server holds, and keys by its own copy, until it is back";
