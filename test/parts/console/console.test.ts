import assert from "node:assert/strict";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import type { Core } from "../../../server/part.ts";
import { OperatorConsole } from "../../../server/parts/console/console.ts";
import { startConsole } from "../../../server/parts/console/control.ts";
import { History } from "../../../server/parts/console/history.ts";
import { type State, stateOf } from "../../../server/parts/console/state.ts";
import { monthName, monthOf } from "../../../server/shared/months.ts";
import { ThreadTraffic, Traffic } from "../../../server/shared/traffic.ts";
import { Store } from "../../../server/store/store.ts";
import { imageOf, snapshotAs } from "../../support/fixtures.ts";

/** Tests what the console's stream sends, and when, and what needs the operator's attention. */

const now = new Date("2026-11-20T10:00:00Z");
const month = monthName(monthOf(now.getTime()));
const server = { node: "v22", threads: 2, started_at: "then", datasets: "/srv", ready: true, fault: null };
const images = [
  imageOf(
    snapshotAs("2024.2", [
      ["010001", "AL", "5072", 100, 50],
      ["010002", "NY", "5073", null, null],
    ]),
  ),
  imageOf(snapshotAs("2023.1", [["010001", "AL", "5072", 100, 50]])),
];
const snapshots = {
  images: () => images,
  published: () =>
    images.map(({ buffer }, i) => ({
      ...{ image: buffer, loadedAt: `load ${i}`, previous: null },
      file: { bytes: new Uint8Array(0), sha256: "", isChecked: true },
    })),
  refused: () => [],
};

function newStore(): Store {
  const store = Store.inMemory();
  for (let i = 1; i <= 102; i++) {
    const account = {
      name: `a${i}`,
      plan: "own",
      burst: i,
      quota: 1000,
      webhook: null,
      webhook_secret: null,
    };
    store.usage.save(month, [[store.accounts.create(account, now).id, i]]);
    for (const [threshold, channels] of [
      [80, ["webhook"]],
      [90, []],
    ] as const)
      store.events.create(
        {
          ...{ id: `e${i} ${threshold}`, account: i, month, threshold, quota: 1000, payload: "{}" },
          created_at: 1000 * i,
        },
        channels,
      );
  }
  return store;
}

