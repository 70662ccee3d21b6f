import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressShares, shareBurst } from "../../server/accounts/address-shares.ts";
import type { ShareLimits } from "../../server/shared/plans.ts";
import { seededRandom } from "../support/random.ts";

const day = 86_400_000;
const noon = Date.UTC(2026, 10, 3, 12);
/** Both clocks run alike. @returns how many of so many requests are admitted at a time after noon */
const admittedBy = (shares: AddressShares) => (client: string, ms: number, requests: number) =>
  Array.from({ length: requests }, () => shares.take(client, noon + ms, ms)).filter(
    (refusal) => refusal === undefined,
  ).length;

test("an address may make 40 requests at once, and then as many as its bucket is refilled by", () => {
  const shares = new AddressShares({ perSecond: 10, perDay: 0 });
  const admitted = admittedBy(shares);
  assert.deepEqual([admitted("a", 0, 50), admitted("a", 99, 5), admitted("a", 100, 5)], [40, 0, 1]);
  assert.equal(admitted("b", 100, 50), 40, "another address has its own");
  assert.deepEqual([admitted("a", 1100, 50), admitted("a", 60_000, 50)], [10, 40]);
  assert.deepEqual(shares.take("a", noon + 60_000, 60_000), { ceiling: "burst", nextMs: noon + 60_100 });
});

test("an address may make so many requests per UTC day, and the refusal says when the next day begins", () => {
  const shares = new AddressShares({ perSecond: 0, perDay: 3 });
  const admitted = admittedBy(shares);
  assert.equal(admitted("a", 0, 5), 3);
  const midnight = Math.ceil(noon / day) * day;
  assert.deepEqual(shares.take("a", noon, 0), { ceiling: "quota", nextMs: midnight });
  assert.equal(admitted("a", midnight - 1 - noon, 1), 0);
  assert.equal(admitted("a", midnight - noon, 5), 3);
});

test("a refused request takes nothing from the day", () => {
  const admitted = admittedBy(new AddressShares({ perSecond: 1, perDay: 50 }));
  assert.equal(admitted("a", 0, 1000), shareBurst);
  assert.equal(admitted("a", 3_600_000, 1000), 10);
});

test("threads share one memory, and the shares equal those of a naive count", () => {
  const limits: ShareLimits = { perSecond: 7, perDay: 60 };
  const first = new AddressShares(limits);
  const threads = [first, new AddressShares(limits, first.buffer)];
  const random = seededRandom(11);
  const naive = new Map<string, { tokens: number; at: number; day: number; used: number }>();
  let ms = 0;
  let refused = 0;
  for (let i = 0; i < 20_000; i++) {
    ms += random.int(random.pick([2, 50, 50, 20_000]));
    const client = `192.0.2.${random.int(5)}`;
    const today = Math.floor((noon + ms) / day);
    const share = naive.get(client) ?? { tokens: shareBurst, at: ms, day: today, used: 0 };
    share.tokens = Math.min(shareBurst, share.tokens + ((ms - share.at) * limits.perSecond) / 1000);
    share.at = ms;
    if (share.day !== today) Object.assign(share, { day: today, used: 0 });
    naive.set(client, share);
    // A fraction that is nearly a whole request may be rounded either way.
    if (Math.abs(share.tokens - 1) < 1e-9) continue;
    const expected = share.used >= limits.perDay ? "quota" : share.tokens < 1 ? "burst" : undefined;
    assert.equal(random.pick(threads).take(client, noon + ms, ms)?.ceiling, expected, `request ${i}`);
    if (expected !== undefined) refused++;
    else Object.assign(share, { tokens: share.tokens - 1, used: share.used + 1 });
  }
  assert.ok(refused > 1000, String(refused));
});

test("with more addresses than fit, the one that was away for the longest time begins anew", () => {
  const shares = new AddressShares({ perSecond: 0, perDay: 1 });
  const admitted = admittedBy(shares);
  for (let i = 0; i < 300_000; i++) assert.equal(admitted(`client ${i}`, i, 1), 1);
  assert.equal(admitted("client 299999", 300_000, 1), 0);
  assert.equal(admitted("client 0", 300_000, 1), 1);
});
