import type { Cluster, Redis } from "ioredis";
import { reasonOf } from "../../../engine/query.ts";
import { safely } from "../../shared/safely.ts";
import type { RedisAddress } from "./redis-url.ts";

/** Connects to Redis, and goes on trying as long as the server runs. */

export type RedisClient = Redis | Cluster;

/** As long as `Shares` waits for an answer: later it counts as lost. */
const maxAnswerMs = 2000;
/** A connection on which nothing came for so long, though something was asked, is made anew. */
const maxSilenceMs = 3000;
const firstPauseMs = 50;
const maxPauseMs = 1000;

interface Fault extends Error {
  /** Which Redis refused. */
  command?: { name: string };
  /** Why none of a Cluster's nodes can be used. */
  lastNodeError?: Error;
}

const pauseMs = (tries: number) => Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(tries, 10));

/**
 * A client that never waits for a connection: what is asked while there is none fails at once, and nothing is asked
 * twice.
 *
 * @param onFault told why there is no connection
 */
export async function connectRedis(
  address: RedisAddress,
  onFault: (reason: string) => void,
): Promise<RedisClient> {
  // Only here: most servers share nothing.
  const { Cluster, Redis } = await import("ioredis");
  const { kind, isTls, hosts, username, password, db, primary } = address;
  const common = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    db,
    connectionName: "hcqs",
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: maxAnswerMs,
    connectTimeout: maxAnswerMs,
    socketTimeout: maxSilenceMs,
    retryStrategy: pauseMs,
    // A primary that became a replica: the next connection is to the new one.
    reconnectOnError: ({ message }: Error) => message.startsWith("READONLY"),
    ...(isTls && { tls: {} }),
  };
  const client =
    kind === "cluster"
      ? new Cluster(hosts, {
          redisOptions: common,
          enableAutoPipelining: true,
          enableOfflineQueue: false,
          slotsRefreshTimeout: maxAnswerMs,
          // What was asked of a node that is gone may have been done there.
          retryDelayOnFailover: 0,
          clusterRetryStrategy(tries, reason) {
            if (reason !== undefined) onFault(reason.message);
            return pauseMs(tries);
          },
        })
      : kind === "sentinel"
        ? new Redis({
            ...common,
            sentinels: hosts,
            name: primary ?? "",
            enableTLSForSentinelMode: isTls,
            sentinelRetryStrategy: pauseMs,
            ...(isTls && { sentinelTLS: {} }),
          })
        : new Redis({ ...common, ...hosts[0] });
  // What follows from a fault while a connection is set up isn't the reason.
  let isGivenUp = false;
  client.on("connecting", () => {
    isGivenUp = false;
  });
  const onError = (error: Fault) => {
    if (isGivenUp) return;
    // Where the database can't be selected, what is asked next would be asked of database 0.
    if (client instanceof Redis && client.status === "connect") {
      isGivenUp = true;
      client.disconnect(true);
    }
    const { message } = error.lastNodeError ?? error;
    onFault(error.command?.name === "select" ? `database ${db}: ${message}` : message);
  };
  client.on(
    "error",
    safely(onError, (error) => onFault(reasonOf(error))),
  );
  return client;
}
