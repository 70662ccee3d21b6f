import assert from "node:assert/strict";
import { test } from "node:test";
import { Limits } from "../../../server/accounts/limits.ts";
import { Shares } from "../../../server/parts/replicas/shares.ts";
import { monthOf } from "../../../server/shared/months.ts";

/** Tests a server's shares of the ceilings, without Redis. */

const month = monthOf(Date.UTC(2026, 3, 20));

for (const isFreeWithoutRedis of [true, false])
  test(`after a start without Redis, a server that ${isFreeWithoutRedis ? "may run without it admits requests" : "needs it admits none"}`, () => {
    for (let lateMs = 0; lateMs < 100; lateMs += 7) {
      const limits = new Limits(undefined, true);
      limits.configure(0, 5, 10);
      limits.enter(0, month, 0);
      limits.enter(0, month + 1, 0);
      let nowMs = 0;
      const shares = new Shares(
        {
          counts: {
            accounts: () => [0],
            burst: () => limits.ceilings(0).burst,
            quota: () => limits.ceilings(0).quota,
            used: (_, of) => limits.used(0, of) ?? 0,
            refused: () => limits.refused(0),
            admitUpTo: (_, ...bound) => limits.admitUpTo(0, ...bound),
            keepBounds: (untilMs) => limits.keepBounds(untilMs),
          },
          ...{ server: "a.2", knew: 3, isFreeWithoutRedis, taken: () => 0, clock: () => nowMs },
          script: () => new Promise(() => {}),
        },
        month,
        nowMs,
      );
      for (nowMs = lateMs; !shares.isAway(nowMs); nowMs += 10) shares.tick(nowMs, month);
      shares.tick(nowMs, month);
      assert.equal(limits.admit(0, month, nowMs) >= 0, isFreeWithoutRedis, `first tick after ${lateMs} ms`);
    }
  });
