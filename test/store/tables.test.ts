import assert from "node:assert/strict";
import { test } from "node:test";
import type { Position, Row } from "../../server/store/directory.ts";
import { Store } from "../../server/store/store.ts";
import { account } from "../support/state.ts";

/** Tests what the tables of the state keep, order and forget, with a database in memory. */

const now = new Date("2026-11-20T10:00:00Z");
const at = now.getTime();
const dayMs = 86_400_000;
const hash = (byte: number) => Buffer.alloc(32, byte);
const position = (version: number): Position => ({ version, id: `change ${version}` });
const event = (id: string, owner: number, threshold: number, created_at = at) => ({
  ...{ id, account: owner, month: "2026-11", threshold, quota: 1, payload: "{}", created_at },
});

function opened(t: { after: (close: () => void) => void }): Store {
  const store = Store.inMemory();
  t.after(() => store.close());
  return store;
}

/** The shared rows as one database has them; the order of changes is each server's own. */
const sharedRows = ({ directory, accounts, keys, events, signups }: Store) => ({
  position: directory.position(),
  names: directory.names().toSorted(),
  accounts: accounts.ids().map((id) => ({ ...accounts.byId(id), changed: 0 })),
  keys: keys.list().map((key) => ({ ...key, changed: 0 })),
  events: events.list(),
  mailboxes: ["a", "b"].map((mailbox) => signups.accountOf(mailbox)),
});

const changes: ((store: Store) => unknown)[] = [
  (store) => ["a", "b"].map((name) => store.accounts.create({ ...account, name }, now).id),
  (store) => [1, 2, 3].map((i) => store.keys.create(i === 3 ? 2 : 1, hash(i), `000${i}`, null, now, `${i}`)),
  (store) => store.signups.create({ mailbox: "a", address: "192.0.2.1" }, 1, now),
  (store) => store.signups.create({ mailbox: "b", address: "192.0.2.1" }, 2, now),
  (store) => store.events.create(event("evt_1", 1, 80), ["webhook", "email"]),
  (store) => store.events.create(event("evt_2", 2, 80), []),
  (store) => store.keys.replace(1, 2),
  (store) => store.keys.expire(1, at + 1),
  (store) => store.keys.revoke(2, now),
  (store) => store.accounts.suspend(1, at),
  (store) => {
    const [delivery] = store.events.deliveries("evt_1");
    store.events.updateDelivery({ ...delivery, state: "failed", tries: 9, last_answer: "503" });
  },
  (store) => store.accounts.delete(2),
  (store) => store.keys.create(1, hash(4), "0004", at + 5, now),
];

test("a change is rehearsed without a trace, and its rows make every copy equal", (t) => {
  const [first, second, late] = [opened(t), opened(t), opened(t)];
  assert.equal(first.directory.position(), undefined);
  const latest = new Map<string, Row>();
  for (const [i, change] of changes.entries()) {
    const before = sharedRows(first);
    const { result, rows } = first.directory.rehearse(() => change(first));
    assert.deepEqual(sharedRows(first), before);
    assert.ok(rows.length > 0);
    const had = first.changes();
    for (const copy of [first, second]) copy.directory.take(rows, position(i));
    assert.notEqual(first.changes(), had, "the server notices its own write");
    assert.deepEqual(sharedRows(first).position, position(i));
    assert.deepEqual(sharedRows(second), sharedRows(first));
    if (i === 0) assert.deepEqual(result, [1, 2]);
    for (const row of rows) latest.set(row.name, row);
  }
  // The order of the rows doesn't matter: a row may come before the one that it refers to.
  late.directory.take([...latest.values()].toReversed(), position(changes.length - 1));
  assert.deepEqual(sharedRows(late), sharedRows(first));
  assert.equal(first.keys.byId(4)?.label, null);
  assert.deepEqual(first.keys.byId(1)?.hash, hash(1));
  const { rows } = first.directory.rehearse(() => first.keys.create(1, hash(6), "0006", null, now));
  assert.deepEqual(
    rows.map(({ name }) => name),
    ["keys:5"],
  );
});

