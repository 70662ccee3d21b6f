import * as v from "valibot";
import { definePart } from "../../part.ts";
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
  },
  ({ REDIS_URL: address, QUOTA_WITHOUT_REDIS }) => {
    if (address === undefined) return undefined;
    const isFreeWithoutRedis = QUOTA_WITHOUT_REDIS === "free";
    return {
      shareState: async (ground) =>
        (await import("./control.ts")).shareState({ address, isFreeWithoutRedis }, ground),
      runCommand: async (work) => (await import("./command.ts")).runShared(address, work),
    };
  },
);
