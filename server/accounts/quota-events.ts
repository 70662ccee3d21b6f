import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import * as v from "valibot";
import { type Channel, channels } from "../shared/channels.ts";
import { isoTime } from "../shared/time.ts";
import type { Account, Store, StoredEvent } from "../store/store.ts";

/** Records events when a count reaches 80, 90 and 100 % of the quota, with a delivery by each channel of the account. */

/** Percent of the quota. */
export const thresholds = [80, 90, 100] as const;

/** Returns the highest threshold that a count has reached, in percent of the quota; 0 if it has reached none. */
export function reached(used: number, quota: number): number {
  return thresholds.findLast((threshold) => used * 100 >= quota * threshold) ?? 0;
}

export function eventTypeOf(threshold: number): "quota.warning" | "quota.exhausted" {
  return threshold < 100 ? "quota.warning" : "quota.exhausted";
}

/** An account's count of a month: `before` at one check, and `used` later. */
export interface Counted {
  /** `YYYY-MM` */
  month: string;
  before: number;
  used: number;
}

/**
 * Records the event of each threshold that a count has reached, unless it is recorded already, or the account is
 * deleted. The event has the count at the threshold, or `before` if that is higher. Returns the new events.
 */
export function recordEvents(
  store: Store,
  account: Account,
  { month, before, used }: Counted,
  now: Date,
): StoredEvent[] {
  const highest = reached(used, account.quota);
  return thresholds
    .filter((threshold) => threshold <= highest)
    .flatMap((threshold) => {
      const crossing = Math.max(before, Math.ceil((account.quota * threshold) / 100));
      return recordEvent(store, account, month, threshold, crossing, now) ?? [];
    });
}

/**
 * Records the event of one threshold. Returns undefined if the account has the event already or is deleted.
 * @param month `YYYY-MM`
 * @param threshold percent of the quota
 * @param used the count at the crossing
 */
export function recordEvent(
  store: Store,
  account: Account,
  month: string,
  threshold: number,
  used: number,
  now: Date,
): StoredEvent | undefined {
  // The times of an account's events in a month never decrease, even if this server's clock is behind or set back.
  const createdMs = Math.max(now.getTime(), store.events.lastAt(account.id, month));
  const { id, name, plan, quota } = account;
  const payload = {
    type: eventTypeOf(threshold),
    timestamp: isoTime(createdMs),
    data: { account: name, plan, month, threshold, quota: { limit: quota, used } },
  };
  const event = {
    ...{ id: `evt_${randomUUID().replaceAll("-", "")}`, account: id, month, threshold, quota },
    ...{ payload: JSON.stringify(payload), created_at: createdMs },
  };
  return store.events.create(event, channelsOf(account)) ? event : undefined;
}

export function logEvents(log: Logger, events: readonly StoredEvent[]): void {
  for (const { id, payload } of events) log.warn({ event: id, ...JSON.parse(payload) }, "quota event");
}

export function channelsOf(account: Account): Channel[] {
  return channels.filter((channel) => account[channel] !== null);
}

const payloadSchema = v.object({
  data: v.object({
    // The name is ASCII only, because it becomes part of an e-mail header.
    account: v.pipe(v.string(), v.regex(/^[ -~]*$/)),
    plan: v.string(),
    month: v.string(),
    quota: v.object({ limit: v.number(), used: v.number() }),
  }),
});

/** @throws Error when the text isn't a payload */
export function payloadOf(text: string): v.InferOutput<typeof payloadSchema> {
  return v.parse(payloadSchema, JSON.parse(text));
}
