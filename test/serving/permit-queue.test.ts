import assert from "node:assert/strict";
import { test } from "node:test";
import { burstExceeded, quotaExceeded } from "../../server/accounts/limits.ts";
import { databaseAway, mustWait, PermitTable } from "../../server/accounts/permit-table.ts";
import { maxWaiting, PermitQueue } from "../../server/serving/permit-queue.ts";
import type { Wait } from "../../server/shared/messages.ts";

/** Tests the requests of a thread that wait for permits, with deadlines that the tests end. */

const month = 24_000;

function open(burst = 100) {
  const table = new PermitTable();
  table.configure(0, burst, 1000);
  table.configure(1, burst, 1000);
  table.month = month;
  const told: Wait[][] = [];
  const deadlines = new Set<() => void>();
  const soon: (() => void)[] = [];
  const queue = new PermitQueue(
    table,
    (waits) => told.push(waits),
    (ms, callback) => {
      assert.equal(ms, 400);
      deadlines.add(callback);
      return () => deadlines.delete(callback);
    },
    (work) => soon.push(work),
  );
  const answers: [name: string, monthOrReason: number][] = [];
  const wait = (name: string, slot = 0) => queue.wait(slot, (answer) => answers.push([name, answer]));
  const tell = () => {
    for (const work of soon.splice(0)) work();
  };
  const grant = (count: number, monthOrReason = month, slot = 0) =>
    queue.take([{ slot, count, monthOrReason }]);
  return { table, told, deadlines, answers, wait, tell, grant };
}

test("one message tells of all requests of an iteration, by account", () => {
  const { told, wait, tell } = open();
  for (const slot of [0, 1, 0]) wait("x", slot);
  tell();
  wait("y");
  tell();
  assert.deepEqual(told, [
    [
      { slot: 0, count: 2 },
      { slot: 1, count: 1 },
    ],
    [{ slot: 0, count: 1 }],
  ]);
});

test("the requests of an account are answered in their order, each once", () => {
  const { answers, deadlines, wait, grant } = open();
  for (const name of ["a", "b", "c"]) wait(name);
  wait("other", 1);
  grant(2);
  grant(1, quotaExceeded);
  grant(1, burstExceeded, 1);
  assert.deepEqual(answers, [
    ["a", month],
    ["b", month],
    ["c", quotaExceeded],
    ["other", burstExceeded],
  ]);
  assert.equal(deadlines.size, 0);
});

test("a request that isn't answered in time is told that the database is away, and its permit goes back", () => {
  const { table, answers, deadlines, wait, grant } = open();
  wait("a");
  for (const end of [...deadlines]) end();
  wait("b");
  assert.deepEqual(answers, [["a", databaseAway]]);
  grant(2);
  assert.deepEqual(answers.slice(1), [["b", month]]);
  assert.deepEqual([table.takeFailed(0, month), table.takeFailed(0, month)], [1, 0]);
});

test("a request that leaves isn't answered, and its permit goes back to its month", () => {
  const { table, answers, deadlines, wait, grant } = open();
  const leave = wait("a");
  leave();
  leave();
  assert.equal(deadlines.size, 0);
  grant(1, month - 1);
  assert.deepEqual(answers, []);
  assert.deepEqual([table.takeFailed(0, month), table.takeFailed(0, month - 1)], [0, 1]);
  wait("b");
  grant(1, burstExceeded);
  assert.equal(table.takeFailed(0, month), 0, "a refusal has no permit");
});

test("a request that was answered may leave, without effect", () => {
  const { table, wait, grant } = open(1);
  const leave = wait("a");
  grant(1);
  leave();
  wait("b");
  assert.equal(table.admit(0, month, 0), mustWait);
  wait("c");
  assert.equal(table.admit(0, month, 0), burstExceeded);
});

test("at most R + 1 requests of an account wait, also after others left or were answered", () => {
  const { table, deadlines, wait, grant } = open(2);
  const admit = () => table.admit(0, month, 0);
  const leaves = [1, 2, 3].map(() => {
    assert.equal(admit(), mustWait);
    return wait("x");
  });
  assert.equal(admit(), burstExceeded);
  leaves[1]();
  assert.equal(admit(), mustWait);
  wait("y");
  assert.equal(admit(), burstExceeded);
  grant(1);
  assert.equal(admit(), mustWait);
  for (const end of [...deadlines]) end();
  for (let i = 0; i < 3; i++) {
    assert.equal(admit(), mustWait);
    wait("z");
  }
  assert.equal(admit(), burstExceeded);
});

test("a thread has room for 10,000 requests, and each that ends makes room", () => {
  const { answers, told, deadlines, wait, tell, grant } = open(1_000_000);
  for (let i = 0; i < maxWaiting; i++) wait("x");
  assert.equal(answers.length, 0);
  wait("one too many")();
  assert.deepEqual(answers, [["one too many", databaseAway]]);
  tell();
  assert.deepEqual(told, [[{ slot: 0, count: maxWaiting }]]);
  assert.equal(deadlines.size, maxWaiting);
  grant(maxWaiting - 1);
  wait("y");
  grant(2);
  assert.deepEqual(answers.at(-1), ["y", month]);
});
