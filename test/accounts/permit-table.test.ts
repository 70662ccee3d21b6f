import assert from "node:assert/strict";
import { test } from "node:test";
import { burstExceeded, quotaExceeded } from "../../server/accounts/limits.ts";
import {
  databaseAway,
  maxWaitMs,
  mustWait,
  PermitTable,
  permitLifeMs,
} from "../../server/accounts/permit-table.ts";
import { maxAccounts } from "../../server/shared/plans.ts";

/** Tests the permits that one server holds of accounts that several servers share. */

const month = 100;
const slot = 3;
/** Times before and after the steady clock's 32 bits wrap around. */
const starts = [1000, 2 ** 31 - 5, 2 ** 32 - 5];

/** A table with two permits for ten milliseconds, of a quota of 12 of which 7 are used, these two included. */
function tableAt(now: number): PermitTable {
  const table = new PermitTable();
  table.configure(slot, 2, 12);
  table.month = month;
  table.enter(slot, month);
  table.count(slot, 7);
  table.add(slot, 2, now + 10);
  return table;
}

for (const now of starts) {
  test(`a permit admits one request of its month until it expires, at ${now} ms`, () => {
    const table = tableAt(now);
    assert.deepEqual([table.used(slot, month), table.remaining(slot, month)], [5, 7]);
    assert.equal(table.admit(slot, month + 1, now), mustWait);
    assert.equal(table.admit(slot, month, now + 10), mustWait);
    assert.equal(table.admit(slot, month, now + 9), 6);
    assert.deepEqual([table.held(slot), table.used(slot, month), table.asked(slot)], [1, 6, 1]);
    table.expireAt(slot, now + 20);
    assert.equal(table.admit(slot, month, now + 19), 5);
    assert.equal(table.admit(slot, month, now), mustWait);
    assert.deepEqual([table.held(slot), table.used(slot, month), table.asked(slot)], [0, 7, 2]);
    assert.equal(new PermitTable(table.buffer).remaining(slot, month), 5, "threads share the table");
  });

  test(`a refusal holds for its time, at most a second, and ends with a new month or plan, at ${now} ms`, () => {
    const table = tableAt(now);
    table.keep(slot, 0);
    table.refuse(slot, now + 1000, burstExceeded);
    const answers = () => [table.admit(slot, month, now), table.burstWaitMs(slot, now)];
    assert.deepEqual(answers(), [burstExceeded, 1000]);
    assert.equal(table.burstWaitMs(slot, now + 1001), 0);
    assert.equal(table.admit(slot, month, now + 1000), mustWait);
    table.refuse(slot, now + 1001, quotaExceeded);
    assert.deepEqual(answers(), [mustWait, 0], "taken for an old time");
    table.refuse(slot, now + 5, quotaExceeded);
    assert.deepEqual(answers(), [quotaExceeded, 5]);
    table.add(slot, 1, now + 1);
    assert.equal(table.admit(slot, month, now), 5, "a permit comes before a refusal");
    table.configure(slot, 2, 12);
    assert.equal(table.admit(slot, month, now), mustWait);
    table.refuse(slot, now + 5, quotaExceeded);
    table.enter(slot, month + 1);
    assert.equal(table.admit(slot, month + 1, now), mustWait);
  });
}

test("without permits a request waits, unless more than a second's worth wait or the database is away", () => {
  const table = tableAt(0);
  table.keep(slot, 0);
  table.wait(slot, 2);
  assert.equal(table.admit(slot, month, 0), mustWait);
  table.wait(slot, 1);
  assert.equal(table.admit(slot, month, 0), burstExceeded);
  table.isClosed = true;
  assert.equal(table.admit(slot, month, 0), databaseAway);
  table.isClosed = false;
  table.wait(slot, -1);
  assert.equal(table.admit(slot, month, 0), mustWait);
  assert.equal(table.asked(slot), 3, "a request that waits no longer was asked before");
});

test("permits are taken out down to a number, and counts are of one month", () => {
  const table = tableAt(0);
  assert.deepEqual([table.keep(slot, 2), table.keep(slot, 1), table.held(slot)], [0, 1, 1]);
  assert.deepEqual(
    [table.month, table.monthOf(slot), table.used(slot, month + 1)],
    [month, month, undefined],
  );
  assert.equal(table.remaining(slot, month + 1), 12);
  table.keep(slot, 0);
  table.enter(slot, month + 1);
  assert.deepEqual([table.used(slot, month + 1), table.used(slot, month)], [0, undefined]);
  table.count(slot, 13);
  assert.equal(table.remaining(slot, month + 1), 0);
  table.add(slot, 1, 1);
  assert.equal(table.admit(slot, month + 1, 0), 0, "never less than none are left");
  table.count(slot, 0);
  table.add(slot, 1, 1);
  assert.equal(table.used(slot, month + 1), 0);
});

test("failed requests are uncounted once, in their month, and slots are apart", () => {
  const table = tableAt(0);
  table.configure(slot + 1, 5, 6);
  for (const given of [month, month, month + 1]) table.giveBack(slot, given);
  const taken = [month, month, month + 1, month + 1].map((each) => table.takeFailed(slot, each));
  assert.deepEqual(taken, [2, 0, 1, 0]);
  assert.deepEqual(table.ceilings(slot), { burst: 2, quota: 12 });
  assert.deepEqual(table.ceilings(slot + 1), { burst: 5, quota: 6 });
  assert.equal(table.held(slot + 1), 0);
  table.configure(maxAccounts - 1, 1, 1);
  table.isClosed = true;
  assert.deepEqual([table.ceilings(maxAccounts - 1), table.month], [{ burst: 1, quota: 1 }, month]);
  assert.throws(() => table.configure(maxAccounts, 1, 1), {
    name: "RangeError",
    message: `account slot is ${maxAccounts}, expected below ${maxAccounts}`,
  });
});

test("a permit lives for 0.75 s, and a request waits for one for at most 0.4 s", () => {
  assert.deepEqual([permitLifeMs, maxWaitMs], [750, 400]);
});
