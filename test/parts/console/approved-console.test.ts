import { after, test } from "node:test";
import type { Sample } from "../../../server/parts/console/browser/sample.ts";
import type { State } from "../../../server/parts/console/state.ts";
import { assertApproved, outlineOf } from "../../support/approved.ts";
import { all, button, click, drawn, fire, open } from "../../support/drawn-page.ts";
import type { FakeElement } from "../../support/fake-dom.ts";

/** Tests that the console is drawn as it was approved, from what its stream sends. */

class FakeStream extends EventTarget {
  static readonly CLOSED = 2;
  readonly readyState = 1;
  static newest: FakeStream;

  constructor() {
    super();
    FakeStream.newest = this;
  }

  send(event: string, data: object): void {
    this.dispatchEvent(new MessageEvent(event, { data: JSON.stringify(data) }));
  }

  close(): void {}
}

// The console's times are the reader's: here in American English, and UTC.
const date = Date.prototype;
const asInstalled = { toLocaleString: date.toLocaleString, toLocaleTimeString: date.toLocaleTimeString };
const zone = process.env.TZ;
process.env.TZ = "UTC";
Object.assign(globalThis, { EventSource: FakeStream });
Object.assign(date, {
  toLocaleString(this: Date) {
    return asInstalled.toLocaleString.call(this, "en-US");
  },
  toLocaleTimeString(this: Date, _: unknown, options: Intl.DateTimeFormatOptions) {
    return asInstalled.toLocaleTimeString.call(this, "en-US", options);
  },
});
after(() => {
  Object.assign(date, asInstalled);
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const nowS = Date.parse("2026-11-20T10:00:00Z") / 1000;

/** The traffic of a second or a minute that differs from sample to sample. */
const sampleOf = (at: number, seconds: number, i: number): Sample => ({
  ...{ at, seconds },
  requests: {
    "/healthcare/prices 200": 100 + 10 * i,
    "/search 404": i % 3,
    "/healthcare/prices 401": 1,
    "/healthcare/prices 429": i % 2,
    ...(i === 4 && { "/healthcare/trends 500": 2 }),
  },
  times: [
    [256, 80 * seconds],
    [512, (20 + 10 * i) * seconds],
    [524_288, 4 * seconds],
  ],
  ...{ p50: 200 + i, p90: 400 + 10 * i, p99: i === 2 ? null : 300_000 },
  ...{ refused: i % 2, overRate: i % 2, overQuota: 0, refusedBy: { acme: i % 2 } },
  ...{ unauthorized: 1, bytes: 1e6 + i, connections: 3, memory: 3e8 },
});

const state: State = {
  server: {
    ...{ node: "22.23.3", threads: 2, started_at: "2026-11-19T08:07:06.000Z", datasets: "/srv/snapshots" },
    ...{ ready: true, fault: null },
  },
  versions: [
    {
      version: "2024.2",
      status: "current",
      title: "Charges of 2024",
      rows: 116_800,
      priced_rows: 90_000,
      ...{ facilities: 3100, procedures: 60, loaded_at: "2026-11-19T08:07:10.000Z", bytes: 35_000_000 },
      states: ["AK", "CA", "DC", "NY", "PR", "TX"],
      missing_states: [{ state: "MD", reason: "Maryland sets its own hospital prices" }],
    },
    {
      ...{ version: "2023.1", status: "available", title: "Charges of 2023", rows: 1000, priced_rows: 10 },
      facilities: 1,
      procedures: 2,
      loaded_at: "2026-11-20T09:00:00.000Z",
      bytes: 2_000_000,
      states: ["TX"],
      missing_states: [],
    },
  ],
  refused: [
    {
      ...{ file: "2024.3.parquet", version: "2024.3", at: "2026-11-20T09:00:00.000Z" },
      ...{ reason: "found 5 bytes, expected a footer", isServed: false, isLost: false },
    },
    {
      ...{ file: "my old.parquet", version: "2022.1", at: null, reason: "the hash differs" },
      ...{ isServed: false, isLost: true },
    },
    {
      ...{ file: "2023.1.parquet", version: "2023.1", at: null, reason: "can't be read" },
      ...{ isServed: true, isLost: false },
    },
  ],
  accounts: [
    { name: "acme", plan: "free", used: 10_000, quota: 10_000, burst: 10, keys: 2 },
    { name: "o'neil", plan: "developer", used: 95_000, quota: 100_000, burst: 50, keys: 1 },
    { name: "small", plan: "free", used: 1, quota: 10_000, burst: 10, keys: 0 },
  ],
  all_accounts: 250,
  events: [
    {
      id: "e3",
      account: "acme",
      month: "2026-11",
      threshold: 100,
      created_at: "2026-11-19T12:00:00.000Z",
      ...{ channel: "webhook", state: "pending", tries: 0, next_try_at: "2026-11-20T11:00:00.000Z" },
      last_answer: null,
    },
    {
      id: "e2",
      account: "acme",
      month: "2026-11",
      threshold: 80,
      created_at: "2026-11-18T12:00:00.000Z",
      ...{ channel: "webhook", state: "pending", tries: 3, next_try_at: "2026-11-20T10:30:00.000Z" },
      last_answer: "503",
    },
    {
      id: "e1",
      account: "o'neil",
      month: "2026-11",
      threshold: 80,
      created_at: "2026-11-17T12:00:00.000Z",
      ...{ channel: "email", state: "failed", tries: 9, next_try_at: null, last_answer: "550 no such user" },
    },
    {
      id: "e0",
      account: "small",
      month: "2026-10",
      threshold: 80,
      created_at: "2026-10-17T12:00:00.000Z",
      ...{ channel: null, state: "delivered", tries: 1, next_try_at: null, last_answer: "204" },
    },
  ],
};

/** What the other states lack: a server that isn't ready, and the rarer cells of each table. */
const odd: State = {
  ...state,
  server: { ...state.server, ready: false, threads: 1 },
  versions: [],
  refused: [
    {
      ...{ file: "new.parquet", version: null, at: null, reason: "found new.parquet, expected a version" },
      ...{ isServed: false, isLost: false },
    },
  ],
  accounts: [80, 79.9].map((share, i) => ({
    ...{ name: `account ${i}`, plan: "own", used: share * 10, quota: 1000, burst: 5000, keys: 1 },
  })),
  all_accounts: 2,
  events: [
    { ...state.events[2], id: "n", channel: null, state: "none", tries: 0, last_answer: null },
    { ...state.events[1], account: "b", channel: "email" },
    { ...state.events[0], account: "b" },
  ],
};

/** A second with few requests, and one with requests to more routes than the console lists. */
const few = {
  ...sampleOf(nowS - 300, 1, 0),
  ...{
    requests: { "/search 200": 0.4 },
    refusedBy: { "account 1": 2.4 },
    p50: 5.25,
    p90: 9500,
    p99: 2_500_000,
  },
  ...{ refused: 0, overRate: 0, connections: 1 },
};
const many = {
  ...sampleOf(nowS, 1, 0),
  requests: Object.fromEntries([
    ...Array.from({ length: 11 }, (_, i) => [`/route/${i} ${i % 2 === 0 ? 200 : 503}`, 12.4 - i]),
    ["/rare 200", 0.04],
    ["/last 404", 0],
  ]),
};

async function assertSeen(name: string, root: FakeElement): Promise<void> {
  await drawn();
  assertApproved(`console/${name}.txt`, outlineOf(root));
}

test("the console is drawn as it was approved: before the stream begins, with it, and without it", async (t) => {
  t.mock.method(Date, "now", () => nowS * 1000);
  const root = await open("console", "/");
  const stream = FakeStream.newest;
  await assertSeen("begun", root);
  stream.send("state", { ...state, accounts: [], all_accounts: 0, events: [], refused: [] });
  await assertSeen("quiet", root);
  stream.send("state", { ...state, server: { ...state.server, fault: "the disk is full" } });
  stream.send("history", {
    samples: Array.from({ length: 6 }, (_, i) => sampleOf(nowS - 50 + 10 * i, 1, i)),
    minutes: Array.from({ length: 5 }, (_, i) => sampleOf(nowS - 3000 + 600 * i, 60, i)),
  });
  await assertSeen("fault", root);
  stream.send("state", state);
  stream.send("sample", sampleOf(nowS + 10, 1, 7));
  stream.send("minute", sampleOf(nowS + 10, 60, 8));
  await assertSeen("busy", root);
  const storm = { "/search 404": 5000, "/healthcare/prices 401": 4000, "/facilities 400": 1000 };
  stream.send("sample", {
    ...sampleOf(nowS + 20, 1, 9),
    requests: { ...storm, "/healthcare/prices 429": 9000, "/healthcare/prices 200": 1000 },
    ...{ refused: 9000, overRate: 4000, overQuota: 2000, unauthorized: 4000 },
    refusedBy: { acme: 2000, "o'neil": 3000, small: 1000 },
  });
  await assertSeen("storm", root);
  for (const span of ["an hour", "a day"]) {
    await click(button(root, span));
    await assertSeen(`busy-${span.replace(" ", "-")}`, root);
  }
  for (const card of all(root, ".lines")) await click(all(card, "button")[0]);
  await assertSeen("tables", root);
  stream.dispatchEvent(new Event("error"));
  await assertSeen("gone", root);
  stream.dispatchEvent(new Event("open"));
  await assertSeen("tables", root);
  for (const card of all(root, ".lines")) await click(all(card, "button")[0]);
  stream.send("state", odd);
  stream.send("history", { samples: [few, many], minutes: [] });
  await click(button(root, "10 minutes"));
  const [chart, times] = all(root, ".by-width svg[role=img]");
  for (const one of [chart, times])
    one.getBoundingClientRect = () => ({ left: 10, top: 0, width: 200, height: 220 });
  await fire(chart, "pointermove", { clientX: 100 });
  await fire(times, "pointermove", { clientX: 205 });
  await assertSeen("odd", root);
  for (const one of [chart, times]) await fire(one, "pointerleave");
  stream.send("history", {
    samples: [{ ...few, requests: {}, times: [], p50: null, p90: null, p99: null }],
    minutes: [],
  });
  await assertSeen("no-requests", root);
});
