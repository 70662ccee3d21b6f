import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { DataError, reasonOf } from "../../../engine/query.ts";
import type { Limits } from "../../accounts/limits.ts";
import { logEvents } from "../../accounts/quota-events.ts";
import type { Accounts } from "../../accounts/sync.ts";
import type { PartContext, SharedState } from "../../part.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import { steadyClock } from "../../shared/runtime.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import { Directory } from "./directory.ts";
import { recordsOf, serversBehind, serversOf } from "./records.ts";
import { connectRedis, type RedisClient, type SharesScript, sharesIn } from "./redis.ts";
import type { RedisAddress } from "./redis-url.ts";
import type { Counts } from "./share.ts";
import { Shares } from "./shares.ts";

/** Shares accounts and ceilings with other servers through Redis. While Redis is down, this server continues alone. */

const stepMs = 10;
const recordsMs = 100;
/** Milliseconds between reads of accounts and keys. Commands that change them wait for the next read. */
const directoryMs = 250;
const recordMs = 1000;
const goneMs = 5000;
/**
 * Maximum milliseconds that a start waits for this server's part. A lost server keeps its part for a minute. A server
 * with many accounts in use may need some seconds to make its part smaller.
 */
const maxShareWaitMs = 75_000;
const maxConnectMs = 6000;
const waitStepMs = 20;
const maxDirectoryWaitMs = 3000;
const maxLeaveMs = 3000;
/**
 * Maximum milliseconds that the warning that Redis is down waits for its reason. Exceeds the maximum wait for an
 * answer, 2 s, because a missing answer may be the reason.
 */
const maxReasonWaitMs = 2500;

interface Options {
  address: RedisAddress;
  isFreeWithoutRedis: boolean;
  /** If the copy of accounts and keys is older than these milliseconds, this server isn't ready; 0 for no limit. */
  maxAgeMs: number;
}

/** The reason of the last failed connection or call; undefined after it is logged or a call succeeds. */
interface RedisState {
  reason: string | undefined;
}

/** Reads accounts, keys and events from Redis. Ceilings are shared after a call of `shareCeilings`. */
export async function shareState(options: Options, context: PartContext): Promise<SharedState> {
  const { store, log, metrics, repeat, atEnd, fault, unlessStopping } = context;
  let shares: Shares | undefined;
  const state: RedisState = { reason: undefined };
  const client = await connectRedis(
    options.address,
    (reason) => {
      state.reason = reason;
    },
    () => {
      directory?.check();
      shares?.check();
    },
  );
  atEnd(() => client.disconnect());
  const directory: Directory = new Directory(store, client, true);
  metrics.gauge(
    "hcqs_directory_age_seconds",
    "Seconds since all changes of accounts and keys were last read from Redis",
    () => directory.syncAgeMs(performance.now()) / 1000,
  );
  await readAtStart(options.address, context, client, directory, state);
  /** Ignores StateUnavailable, and while Redis is down all errors but DataError. Redis' absence is logged elsewhere. */
  const unlessAway = async (work: () => Promise<void>): Promise<void> => {
    await work().catch((error) => {
      const isAway = client.status !== "ready" || shares?.isAway(performance.now());
      if (error instanceof DataError || !(isAway || error instanceof StateUnavailable)) throw error;
    });
  };
  let gone: readonly string[] = [];
  return {
    change: (work) => directory.change(work),
    taken: (maxMs) => serversBehind(client, store.directory.position().version, maxMs),
    isBehind: () =>
      directory.isUnread ||
      (options.maxAgeMs > 0 && directory.syncAgeMs(performance.now()) > options.maxAgeMs),
    delivers: () => fault() === undefined && shares?.delivers(performance.now()) === true,
    gone: () => gone,
    async shareCeilings(accounts, limits, save) {
      const { sharing, ready } = startSharing(
        options,
        context,
        { client, directory, state },
        accounts,
        limits,
        save,
      );
      shares = sharing;
      repeat("reading what other servers count", recordsMs, () =>
        unlessAway(() =>
          sharing.readRecords(performance.now(), monthOf(Date.now()), (ids, month) =>
            recordsOf(client, ids, month),
          ),
        ),
      );
      await ready();
      // Commands elsewhere don't wait for a server that hasn't joined. So their changes are read now.
      if (sharing.isReady) await unlessStopping(unlessAway(() => directory.read()));
      repeat("reading accounts and keys from Redis", directoryMs, async () => {
        if (fault() === undefined) await unlessAway(() => directory.read());
      });
      repeat("looking for servers that are gone", goneMs, () =>
        unlessAway(async () => {
          gone = (await serversOf(client)).filter(({ isGone }) => isGone).map(({ id }) => id);
        }),
      );
      repeat("recording events of all servers", recordMs, async () => {
        if (fault() === undefined)
          await unlessAway(async () =>
            logEvents(log, await accounts.recordShared((work) => directory.change(work), new Date())),
          );
      });
    },
  };
}

/**
 * Reads accounts, keys and events. If that takes too long, warns, and this server goes on with its copy.
 * @throws DataError when Redis has other accounts, or can't be used while this server has accounts that Redis hasn't
 */
