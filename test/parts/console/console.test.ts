import assert from "node:assert/strict";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import { OperatorConsole } from "../../../server/parts/console/console.ts";
import { History } from "../../../server/parts/console/history.ts";
import { type State, stateOf } from "../../../server/parts/console/state.ts";
import { monthName, monthOf } from "../../../server/shared/months.ts";
import { Traffic } from "../../../server/shared/traffic.ts";
import { Store } from "../../../server/store/store.ts";
import { imageOf, snapshotAs } from "../../support/fixtures.ts";

/** Tests what the console's stream sends, and when. */

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