test("a deleted key's id isn't given again, not even by a copy that never had the key", (t) => {
  const store = opened(t);
  store.accounts.create({ ...account, name: "a" }, now);
  store.directory.take([{ name: "keys:7", content: null }], position(1));
  assert.equal(store.keys.create(1, hash(1), "0001", null, now), 8);
  store.directory.take([{ name: "keys:3", content: null }], position(2));
  assert.equal(store.keys.create(1, hash(2), "0002", null, now), 9);
});

test("a row of another release's table is refused, and nothing of its change is taken", (t) => {
  const store = opened(t);
  const rows = [
    { name: "keys:7", content: null },
    { name: "things:1", content: null },
  ];
  assert.throws(() => store.directory.take(rows, position(1)), {
    message: "the row things:1 is of no table that this release shares",
  });
  assert.equal(store.directory.position(), undefined);
});

test("a failed rehearsal leaves no trace and passes its error on", (t) => {
  const store = opened(t);
  const fail = () => {
    store.accounts.create({ ...account, name: "a" }, now);
    throw new Error("refused");
  };
  assert.throws(() => store.directory.rehearse(fail), { message: "refused" });
  assert.equal(store.accounts.exist(), false);
});

test("another history withdraws its missing keys and accounts, and then replaces all rows but deleted accounts", (t) => {
  const [ours, theirs] = [opened(t), opened(t)];
  for (const store of [ours, theirs]) for (const change of changes.slice(0, 6)) change(store);
  // The other history has one account, one of its keys, and an event less.
  theirs.accounts.delete(2);
  theirs.records.insert("accounts", {
    ...{ ...account, id: 5, name: "c", email: null, suspended_at: null, created_at: at },
    ...{ webhook_old_secret: null, webhook_old_secret_until: null },
  });
  const { rows } = theirs.directory.rehearse(() => {
    theirs.accounts.suspend(1, null);
    theirs.accounts.suspend(5, null);
    theirs.keys.revoke(1, now);
  });
  const had = ours.changes();
  const appliedAccounts = ours.progress.latest().accounts;
  ours.directory.withdraw(rows, new Date(at + 1));
  assert.notEqual(ours.changes(), had);
  assert.deepEqual(ours.accounts.ids(), [1]);
  assert.ok(ours.accounts.wasDeleted(2));
  assert.deepEqual(
    ours.keys.list().map(({ id, revoked_at }) => [id, revoked_at]),
    [
      [1, null],
      [2, at + 1],
    ],
  );
  assert.ok(ours.progress.latest().accounts > appliedAccounts);
  ours.directory.replace(rows, position(9));
  assert.deepEqual(ours.directory.position(), position(9));
  assert.deepEqual(ours.accounts.ids(), [1, 5]);
  assert.ok(ours.accounts.wasDeleted(2));
  assert.deepEqual(ours.directory.names().toSorted(), ["accounts:1", "accounts:2", "accounts:5", "keys:1"]);
  assert.equal(ours.keys.byId(1)?.revoked_at, at);
  assert.deepEqual(ours.keys.since(0), [ours.keys.byId(1)]);
});

test("what another history has isn't taken for applied, however many keys were withdrawn before", (t) => {
  for (const withdrawn of [0, 1, 2, 3]) {
    const [ours, theirs] = [opened(t), opened(t)];
    for (const store of [ours, theirs]) {
      store.accounts.create({ ...account, name: "a" }, now);
      store.keys.create(1, hash(0), "0000", null, now);
    }
    for (let key = 1; key <= withdrawn; key++) ours.keys.create(1, hash(key), "0001", null, now);
    const { rows } = theirs.directory.rehearse(() => {
      theirs.accounts.suspend(1, at);
      theirs.keys.revoke(1, now);
    });
    ours.directory.withdraw(rows, now);
    // A server applies what has a higher number than the last change that it has applied.
    const applied = ours.progress.latest();
    ours.directory.replace(rows, position(9));
    assert.deepEqual(
      ours.accounts.since(applied.accounts).map(({ account }) => account?.suspended_at),
      [at],
    );
    assert.deepEqual(
      ours.keys.since(applied.keys).map(({ id, revoked_at }) => [id, revoked_at]),
      [[1, at]],
    );
  }
});

