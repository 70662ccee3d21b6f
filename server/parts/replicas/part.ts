import * as v from "valibot";
import { definePart } from "../../part.ts";
import { wholeNumber } from "../../shared/schemas.ts";
import { secretSetting } from "../../shared/settings.ts";
import { redisAddress } from "./redis-url.ts";

/** Accounts and ceilings that several servers share through Redis, as a part. */

export const replicasPart = definePart(
  {
    REDIS_URL: secretSetting(
      "the Redis through which several servers share accounts and ceilings: a URL, of Sentinels and of a Cluster too",
      redisAddress,
    ),
    QUOTA_WITHOUT_REDIS: v.pipe(
      v.optional(v.picklist(["leased", "free"], "leased or free"), "leased"),
      v.description(
        "what a server admits while Redis is away: what it has leased of the quotas; or, with free, all that it knows to be left",
      ),
    ),
    DIRECTORY_MAX_AGE: v.pipe(
      v.optional(v.pipe(v.string(), wholeNumber(0, 86_400)), "0"),
      v.description(
        "seconds after which a server that can't read accounts and keys from Redis isn't ready: keys that were revoked meanwhile work there; 0: never",
      ),
    ),
  },
  ({ REDIS_URL: address, QUOTA_WITHOUT_REDIS, DIRECTORY_MAX_AGE }) => {
    if (address === undefined) return undefined;
    const isFreeWithoutRedis = QUOTA_WITHOUT_REDIS === "free";
    const options = { address, isFreeWithoutRedis, maxAgeMs: 1000 * DIRECTORY_MAX_AGE };
    return {
      shareState: async (context) => (await import("./control.ts")).shareState(options, context),
      runCommand: async (work) => (await import("./command.ts")).runShared(address, work),
      servers: async () => (await import("./command.ts")).listServers(address),
      forgetServer: async (id) => (await import("./command.ts")).forgetServer(address, id),
    };
  },
);
