import type { UsageDays } from "../accounts/days.ts";
import type { UsageEvents } from "../accounts/events.ts";
import type { Ceilings } from "../accounts/limits.ts";
import type { AccountNames } from "../accounts/names.ts";
import { eventTypeOf } from "../accounts/quota-events.ts";
import type { Usage } from "../api/responses.ts";
import { dayMs, dayName } from "../shared/months.ts";
import { isoTime } from "../shared/time.ts";
import type { Month } from "./month.ts";

export interface UsageTables {
  ceilings: Ceilings;
  names: AccountNames;
  days: UsageDays;
  events: UsageEvents;
}

/** Makes the answer of /usage. @param nowMs Unix milliseconds; may be before or after the month */
export function usageOf(
  { ceilings, names, days, events }: UsageTables,
  slot: number,
  month: Month,
  nowMs: number,
): Usage {
  const { name, plan } = names.get(slot);
  const { burst, quota } = ceilings.ceilings(slot);
  const used = ceilings.used(slot, month.number) ?? 0;
  const today = new Date(Math.min(Math.max(nowMs, month.startMs), month.endMs - 1)).getUTCDate();
  return {
    account: name,
    plan,
    period: { start: new Date(month.startMs).toISOString(), end: new Date(month.endMs).toISOString() },
    quota: { limit: quota, used, remaining: Math.max(0, quota - used) },
    burst: { limit: burst },
    days: days
      .of(slot, month.number, today, used)
      .map((used, i) => ({ date: dayName(month.startMs + i * dayMs), used })),
    events: events.of(slot, month.number).map(({ threshold, created_at }) => ({
      type: eventTypeOf(threshold),
      threshold,
      at: isoTime(created_at),
    })),
  };
}
