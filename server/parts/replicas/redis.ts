import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Cluster, Redis } from "ioredis";
import { reasonOf } from "../../../engine/query.ts";
import { safely } from "../../shared/safely.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import type { RedisAddress } from "./redis-url.ts";

/** Connects to Redis, reconnects as long as the server runs, and runs the scripts. */

export type RedisClient = Redis | Cluster;

/** Maximum wait for an answer; `Shares` counts later answers as lost, too. */
const maxAnswerMs = 2000;
/** After this long without an answer a connection is closed and reopened. */
const maxSilenceMs = 3000;
const firstPauseMs = 50;
const maxPauseMs = 1000;

interface Fault extends Error {
  /** The command that Redis refused. */
  command?: { name: string };
  /** Why no node of a Cluster can be used. */
  lastNodeError?: Error;
}

const pauseMs = (tries: number) => Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(tries, 10));

/**
 * Makes a client without a queue: without a connection commands fail immediately. No command is sent twice.
 * @param onFault called with the reason when there is no connection
 * @param onConnect called for each new connection
 */
export async function connectRedis(
  address: RedisAddress,
  onFault: (reason: string) => void,
  onConnect: () => void = () => {},
): Promise<RedisClient> {
  // Loaded here, because most servers share nothing.
  const { Cluster, Redis } = await import("ioredis");
  const { kind, isTls, hosts, username, password, db, primary } = address;
  const common = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    db,
    connectionName: "hcqs",
    // Automatic pipelining stays off: a pipeline waits for the answers to the one before, so calls to a distant Redis
    // would queue.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: maxAnswerMs,
    connectTimeout: maxAnswerMs,
    socketTimeout: maxSilenceMs,
    retryStrategy: pauseMs,
    // The primary became a replica, or is cut off from its replicas: the next connection goes to the new one.
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
          // Refreshed regularly, because a command that waits for a failover sends nothing by which the client would
          // learn of the new primary.
          slotsRefreshInterval: maxAnswerMs,
          // Not repeated, because a node that failed may have run the command.
          retryDelayOnFailover: 0,
          clusterRetryStrategy(tries, reason) {
            if (reason !== undefined) onFault(reason.message);
            return pauseMs(tries);
          },
        })
      : new Redis({ ...common, ...(kind === "sentinel" ? sentinels : hosts[0]) });
  client.on("connect", onConnect);
  client.on("+node", (node: Redis) => node.on("connect", onConnect));
  client.on("node error", ({ message }: Error) => onFault(message));
  // Only the first error of a connection attempt is its cause.
  let isGivenUp = false;
  client.on("connecting", () => {
    isGivenUp = false;
  });
  const onError = (error: Fault) => {
    if (isGivenUp) return;
    // If the database can't be selected, later commands would run on database 0.
    if (client instanceof Redis && client.status === "connect") {
      isGivenUp = true;
      client.disconnect(true);
    }
    const { message } = error.lastNodeError ?? error;
    // The client repeats its list of Sentinels from the first one on. Without a "Last error" none has failed.
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

/** The part of an `ioredis` client that runs scripts. */
export interface ScriptClient {
  evalsha(digest: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
  eval(source: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
}

/** A Lua script of this folder. It throws `StateUnavailable` when Redis doesn't run it. */
export function scriptIn(file: string) {
  const source = readFileSync(new URL(file, import.meta.url), "utf8");
  const digest = createHash("sha1").update(source).digest("hex");
  return async (client: ScriptClient, keys: readonly string[], ...values: (string | number)[]) => {
    const words = [keys.length, ...keys, ...values] as const;
    return client
      .evalsha(digest, ...words)
      .catch((error) => {
        // A restarted Redis, or a new primary, doesn't know the script.
        if (!reasonOf(error).startsWith("NOSCRIPT")) throw error;
        return client.eval(source, ...words);
      })
      .catch((error) => {
        throw new StateUnavailable(reasonOf(error));
      });
  };
}

/** The hash of a month, `YYYY-MM`: a record as JSON for each account. A Cluster keeps all keys of ceilings together. */
export const monthKey = (month: string) => `hc:{0}:q:${month}`;

/** Runs `shares.lua`: the call and the answer are objects with the names that the script has. */
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
  new StateUnavailable("what answers isn't Redis: found another answer than that of the script");