test("what was admitted without the database is kept until it is reported, and survives its return", (t) => {
  const { away } = opened(t);
  const used = (...counts: [number, number][]) => new Map(counts);
  away.save({ id: "b", month: 9, since: 5, used: used([1, 2], [2, 3]) });
  away.save({ id: "a", month: 8, since: 5, used: used() });
  away.save({ id: "b", month: 9, since: 7, used: used([1, 4]) });
  assert.deepEqual(away.all(), [
    { id: "a", month: 8, since: 7, used: used() },
    { id: "b", month: 9, since: 7, used: used([1, 4], [2, 3]) },
  ]);
  away.end();
  away.save({ id: "c", month: 7, since: 20, used: used([3, 1]) });
  const sinceOf = () => away.all().map(({ id, since }) => [id, since]);
  assert.deepEqual(sinceOf(), [
    ["a", 0],
    ["b", 0],
    ["c", 20],
  ]);
  away.remove("a");
  away.remove("b");
  assert.deepEqual(away.all(), [{ id: "c", month: 7, since: 20, used: used([3, 1]) }]);
});

test("requests are kept by month and by day, 62 days of them, and not of deleted accounts", (t) => {
  const { accounts, usage } = opened(t);
  for (const name of ["a", "b", "c"]) accounts.create({ ...account, name }, now);
  accounts.delete(3);
  const counts = [
    [1, 5],
    [2, 7],
    [3, 9],
  ] as const;
  for (const month of ["2026-10", "2026-11", "2026-09"]) usage.save(month, counts);
  usage.save("2026-11", [[1, 6]]);
  assert.deepEqual(usage.ofMonth("2026-11"), new Map([...counts.slice(0, 2), [1, 6]]));
  assert.deepEqual([usage.of(1, "2026-11"), usage.of(1, "2026-12"), usage.of(3, "2026-11")], [6, 0, 0]);
  assert.deepEqual(usage.months(1), [
    { month: "2026-11", used: 6 },
    { month: "2026-10", used: 5 },
    { month: "2026-09", used: 5 },
  ]);
  const days = Array.from({ length: 70 }, (_, i) =>
    new Date(Date.UTC(2026, 8, 1) + i * dayMs).toISOString().slice(0, 10),
  );
  for (const [i, day] of days.entries()) usage.saveDay(day, [[1, i]]);
  usage.saveDay(days[69], [
    [1, 100],
    [2, 3],
    [3, 1],
  ]);
  const kept = days.map((day, i) => ({ day, used: i === 69 ? 100 : i })).slice(8);
  assert.deepEqual([usage.days(1), usage.days(3)], [kept, []]);
  const october = days.flatMap((day, i) => (day.startsWith("2026-10") ? [[Number(day.slice(8)), i]] : []));
  assert.deepEqual(usage.daysOfMonth("2026-10"), new Map([[1, october]]));
  assert.deepEqual(usage.daysOfMonth("2026-11").get(2), [[9, 3]]);
});

