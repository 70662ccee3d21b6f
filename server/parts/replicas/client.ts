import type { Cluster, Redis } from "ioredis";
import { reasonOf } from "../../../engine/query.ts";
import { safely } from "../../shared/safely.ts";
import type { RedisAddress } from "./redis-url.ts";

/** Connects to Redis, and reconnects as long as the server runs. */

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
    // Automatic pipelines wait for each other's answers, so calls to a distant Redis would queue.
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
  const client =
    kind === "cluster"
      ? new Cluster(hosts, {
          redisOptions: common,
          enableOfflineQueue: false,
          slotsRefreshTimeout: maxAnswerMs,
          // A command that waits for a failover sends nothing from which it would learn of the new primary.
          slotsRefreshInterval: maxAnswerMs,
          // A node that failed may have run the command.
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
    // After the last Sentinel comes the first one again: without a "Last error" none has failed.
    if (/^All sentinels are unreachable(?!.*Last error)/.test(message)) return;
    onFault(error.command?.name === "select" ? `database ${db}: ${message}` : message);
  };
  client.on(
    "error",
    safely(onError, (error) => onFault(reasonOf(error))),
  );
  return client;
}

/** Whether Redis is reachable; in a Cluster, each primary. Starts missing connections. */
export function isReachable(client: RedisClient): boolean {
  if (!("slots" in client)) return client.status === "ready";
  // A command to a node that is still connecting would fail.
  for (const node of client.nodes("master")) if (node.status === "wait") void node.connect().catch(() => {});
  return client.status === "ready" && missingIn(client).length === 0;
}

function missingIn(client: Cluster): string[] {
  const reached = client.nodes("master").filter(({ status }) => status === "ready");
  const there = new Set(reached.map(({ options }) => `${options.host}:${options.port}`));
  const primaries = new Set(client.slots.flatMap((nodes) => nodes?.[0] ?? []));
  return [...primaries].filter((node) => !there.has(node));
}

/** Names what can't be reached: in a Cluster the primaries that aren't. */
export function placeOf({ kind, hosts, primary }: RedisAddress, client: RedisClient): string {
  const known = hosts.map(({ host, port }) => `${host}:${port}`).join(",");
  if (kind === "sentinel") return `${primary} of the Sentinels ${known}`;
  if (!("slots" in client)) return known;
  const missing = missingIn(client);
  return missing.length > 0 ? `the Cluster's primary ${missing.join(", ")}` : `the Cluster of ${known}`;
}
