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
    { of: () => account, slotOf: () => 0, putDay() {} },
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
  return { counts, events, meanwhile };
}

test("an event is recorded once for each threshold, with those that were passed over", async () => {
  const { counts, events } = open();
  for (const used of [79, 80, 95, 96, 100]) {
    counts.note(0, month, used);
    await counts.record();
  }
  assert.deepEqual(events(), ["2026-05 100", "2026-05 80", "2026-05 90"]);
});

test("a threshold that was crossed at a month's end is recorded after requests of the next month", async () => {
  const { counts, events } = open();
  counts.note(0, month, 85);
  counts.note(0, month + 1, 1);
  await counts.record();
  assert.deepEqual(events(), ["2026-05 80"]);
});

test("a threshold that is crossed while another one is recorded isn't lost", async () => {
  const { counts, events, meanwhile } = open();
  counts.note(0, month, 80);
  meanwhile.push(() => counts.note(0, month, 92));
  await counts.record();
  await counts.record();
  assert.deepEqual(events(), ["2026-05 80", "2026-05 90"]);
});