test("signups count for a day by client and mailbox, and are forgotten with their address", (t) => {
  const { accounts, signups } = opened(t);
  accounts.create({ ...account, name: "a" }, now);
  const made = (mailbox: string, address: string, token: number, time: number) =>
    signups.createLink(
      { mailbox, address },
      { token: hash(token), name: "Ann", email: mailbox },
      new Date(time),
    );
  const since = new Date(at);
  made("old", "x", 1, at);
  made("a", "x", 2, at + 1);
  made("b", "x", 3, at + 2 * dayMs);
  made("ahead", "x", 4, at + 2 * dayMs + 1);
  signups.create({ mailbox: "c", address: "y" }, 1, new Date(at + 2));
  assert.deepEqual(signups.countsSince(since, { mailbox: "a", address: "x" }), {
    all: 3,
    address: 2,
    mailbox: 1,
  });
  assert.deepEqual(
    [1, 2, 3, 4].map((token) => signups.byToken(hash(token), since)?.mailbox),
    [undefined, "a", "b", undefined],
  );
  const [used, taken] = [2, 3].map((token) => signups.byToken(hash(token), since)?.id ?? 0);
  signups.useLink(used, 1);
  signups.useLink(taken, null);
  assert.deepEqual(
    ["a", "b", "c"].map((mailbox) => [signups.hasAccount(mailbox), signups.accountOf(mailbox)]),
    [
      [true, 1],
      [false, undefined],
      [true, 1],
    ],
  );
  assert.equal(signups.byToken(hash(2), since), undefined, "a link works once");
  const counted = () => signups.countsSince(new Date(0), { mailbox: "a", address: "x" }).all;
  const all = () => signups.countsSince(since, { mailbox: "a", address: "x" });
  signups.forget(since);
  assert.deepEqual([counted(), all().all], [0, 3]);
  signups.forget(new Date(at + 1));
  assert.deepEqual(all(), { all: 2, address: 1, mailbox: 0 });
  assert.ok(signups.hasAccount("a"), "an account's mailbox stays");
});

test("accounts and keys are found by what was changed last, by name, id and hash, and listed with their use", (t) => {
  const { accounts, keys, usage, progress } = opened(t);
  assert.equal(accounts.exist(), false);
  const [b, a, c] = ["b", "a", "c"].map((name) => accounts.create({ ...account, name }, now));
  assert.equal(accounts.exist(), true);
  assert.deepEqual([a.email, a.suspended_at, accounts.byName("a")?.id], [null, null, 2]);
  const [one, two, three] = [1, 2, 3].map((i) => keys.create(2, hash(i), "0000", i === 3 ? at : null, now));
  keys.create(1, hash(4), "0000", at + 1, now);
  keys.revoke(two, now);
  keys.revoke(two, new Date(at + 9));
  usage.save("2026-11", [[2, 5]]);
  keys.saveDay(one, "2026-11-18");
  keys.saveDay(one, "2026-11-19");
  keys.saveDay(99, "2026-11-19");
  const { changed } = keys.since(0)[3];
  keys.expire(one, at + 7);
  assert.deepEqual(
    keys.since(changed).map(({ id }) => id),
    [one],
  );
  assert.deepEqual(progress.latest().keys, keys.since(changed)[0].changed);
  assert.deepEqual(
    keys.list().map(({ id, name, last_used, revoked_at }) => [id, name, last_used, revoked_at]),
    [
      [one, "a", "2026-11-19", null],
      [two, "a", null, at],
      [three, "a", null, null],
      [4, "b", null, null],
    ],
  );
  assert.deepEqual(
    keys.ofAccount(2).map(({ id }) => id),
    [one, two, three],
  );
  assert.equal(keys.byHash(hash(3))?.id, three);
  const listed = () => accounts.list("2026-11", now).map(({ name, used, keys }) => [name, used, keys]);
  assert.deepEqual(listed(), [
    ["a", 5, 1],
    ["b", 0, 1],
    ["c", 0, 0],
  ]);
  accounts.suspend(b.id, at);
  accounts.delete(c.id);
  accounts.suspend(c.id, at);
  accounts.update({ ...c, plan: "business" });
  accounts.update({ ...a, plan: "business", email: "a@example.com" });
  assert.deepEqual(listed(), [
    ["a", 5, 1],
    ["b", 0, 0],
  ]);
  const { changed: _, ...stored } = { changed: 0, ...accounts.byId(a.id) };
  assert.deepEqual(stored, { ...a, plan: "business", email: "a@example.com" });
  assert.deepEqual(
    accounts.since(0).map(({ id, account }) => [id, account?.plan]),
    [
      [b.id, "free"],
      [c.id, undefined],
      [a.id, "business"],
    ],
  );
  assert.deepEqual(
    [accounts.ids(), accounts.wasDeleted(c.id), accounts.wasDeleted(9)],
    [[1, 2], true, false],
  );
  assert.deepEqual([accounts.byId(c.id), accounts.byName("c")], [undefined, undefined]);
});

