import * as v from "valibot";
import { definePart } from "../../part.ts";
import { wholeNumber } from "../../shared/schemas.ts";
import { secretSetting } from "../../shared/settings.ts";
import { redisAddress } from "./redis-url.ts";

/** Accounts and ceilings that several servers share through Redis, as a part. */

export const replicasPart = definePart(
  {
    REDIS_URL: secretSetting(
      "URL of the Redis through which several servers share accounts and limits; Sentinels and Clusters work, too",
      redisAddress,
    ),
    QUOTA_WITHOUT_REDIS: v.pipe(
      v.optional(v.picklist(["leased", "free"], "leased or free"), "leased"),
      v.description(
        "what a server admits while Redis is down; leased: its leases of the quotas; free: all that it knows to be left of the quotas",
      ),
    ),
    DIRECTORY_MAX_AGE: v.pipe(
      v.optional(v.pipe(v.string(), wholeNumber(0, 86_400)), "0"),
      v.description(
        "seconds without a read of accounts and keys from Redis after which /readyz answers 503, because revoked keys may still work; 0: never",
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
