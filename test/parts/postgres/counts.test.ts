import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { PermitTable } from "../../../server/accounts/permit-table.ts";
import { Counts } from "../../../server/parts/postgres/counts.ts";
import { Store } from "../../../server/store/store.ts";

/** Tests which events are recorded for counts of all servers. */

const month = 2026 * 12 + 4;
const now = new Date("2026-05-10T00:00:00Z");

/** Counts of an account with a quota of 100. */
function open() {
  const store = Store.inMemory();
  const none = { webhook: null, webhook_secret: null };
  const account = store.accounts.create({ name: "a", plan: "own", burst: 9, quota: 100, ...none }, now);
  const table = new PermitTable();
  table.month = month;
  /** Called while a change is made. */
  const meanwhile: (() => void)[] = [];
  const counts = new Counts(
    { quotaOf: () => store.accounts.byId(account.id)?.quota, slotOf: () => 0, putDay() {} },
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
  return { counts, note, events, meanwhile, setQuota };
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