test("the applied changes and the time of the last save are kept", (t) => {
  const { progress } = opened(t);
  assert.deepEqual([progress.applied(), progress.savedAt()], [{ accounts: 0, keys: 0 }, undefined]);
  progress.saveApplied({ accounts: 3, keys: 4 });
  for (const ms of [1, 0]) progress.noteSaved(new Date(at + ms));
  assert.deepEqual([progress.applied(), progress.savedAt()], [{ accounts: 3, keys: 4 }, at]);
});

test("an account's events are delivered in order, new ones before retries, and pauses are moved and shortened", (t) => {
  const { accounts, events } = opened(t);
  for (const name of ["a", "b", "c"]) accounts.create({ ...account, name }, now);
  assert.equal(events.create(event("a80", 1, 80), ["webhook", "email"]), true);
  assert.equal(events.create(event("a90", 1, 90), ["webhook"]), true);
  assert.equal(events.create(event("again", 1, 90), ["webhook"]), false);
  assert.equal(events.create(event("none", 9, 90), ["webhook"]), false);
  assert.equal(events.create(event("b80", 2, 80, at + 5), ["webhook"]), true);
  const dueAt = (time: number, underWay: string[] = [], limit = 9) =>
    events.due("webhook", new Date(time), underWay, limit).map(({ id }) => id);
  assert.deepEqual([dueAt(0), dueAt(0, [], 1), dueAt(0, ["a90"])], [["a80", "b80"], ["a80"], ["b80"]]);
  assert.equal(events.firstPending(1, "webhook"), "a80");
  assert.deepEqual([events.oldestPending("webhook"), events.oldestPending("email")], [at, at]);
  const delivery = (id: string) => events.deliveries(id).filter(({ channel }) => channel === "webhook")[0];
  events.updateDelivery({ ...delivery("a80"), tries: 2, next_try_at: at + 100 });
  assert.deepEqual([dueAt(at + 99), dueAt(at + 100)], [["b80"], ["b80", "a80"]]);
  events.moveTries("webhook", 10.4);
  assert.deepEqual([delivery("a80").next_try_at, events.deliveries("a80")[1].next_try_at], [at + 110, at]);
  events.shortenPauses("webhook", now, [5, 110, 500]);
  assert.equal(delivery("a80").next_try_at, at + 110);
  events.shortenPauses("webhook", now, [5, 50, 500]);
  assert.equal(delivery("a80").next_try_at, at + 50);
  events.moveTries("webhook", -2 * at);
  assert.equal(delivery("a80").next_try_at, 0);
  events.updateDelivery({ ...delivery("a80"), state: "delivered" });
  assert.deepEqual([dueAt(at), events.firstPending(1, "webhook")], [["a90", "b80"], "a90"]);
  assert.deepEqual([events.lastAt(2, "2026-11"), events.lastAt(2, "2026-12")], [at + 5, 0]);
  assert.equal(events.create(event("c80", 3, 80), []), true);
  assert.deepEqual(
    events.list().map(({ id, name, channel, state, tries }) => [id, name, channel, state, tries]),
    [
      ["a80", "a", "webhook", "delivered", 2],
      ["a80", "a", "email", "pending", 0],
      ["c80", "c", null, "none", 0],
      ["a90", "a", "webhook", "pending", 0],
      ["b80", "b", "webhook", "pending", 0],
    ],
  );
  const { last } = events.since(0, "2026-11");
  assert.deepEqual(
    events.since(1, "2026-11").events.map(({ account, threshold }) => [account, threshold]),
    [
      [1, 90],
      [2, 80],
      [3, 80],
    ],
  );
  assert.deepEqual(events.since(last, "2026-11"), { events: [], last });
});
