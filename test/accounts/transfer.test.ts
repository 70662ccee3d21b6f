import assert from "node:assert/strict";
import { test } from "node:test";
import { addAccounts, checkFree, type MovedAccount } from "../../server/accounts/transfer.ts";
import { type MovedRow, type MovedTable, Store } from "../../server/store/store.ts";
import { contentOf } from "../support/state.ts";

/** Tests that accounts move from one state to another with all that they have. */

const at = Date.parse("2026-11-20T10:00:00Z");
const hash = (byte: number) => Buffer.alloc(32, byte);
const plain = {
  webhook: null,
  webhook_secret: null,
  webhook_old_secret: null,
  webhook_old_secret_until: null,
};

const acme: [MovedTable, MovedRow][] = [
  [
    "accounts",
    {
      ...{ id: 3, name: "acme", plan: "developer", burst: 50, quota: 100_000, suspended_at: at },
      ...{ webhook: "https://example.com/hook", webhook_secret: "whsec_new", email: "a@example.com" },
      ...{ webhook_old_secret: "whsec_old", webhook_old_secret_until: at + 1, created_at: at - 5 },
    },
  ],
  // A key refers to a later one, which has replaced it.
  [
    "keys",
    {
      ...{ id: 7, account: 3, hash: hash(7), last4: "aaaa", label: "first", created_at: at - 4 },
      ...{ expires_at: at + 2, revoked_at: null, replaced_by: 9 },
    },
  ],
  [
    "keys",
    {
      ...{ id: 9, account: 3, hash: hash(9), last4: "bbbb", label: null, created_at: at - 3 },
      ...{ expires_at: null, revoked_at: at, replaced_by: null },
    },
  ],
  ["usage", { account: 3, month: "2026-10", used: 5 }],
  ["usage", { account: 3, month: "2026-11", used: 80_000 }],
  ["days", { account: 3, day: "2026-11-19", used: 79_000 }],
  [
    "events",
    {
      ...{ id: "evt_1", account: 3, month: "2026-11", threshold: 80, quota: 100_000 },
      ...{ payload: '{"used":80000}', created_at: at },
    },
  ],
  [
    "deliveries",
    {
      ...{ event: "evt_1", channel: "email", state: "failed", tries: 9 },
      ...{ next_try_at: null, last_answer: "550" },
    },
  ],
  [
    "deliveries",
    {
      ...{ event: "evt_1", channel: "webhook", state: "pending", tries: 2 },
      ...{ next_try_at: at + 9, last_answer: "503" },
    },
  ],
  ["signups", { account: 3, mailbox: "a@example.com", created_at: at - 6 }],
];

const small: [MovedTable, MovedRow][] = [
  [
    "accounts",
    {
      ...{ id: 4, name: "small", plan: "free", burst: 10, quota: 10_000, ...plain },
      ...{ email: null, suspended_at: null, created_at: at },
    },
  ],
];

const moved = (id: number, name: string, rows: [MovedTable, MovedRow][]): MovedAccount => ({
  ...{ id, name },
  rows: rows.map(([table, row]) => ({ table, row })),
});
const accounts = [moved(3, "acme", acme), moved(4, "small", small)];

function storeWith(some: readonly MovedAccount[]): Store {
  const store = Store.inMemory();
  store.atomically(() => addAccounts(store, some, "a file"));
  return store;
}

test("an export has every row of every account, and so has the state that it is added to", (t) => {
  const store = storeWith(accounts);
  t.after(() => store.close());
  const exported = contentOf(store);
  assert.deepEqual(exported, accounts);
  const other = storeWith(exported);
  t.after(() => other.close());
  assert.deepEqual(contentOf(other), accounts);
});

test("accounts aren't added to a state that has an id, name, key, event or mailbox of theirs", (t) => {
  const store = storeWith(accounts);
  t.after(() => store.close());
  const [account, key, , , , , event] = acme;
  const other = (...rows: [MovedTable, MovedRow][]) => [moved(5, "other", rows)];
  const own: [MovedTable, MovedRow] = ["accounts", { ...account[1], id: 5, name: "other" }];
  for (const [added, taken] of [
    [[moved(4, "new", [])], "the id 4, which the account small has"],
    [[moved(5, "acme", [])], "the name acme, which the account acme has"],
    [
      other(own, ["keys", { ...key[1], account: 5, hash: hash(1) }]),
      "the key id 7, which the account acme has",
    ],
    [
      other(own, ["keys", { ...key[1], account: 5, id: 1 }]),
      "the hash of its key 1, which the account acme has",
    ],
    [other(own, ["events", { ...event[1], account: 5 }]), "the event evt_1, which the account acme has"],
    [
      other(own, ["signups", { account: 5, mailbox: "a@example.com", created_at: at }]),
      "the mailbox a@example.com, which the account acme has",
    ],
  ] as const)
    assert.throws(() => checkFree(store, added, "a file"), {
      message: `file a file: account ${added[0].name}: found ${taken}, expected what no account has`,
    });
  checkFree(store, other(own, ["events", { ...event[1], account: 5, id: "evt_2" }]), "a file");
  store.atomically(() => store.accounts.delete(4));
  assert.throws(() => checkFree(store, [moved(4, "new", [])], "a file"), {
    message:
      "file a file: account new: found the id 4 of an account that was deleted, expected one that no account had",
  });
});
