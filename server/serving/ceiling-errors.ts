import type { ShareRefusal } from "../accounts/address-shares.ts";
import { burstExceeded, type Ceilings, quotaExceeded } from "../accounts/limits.ts";
import { databaseAway } from "../accounts/permit-table.ts";
import { ApiError, type ReachedCeiling } from "../api/errors.ts";
import type { ThreadTraffic } from "../shared/traffic.ts";
import type { Month } from "./month.ts";
import { errorReply, lastLines, type Reply } from "./reply.ts";

/**
 * Makes the reply to a request that a ceiling refuses, or that can't be counted now. Counts replies with 429 for the
 * metrics.
 * @param why a negative number from `Ceilings.admit`, or from a wait for a permit
 * @param nowMs Unix milliseconds
 * @param steadyMs milliseconds of a steady clock
 */
export function ceilingReply(
  why: number,
  ceilings: Ceilings,
  slot: number,
  month: Month,
  nowMs: number,
  steadyMs: number,
  traffic: Pick<ThreadTraffic, "refused">,
): Reply {
  switch (why) {
    case burstExceeded: {
      traffic.refused("burst", slot);
      const waitMs = ceilings.burstWaitMs(slot, steadyMs);
      return reply("burst", "the account's requests per second are used up", nowMs, nowMs + waitMs);
    }
    case quotaExceeded: {
      traffic.refused("quota", slot);
      const end = new Date(month.endMs).toISOString().replace(".000", "");
      const message = `the account's requests per month are used up until ${end}`;
      return reply("quota", message, nowMs, month.endMs);
    }
    case databaseAway:
      return errorReply(cannotCount, month.lastLines, ceilings.remaining(slot, month.number));
    default:
      traffic.refused("clock", slot);
      // The month may have requests left, but this server can't admit them yet.
      return reply("burst", clockWasSet, nowMs, nowMs + 1000);
  }
}

/** Makes the reply to a request beyond its address's share of the visitors' key, and counts the refusal. */
export function shareReply(
  { ceiling, nextMs }: ShareRefusal,
  slot: number,
  nowMs: number,
  traffic: Pick<ThreadTraffic, "refused">,
): Reply {
  traffic.refused("address", slot);
  const per = ceiling === "burst" ? "second" : "day";
  const message = `your address has used up its share of these pages' requests per ${per}; with a key of your own you have your own limits: get one at /signup`;
  return reply(ceiling, message, nowMs, nextMs);
}

const cannotCount = new ApiError(
  "service_unavailable",
  "requests can't be counted at the moment; this one doesn't count: retry in 1 s",
  { header: 1 },
);
/** Explains a refusal after the clock was set to another month, until the control thread has read that month's usage. */
const clockWasSet = "this server's clock was set, and it is reading the account's usage of the month";

function reply(ceiling: ReachedCeiling, reason: string, nowMs: number, nextMs: number): Reply {
  const seconds = Math.max(1, Math.ceil((nextMs - nowMs) / 1000));
  const message = `${reason}; retry in ${seconds} s`;
  const error = new ApiError("rate_limit_exceeded", message, { ceiling, header: seconds });
  return errorReply(error, lastLines(nextMs), 0);
}
