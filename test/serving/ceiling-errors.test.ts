import assert from "node:assert/strict";
import { test } from "node:test";
import { burstExceeded, quotaExceeded } from "../../server/accounts/limits.ts";
import { databaseAway } from "../../server/accounts/permit-table.ts";
import { ceilingReply, shareReply } from "../../server/serving/ceiling-errors.ts";
import { Month } from "../../server/serving/month.ts";
import type { Reply } from "../../server/serving/reply.ts";
import { smallTables } from "../support/tables.ts";

/** Tests the replies to requests beyond a ceiling, and that each is counted. */

const nowMs = Date.UTC(2026, 4, 31, 23, 59, 50, 500);
const month = new Month(nowMs);
const { ceilings } = smallTables();
ceilings.configure(0, 4, 100);
ceilings.enter(0, month.number, 93);

const counted: unknown[] = [];
const traffic = { refused: (ceiling: string, slot: number) => void counted.push([ceiling, slot]) };

function told({ status, head, body }: Reply) {
  const headers = new Map(
    String(head)
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(": ", 2) as [string, string]),
  );
  const { type, message } = JSON.parse(Buffer.from(body ?? []).toString()).error;
  const numbers = ["Retry-After", "X-RateLimit-Reset", "X-RateLimit-Remaining"].map((name) =>
    Number(headers.get(name)),
  );
  return [status, type, message, ...numbers];
}

const secondsOf = (ms: number) => Math.ceil(ms / 1000);
const clock = "this server's clock was set, and it is reading the account's usage of the month; retry in 1 s";
const away = "requests can't be counted at the moment; this one doesn't count: retry in 1 s";

for (const [why, ceiling, expected] of [
  [
    quotaExceeded,
    "quota",
    [
      429,
      "rate_limit_exceeded",
      "the account's requests per month are used up until 2026-06-01T00:00:00Z; retry in 10 s",
      10,
      secondsOf(month.endMs),
      0,
    ],
  ],
  [
    burstExceeded,
    "burst",
    [
      429,
      "rate_limit_exceeded",
      "the account's requests per second are used up; retry in 1 s",
      1,
      secondsOf(nowMs),
      0,
    ],
  ],
  [-99, "clock", [429, "rate_limit_exceeded", clock, 1, secondsOf(nowMs + 1000), 0]],
  [databaseAway, undefined, [503, "service_unavailable", away, 1, secondsOf(month.endMs), 7]],
] as const)
  test(`a request is refused for reason ${why}`, () => {
    counted.length = 0;
    assert.deepEqual(told(ceilingReply(why, ceilings, 0, month, nowMs, 0, traffic)), expected);
    assert.deepEqual(counted, ceiling === undefined ? [] : [[ceiling, 0]]);
  });

for (const [ceiling, per] of [
  ["burst", "second"],
  ["quota", "day"],
] as const)
  test(`a visitor beyond the share of a ${per} is told of keys`, () => {
    counted.length = 0;
    assert.deepEqual(told(shareReply({ ceiling, nextMs: nowMs + 2500 }, 3, nowMs, traffic)), [
      ...[429, "rate_limit_exceeded"],
      `your address has used up its share of these pages' requests per ${per}; with a key of your own you have your own limits: get one at /signup; retry in 3 s`,
      ...[3, secondsOf(nowMs + 2500), 0],
    ]);
    assert.deepEqual(counted, [["address", 3]]);
  });

test("a month includes its first and its last millisecond", () => {
  const times = [month.startMs - 1, month.startMs, month.endMs - 1, month.endMs];
  assert.deepEqual(
    times.map((ms) => month.includes(ms)),
    [false, true, true, false],
  );
});
