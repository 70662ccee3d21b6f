import assert from "node:assert/strict";
import { test } from "node:test";
import { Month } from "../../server/serving/month.ts";
import { usageOf } from "../../server/serving/usage.ts";

test("the days of /usage are those of the month up to today, even if the clock is just before or after the month", () => {
  const month = new Month(Date.parse("2026-11-10T12:00:00Z"));
  const tables = Object({
    names: { get: () => ({ name: "acme", plan: "free" }) },
    ceilings: { ceilings: () => ({ burst: 10, quota: 10_000 }), used: () => 7 },
    days: { of: (_: number, __: number, today: number, used: number) => Array(today).fill(0).with(-1, used) },
    events: { of: () => [] },
  });
  for (const [now, last] of [
    ["2026-10-31T23:59:59.999Z", "2026-11-01"],
    ["2026-11-01T00:00:00Z", "2026-11-01"],
    ["2026-11-17T23:59:59Z", "2026-11-17"],
    ["2026-12-01T00:00:00Z", "2026-11-30"],
  ]) {
    const { days } = usageOf(tables, 0, month, Date.parse(now));
    const [from, to] = [days[0], days.at(-1)];
    assert.deepEqual(
      [from.date, to, days.length],
      ["2026-11-01", { date: last, used: 7 }, Number(last.slice(-2))],
      now,
    );
  }
});