test("the state has the versions, the fullest 100 accounts and the newest 100 events", () => {
  const store = newStore();
  store.events.updateDelivery({
    id: "e101 80",
    channel: "webhook",
    state: "failed",
    tries: 9,
    next_try_at: 5000,
    last_answer: "503",
  });
  const state = stateOf(server, snapshots, store, now);
  assert.deepEqual(state.server, server);
  const { states, missing_states, ...version } = state.versions[0];
  assert.deepEqual(version, {
    ...{ version: "2024.2", status: "current", title: 'Outpatient charges "for tests" — naïve 🏥' },
    ...{ rows: 2, priced_rows: 1, facilities: 2, procedures: 2, loaded_at: "load 0" },
    bytes: images[0].buffer.byteLength,
  });
  assert.deepEqual([states, missing_states.length > 0], [["AL"], true]);
  assert.deepEqual(
    state.versions.map((each) => [each.version, each.status, each.loaded_at]),
    [
      ["2024.2", "current", "load 0"],
      ["2023.1", "available", "load 1"],
    ],
  );
  assert.deepEqual([state.all_accounts, state.accounts.length, state.events.length], [102, 100, 100]);
  assert.deepEqual(state.accounts[0], {
    name: "a102",
    plan: "own",
    used: 102,
    quota: 1000,
    burst: 102,
    keys: 0,
  });
  assert.deepEqual(
    state.accounts.map(({ used }) => used),
    Array.from({ length: 100 }, (_, i) => 102 - i),
  );
  const event = { month, created_at: "1970-01-01T00:01:42.000Z" };
  assert.deepEqual(state.events.slice(0, 2), [
    {
      ...event,
      id: "e102 90",
      account: "a102",
      threshold: 90,
      channel: null,
      state: "none",
      tries: 0,
      next_try_at: null,
      last_answer: null,
    },
    {
      ...event,
      id: "e102 80",
      account: "a102",
      threshold: 80,
      channel: "webhook",
      state: "pending",
      tries: 0,
      next_try_at: "1970-01-01T00:01:42.000Z",
      last_answer: null,
    },
  ]);
  const failed = state.events.find(({ id }) => id === "e101 80");
  assert.deepEqual(
    [failed?.state, failed?.tries, failed?.next_try_at, failed?.last_answer],
    ["failed", 9, null, "503"],
  );
  assert.equal(stateOf({ ...server, fault: "gone" }, snapshots, store, now).server.fault, "gone");
  store.close();
  const { server: unread, accounts, all_accounts, events } = stateOf(server, snapshots, store, now);
  assert.match(unread.fault ?? "", /^accounts and events can't be read: ./);
  assert.deepEqual([accounts, all_accounts, events], [[], 0, []]);
});

/** A viewer's response, which keeps what is sent. */
class Viewer extends ServerResponse {
  text = "";
  status = 0;
  headers: unknown;

  constructor() {
    super(new IncomingMessage(new Socket()));
  }

  override writeHead(status: number, headers?: unknown): this {
    [this.status, this.headers] = [status, headers];
    return this;
  }

  override write(text: unknown): boolean {
    this.text += text;
    return true;
  }

  override end(text?: unknown): this {
    this.text += text;
    return this;
  }

  /** The names of the events that came since the last call. */
  seen(): string[] {
    const names = [...this.text.matchAll(/^event: (\w+)\ndata: \{.*\}\n$/gm)].map(([, name]) => name);
    this.text = "";
    return names;
  }
}

function openConsole() {
  const none = () => ({ connections: 0, memory: 0 });
  const history = new History(new Traffic([], 1), none, () => new Map(), 0);
  let looks = 0;
  let fault: string | null = null;
  const empty = { versions: [], refused: [], accounts: [], all_accounts: 0, events: [] };
  const shown = new OperatorConsole(history, (): State => {
    looks++;
    return { ...empty, server: { ...server, fault } };
  });
  const view = () => {
    const viewer = new Viewer();
    shown.stream(viewer);
    return viewer;
  };
  return {
    ...{ shown, view },
    looks: () => looks,
    tick: (second: number) => shown.tick(1000 * second, 1000 * second),
    break: (reason: string) => {
      fault = reason;
    },
  };
}

test("a viewer gets the history and the state, then each sample, whole minutes, and a state that has changed", () => {
  const { view, looks, tick, break: breakDown } = openConsole();
  for (let second = 1; second <= 10; second++) tick(second);
  assert.equal(looks(), 0, "nobody looks");
  const viewer = view();
  assert.equal(viewer.status, 200);
  assert.deepEqual(viewer.headers, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  assert.match(viewer.text, /^event: history\ndata: \{"samples":\[(?:\{[^}]*\}[^[]*\[\][^}]*\},?\S*)?/);
  assert.deepEqual(viewer.seen(), ["history", "state"]);
  view();
  assert.equal(looks(), 1, "the second viewer gets the same state");
  tick(11);
  assert.deepEqual([viewer.seen(), looks()], [["sample"], 2]);
  breakDown("the disk is full");
  tick(12);
  assert.deepEqual([viewer.seen(), looks()], [["sample"], 2]);
  tick(13);
  assert.deepEqual([viewer.seen(), looks()], [["sample", "state"], 3]);
  for (let second = 14; second <= 59; second++) tick(second);
  viewer.seen();
  tick(60);
  assert.deepEqual(viewer.seen(), ["sample", "minute"]);
  tick(61);
  assert.deepEqual(viewer.seen(), ["sample"]);
});

test("a viewer that leaves or doesn't read is given up, and 16 may look at once", () => {
  const { view, tick, looks } = openConsole();
  const viewers = Array.from({ length: 16 }, view);
  const refused = view();
  assert.deepEqual([refused.status, refused.text], [503, "16 consoles are open already\n"]);
  assert.deepEqual(refused.headers, {
    "Content-Type": "text/plain; charset=utf-8",
    "Retry-After": "10",
    Connection: "close",
  });
  viewers[0].emit("close");
  assert.equal(view().status, 200);
  for (const [i, bytes] of [4 * 2 ** 20, 4 * 2 ** 20 + 1].entries())
    Object.defineProperty(viewers[1 + i], "writableLength", { value: bytes });
  tick(1);
  assert.deepEqual([viewers[1].destroyed, viewers[2].destroyed], [false, true]);
  assert.deepEqual(viewers[0].seen(), ["history", "state"]);
  assert.deepEqual(viewers[1].seen(), ["history", "state", "sample"]);
  assert.equal(looks(), 2);
});

/** Elements as Preact makes them. Pages' modules are checked as a browser's code, apart from the tests. */
interface Shown {
  type: string;
  props: { class: string; children: unknown };
}
const { Attention }: { Attention: (props: object) => Shown } = await import(
  String(new URL("../../../server/parts/console/browser/attention.ts", import.meta.url))
);

const empty: State = { server, versions: [], refused: [], accounts: [], all_accounts: 0, events: [] };
const quiet = {
  ...{ range: "an hour", refusedShare: 0, overRateShare: 0, overQuotaShare: 0, unauthorizedShare: 0 },
  ...{ failedShare: 0, answers: {}, refusedBy: {}, slow: undefined },
};

/** The lines that the console shows, each after its level. */
function attention(state: Partial<State>, changes: Partial<typeof quiet> | { slow: string } = {}): string[] {
  const shown = Attention({ state: { ...empty, ...state }, ...quiet, ...changes });
  const textOf = (children: unknown) => [children].flat(3).join("");
  if (shown.type === "p") return [`${shown.props.class}: ${textOf(shown.props.children)}`];
  const items = [shown.props.children].flat(3) as Shown[];
  return items.map(({ props }) => `${props.class}: ${textOf(props.children)}`);
}

const accountOf = (name: string, used: number) => ({
  name,
  plan: "free",
  used,
  quota: 100,
  burst: 7,
  keys: 1,
});
const eventOf = (id: string, state: string, tries: number) => ({
  ...{ id, account: "a", month, threshold: 80, created_at: "then", channel: "webhook" as const },
  ...{ state: state as "pending", tries, next_try_at: null, last_answer: null },
});
const faultyOf = (version: string | null, isLost: boolean) => ({
  ...{ file: "f.parquet", reason: "it is short", at: null, version, isServed: false, isLost },
});

test("a share of requests needs attention from its least share on, and is told in percent", () => {
  const inHour = "of requests in the last hour";
  const over = `warn: 1% ${inHour} are refused, being over`;
  for (const [changes, expected] of [
    [{}, "attention quiet: Nothing needs attention."],
    [{ failedShare: 0.001 }, `bad: 0.1% ${inHour} fail by the server's fault (5xx): see the log.`],
    [{ refusedShare: 0.01, overRateShare: 0.01 }, `${over} a rate (429).`],
    [{ refusedShare: 0.01, overQuotaShare: 0.01 }, `${over} a month's quota (429).`],
    [
      { refusedShare: 0.01 },
      `${over} an address's share of the pages' key (429): PORTAL_ADDRESS_RATE and PORTAL_ADDRESS_DAILY set it.`,
    ],
    [{ unauthorizedShare: 0.05 }, `warn: 5% ${inHour} have no key that works (401).`],
    [{ slow: "2 s" }, "warn: Answers are slow: 1 % of requests take 2 s or longer."],
    [
      { answers: { "/a 404": 5, "/b c 400": 15, "/b 401": 7, "/b 429": 7, "/a 200": 66 } },
      `warn: 20% ${inHour} are answered with 4xx: most, 15%, with 400 at /b c.`,
    ],
  ] as const)
    assert.deepEqual(attention({}, changes), [expected]);
  const none = ["attention quiet: Nothing needs attention."];
  for (const changes of [
    { refusedShare: 0.0099, overRateShare: 0.0099 },
    { refusedShare: 0.0099, overQuotaShare: 0.0099 },
    { refusedShare: 0.0099 },
    { unauthorizedShare: 0.0499 },
    { answers: { "/a 404": 19, "/a 200": 1 } },
    { answers: { "/a 404": 20, "/a 200": 81 } },
  ])
    assert.deepEqual(attention({}, changes), none, JSON.stringify(changes));
  assert.match(
    attention({}, { range: "10 minutes", unauthorizedShare: 1 })[0],
    /in the last 10 minutes have/,
  );
});

test("accounts over a ceiling are named, with the command that raises it; three of them for a rate", () => {
  const rate = { refusedShare: 0.5, overRateShare: 0.5 };
  const refusedBy = { a: 1, "o'b": 9, c: 3, d: 2 };
  const accounts = ["a", "o'b", "c", "d"].map((name) => accountOf(name, 1));
  const start = "warn: 50% of requests in the last hour are refused, being over a rate (429)";
  assert.deepEqual(attention({ accounts }, { ...rate, refusedBy }), [
    `${start}: most of o'b, c, d. To raise a rate: hcqs keys update --account 'o'\\''b' --plan enterprise --burst N --quota 100`,
  ]);
  assert.deepEqual(attention({}, { ...rate, refusedBy: { a: 1 } }), [`${start}: most of a.`]);
  const begins = "The next month begins on the first, at 0:00 UTC. To raise a quota before:";
  const raise = "hcqs keys update --account x@y.z --plan enterprise --burst 7 --quota N";
  const used = [accountOf("x@y.z", 100), accountOf("m", 90), accountOf("n", 89)];
  assert.deepEqual(attention({ accounts: used }, { ...rate, refusedBy: { "x@y.z": 5 } }), [
    `${start}.`,
    `warn: 1 account has used up the month's quota: x@y.z. ${begins} ${raise}`,
    "warn: 1 account is near the month's quota: m.",
  ]);
  const more = [accountOf("x@y.z", 101), accountOf("b", 100), accountOf("c", 99), accountOf("d", 99)];
  assert.deepEqual(attention({ accounts: more }), [
    `warn: 2 accounts have used up the month's quota: x@y.z, b. ${begins} ${raise}`,
    "warn: 2 accounts are near the month's quota: c, d.",
  ]);
});

test("lost versions, refused files and failed deliveries come before those that are being retried", () => {
  const refused = [faultyOf("2024.1", true), faultyOf(null, false)];
  const events = [eventOf("e4", "failed", 10), eventOf("e3", "pending", 1), eventOf("e2", "pending", 0)];
  const below = "What to do stands below.";
  assert.deepEqual(attention({ refused, events }), [
    `bad: 1 data version isn't served any more, though its file is there: 2024.1. ${below}`,
    `bad: 2 files are refused. ${below}`,
    "bad: 1 delivery has failed for good: hcqs events retry e4 starts it again.",
    "warn: 1 delivery is being retried.",
  ]);
  const lost = [faultyOf("2024.1", true), faultyOf("2023.2", true)];
  const more = [eventOf("e9", "failed", 10), ...events, eventOf("e1", "pending", 2)];
  assert.deepEqual(attention({ refused: lost, events: more }), [
    `bad: 2 data versions aren't served any more, though their files are there: 2024.1, 2023.2. ${below}`,
    `bad: 2 files are refused. ${below}`,
    "bad: 2 deliveries have failed for good: hcqs events retry e9 starts the newest again.",
    "warn: 2 deliveries are being retried.",
  ]);
  assert.deepEqual(attention({ refused: refused.slice(1) }), [`bad: 1 file is refused. ${below}`]);
});

test("the console tells of its server, samples every second from the ready line on, and begins without its files, too", async (t) => {
  const store = newStore();
  t.after(() => store.close());
  const works: [what: string, everyMs: number, work: () => void][] = [];
  const errors: unknown[] = [];
  const traffic = new Traffic([], 1);
  const core = {
    settings: { THREADS: 3, DATASETS_DIR: "/srv/snapshots" },
    ...{ store, snapshots, traffic, connections: { open: 5 } },
    accounts: { names: () => new Map([[7, "acme"]]) },
    isReady: () => true,
    fault: () => undefined as string | undefined,
    log: { error: (...told: unknown[]) => errors.push(told) },
    repeat: (...work: [string, number, () => void]) => works.push(work),
  };
  const { opsPages, begin } = await startConsole(core as unknown as Core);
  const { mock } = t.mock.method(OperatorConsole.prototype, "loadFiles", () => {
    throw new Error("the disk is gone");
  });
  await begin?.("");
  mock.restore();
  assert.deepEqual(errors, [[{ reason: "the disk is gone" }, "the console's files can't be read"]]);
  const page = Buffer.from(opsPages?.file("/")?.bodies.identity ?? []).toString();
  assert.match(page, /<title>Console<\/title>.*The state of the service\..*"stream":"\/console\/stream"/s);
  assert.match(
    page,
    /<noscript>The console needs JavaScript; \/metrics has the numbers as text\.<\/noscript>/,
  );
  assert.equal(opsPages?.streamPath, "/console/stream");
  const viewer = new Viewer();
  new ThreadTraffic(traffic.buffers[0]).refused("burst", 7);
  opsPages?.stream(viewer);
  const [{ 0: what, 1: everyMs, 2: work }] = works;
  assert.deepEqual([works.length, what, everyMs], [1, "sampling what is served", 1000]);
  work();
  const sent = (name: string) =>
    JSON.parse(new RegExp(`^event: ${name}\\ndata: (.*)$`, "m").exec(viewer.text)?.[1] ?? "null");
  const { started_at, ...known } = sent("state").server;
  assert.ok(Date.parse(started_at) <= Date.now());
  assert.deepEqual(known, {
    ...{ node: process.version, threads: 3, datasets: "/srv/snapshots", ready: true, fault: null },
  });
  const { connections, memory, refusedBy } = sent("sample");
  assert.equal(connections, 5);
  assert.ok(memory > 2 ** 20);
  assert.deepEqual(Object.keys(refusedBy), ["acme"]);
});
