import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { PermitTable } from "../../../server/accounts/permit-table.ts";
import { Counts } from "../../../server/parts/postgres/counts.ts";
import { monthName } from "../../../server/shared/months.ts";
import { Store } from "../../../server/store/store.ts";

/** Tests what is known of the counts of all servers, and which events are recorded for them. */

const month = 2026 * 12 + 4;
const now = new Date("2026-05-10T00:00:00Z");

/** Counts of an account with a quota of 100. @param used the use that is stored, by month */
function open(used: readonly (readonly [month: number, used: number])[] = []) {
  const store = Store.inMemory();
  const none = { webhook: null, webhook_secret: null };
  const account = store.accounts.create({ name: "a", plan: "own", burst: 9, quota: 100, ...none }, now);
  for (const [of, count] of used) store.usage.save(monthName(of), [[account.id, count]]);
  const table = new PermitTable();
  table.month = month;
  table.configure(0, 9, 100);
  const days: unknown[] = [];
  /** Called while a change is made. */
  const meanwhile: (() => void)[] = [];
  const counts = new Counts(
    {
      quotaOf: (id) => store.accounts.byId(id)?.quota,
      slotOf: (id) => (id === account.id ? 0 : undefined),
      putDay: (...day) => void days.push(day),
    },
    { store, log: pino({ enabled: false }) },
    {
      async change(work) {
        const result = work();
        meanwhile.shift()?.();
        return result;
      },
    },
    table,
  );
  const events = () =>
    store.events
      .list()
      .map(({ month, threshold }) => `${month} ${threshold}`)
      .sort();
  const note = (used: number, of = month, quota = 100) => counts.note(account.id, of, used, quota);
  const setQuota = (quota: number) => store.accounts.update({ ...account, quota });
  return { counts, note, events, meanwhile, setQuota, store, table, days, id: account.id };
}

test("an event is recorded once for each threshold, with those that were passed over", async () => {
  const { counts, note, events } = open();
  for (const used of [79, 80, 95, 96, 100]) {
    note(used);
    await counts.record();
  }
  assert.deepEqual(events(), ["2026-05 100", "2026-05 80", "2026-05 90"]);
});

test("a threshold that was crossed at a month's end is recorded after requests of the next month", async () => {
  const { counts, note, events } = open();
  note(85);
  note(1, month + 1);
  await counts.record();
  assert.deepEqual(events(), ["2026-05 80"]);
});

test("a threshold that is crossed while another one is recorded isn't lost", async () => {
  const { counts, note, events, meanwhile } = open();
  note(80);
  meanwhile.push(() => note(92));
  await counts.record();
  await counts.record();
  assert.deepEqual(events(), ["2026-05 80", "2026-05 90"]);
});

for (const quota of [101, 1000, 60])
  test(`thresholds that were crossed before the quota became ${quota} are recorded with the quota before`, async () => {
    const { counts, note, events, setQuota } = open();
    note(100);
    setQuota(quota);
    note(100, month, quota);
    await counts.record();
    const ofBoth = quota === 1000 ? [] : quota === 101 ? [80, 90] : [80, 90, 100];
    assert.deepEqual(events(), [100, 80, 90, ...ofBoth].map((threshold) => `2026-05 ${threshold}`).sort());
  });

test("a count that comes late counts for the quota while it was granted", async () => {
  const { counts, note, events, setQuota } = open();
  note(50);
  setQuota(1000);
  note(55, month, 1000);
  note(90);
  await counts.record();
  note(95, month, 1000);
  await counts.record();
  assert.deepEqual(events(), ["2026-05 80", "2026-05 90"]);
});

/** A database with answers of the test. It keeps the values of its queries. */
function answering(...answers: object[][]) {
  const asked: (readonly unknown[])[] = [];
  const query = async <Row>(_: string, values: readonly unknown[] = []): Promise<Row[]> => {
    asked.push(values);
    return (answers.shift() ?? assert.fail("no further query")) as Row[];
  };
  return { query, asked };
}

