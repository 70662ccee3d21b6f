import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PortalActions } from "../../server/parts/portal/actions.ts";
import { Directory } from "../../server/parts/replicas/directory.ts";
import { Store } from "../../server/store/store.ts";
import { errorOf, form } from "../support/portal.ts";
import { later, silent } from "../support/quota-events.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";

/** What people do at the same moment on the portals of two servers that have accounts in common. */

let redis: RedisServer;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());

/** Two servers' portals on a Redis that has nothing yet. */
async function twoPortals(signupDaily: number) {
  await redis.client.flushall();
  const servers = [1, 2].map(() => {
    const store = Store.inMemory();
    const directory = new Directory(store, redis.client, true, 0);
    const actions = new PortalActions({
      store,
      log: silent,
      settings: { signup: "open", signupDaily, webhookAllowLoopback: false },
      mailer: undefined,
      portalAccount: undefined,
      publicUrl: "https://prices.example.com",
      fault: () => undefined,
      change: (work) => directory.change(work),
      keyCount: () => 0,
      takeOver: () => {},
    });
    return { store, directory, actions };
  });
  const read = async () => {
    for (const { directory } of servers) await directory.read();
  };
  await read();
  let asked = 0;
  /** Asks both at once, one after the other in turn. @returns the statuses, sorted */
  const ask = async (path: string, bodies: readonly object[], from: (i: number) => string) => {
    const at = later(10_000 * ++asked);
    const replies = await Promise.all(
      bodies.map((body, i) => {
        const sender = { authorization: "", address: from(i), requestId: `test-${i}` };
        const request = { path, body: JSON.stringify(body), ...sender };
        return servers[i % 2].actions.act(request, at);
      }),
    );
    await read();
    return replies.toSorted((one, other) => one.status - other.status);
  };
  return { store: servers[0].store, ask };
}

const forms = (count: number, email = (i: number) => `a${i}@example.com`) =>
  Array.from({ length: count }, (_, i) => form(email(i)));
const ownAddress = (i: number) => `192.0.2.${i}`;
const statusesOf = (replies: readonly { status: number }[]) => replies.map(({ status }) => status);
const several = (status: number, times: number): number[] => Array(times).fill(status);

test("who comes to both at once gets no more accounts a day than there may be", async () => {
  const { ask, store } = await twoPortals(8);
  const one = await ask("/portal/signup", forms(8), () => "192.0.2.1");
  assert.deepEqual(statusesOf(one), [...several(201, 5), ...several(429, 3)]);
  assert.match(errorOf(one[7]).message, /5 signups from your address/);
  const others = await ask(
    "/portal/signup",
    forms(6, (i) => `b${i}@example.com`),
    ownAddress,
  );
  assert.deepEqual(statusesOf(others), [...several(201, 3), ...several(429, 3)]);
  assert.match(errorOf(others[5]).message, /signups for a day are used up/);
  assert.equal(store.accounts.ids().length, 8);
});
