import assert from "node:assert/strict";
import { test } from "node:test";
import { burstExceeded, Limits, monthName, monthOf, quotaExceeded, startOfMonth } from "../server/limits.ts";
import { seededRandom } from "./fixtures.ts";

/** The two ceilings of an account, on clocks that the tests turn. */

const month = monthOf(Date.UTC(2026, 0, 15));
const limits = new Limits();
let slots = 0;

/** A slot of its own for an account with these ceilings. */
function account(burst: number, quota = 1_000_000): number {
  const slot = slots++;
  limits.configure(slot, burst, quota);
  return slot;
}

/** How many requests are admitted at one moment. */
function admittedAt(slot: number, steadyMs: number): number {
  let count = 0;
  while (limits.admit(slot, month, steadyMs) >= 0) count++;
  return count;
}

for (const [moment, name, start] of [
  ["2026-01-01T00:00:00.000Z", "2026-01", "2026-01-01"],
  ["2026-01-31T23:59:59.999Z", "2026-01", "2026-01-01"],
  ["2026-12-31T23:59:59.999Z", "2026-12", "2026-12-01"],
  ["2027-01-01T00:00:00.000Z", "2027-01", "2027-01-01"],
  ["2028-02-29T23:59:59.999Z", "2028-02", "2028-02-01"],
  ["2028-03-01T00:00:00.000Z", "2028-03", "2028-03-01"],
  ["2027-02-28T23:59:59.999Z", "2027-02", "2027-02-01"],
  ["2100-02-28T23:59:59.999Z", "2100-02", "2100-02-01"],
  ["2100-03-01T00:00:00.000Z", "2100-03", "2100-03-01"],
])
  test(`${moment} belongs to the month ${name}`, () => {
    const found = monthOf(Date.parse(moment));
    assert.equal(monthName(found), name);
    assert.equal(startOfMonth(found), Date.parse(start));
    assert.equal(monthOf(startOfMonth(found + 1) - 1), found);
    assert.equal(monthOf(startOfMonth(found + 1)), found + 1);
  });

test("a month's requests are counted down to none", () => {
  const slot = account(10, 3);
  assert.equal(limits.remaining(slot, month), 3);
  const answers = [0, 0, 0, 0].map(() => limits.admit(slot, month, 5000));
  assert.deepEqual(answers, [2, 1, 0, quotaExceeded]);
  assert.equal(limits.remaining(slot, month), 0);
  assert.equal(limits.used(slot, month), 3);
});

test("a new month starts at none used, and the old one's count can still be read", () => {
  const slot = account(10, 3);
  limits.admit(slot, month, 5000);
  limits.admit(slot, month, 5000);
  assert.equal(limits.remaining(slot, month + 1), 3);
  assert.equal(limits.admit(slot, month + 1, 5000), 2);
  assert.equal(limits.used(slot, month), 2);
  assert.equal(limits.used(slot, month + 1), 1);
  assert.equal(limits.used(slot, month + 2), undefined);
});

test("a count that was saved goes on", () => {
  const slot = account(10, 5);
  limits.restore(slot, month, 4);
  assert.equal(limits.admit(slot, month, 5000), 0);
  assert.equal(limits.admit(slot, month, 5000), quotaExceeded);
});

test("a request that is given back can be made again", () => {
  const slot = account(10, 1);
  assert.equal(limits.admit(slot, month, 5000), 0);
  limits.giveBack(slot, month);
  assert.equal(limits.remaining(slot, month), 1);
  assert.equal(limits.admit(slot, month, 5000), 0);
  limits.giveBack(slot, month);
  limits.giveBack(slot, month);
  assert.equal(limits.remaining(slot, month), 1);
});

for (const burst of [1, 3, 7, 10, 50, 500])
  test(`a bucket of ${burst} holds one second's worth and fills steadily`, () => {
    const slot = account(burst);
    assert.equal(admittedAt(slot, 10_000), burst);
    assert.equal(limits.admit(slot, month, 10_000), burstExceeded);
    const wait = limits.burstWaitMs(slot, 10_000);
    assert.equal(wait, Math.ceil(1000 / burst));
    assert.equal(limits.admit(slot, month, 10_000 + wait - 1), burstExceeded);
    assert.ok(limits.admit(slot, month, 10_000 + wait) >= 0);
    assert.equal(admittedAt(slot, 11_000), burst - 1);
    assert.equal(admittedAt(slot, 99_000), burst);
  });

test("a request that is refused for the burst costs no quota, and one refused for the quota no burst", () => {
  const slow = account(1, 10);
  assert.deepEqual([admittedAt(slow, 5000), limits.remaining(slow, month)], [1, 9]);
  const poor = account(2, 1);
  limits.admit(poor, month, 5000);
  for (let i = 0; i < 5; i++) assert.equal(limits.admit(poor, month, 5000), quotaExceeded);
});

test("an account's requests are nobody else's", () => {
  const [one, other] = [account(2, 2), account(2, 2)];
  admittedAt(one, 5000);
  assert.equal(limits.remaining(other, month), 2);
  assert.equal(admittedAt(other, 5000), 2);
});

test("ceilings that change count from the next request on", () => {
  const slot = account(10, 2);
  limits.admit(slot, month, 5000);
  limits.configure(slot, 10, 1);
  assert.equal(limits.admit(slot, month, 5000), quotaExceeded);
  limits.configure(slot, 10, 3);
  assert.equal(limits.admit(slot, month, 5000), 1);
});

test("two objects over one buffer are one", () => {
  const other = new Limits(limits.buffer);
  const slot = account(3, 100);
  assert.equal(limits.admit(slot, month, 5000), 99);
  assert.equal(other.admit(slot, month, 5000), 98);
  assert.equal(other.admit(slot, month, 5000), 97);
  assert.equal(limits.admit(slot, month, 5000), burstExceeded);
});

test("the bucket admits what exact arithmetic does, over weeks of steps long and short", () => {
  const seed = 20_261_120;
  const random = seededRandom(seed);
  for (const burst of [1, 3, 50, 997, 1_000_000]) {
    const slot = account(burst, 2_000_000_000);
    let now = random.int(1_000_000);
    // In requests times milliseconds, like an account book: what is missing from a full bucket.
    let missing = 0;
    for (let i = 0; i < 20_000; i++) {
      const step = random.pick([0, 0, 0, 1, random.int(5), random.int(3000), random.int(100_000_000)]);
      now += step;
      missing = Math.max(0, missing - step * burst);
      const fits = missing + 1000 <= 1000 * burst;
      if (fits) missing += 1000;
      assert.equal(limits.admit(slot, month, now) >= 0, fits, `seed ${seed}, burst ${burst}, step ${i}`);
    }
  }
});