async function readAtStart(
  address: RedisAddress,
  { store, log, unlessStopping }: PartContext,
  client: RedisClient,
  directory: Directory,
  state: RedisState,
): Promise<void> {
  for (const startMs = performance.now(); ; await delay(waitStepMs)) {
    if (performance.now() >= startMs + maxDirectoryWaitMs) {
      if (directory.isApart)
        throw new DataError(
          "REDIS_URL",
          `a Redis that can't be used (${state.reason ?? "no answer"})`,
          "a Redis that answers, because this server has accounts of its own and starts with it for the first time",
        );
      log.warn(
        { reason: state.reason ?? "no answer", accounts: store.accounts.ids().length },
        "accounts and keys can't be read from Redis; until they can, this server uses its copy",
      );
      break;
    }
    try {
      await unlessStopping(directory.read());
      // Another server was first to write its accounts to Redis, so this server reads again.
      if (directory.isApart) continue;
      await warnOfLosses(address, client, log);
      break;
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      // Without a connection, a call's error doesn't give the cause. The callback of `connectRedis` does.
      if (client.status === "ready") state.reason = error.message;
    }
  }
}

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

/** @returns `ready` waits up to `maxShareWaitMs`, until this server has its part or Redis is down */
function startSharing(
  { isFreeWithoutRedis }: Options,
  { store, log, metrics, repeat, atEnd, unlessStopping }: PartContext,
  { client, directory, state }: { client: RedisClient; directory: Directory; state: RedisState },
  accounts: Accounts,
  limits: Limits,
  save: () => void,
): { sharing: Shares; ready: () => Promise<void> } {
  const run = sharesIn(client);
  const script: SharesScript = async (...call) => {
    try {
      const answer = await run<never>(...call);
      state.reason = undefined;
      return answer;
    } catch (error) {
      if (client.status === "ready") state.reason = reasonOf(error);
      throw error;
    }
  };
  const { id, starts, members } = store.replica.begin(new Date());
  let { version: taken } = store.directory.position();
  const imported = store.usage.imported();
  const steadyAheadMs = steadyClock()() - performance.now();
  // Redis' answers about an account may come before the account itself. Until then its values are `none`.
  const ofSlot = <Value>(account: number, none: Value, of: (slot: number) => Value): Value => {
    const slot = accounts.slotOf(account);
    return slot === undefined ? none : of(slot);
  };
  const counts: Counts = {
    accounts: () => accounts.ids(),
    burst: (account) => ofSlot(account, 0, (slot) => limits.ceilings(slot).burst),
    quota(account, month) {
      const before = imported.get(`${account} ${monthName(month)}`) ?? 0;
      return Math.max(0, ofSlot(account, 0, (slot) => limits.ceilings(slot).quota) - before);
    },
    used: (account, month) => accounts.used(account, month),
    refused: (account) => ofSlot(account, 0, (slot) => limits.refused(slot)),
    admitUpTo: (account, ...bound) => ofSlot(account, undefined, (slot) => limits.admitUpTo(slot, ...bound)),
    keepBounds: (untilMs) => limits.keepBounds(untilMs + steadyAheadMs),
  };
  const shares: Shares = new Shares(
    {
      ...{ server: `${id}.${starts}`, knew: members, counts, script, isFreeWithoutRedis },
      ...{ taken: () => taken, clock: () => performance.now() },
    },
    accounts.firstMonth,
    performance.now(),
  );
  atEnd(async () => {
    const isConfirmed = await Promise.race([shares.leave(performance.now(), save), delay(maxLeaveMs, false)]);
    if (!isConfirmed)
      log.warn("Redis hasn't confirmed what this server gave back: its leases may stay charged");
  });
  accounts.onChange = (account) => shares.enter(account);
  directory.onTaken = (rows) => {
    for (const { name, content } of rows) {
      const [table, account, month] = name.split(":");
      if (table === "imported" && content !== null)
        imported.set(`${account} ${month}`, JSON.parse(content).used);
    }
    accounts.refresh();
    const { version } = store.directory.position();
    if (version !== taken) shares.confirm();
    taken = version;
  };
  metrics.gauge(
    "hcqs_replicas",
    "Servers that share the rates and quotas, including this one",
    () => shares.members,
  );
  metrics.gauge(
    "hcqs_lease_charged_requests",
    "Requests of all accounts' quotas that are leased to this server and not used yet",
    () => shares.charged(),
  );
  metrics.gauge(
    "hcqs_sync_age_seconds",
    "Seconds since the server sent the last call for leases and shares that Redis has answered",
    () => shares.syncAgeMs(performance.now()) / 1000,
  );
  let savedMembers = 0;
  let isAway: boolean | undefined;
  const startMs = performance.now();
  // A warning waits for its reason until this time. After a start it waits as long as connecting may take.
  let reasonUntilMs = startMs + maxConnectMs;
  repeat("sharing ceilings", stepMs, () => {
    const nowMs = performance.now();
    shares.enterMonths(accounts.firstMonth);
    limits.sweep((slot) => shares.touch(accounts.idOf(slot), nowMs));
    shares.tick(nowMs, monthOf(Date.now()));
    if (shares.isReady && shares.knew !== savedMembers) {
      savedMembers = shares.knew;
      store.replica.saveMembers(savedMembers);
    }
    const isLost = shares.isAway(nowMs);
    if (isAway === false && !isLost) reasonUntilMs = nowMs + maxReasonWaitMs;
    if (isLost === isAway || (isLost && state.reason === undefined && nowMs < reasonUntilMs)) return;
    if (isLost) log.warn({ reason: state.reason ?? "no answer" }, redisAway);
    else if (isAway) log.info({ replicas: shares.members }, "Redis is back");
    isAway = isLost;
    state.reason = undefined;
  });
  const ready = async () => {
    while (!shares.isReady && isAway !== true && performance.now() < startMs + maxShareWaitMs)
      await unlessStopping(delay(waitStepMs));
  };
  return { sharing: shares, ready };
}

const redisAway =
  "Redis is down; until it is back, this server admits requests from the leases and shares that it holds, and checks keys against its copy";
