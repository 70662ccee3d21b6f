import assert from "node:assert/strict";
import { test } from "node:test";
import { Store } from "../../server/store/store.ts";

/** Tests what stored times in the future mean, which a clock that was ahead has left. */

const now = Date.UTC(2026, 4, 10, 12);
const [hourMs, dayMs] = [3_600_000, 86_400_000];
const dayBefore = new Date(now - dayMs);
const signup = { mailbox: "ann@example.com", address: "192.0.2.1" };
const link = { token: Buffer.alloc(32, 7), name: "Ann", email: "ann@example.com" };

for (const [aheadMs, isRecent] of [
  [-25 * hourMs, false],
  [-hourMs, true],
  [hourMs, true],
  [dayMs, true],
  [dayMs + 1, false],
  [365 * dayMs, false],
] as const)
  test(`a signup ${aheadMs / hourMs} h from now ${isRecent ? "counts" : "is forgotten"}`, () => {
    const store = Store.inMemory();
    store.signups.createLink(signup, link, new Date(now + aheadMs));
    const count = isRecent ? 1 : 0;
    assert.deepEqual(store.signups.countsSince(dayBefore, signup), {
      ...{ all: count, address: count, mailbox: count },
    });
    assert.equal(store.signups.byToken(link.token, dayBefore) !== undefined, isRecent);
    store.signups.forget(dayBefore);
    assert.equal(store.signups.byToken(link.token, new Date(now + aheadMs - 1)) !== undefined, isRecent);
    store.close();
  });