const row = {
  now: "12:00",
  now_month: month,
  account: "1",
  month,
  used: 85,
  used_before: 4,
  day: "2026-05-10",
  at_month: month,
};

test("what all servers count is read into the state, the table and the days, each from the last read on", async () => {
  const { counts, store, table, days, events, id } = open();
  const first = answering(
    [row, { ...row, account: "9" }],
    [
      { account: "1", day: "2026-05-09", used: 3 },
      { account: "9", day: "2026-05-09", used: 5 },
    ],
  );
  await counts.read(first, 4000);
  assert.deepEqual(first.asked, [
    ["-infinity", 4],
    [
      ["1", "9"],
      ["-infinity", "-infinity"],
    ],
  ]);
  assert.deepEqual(store.usage.months(id), [
    { month: "2026-05", used: 85 },
    { month: "2026-04", used: 4 },
  ]);
  assert.deepEqual([days, store.usage.days(id)], [[[0, "2026-05-09", 3]], [{ day: "2026-05-09", used: 3 }]]);
  assert.deepEqual([table.monthOf(0), table.used(0, month)], [month, 85]);
  assert.deepEqual(
    [-1, 0, 1].map((more) => counts.of(id, month + more)),
    [undefined, 85, 0],
  );
  assert.equal(counts.of(9, month), undefined, "an account that this server doesn't have");
  await counts.record();
  assert.deepEqual(events(), ["2026-05 80"]);

  const same = answering([{ ...row, now: "12:10", used: 86 }], []);
  await counts.read(same, 14_000);
  assert.deepEqual(
    same.asked,
    [
      ["12:00", 10],
      [[], []],
    ],
    "the days up to a day are read once",
  );
  for (const [day, since] of [
    ["2026-05-12", "2026-05-10"],
    ["2026-05-11", "2026-05-11"],
  ]) {
    const next = answering([{ ...row, used: 87, day }], []);
    await counts.read(next, 14_000);
    assert.deepEqual(next.asked[1], [["1"], [since]]);
  }
  assert.deepEqual([table.used(0, month), counts.of(id, month)], [87, 87]);
  const none = answering([{ ...row, now: "12:20", account: null }], []);
  await counts.read(none, 14_000);
  assert.deepEqual([counts.of(id, month), none.asked[1]], [87, [[], []]]);
});

test("after a clock that was ahead, this month's requests are those of the month before the row's, and their days are stored", async () => {
  const { counts, table, store, id } = open();
  const ahead = answering([{ ...row, month: month + 1, used: 2, used_before: 60 }], [], []);
  await counts.read(ahead, 0);
  assert.deepEqual(ahead.asked[1], [["1"]]);
  assert.deepEqual([counts.of(id, month), counts.of(id, month + 1), table.used(0, month)], [60, 2, 60]);
  assert.deepEqual(
    store.usage.months(id).map(({ used }) => used),
    [2, 60],
  );
  // Of another month than this server's, nothing comes into the table.
  const other = answering(
    [{ ...row, now_month: month - 1, month: month - 1, at_month: month - 1, used: 7 }],
    [],
  );
  await counts.read(other, 0);
  assert.deepEqual([table.used(0, month), counts.of(id, month - 1)], [60, 7]);
});

test("the counts of three months are known, those nearest to the present one, and a restart knows them", () => {
  const { counts, note, store, id } = open([
    [month - 2, 1],
    [month - 1, 2],
    [month + 1, 4],
  ]);
  const known = () => [-3, -2, -1, 0, 1, 2].map((more) => counts.of(id, month + more));
  assert.deepEqual(known(), [undefined, undefined, 2, 0, 4, 0]);
  note(3);
  note(9, month - 3);
  assert.deepEqual(known(), [undefined, undefined, 2, 3, 4, 0]);
  note(5, month + 2);
  assert.deepEqual(known(), [undefined, undefined, 2, 3, 4, 0]);
  counts.save();
  assert.deepEqual(
    [-1, 0, 1].map((more) => store.usage.of(id, monthName(month + more))),
    [2, 3, 4],
  );
});
