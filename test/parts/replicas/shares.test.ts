import assert from "node:assert/strict";
import { test } from "node:test";
import { Limits } from "../../../server/accounts/limits.ts";
import { Shares } from "../../../server/parts/replicas/shares.ts";
import { monthName, monthOf } from "../../../server/shared/months.ts";

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

/** A server with 600 accounts, and a Redis that answers when the test says so. */
function reportingServer(usedBefore = 0) {
  let [nowMs, used] = [0, usedBefore];
  const bursts = new Map<number, number>();
  const bounds = new Map<number, number>();
  const calls: { ids: number[]; hasMore: boolean; read: number; months: unknown }[] = [];
  let settle: [resolve: (answer: never) => void, reject: () => void] | undefined;
  const shares = new Shares(
    {
      counts: {
        accounts: () => Array.from({ length: 600 }, (_, i) => i),
        burst: (account) => bursts.get(account) ?? 10,
        quota: () => 1000,
        used: () => used,
        refused: () => 0,
        admitUpTo: (account, of, count) => of === month && bounds.set(account, count),
        keepBounds: () => undefined,
      },
      ...{ server: "a.2", knew: 1, isFreeWithoutRedis: false, taken: () => 0, clock: () => nowMs },
      script: (_, call) => {
        const { rows, hasMore, read } = call as {
          rows: { id: number; months: Record<string, unknown> }[];
          hasMore: boolean;
          read: number;
        };
        calls.push({ ids: rows.map(({ id }) => id), hasMore, read, months: rows[0]?.months });
        return new Promise<never>((...both) => {
          settle = both;
        });
      },
    },
    month,
    nowMs,
  );
  return {
    ...{ calls, bursts, shares },
    /** Requests of account 0 that would be admitted now. */
    room: () => (bounds.get(0) ?? 0) - used,
    /** Lets time pass, in which requests of each account are admitted. */
    tick(ms: number, requests = 1) {
      nowMs += ms;
      used += requests;
      if (requests > 0) for (let account = 0; account < 600; account++) shares.touch(account, nowMs);
      shares.tick(nowMs, month);
    },
    async answer(read: number) {
      const { ids } = calls[calls.length - 1];
      const months = { [monthName(month)]: { granted: 0, total: 5 } };
      const lost = { count: 0, part: 0 };
      const told = {
        life: "life",
        isLearning: false,
        members: 1,
        lost,
        part: 1,
        flags: [],
        read,
        delivers: false,
      };
      settle?.[0]({ ...told, rows: ids.map(() => ({ months })) } as never);
      await new Promise(setImmediate);
    },
    async fail() {
      settle?.[1]();
      await new Promise(setImmediate);
    },
    async gone() {
      settle?.[0]({ gone: true } as never);
      await new Promise(setImmediate);
    },
  };
}

test("a report over several calls names the flags that were read before its first call", async () => {
  const server = reportingServer();
  server.tick(10);
  for (const read of [3, 4, 5]) {
    await server.answer(read);
    server.tick(10);
  }
  const [first, ...others] = server.calls;
  assert.deepEqual([first.hasMore, first.read, ...others.map(({ read }) => read)], [true, 0, 0, 0, 5]);
  const round = server.calls.slice(0, 3);
  assert.deepEqual(new Set(round.flatMap(({ ids }) => ids)).size, 600);
  assert.deepEqual(
    round.map(({ hasMore }) => hasMore),
    [true, true, false],
  );
});

test("a restarted server's last report has its earlier count apart from what it used and holds", async () => {
  const server = reportingServer(200);
  server.tick(10, 3);
  await server.answer(3);
  void server.shares.leave(200, () => undefined);
  const reported = server.calls.at(-1)?.months as Record<string, unknown>;
  const held = { quota: 1000, base: 200, used: 3, granted: 3, wanted: 0, fresh: false };
  assert.deepEqual(reported[monthName(month)], { ...held, copy: undefined });
});

test("a copy of a record isn't replaced by the older record of a backup", async () => {
  const server = reportingServer();
  server.tick(10);
  for (let i = 0; i < 30; i++) {
    await server.answer(3);
    server.tick(100, 0);
  }
  const recordOf = (n: number, total: number) =>
    JSON.stringify({ n, total, life: "life", burst: 10, quota: 1000, left: {}, servers: {} });
  const records = [recordOf(4, 300), recordOf(5, 930), recordOf(2, 20)];
  for (const [i, record] of records.entries())
    await server.shares.readRecords(60_000 * i, month, async (ids) => ids.map(() => record));
  void server.shares.leave(200, () => undefined);
  const reported = server.calls.at(-1)?.months as Record<string, { copy: string }>;
  assert.equal(reported[monthName(month)].copy, records[1]);
});

for (const how of ["fails", "gets no answer", "is answered that the server is gone"])
  test(`a report of which a call ${how} begins again`, async () => {
    const server = reportingServer();
    server.tick(10);
    await server.answer(3);
    server.tick(10);
    if (how === "fails") await server.fail();
    else if (how !== "gets no answer") await server.gone();
    server.tick(how === "gets no answer" ? 2100 : 200);
    const [first, second, third] = server.calls;
    assert.deepEqual([second.read, third.read, third.hasMore], [0, 3, true]);
    assert.deepEqual([first.ids.length, third.ids.length], [250, 250]);
  });

test("after a rate is raised, an answer to a report with the old rate gives no credit", async () => {
  const server = reportingServer();
  server.tick(10);
  await server.answer(3);
  await server.shares.readRecords(0, month, async (ids) => ids.map(() => null));
  const settle = async () => {
    for (let i = 0; i < 30; i++) {
      await server.answer(3);
      server.tick(100, 0);
    }
  };
  await settle();
  assert.ok(server.room() > 0, "the old rate's credit");
  server.tick(100);
  assert.ok(server.calls.at(-1)?.ids.includes(0));
  server.bursts.set(0, 500);
  server.shares.enter(0);
  assert.equal(server.room(), 0);
  await server.answer(3);
  assert.equal(server.room(), 0);
  await settle();
  assert.ok(server.room() > 100, "the new rate's credit");
});

for (const isAnswered of [true, false])
  test(`a stop is ${isAnswered ? "" : "not "}confirmed if Redis ${isAnswered ? "answers" : "fails"}`, async () => {
    const server = reportingServer();
    server.tick(10);
    await server.answer(3);
    const isConfirmed = server.shares.leave(200, () => undefined);
    for (let i = 0; i < 3; i++) await (isAnswered ? server.answer(3) : server.fail());
    assert.equal(await isConfirmed, isAnswered);
  });

for (const [granted, isTight] of [
  [985, true],
  [900, false],
] as const)
  test(`a starting server has ${isTight ? "no credit" : "credit"} if another server has leased ${granted} of 1000 requests`, async () => {
    const server = reportingServer();
    server.tick(10);
    await server.answer(3);
    const record = JSON.stringify({
      ...{ life: "life", burst: 1, quota: 1000, total: 8 },
      left: {},
      servers: { "b.1": { used: 8, granted } },
    });
    await server.shares.readRecords(0, month, async (ids) => ids.map(() => record));
    for (let i = 0; i < 20; i++) server.tick(100, 0);
    assert.equal(server.room() > 0, !isTight);
  });
