import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Cluster, Redis } from "ioredis";
import { reasonOf } from "../../../engine/query.ts";
import { safely } from "../../shared/safely.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import type { RedisAddress } from "./redis-url.ts";

/** Connects to Redis, reconnects as long as the server runs, and runs the scripts. */

export type RedisClient = Redis | Cluster;

/** Milliseconds after which `Shares` ignores an answer. */
const maxAnswerMs = 2000;
/** Milliseconds without an answer after which a connection is closed and reopened. */
const maxSilenceMs = 3000;
const firstPauseMs = 50;
const maxPauseMs = 1000;

interface Fault extends Error {
  command?: { name: string };
  lastNodeError?: Error;
}

const pauseMs = (tries: number) => Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(tries, 10));

/**
 * Makes a client. While it has no connection, commands fail immediately. No command is sent twice.
 * @param onFault called with the reason when there is no connection
 * @param onConnect called for each new connection
 */
export async function connectRedis(
  address: RedisAddress,
  onFault: (reason: string) => void,
  onConnect: () => void = () => {},
): Promise<RedisClient> {
  // Loads `ioredis` only when it is needed, because most servers use no Redis.
  const { Cluster, Redis } = await import("ioredis");
  const { kind, isTls, hosts, username, password, db, primary } = address;
  const common = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    db,
    connectionName: "hcqs",
    // No `enableAutoPipelining`: pipelines wait for earlier answers, so calls to a distant Redis would queue.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: maxAnswerMs,
    connectTimeout: maxAnswerMs,
    socketTimeout: maxSilenceMs,
    retryStrategy: pauseMs,
    // After these errors the primary is a replica or cut off. Reconnecting finds the new primary.
    reconnectOnError: ({ message }: Error) =>
      message.startsWith("READONLY") || (kind === "sentinel" && message.startsWith("NOREPLICAS")),
    ...(isTls && { tls: {} }),
  };
  const sentinels = {
    ...{ sentinels: hosts, name: primary ?? "", sentinelRetryStrategy: pauseMs },
    ...{ enableTLSForSentinelMode: isTls, ...(isTls && { sentinelTLS: {} }) },
  };
  const client =
    kind === "cluster"
      ? new Cluster(hosts, {
          redisOptions: common,
          enableOfflineQueue: false,
          slotsRefreshTimeout: maxAnswerMs,
          // The failed node may have run the commands, so they aren't repeated.
          retryDelayOnFailover: 0,
          clusterRetryStrategy(tries, reason) {
            if (reason !== undefined) onFault(reason.message);
            return pauseMs(tries);
          },
        })
      : new Redis({ ...common, ...(kind === "sentinel" ? sentinels : hosts[0]) });
  if (client instanceof Cluster) {
    // Without a timer, the client wouldn't learn of a new primary while commands wait for a failover. The library's own
    // timer may go on after `disconnect` and keep the process from ending.
    const refreshing = setInterval(
      safely(
        () => client.refreshSlotsCache(),
        (error) => onFault(reasonOf(error)),
      ),
      maxAnswerMs,
    ).unref();
    client.once("end", () => clearInterval(refreshing));
  }
  client.on("connect", onConnect);
  client.on("+node", (node: Redis) => node.on("connect", onConnect));
  client.on("node error", ({ message }: Error) => onFault(message));
  // The first error of an attempt is the cause of its later errors, which aren't reported.
  let isGivenUp = false;
  client.on("connecting", () => {
    isGivenUp = false;
  });
  const onError = (error: Fault) => {
    if (isGivenUp) return;
    // Gives up an attempt that fails before the connection is ready. Otherwise, if the database can't be selected,
    // later commands would run on database 0.
    if (client instanceof Redis && client.status === "connect") {
      isGivenUp = true;
      client.disconnect(true);
    }
    const { message } = error.lastNodeError ?? error;
    // The client repeats this message when it starts again at the first Sentinel, without "Last error".
    if (/^All sentinels are unreachable(?!.*Last error)/.test(message)) return;
    onFault(error.command?.name === "select" ? `database ${db}: ${message}` : inWords(message, isTls));
  };
  client.on(
    "error",
    safely(onError, (error) => onFault(reasonOf(error))),
  );
  return client;
}

/** Replaces messages that name neither the cause nor the setting to change. */
function inWords(message: string, isTls: boolean): string {
  if (/\bNOAUTH\b/.test(message)) return "a password is asked for, and none was sent";
  return isTls && /ETIMEDOUT|wrong version number/i.test(message) ? `no answer by TLS (${message})` : message;
}

export interface ScriptClient {
  evalsha(digest: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
  eval(source: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
}

/** Makes a function that runs a Lua script of this folder. The function throws `StateUnavailable` on failure. */
export function scriptIn(file: string) {
  const source = readFileSync(new URL(file, import.meta.url), "utf8");
  const digest = createHash("sha1").update(source).digest("hex");
  return async (client: ScriptClient, keys: readonly string[], ...values: (string | number)[]) => {
    const words = [keys.length, ...keys, ...values] as const;
    return client
      .evalsha(digest, ...words)
      .catch((error) => {
        // A restarted Redis or a new primary doesn't know the script yet.
        if (!reasonOf(error).startsWith("NOSCRIPT")) throw error;
        return client.eval(source, ...words);
      })
      .catch((error) => {
        throw new StateUnavailable(reasonOf(error));
      });
  };
}

/**
 * Makes the key of the hash with the records of a month, `YYYY-MM`. The hash has an account's record as JSON in each
 * field. By the hash tag `{0}`, a Cluster keeps all keys of ceilings on one node.
 */
export const monthKey = (month: string) => `hc:{0}:q:${month}`;

/**
 * Runs `shares.lua`. The fields of the call and of the answer have the script's names.
 * @param months `YYYY-MM`
 * @throws StateUnavailable when Redis can't run the script
 */
export type SharesScript = <Answer>(
  months: readonly string[],
  call: Readonly<Record<string, unknown>>,
) => Promise<Answer>;

const shares = scriptIn("shares.lua");

export function sharesIn(client: ScriptClient): SharesScript {
  return async <Answer>(months: readonly string[], call: object) => {
    const keys = ["hc:{0}:servers", "hc:{0}:flags", ...months.map(monthKey)];
    const text = await shares(client, keys, JSON.stringify({ ...call, months }));
    if (typeof text !== "string" || !text.startsWith("{")) throw notRedis();
    return JSON.parse(text) as Answer;
  };
}

export const notRedis = () =>
  new StateUnavailable("the server that answers isn't Redis: its answer isn't that of the script");
